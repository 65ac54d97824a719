"""What waits for people, and their decisions."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from itertools import zip_longest
from typing import Any

from msgspec.structs import replace

from adjourn.core.decision import VERBS, Decision
from adjourn.core.interrupt import Interrupt
from adjourn.core.standing_decision import Standing, read_terms
from adjourn.errors import (
    AdjournError,
    AlreadyDecided,
    Conflict,
    InterruptClosed,
    Invalid,
    InvalidAnswer,
    NotAllowed,
    StaleDecision,
    UnknownRun,
)
from adjourn.runtime.joint_decisions import TOGETHER, Retried
from adjourn.server.api.bulk import refused_view
from adjourn.server.api.conflict import conflict
from adjourn.server.api.decider import check_decider, decidable
from adjourn.server.api.event_stream import event_stream
from adjourn.server.api.files import given_files
from adjourn.server.api.item_notes import snoozed_until
from adjourn.server.api.pages import filter_of, page
from adjourn.server.api.standing_decisions import STANDS
from adjourn.server.api_request import (
    LARGE,
    MAX_BODY,
    ApiRequest,
    H,
    answered,
    interrupt_verb,
    operation,
)
from adjourn.server.merged_stream import merged
from adjourn.server.run_access import (
    has_right_on,
    narrowed,
    refusal,
    visible_changes,
    visible_interrupt,
)
from adjourn.server.schemas import (
    ANYTHING,
    DIGEST,
    EVENT,
    FILTERS,
    FLAG,
    KEY,
    KIND,
    NOTE,
    OBJECT,
    PAGES,
    SEARCH,
    TEXT,
    TIME,
    WORD,
    Schema,
    many,
    ref,
    several,
    thing,
)
from adjourn.server.schemas import answer as response
from adjourn.server.sse import hub_events, run_events
from adjourn.stores.item_note import GROUP
from adjourn.stores.protocol import Filter
from adjourn.views.api_answers import AlikeErrors, Done, RetriedError
from adjourn.views.audit_entry import AuditEntry
from adjourn.views.interrupt_view import InterruptSummary, InterruptView, view_of
from adjourn.views.seen_before import SeenBefore, seen_before
from adjourn.views.timeline import Timeline

PLACE: dict[str, Schema] = {"Last-Event-ID": TEXT}
ITEM: Schema = {**KEY, "pattern": r"^[^\u0000]*$"}
ITEMS: Schema = {
    "type": "array",
    "items": thing(("ref", "digest"), ref=ITEM, digest=DIGEST),
    "minItems": 1,
    "maxItems": 1000,
}
DECIDES = (404, 409, 423)
THIS_ITEM = {
    "parameters": {"ref": "$response.body#/ref"},
    "requestBody": {"digest": "$response.body#/digest"},
}
ALL_ALIKE = {
    "parameters": {"ref": "$request.path.ref"},
    "requestBody": {"until": "$response.body#/until"},
}

AT_ONCE = 25
"""Interrupts that are read from the store at once."""
MOST = 50
"""Runs that one stream carries."""


@operation(
    "GET /inbox",
    "read",
    many(InterruptSummary),
    query={
        "kind": KIND,
        "run_id": SEARCH,
        "group": SEARCH,
        "mine": FLAG,
        "assigned": WORD,
        "snoozed": FLAG,
        **FILTERS,
        **PAGES,
    },
    reaches="some",
)
async def list_inbox(c: ApiRequest) -> Any:
    """Open interrupts that wait for a person, oldest first."""
    query, members, assigned, awake_for = c.query, None, tuple[str, ...](), ""
    to_me = (c.who.name, *(f"{GROUP}{group}" for group in c.who.groups))
    if query.get("mine"):
        members, assigned = c.who.groups, ("", *to_me)
    if query.get("assigned") == "me":
        assigned = to_me
    elif query.get("assigned"):
        assigned = (query["assigned"],)
    if not query.get("snoozed"):
        awake_for = c.who.name
    wanted = filter_of(
        c,
        kind=query.get("kind", ""),
        run=query.get("run_id", ""),
        group=query.get("group", ""),
        members=members,
        assigned=assigned,
        awake_for=awake_for,
    )
    items: list[InterruptSummary] = []
    keys: list[tuple[str, str]] = []
    async for interrupt in _some_at_a_time(c, wanted):
        place = await c.app.place_of(interrupt.run_id)
        items.append(c.app.shortened.line(interrupt, place.program))
        keys.append((interrupt.run_id, interrupt.local))
    marks = await c.rt.store.marks(keys)
    for at, key in enumerate(keys):
        if mark := marks.get(key):
            items[at] = replace(
                items[at], assigned_to=mark.assigned, snoozed_until=snoozed_until(c, mark)
            )
    return page(items, wanted.limit, lambda item: item.ref)


async def _some_at_a_time(c: ApiRequest, wanted: Filter) -> AsyncIterator[Interrupt]:
    """Those that the caller may see. Each may be a megabyte: others have their turn in between."""
    left, wanted = wanted.limit, narrowed(c.who, wanted)
    while left:
        step = min(left, AT_ONCE)
        found = await c.rt.store.inbox(replace(wanted, limit=step))
        for i in found:
            if await has_right_on(c.app, c.who, "read", i.run_id):
                left -= 1
                yield i
            await asyncio.sleep(0)
        if len(found) < step:
            return
        wanted = replace(wanted, after=found[-1].ref)


@operation(
    "GET /inbox/events",
    "read",
    EVENT,
    query={"follow": FLAG},
    headers=PLACE,
    stream=True,
    reaches="some",
)
async def watch_inbox(c: ApiRequest) -> Any:
    """All changes, as server-sent events."""
    return event_stream(c, _changes(c))


def _changes(c: ApiRequest) -> AsyncIterator[bytes]:
    """The stream about everything that the caller may see."""
    last, follow = c.request.headers.get("last-event-id", ""), c.query.get("follow", True)
    return hub_events(c.app.hub, visible_changes(c, c.app.hub, last, follow=follow))


@operation(
    "GET /events",
    "read",
    EVENT,
    query={
        "runs": {"type": "string", "maxLength": 10_000},
        "after": {"type": "string", "pattern": "^([0-9]{1,15}(,[0-9]{1,15}){0,49})?$"},
        "follow": FLAG,
    },
    headers=PLACE,
    stream=True,
    reaches="some",
)
async def watch_all(c: ApiRequest) -> Any:
    """All changes, and the events of some runs, as one stream of server-sent events.

    Each run after its number in `after`, or from its first record.
    """
    ids = [id for id in c.query.get("runs", "").split(",") if id][:MOST]
    known = [int(number) for number in c.query.get("after", "").split(",") if number]
    follow = c.query.get("follow", True)
    runs: dict[str, AsyncIterator[bytes]] = {}
    for id, number in zip_longest(ids, known[: len(ids)], fillvalue=0):
        if await has_right_on(c.app, c.who, "read", str(id)):
            runs[str(id)] = run_events(c.rt, c.app.tapes, str(id), number, follow=follow)
        else:
            runs[str(id)] = _not_there(str(id))
    return event_stream(c, merged(_changes(c), runs))


async def _not_there(run: str) -> AsyncIterator[bytes]:
    """The events of a run that the caller may not see: as if there were none of that id."""
    raise UnknownRun(run)
    yield b""


@operation(
    "GET /interrupts/{ref}",
    "read",
    ref(InterruptView),
    links=dict.fromkeys(VERBS, THIS_ITEM),
)
async def get_interrupt(c: ApiRequest) -> Any:
    """One interrupt, whatever its state."""
    found = await c.rt.interrupt(c.path["ref"])
    row, state, timeline = await c.app.folds.whole(found.run_id)
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
    marks = await c.rt.store.marks([(found.run_id, found.local)])
    for mark in marks.values():
        shown = replace(shown, snoozed_until=snoozed_until(c, mark))
    noted = f"{len(shown.attempts)}-{len(shown.notes)}-{shown.snoozed_until}"
    tag = f'"{found.seq}-{shown.digest[:16]}-{shown.status}-{noted}"'
    return answered(shown, {"ETag": tag})


@operation("GET /interrupts/{ref}/before", "read", ref(SeenBefore))
async def seen_before_interrupt(c: ApiRequest) -> Any:
    """Earlier decisions on the same tool, and what differs this time."""

    async def look(run: str) -> Timeline:
        _, _, timeline = await c.app.folds.whole(run)
        return timeline

    async def may_see(run: str) -> bool:
        return await has_right_on(c.app, c.who, "read", run)

    found = await c.rt.interrupt(c.path["ref"])
    return await seen_before(c.rt.store, found, look, may_see)


@operation("GET /interrupts/{ref}/alike", "read", ref(AlikeErrors), links={"retry_all": ALL_ALIKE})
async def list_alike(c: ApiRequest) -> Any:
    """Open errors similar to this one.

    Their refs, at most 1000, and until when they were opened.
    """
    until = c.rt.store.now()
    found = await c.rt.alike(c.path["ref"], until=until)
    refs: list[str] = []
    for interrupt in found:
        if await has_right_on(c.app, c.who, "read", interrupt.run_id):
            refs.append(interrupt.ref)
    return AlikeErrors(refs=tuple(refs), until=until)


async def _decided(
    c: ApiRequest, found: Interrupt, decide: Callable[..., Awaitable[int]], *given: Any, **said: Any
) -> Any:
    """Decide about what was seen; a refusal because it has changed says how."""
    sent = c.body["digest"]
    try:
        seq = await decide(
            found, *given, by=c.who.name, digest=sent, request_id=c.request_id, **said
        )
        return Done(seq=seq)
    except Conflict as e:
        if isinstance(e, AlreadyDecided | InterruptClosed | StaleDecision):
            raise await conflict(c.rt.store, found, sent, e) from None
        raise


def _decision(verb: str, body: Schema, size: int = LARGE) -> Callable[[H], H]:
    """Makes a handler a verb that decides; a halt may stand against it."""
    return interrupt_verb(verb, ref(Done), body, problems=DECIDES, size=size)


def _approvable(found: Interrupt) -> None:
    if found.kind not in ("approval", "question"):
        choices = ", ".join(found.choices)
        raise InvalidAnswer(
            f"interrupt {found.id!r} ({found.kind}) must be answered with one of: {choices}"
        )


def _stands(body: Mapping[str, Any]) -> Standing | None:
    if "stands" in body:
        return read_terms(body["stands"])
    return None


@_decision(
    "approve",
    thing(
        ("digest",),
        digest=DIGEST,
        note=NOTE,
        edit=OBJECT,
        scope={"enum": ["once", "run"]},
        stands=STANDS,
    ),
)
async def approve(c: ApiRequest) -> Any:
    """Let a call run, as shown or as edited."""
    b, found = c.body, await decidable(c)
    _approvable(found)
    return await _decided(
        c,
        found,
        c.rt.approve,
        note=b.get("note", ""),
        edit=b.get("edit"),
        scope=b.get("scope", "once"),
        groups=c.who.groups,
        stands=_stands(b),
    )


@_decision("deny", thing(("digest",), digest=DIGEST, note=NOTE, stands=STANDS))
async def deny(c: ApiRequest) -> Any:
    """Refuse a call."""
    b, found = c.body, await decidable(c)
    _approvable(found)
    return await _decided(c, found, c.rt.deny, note=b.get("note", ""), stands=_stands(b))


@_decision(
    "answer", thing(("value", "digest"), value=ANYTHING, digest=DIGEST, note=NOTE), size=MAX_BODY
)
async def answer(c: ApiRequest) -> Any:
    """Answer a question, or choose."""
    b, found = c.body, await decidable(c)
    if found.kind == "approval":
        raise Invalid("an approval must be approved or denied, not answered")
    value = given_files(b["value"])
    if b.get("note"):
        value = Decision.value(value, b["note"])
    return await _said(c, found, value)


@_decision(
    "instead", thing(("result", "digest"), result=ANYTHING, digest=DIGEST, note=NOTE), size=MAX_BODY
)
async def answer_instead(c: ApiRequest) -> Any:
    """Give the result of a call; its tool does not run."""
    b, found = c.body, await decidable(c)
    if found.kind != "approval":
        raise InvalidAnswer(f"interrupt {found.id!r} ({found.kind}) is not an approval")
    return await _said(c, found, Decision.instead(given_files(b["result"]), b.get("note", "")))


@_decision("dismiss", thing(("digest",), digest=DIGEST, note=NOTE))
async def dismiss(c: ApiRequest) -> Any:
    """Drop a question without an answer."""
    b, found = c.body, await decidable(c)
    return await _said(c, found, Decision.dismiss(b.get("note", "")))


async def _said(c: ApiRequest, found: Interrupt, value: Any) -> Any:
    """Record a value or a decision as the answer of whoever asks."""
    return await _decided(c, found, c.rt.answer, value, groups=c.who.groups)


@operation(
    "POST /decisions",
    "decide",
    response(items=several(RetriedError)),
    size=MAX_BODY,
    body=thing(("decision", "items"), decision={"enum": list(TOGETHER)}, items=ITEMS, note=NOTE),
    reaches="some",
)
async def decide_all(c: ApiRequest) -> Any:
    """Approve, deny or dismiss several interrupts; the result of each.

    In their order. Each is decided as it was seen: what has another digest by now is refused.
    """
    b = c.body
    decision = Decision(b["decision"], note=b.get("note", ""))
    items: dict[str, Interrupt] = {}
    told: dict[str, RetriedError | None] = {}
    for seen in b["items"]:
        name = seen["ref"]
        try:
            found = await visible_interrupt(c.app, c.who, name)
            if (refused := await refusal(c.app, c.who, "decide", found.run_id)) is not None:
                raise refused
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


@interrupt_verb(
    "retry-all",
    response(items=several(RetriedError)),
    thing(("digest", "until"), digest=DIGEST, until=TIME, note=NOTE),
)
async def retry_all(c: ApiRequest) -> Any:
    """Retry all open errors similar to this one.

    Of those that were open when whoever asks had looked.
    """
    b, found = c.body, await decidable(c)
    for other in await c.rt.alike(found, until=b["until"]):
        await check_decider(c, other.run_id)
        if not await has_right_on(c.app, c.who, "decide", other.run_id):
            raise NotAllowed(
                f"some of these errors belong to runs on which {c.who.name!r} cannot decide",
                consequence="nothing was retried",
                advice="retry them one by one",
            )
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
