"""The operations that show runs as people look at them: each as a line of a list, and one as a
timeline."""

from typing import Any

from adjourn.core.state import State
from adjourn.core.status import Status
from adjourn.errors import Invalid, KeyMissing, UnknownRun
from adjourn.server.api_request import ApiRequest, operation
from adjourn.server.bounded_cache import BoundedCache
from adjourn.server.run_access import place_of
from adjourn.server.schemas import AFTER, NUMBER, answer, ref, several
from adjourn.views.run_view import RunGlance, run_glance
from adjourn.views.timeline import Timeline
from adjourn.views.timeline_view import TimelineView, timeline_view

MOST = 50
"""Runs in one request for glances."""
KEPT = 8_000_000
"""Bytes of lines that are kept."""


@operation(
    "GET /glances",
    "read",
    answer(items=several(RunGlance), now=NUMBER),
    query={"runs": {"type": "string", "maxLength": 10_000}},
    reaches="some",
)
async def list_glances(c: ApiRequest) -> Any:
    """Short views of some runs.

    Those that there are; what was looked at before costs one row each.
    """
    wanted = [id for id in c.query.get("runs", "").split(",") if id]
    if len(wanted) > MOST:
        raise Invalid(f"at most {MOST} runs in one request, not {len(wanted)}")
    halts, items = list(await c.rt.halts()), list[RunGlance]()
    halted = frozenset(halt.scope for halt in halts)
    for id in dict.fromkeys(wanted):
        try:
            row = await c.rt.store.get(id)
        except UnknownRun:
            continue
        if not c.who.may_on("read", place_of(row)):
            continue
        now = c.rt.store.now()
        if row.status == Status.READY:
            notes = await c.rt.store.misfits(runs=(id,))
        else:
            notes = []
        note = notes[0] if notes else None
        key = (row.seq, row.shown(now, halted), halted, note.why if note else "")
        found = c.app.glances.get(row.id, key)
        if found is None:
            try:
                row, state, timeline = await c.app.folds.whole(row.id)
            except KeyMissing:
                state, timeline = State(), Timeline()
            found = run_glance(row, state, timeline, halts, now, misfit=note)
            c.app.glances.put(row.id, key, found)
        items.append(found)
    return {"items": items, "now": c.rt.store.now()}


class Glances:
    """Lines that were made before; each is good as long as its run has not moved."""

    def __init__(self) -> None:
        self._lines: BoundedCache[str, tuple[Any, RunGlance]] = BoundedCache(KEPT)

    def get(self, run: str, key: Any) -> RunGlance | None:
        """The line, if it still is so."""
        found = self._lines.get(run)
        if found and found[0] == key:
            return found[1]
        return None

    def put(self, run: str, key: Any, line: RunGlance) -> None:
        """Keep a line."""
        self._lines.put(run, (key, line))


@operation("GET /runs/{run_id}/timeline", "read", ref(TimelineView), query={"after": AFTER})
async def get_timeline(c: ApiRequest) -> Any:
    """Its steps, as people read them.

    With `after`, those that changed since that record.
    """
    row, state, timeline = await c.app.folds.whole(c.path["run_id"])
    now = c.rt.store.now()
    status = row.shown(now, await c.rt.halted())
    return timeline_view(row, state, timeline, status, now, after=c.query.get("after", 0))
