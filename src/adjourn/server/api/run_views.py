"""The operations that show runs as people look at them: each as a line of a list, and one as a timeline."""

from typing import Any

from adjourn.core.codec import encode
from adjourn.core.digest import idempotency_key
from adjourn.core.ids import ref_of
from adjourn.core.state import State
from adjourn.core.status import Status
from adjourn.errors import Invalid, UnknownRun
from adjourn.server.bounded_cache import Kept
from adjourn.server.operation import Call
from adjourn.stores.protocol import RunRow
from adjourn.views.run_view import glance
from adjourn.views.timeline import Span, Step, Timeline

MOST = 50
"""Runs in one request for glances."""
BARS = 60
"""Stretches of time in a run's shape: more would not be seen."""
KEPT = 8_000_000
"""Bytes of lines that are kept."""
LINE = 400
"""Characters of a text in a list; the run's page has all of it."""


async def list_glances(c: Call) -> Any:
    """Runs at a glance, those that there are; what was looked at before costs one row each."""
    wanted = [id for id in c.query.get("runs", "").split(",") if id]
    if len(wanted) > MOST:
        raise Invalid(f"at most {MOST} runs in one request, not {len(wanted)}")
    halts, items = list(await c.rt.halts()), list[dict[str, Any]]()
    halted = tuple(h.scope for h in halts)
    for id in dict.fromkeys(wanted):
        try:
            row = await c.rt.store.get(id)
        except UnknownRun:
            continue
        now = c.rt.store.now()
        noted = await c.rt.store.misfits(runs=(id,)) if row.status == Status.READY else []
        key = (row.seq, row.shown(now, halted), halted, noted[0].why if noted else "")
        found = c.desk.glances.get(row.id, key)
        if found is None:
            row, state, timeline = await c.desk.folds.whole(row.id)
            seen = glance(row, state, halts, now, noted[0] if noted else None)
            found = _line(row, state, timeline, seen.status, seen.doing)
            c.desk.glances.put(row.id, key, found)
        items.append(found)
    return {"items": items, "now": c.rt.store.now()}


class Glances:
    """Lines that were made before; each is good as long as its run has not moved."""

    def __init__(self) -> None:
        self._lines: Kept[str, tuple[Any, dict[str, Any]]] = Kept(KEPT)

    def get(self, run: str, key: Any) -> dict[str, Any] | None:
        """The line, if it still is so."""
        found = self._lines.get(run)
        return found[1] if found and found[0] == key else None

    def put(self, run: str, key: Any, line: dict[str, Any]) -> None:
        """Keep a line."""
        self._lines.put(run, (key, line))


def _line(row: RunRow, state: State, timeline: Timeline, status: str, doing: str) -> dict[str, Any]:
    opened = state.interrupts
    first = min(opened, key=lambda i: (i.expires_at or float("inf"), i.opened_at)) if opened else None
    waiting = status in ("waiting", "stuck", "failed") and first is not None
    names = [state.threads[first.path].agent] if first and first.path in state.threads and first.path else []
    reason = first.call.reason if first and first.call else ""
    usage = state.usage
    return {
        "id": row.id, "seq": row.seq, "status": status, "now": doing[:LINE],
        "detail": " · ".join([*(f"in {name}" for name in names), *([reason] if reason else [])])[:LINE] if waiting else "",
        "expires_at": first.expires_at if waiting and first else None, "waits": len(opened),
        "steps": state.threads[""].turn if "" in state.threads else len(timeline.steps), "tokens": usage.total_tokens, "cost": usage.cost,
        "since": first.opened_at if waiting and first else row.updated_at, "shape": shape(timeline),
    }  # fmt: skip


def shape(timeline: Timeline) -> list[dict[str, Any]]:
    """A run as stretches of time. Of a nested agent only what it does itself is shown."""
    bars = [(step, span) for step in timeline.steps if step.kind != "child" for span in step.spans]
    bars.sort(key=lambda bar: bar[1].since)
    return [
        {"kind": _bar(step, span), "from": span.since, "to": span.until, "status": step.status} for step, span in bars[-BARS:]
    ]  # fmt: skip


def _bar(step: Step, span: Span) -> str:
    if span.kind != "run":
        return span.kind
    return {"model": "model", "summary": "model", "undo": "undo"}.get(step.kind, "tool")


async def get_timeline(c: Call) -> Any:
    """A run's steps; with `after`, those that changed since that record."""
    row, state, timeline = await c.desk.folds.whole(c.path["run"])
    now = c.rt.store.now()
    works = row.shown(now, ()) in ("running", "pausing")
    return {
        "seq": timeline.seq, "now": now, "worked": timeline.worked(now), "waited": timeline.waited(now),
        "steps": [step_json(row.id, step, works) for step in timeline.changed(c.query.get("after", 0))],
        "thinking": [] if not works else [
            {"path": path, "agent": thread.agent, "since": timeline.at}
            for path, thread in state.threads.items()
            if thread.due() and (not path or path in state.live) and state.status in (Status.READY, Status.PAUSING)
        ],
    }  # fmt: skip


def step_json(run: str, step: Step, works: bool) -> dict[str, Any]:
    """A step, with every field. `quoted`: its text is what somebody said or what came out, not prose about it.

    A read is not announced in the journal before it starts: while the run is worked on, one that is ready is running.
    """
    running = works and step.kind == "call" and step.status == "ready"
    spans = [{"kind": s.kind, "from": s.since, "to": s.until} for s in step.spans]
    if running:
        spans.append({"kind": "run", "from": (spans[-1]["to"] or step.at) if spans else step.at, "to": None})
    said: Any = step.said
    quoted = said is not None
    key = idempotency_key(run, step.id, step.name, step.arguments) if step.kind == "call" and step.attempt else ""
    return {
        "n": step.n, "seq": step.seq, "record": step.record, "kind": step.kind, "id": step.id, "name": step.name,
        "text": (said if isinstance(said, str) else encode(said).decode()) if quoted else step.text, "quoted": quoted,
        "status": "running" if running else step.status, "note": step.note, "path": step.path, "level": step.level,
        "at": step.at, "took": step.took, "spans": spans, "arguments": step.arguments,
        "result": step.result, "error": step.error, "ran": step.ran, "digest": step.digest, "key": key, "effect": step.effect,
        "undo": step.undo, "reason": step.reason, "rules": list(step.rules), "attempt": step.attempt, "tokens": step.tokens,
        "interrupt": ref_of(run, step.interrupt) if step.interrupt else None,
    }  # fmt: skip
