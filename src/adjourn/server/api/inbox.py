"""What waits for people, and their decisions."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from itertools import zip_longest
from typing import Any

from msgspec.structs import replace

from adjourn.core.decision import Decision
from adjourn.core.interrupt import Interrupt
from adjourn.errors import (
    AdjournError,
    AlreadyDecided,
    Conflict,
    InterruptClosed,
    Invalid,
    InvalidAnswer,
    StaleDecision,
)
from adjourn.runtime.retry_verbs import Retried
from adjourn.server.api.bulk import refused_view
from adjourn.server.api.conflict import conflict
from adjourn.server.api.decider import check_decider
from adjourn.server.api.event_stream import event_stream
from adjourn.server.api.pages import filter_of, page
from adjourn.server.api_request import ApiRequest, answered
from adjourn.server.merged_stream import merged
from adjourn.server.sse import hub_events, run_events
from adjourn.stores.protocol import Filter, Store
from adjourn.views.api_answers import (
    AlikeErrors,
    Done,
    RetriedError,
)
from adjourn.views.audit_entry import AuditEntry
from adjourn.views.interrupt_view import InterruptSummary, view_of
from adjourn.views.seen_before import seen_before
from adjourn.views.timeline import Timeline

AT_ONCE = 25
"""Interrupts that are read from the store at once."""
MOST = 50
"""Runs that one stream carries."""


async def list_inbox(c: ApiRequest) -> Any:
    """A page of what waits for people."""
    query, members = c.query, None
    if query.get("mine"):
        members = c.who.groups
    wanted = filter_of(
        c,
        kind=query.get("kind", ""),
        run=query.get("run", ""),
        group=query.get("group", ""),
        members=members,
    )
    items: list[InterruptSummary] = []
    async for interrupt in _some_at_a_time(c.rt.store, wanted):
        program = await c.desk.program_of(interrupt.run_id)
        items.append(c.desk.shortened.line(interrupt, program))
    return page(items, wanted.limit, lambda item: item.ref)


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
    return event_stream(c, events)


async def watch_all(c: ApiRequest) -> Any:
    """What changes anywhere, and the events of some runs, each after its number in `after`, or
    from its first record."""
    ids = [id for id in c.query.get("runs", "").split(",") if id][:MOST]
    known = [int(number) for number in c.query.get("after", "").split(",") if number]
    follow = c.query.get("follow", True)
    runs: dict[str, AsyncIterator[bytes]] = {}
    for id, number in zip_longest(ids, known[: len(ids)], fillvalue=0):
        runs[str(id)] = run_events(c.rt, c.desk.tapes, str(id), number, follow=follow)
    last = c.request.headers.get("last-event-id", "")
    return event_stream(c, merged(hub_events(c.desk.hub, last, follow=follow), runs))


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


async def seen_before_interrupt(c: ApiRequest) -> Any:
    """Earlier decisions on the tool of an approval."""

    async def look(run: str) -> Timeline:
        _, _, timeline = await c.desk.folds.whole(run)
        return timeline

    return await seen_before(c.rt.store, await c.rt.interrupt(c.path["interrupt"]), look)


async def list_alike(c: ApiRequest) -> Any:
    """The refs of the open errors that are like one, at most 1000, and until when they were
    opened."""
    until = c.rt.store.now()
    found = await c.rt.alike(c.path["interrupt"], until=until)
    return AlikeErrors(refs=tuple(i.ref for i in found), until=until)


async def _decidable(c: ApiRequest) -> Interrupt:
    """The interrupt, if this is somebody who may decide it."""
    found = await c.rt.interrupt(c.path["interrupt"])
    await check_decider(c, found.run_id)
    return found


async def _decided(c: ApiRequest, found: Interrupt, decide: Callable[[str], Awaitable[int]]) -> Any:
    """Decide about what was seen; a refusal because it has changed says how."""
    sent = c.body["digest"]
    try:
        return Done(seq=await decide(sent))
    except Conflict as e:
        if isinstance(e, AlreadyDecided | InterruptClosed | StaleDecision):
            raise await conflict(c.rt.store, found, sent, e) from None
        raise


def _approvable(found: Interrupt) -> None:
    if found.kind not in ("approval", "question"):
        choices = ", ".join(found.choices)
        raise InvalidAnswer(
            f"interrupt {found.id!r} ({found.kind}) is answered with a choice: {choices}"
        )


async def approve(c: ApiRequest) -> Any:
    """Let a call run, exactly as shown or as edited."""
    b, found = c.body, await _decidable(c)
    _approvable(found)
    return await _decided(
        c,
        found,
        lambda digest: c.rt.approve(
            found,
            by=c.who.name,
            note=b.get("note", ""),
            digest=digest,
            edit=b.get("edit"),
            scope=b.get("scope", "once"),
            groups=c.who.groups,
            request_id=c.request_id,
        ),
    )


async def deny(c: ApiRequest) -> Any:
    """Refuse a call."""
    b, found = c.body, await _decidable(c)
    _approvable(found)
    return await _decided(
        c,
        found,
        lambda digest: c.rt.deny(
            found,
            by=c.who.name,
            note=b.get("note", ""),
            digest=digest,
            request_id=c.request_id,
        ),
    )


async def answer(c: ApiRequest) -> Any:
    """Answer a question, or choose."""
    b, found = c.body, await _decidable(c)
    if found.kind == "approval":
        raise Invalid("an approval is approved or denied, not answered")
    value = b["value"]
    if b.get("note"):
        value = Decision.value(value, b["note"])
    return await _said(c, found, value)


async def answer_instead(c: ApiRequest) -> Any:
    """Give the result of a call in the place of its tool."""
    b, found = c.body, await _decidable(c)
    if found.kind != "approval":
        raise InvalidAnswer(f"interrupt {found.id!r} ({found.kind}) is no approval")
    return await _said(c, found, Decision.instead(b["result"], b.get("note", "")))


async def dismiss(c: ApiRequest) -> Any:
    """Drop a question."""
    b, found = c.body, await _decidable(c)
    return await _said(c, found, Decision.dismiss(b.get("note", "")))


async def _said(c: ApiRequest, found: Interrupt, value: Any) -> Any:
    """Record a value or a decision as the answer of whoever asks."""
    return await _decided(
        c,
        found,
        lambda digest: c.rt.answer(
            found,
            value,
            by=c.who.name,
            digest=digest,
            groups=c.who.groups,
            request_id=c.request_id,
        ),
    )


async def decide_all(c: ApiRequest) -> Any:
    """Approve, deny or dismiss several; what came of each, in their order. Each is decided as it was
    seen: what has another digest by now is refused."""
    b = c.body
    decision = Decision(b["decision"], note=b.get("note", ""))
    items: dict[str, Interrupt] = {}
    told: dict[str, RetriedError | None] = {}
    for seen in b["items"]:
        name = seen["ref"]
        try:
            found = await c.rt.interrupt(name)
            await check_decider(c, found.run_id)
            if found.digest != seen["digest"]:
                raise StaleDecision(found.id, seen["digest"], found.digest)
        except AdjournError as e:
            told[name] = _refused(name, "", e)
            items.pop(name, None)
        else:
            told.setdefault(found.ref, None)
            items[found.ref] = found
    for one in await c.rt.decide_all(
        list(items.values()),
        decision,
        by=c.who.name,
        groups=c.who.groups,
        request_id=c.request_id,
    ):
        told[one.interrupt.ref] = _retried(one)
    return {"items": [one for one in told.values() if one is not None]}


async def retry_all(c: ApiRequest) -> Any:
    """Try all open errors again that are like this one, of those that were open when whoever asks
    had looked."""
    b, found = c.body, await _decidable(c)
    for other in await c.rt.alike(found, until=b["until"]):
        await check_decider(c, other.run_id)
    try:
        done = await c.rt.retry_all(
            found,
            by=c.who.name,
            note=b.get("note", ""),
            digest=b["digest"],
            until=b["until"],
            groups=c.who.groups,
            request_id=c.request_id,
        )
    except StaleDecision as e:
        raise await conflict(c.rt.store, found, b["digest"], e) from None
    return {"items": [_retried(one) for one in done]}


def _retried(one: Retried) -> RetriedError:
    return RetriedError(
        ref=one.interrupt.ref,
        run_id=one.interrupt.run_id,
        seq=one.seq or None,
        refused=refused_view(one.refused),
    )


def _refused(ref: str, run_id: str, error: AdjournError) -> RetriedError:
    return RetriedError(ref=ref, run_id=run_id, seq=None, refused=refused_view(error))
