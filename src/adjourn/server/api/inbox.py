"""The operations that look. None of them changes anything."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from itertools import islice
from typing import Any

import msgspec
from msgspec.structs import replace
from starlette.responses import Response

from adjourn.core.digest import digest
from adjourn.core.interrupt import Interrupt
from adjourn.core.sent_request import requests
from adjourn.core.status import ENDED, Status
from adjourn.errors import Invalid, NotFound
from adjourn.runtime.changed_program import noted
from adjourn.runtime.pruner import holds_of
from adjourn.server.api.runs import me
from adjourn.server.operation import ApiRequest, answered
from adjourn.server.problem import Problem
from adjourn.server.sse import EventStream, hub_events, run_events
from adjourn.stores.audit import SECURITY
from adjourn.stores.erasure import Hold
from adjourn.stores.misfit import Misfit
from adjourn.stores.protocol import Filter, RunRow, Store
from adjourn.views.answer_schemas import (
    AlikeErrors,
    CheckpointText,
    ProgramView,
    RecordView,
    RequestView,
    VerificationView,
)
from adjourn.views.audit_entry import AuditEntry
from adjourn.views.interrupt_view import InterruptSummary, view_of
from adjourn.views.misfit_view import version
from adjourn.views.run_view import RunSummary, run_summary, run_view

AT_ONCE = 25
"""Interrupts that are read from the store at once."""


def _label(query: dict[str, Any]) -> tuple[str, str] | None:
    name, found, value = query.get("label", "").partition("=")
    return (name, value) if found else None


async def list_runs(c: ApiRequest) -> Any:
    """A page of runs."""
    q, limit = c.query, c.query.get("limit", 50)
    rows = await c.rt.runs(
        status=q.get("status", ""),
        agent=q.get("agent", ""),
        session=q.get("session", ""),
        label=_label(q),
        text=q.get("text", ""),
        since=q.get("since", 0),
        until=q.get("until", 0),
        after=q.get("after", ""),
        limit=limit,
    )
    return {"items": rows, "after": rows[-1].run_id if len(rows) == limit else None}


async def get_run(c: ApiRequest) -> Any:
    """A run; 304 if the client has it already."""
    row = await c.rt.store.get(c.path["run"])
    note, holds = await _note(c, row), holds_of(row, await c.rt.holds())
    halts = await c.rt.halts()
    tag = _tag(run_summary(row, halts, c.rt.store.now()), note, holds)
    if c.request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers={"ETag": tag})
    row, state = await c.desk.folds.of(row.id)
    shown = run_view(row, state, halts, c.rt.store.now(), misfit=note, holds=holds)
    return answered(shown, {"ETag": _tag(shown, note, holds)})


async def _note(c: ApiRequest, row: RunRow) -> Misfit | None:
    """Why a worker has refused a run that waits for one."""
    if row.status == Status.READY:
        return await noted(c.rt.store, row.id)
    return None


def _tag(run: RunSummary, note: Misfit | None, holds: Sequence[Hold]) -> str:
    # a worker's note is no record
    if note:
        said = f"-{version(note)[:16]}-{digest(note.why)[:8]}"
    else:
        said = ""
    # neither is a hold
    if holds:
        said += f"-{digest([hold.scope for hold in holds])[:8]}"
    else:
        said += ""
    # nor a halt
    if run.held_by:
        said += f"-{digest(run.held_by)[:8]}"
    else:
        said += ""
    return f'W/"{run.seq}-{run.status}{said}"'


async def get_status(c: ApiRequest) -> Any:
    """A run's row alone: cheap, however long its journal."""
    return run_summary(await c.rt.store.get(c.path["run"]), await c.rt.halts(), c.rt.store.now())


async def get_records(c: ApiRequest) -> Any:
    """A page of a journal."""
    row, limit = await c.rt.store.get(c.path["run"]), c.query.get("limit", 200)
    found = (await c.rt.store.load(row.id, c.query.get("after", 0)))[:limit]
    items = [RecordView.of(seq, record) for seq, record in found]
    return {"items": items, "after": str(items[-1].seq) if len(items) == limit else None}


async def get_messages(c: ApiRequest) -> Any:
    """A conversation."""
    _, state = await c.desk.folds.of(c.path["run"])
    return {"items": msgspec.to_builtins(await c.rt.worker.earlier.conversation(state))}


async def list_requests(c: ApiRequest) -> Any:
    """A page of what the models of a run were sent, without the messages themselves; or, by its
    record, one of them whole."""
    limit, after, at = c.query.get("limit", 100), c.query.get("after", 0), c.query.get("at")
    run = (await c.rt.store.get(c.path["run"])).id
    records = await c.rt.store.load(run)
    before = await c.rt.worker.earlier.of(records)

    def made() -> list[RequestView]:
        found = requests(records, before)
        if at is not None:
            return [RequestView.of(one, whole=True) for one in found if one.seq == at]
        later = (one for one in found if one.seq > after)
        return [RequestView.of(one, whole=False) for one in islice(later, limit)]

    items = await asyncio.to_thread(made)  # all of a long conversation is read and hashed
    if at is not None and not items:
        raise NotFound(f"record {at} of run {run!r} is not a model's reply")
    return {
        "items": items,
        "after": str(items[-1].seq) if at is None and len(items) == limit else None,
    }


async def get_checkpoint(c: ApiRequest) -> Any:
    """A checkpoint, as its JSON text: it is signed, so it must arrive as it is."""
    run = await c.rt.get(c.path["run"])
    return CheckpointText(checkpoint=(await run.checkpoint()).to_json())


async def get_preview(c: ApiRequest) -> Any:
    """What a cancel would do."""
    return await (await c.rt.get(c.path["run"])).cancel_preview()


async def get_run_audit(c: ApiRequest) -> Any:
    """A page of what was wanted of a run."""
    run, limit = c.path["run"], c.query.get("limit", 100)
    rows = await c.rt.store.audit(run, after=c.query.get("after", 0), limit=limit)
    # a run that was pruned has an audit, one that never was has none
    if not rows or run == SECURITY:
        await c.rt.store.get(run)
    items = [AuditEntry.of(row) for row in rows]
    return {"items": items, "after": str(rows[-1].n) if len(rows) == limit else None}


async def watch_run(c: ApiRequest) -> Any:
    """A run's events from where the client was."""
    last = c.request.headers.get("last-event-id", "") or str(c.query.get("after", 0))
    if not last.isascii() or not last.isdigit() or len(last) > 16:
        raise Invalid(f"Last-Event-ID must be the number of a record, got {last!r:.40}")
    row = await c.rt.store.get(c.path["run"])
    if row.status in ENDED and row.seq <= int(last):
        return Response(status_code=204)  # a browser would otherwise ask again for ever
    events = run_events(c.rt, c.desk.tapes, row.id, int(last), follow=c.query.get("follow", True))
    return EventStream(events, c.desk.closing, c.desk.guard.enter(c.who), lambda: _may_still(c))


async def _may_still(c: ApiRequest) -> bool:
    """Whether whoever opened a stream would still be let in, as the same person."""
    try:
        now = await c.desk.guard.identify(c.request, used=False)
    except Problem:
        return False
    return now.may("read") and (now.name, now.run) == (c.who.name, c.who.run)


async def list_inbox(c: ApiRequest) -> Any:
    """A page of what waits for people."""
    q, limit = c.query, c.query.get("limit", 50)
    if q.get("mine"):
        mine = c.who.groups
    else:
        mine = None
    wanted = Filter(
        program=q.get("agent", ""),
        kind=q.get("kind", ""),
        run=q.get("run", ""),
        session=q.get("session", ""),
        label=_label(q),
        text=q.get("text", ""),
        since=q.get("since", 0),
        until=q.get("until", 0),
        group=q.get("group", ""),
        members=mine,
        after=q.get("after", ""),
        limit=limit,
    )
    items: list[InterruptSummary] = []
    async for i in _some_at_a_time(c.rt.store, wanted):
        items.append(c.desk.shortened.line(i, await c.desk.program_of(i.run_id)))
    return {"items": items, "after": items[-1].ref if len(items) == limit else None}


async def _some_at_a_time(store: Store, wanted: Filter) -> AsyncIterator[Interrupt]:
    """Each may be a megabyte: others have their turn in between."""
    left = wanted.limit
    while left:
        step = min(left, AT_ONCE)
        found = await store.inbox(replace(wanted, limit=step))
        for i in found:
            yield i
            await asyncio.sleep(0)
        if len(found) < step:
            return
        left, wanted = left - step, replace(wanted, after=found[-1].ref)


async def watch_inbox(c: ApiRequest) -> Any:
    """What changes anywhere."""
    last = c.request.headers.get("last-event-id", "")
    events = hub_events(c.desk.hub, last, follow=c.query.get("follow", True))
    return EventStream(events, c.desk.closing, c.desk.guard.enter(c.who), lambda: _may_still(c))


async def get_interrupt(c: ApiRequest) -> Any:
    """An interrupt, and if it is closed, how."""
    found = await c.rt.interrupt(c.path["interrupt"])
    row, state, timeline = await c.desk.folds.whole(found.run_id)
    lines = await c.rt.store.audit(found.run_id, limit=1000)
    shown = view_of(
        found,
        state,
        timeline,
        title=row.title,
        run_status=row.shown(c.rt.store.now(), await c.rt.halted()),
        records=await c.rt.store.load(found.run_id, found.seq - 1),
        attempts=[
            AuditEntry.of(line) for line in lines if line.entry.get("interrupt") == found.local
        ],
    )
    tag = f'"{found.seq}-{shown.digest[:16]}-{shown.status}-{len(shown.attempts)}"'
    return answered(shown, {"ETag": tag})


async def list_alike(c: ApiRequest) -> Any:
    """The refs of the open errors that are like one, at most 1000, and until when they were
    opened."""
    until = c.rt.store.now()
    found = await c.rt.alike(c.path["interrupt"], until=until)
    return AlikeErrors(refs=tuple(i.ref for i in found), until=until)


async def list_holds(c: ApiRequest) -> Any:
    """The legal holds that are on."""
    return {"items": await c.rt.holds(), "after": None}


async def list_halts(c: ApiRequest) -> Any:
    """The halts that are on."""
    return {"items": await c.rt.halts(), "after": None}


async def list_audit(c: ApiRequest) -> Any:
    """A page of the audit of everything, or of the security log, newest first."""
    limit, security = c.query.get("limit", 100), c.query.get("security", False)
    if security and not c.who.may("admin"):
        raise Problem(
            403, "forbidden", f"{c.who.name!r} is {c.who.role}: the security log is for admins"
        )
    rows = await c.rt.store.recent(c.query.get("after", ""), limit, security=security)
    return {
        "items": [AuditEntry.of(row) for row in rows],
        "after": rows[-1].place if len(rows) == limit else None,
    }


async def verify_audit(c: ApiRequest) -> Any:
    """Check everything; one at a time, because it reads everything."""
    if c.desk.verifying.locked():
        raise Problem(
            429, "busy", "a verification is already running; try again later", {"Retry-After": "5"}
        )
    async with c.desk.verifying:
        return VerificationView.of(await c.rt.verification())


async def list_programs(c: ApiRequest) -> Any:
    """What this server can start."""
    items = [
        ProgramView(name=program.name, kind=program.kind, picture=program.diagram())
        for program in c.rt.programs.values()
    ]
    return {"items": items, "after": None}


async def who_am_i(c: ApiRequest) -> Any:
    """Who asks."""
    return me(c.who, c.rt.store.now())
