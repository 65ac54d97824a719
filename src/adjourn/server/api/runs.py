"""The operations that do something: each is one verb of the runtime, by somebody."""

import hashlib
from collections.abc import Awaitable, Callable
from typing import Any, cast

from starlette.responses import Response

from adjourn.core.authority import person
from adjourn.core.codec import legible
from adjourn.core.decision import Decision
from adjourn.core.ids import parse_fork
from adjourn.core.interrupt import Interrupt
from adjourn.core.records import Started
from adjourn.errors import (
    AlreadyDecided,
    Conflict,
    InterruptClosed,
    Invalid,
    InvalidAnswer,
    NotAllowed,
    NotFound,
    RunExists,
    StaleDecision,
    UnknownRun,
    bare,
)
from adjourn.runtime.answers import MISSING
from adjourn.runtime.retry_verbs import Retried
from adjourn.server.api.conflict import conflict
from adjourn.server.auth import Identity, set_cookie
from adjourn.server.operation import ApiRequest, answered
from adjourn.server.problem import error_members
from adjourn.stores.protocol import Halt
from adjourn.views.answer_schemas import (
    DONE,
    AcceptedChanges,
    Done,
    DroppedQuestions,
    ErasureView,
    ForkRef,
    Me,
    RefusedDecision,
    RetriedError,
    RunRef,
)
from adjourn.views.words import Role

# Runs


def _derived_id(c: ApiRequest) -> str | None:
    """With an Idempotency-Key, the new run's id follows from it: the same request again is the same
    run."""
    if not c.request_id:
        return None
    text = hashlib.sha256(f"adjourn/run\0{c.request_id}".encode()).hexdigest()[:20].upper()
    return "-".join(text[k : k + 4] for k in range(0, 20, 4))


async def start_run(c: ApiRequest) -> Any:
    """Start a run of a program that this server has."""
    b = c.body
    program = c.rt.programs.get(b["agent"])
    if program is None:
        known = ", ".join(map(repr, c.rt.programs)) or "none"
        raise NotFound(f"this server has no program {b['agent']!r:.80}", advice=f"it has {known}")
    run = await c.rt.start(
        program,
        b["input"],
        run_id=b.get("run_id") or _derived_id(c),
        session=b.get("session"),
        labels=b.get("labels"),
        by=c.who.name,
        queue=b.get("queue"),
        after=b.get("after", MISSING),
    )
    return RunRef(run_id=run.id)


async def pause_run(c: ApiRequest) -> Any:
    """Pause."""
    run = await c.rt.get(c.path["run"])
    reason, now = c.body.get("reason", ""), c.body.get("now", False)
    await run.pause(by=c.who.name, reason=reason, now=now, request_id=c.request_id)
    return DONE


async def resume_run(c: ApiRequest) -> Any:
    """Resume."""
    run = await c.rt.get(c.path["run"])
    await run.resume(c.body.get("instruction", ""), by=c.who.name, request_id=c.request_id)
    return DONE


async def cancel_run(c: ApiRequest) -> Any:
    """Cancel."""
    run = await c.rt.get(c.path["run"])
    await run.cancel(by=c.who.name, reason=c.body.get("reason", ""), request_id=c.request_id)
    return DONE


async def erase_run(c: ApiRequest) -> Any:
    """Erase."""
    run = await c.rt.get(c.path["run"])
    done = await run.erase(by=c.who.name, reason=c.body["reason"], whole=c.body.get("whole", False))
    return ErasureView(seq=done.seq, scrubbed=done.scrubbed, others=done.others, turns=done.turns)


async def begin_chapter(c: ApiRequest) -> Any:
    """Let a long run continue as new."""
    run = await c.rt.get(c.path["run"])
    return Done(seq=await run.continue_as_new(by=c.who.name, why=c.body.get("reason", "")))


async def accept_run(c: ApiRequest) -> Any:
    """Accept a changed program for one run: the version that was shown."""
    run = await c.rt.get(c.path["run"])
    await _check_person(c, run.id)
    changes = await run.accept(by=c.who.name, digest=c.body["digest"], request_id=c.request_id)
    return AcceptedChanges(accepted=changes)


async def say_to_run(c: ApiRequest) -> Any:
    """Say something to the agent."""
    run = await c.rt.get(c.path["run"])
    abandon = c.body.get("abandon", False)
    dropped = await run.say(c.body["text"], by=c.who.name, abandon=abandon, request_id=c.request_id)
    return DroppedQuestions(dropped=tuple(i.ref for i in dropped))


async def emit_to_run(c: ApiRequest) -> Any:
    """Send an event."""
    run = await c.rt.get(c.path["run"])
    await run.emit(
        c.body["event"],
        c.body.get("value"),
        by=c.who.name,
        request_id=c.request_id,
        decides=c.who.may("decide"),
    )
    return DONE


async def fork_run(c: ApiRequest) -> Any:
    """A new run from a boundary of this one. Whoever keeps people's answers decides."""
    run, new = await c.rt.get(c.path["run"]), _derived_id(c)
    if "input" in c.body:
        changed = {"input": c.body["input"]}
    else:
        changed = {}
    answers = c.body.get("answers", "reopen")
    if answers == "keep" and not c.who.may("decide"):
        raise NotAllowed(
            f"{c.who.name!r} is {c.who.role}: keeping people's answers in a fork needs the right to decide",
            advice="with answers='reopen' they are asked again",
        )
    try:
        made = await run.fork(
            c.body.get("at"),
            instruction=c.body.get("instruction", ""),
            run_id=new,
            by=c.who.name,
            answers=answers,
            **changed,
        )
        return ForkRef(run_id=made.id, at=await _fork_at(c, made.id, run.id))
    except RunExists:
        if new:
            at = await _fork_at(c, new, run.id)
        else:
            at = 0
        if not new or not at:
            raise
        return ForkRef(run_id=new, at=at)


async def _fork_at(c: ApiRequest, new: str, old: str) -> int:
    """After which record of `old` it was cut; 0 if it is no fork of that run."""
    try:
        [(_, first), *_] = await c.rt.store.load(new)
    except UnknownRun:
        return 0
    assert isinstance(first, Started)
    of, at = parse_fork(first.forked_from)
    return at if of == old else 0


# Decisions


async def _decidable(c: ApiRequest) -> Interrupt:
    """The interrupt, if this is somebody who may decide it."""
    found = await c.rt.interrupt(c.path["interrupt"])
    await _check_person(c, found.run_id)
    return found


async def _check_person(c: ApiRequest, run: str) -> None:
    row, state = await c.desk.folds.of(run)
    agents = {row.program, *(t.agent for t in state.threads.values())}
    if c.who.name.startswith("@") or c.who.name in agents:
        raise NotAllowed(
            f"{bare(c.who.name)} is this run or its agent; an agent cannot decide its own requests"
        )


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


async def answer_interrupt(c: ApiRequest) -> Any:
    """Answer a question, or choose."""
    b, found = c.body, await _decidable(c)
    if found.kind == "approval":
        raise Invalid("an approval is approved or denied, not answered")
    if b.get("note"):
        value = Decision.value(b["value"], b.get("note", ""))
    else:
        value = b["value"]
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


async def retry_all(c: ApiRequest) -> Any:
    """Try all open errors again that are like this one, of those that were open when whoever asks
    had looked."""
    b, found = c.body, await _decidable(c)
    for other in await c.rt.alike(found, until=b["until"]):
        await _check_person(c, other.run_id)
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
    refused = None
    if one.refused:
        said = error_members(one.refused)
        refused = RefusedDecision(
            code=said["code"],
            detail=legible(str(one.refused)),
            what=said["what"],
            consequence=said["consequence"],
            advice=said["advice"],
        )
    return RetriedError(
        ref=one.interrupt.ref, run_id=one.interrupt.run_id, seq=one.seq or None, refused=refused
    )


# The kill switch


async def halt(c: ApiRequest) -> Any:
    """Set a halt."""
    on = await c.rt.halt(c.body["scope"], reason=c.body["reason"], by=c.who.name)
    return {"items": on, "after": None}


async def unhalt(c: ApiRequest) -> Any:
    """Lift a halt. Whoever may halt may lift what they or another operator set; what an admin set,
    an admin lifts."""
    for halt in await c.rt.halts():
        if halt.scope == c.body["scope"] and not _may_lift(c, halt):
            raise NotAllowed(
                f"the halt of {halt.scope!r} was set by {halt.by!r}: an admin lifts it",
                consequence="nothing was lifted",
            )
    on = await c.rt.unhalt(c.body["scope"], by=c.who.name, reason=c.body["reason"])
    return {"items": on, "after": None}


def _may_lift(c: ApiRequest, halt: Halt) -> bool:
    """Somebody of whom nothing is known here (the command line, a program) counts as an admin."""
    setter = c.desk.guard.users.get(halt.by)
    own = person(halt.by) == person(c.who.name)
    return c.who.may("admin") or own or (setter is not None and setter.role == "operator")


# Legal holds


async def hold(c: ApiRequest) -> Any:
    """Set a legal hold."""
    on = await c.rt.hold(c.body["scope"], reason=c.body["reason"], by=c.who.name)
    return {"items": on, "after": None}


async def lift_hold(c: ApiRequest) -> Any:
    """Lift a legal hold."""
    on = await c.rt.hold(c.body["scope"], reason=c.body["reason"], by=c.who.name, lift=True)
    return {"items": on, "after": None}


# Sessions


def me(who: Identity, now: float) -> Me:
    """Whoever was recognised."""
    role = cast("Role", who.role)
    return Me(name=who.name, role=role, groups=who.groups, csrf=who.csrf, link=who.local, now=now)


async def log_in(c: ApiRequest) -> Any:
    """A key becomes a browser's session; so does the token of this start's link, and nothing else
    that a link carries."""
    guard = c.desk.guard
    if "token" in c.body:
        cookie, who = guard.login_by_link(c.request, c.body["token"])
    else:
        cookie, who = guard.login(c.request, c.body["key"])
    c.desk.security.happened("login", by=who.name, address=guard.address(c.request))
    return answered(
        me(who, c.rt.store.now()),
        {"Set-Cookie": set_cookie(guard, cookie, c.request.headers["host"])},
    )


async def log_out(c: ApiRequest) -> Response:
    """End a browser's session."""
    guard = c.desk.guard
    if who := guard.logout(c.request):
        c.desk.security.happened("logout", by=who, address=guard.address(c.request))
    return answered(DONE, {"Set-Cookie": set_cookie(c.desk.guard, "", c.request.headers["host"])})
