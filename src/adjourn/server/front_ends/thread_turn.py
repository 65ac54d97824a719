"""A turn of a thread: the run that a front end's request starts, continues or watches. A thread is a
session; the same request again is the same run, and the same answers are given once."""

import hashlib
from collections.abc import Sequence
from typing import Any, NamedTuple

from adjourn.core.client_tool import called_of
from adjourn.core.interrupt import Interrupt
from adjourn.core.records import Closed, Decided, Started
from adjourn.core.status import ENDED
from adjourn.errors import (
    AlreadyDecided,
    Conflict,
    InterruptClosed,
    Invalid,
    Refused,
    StaleDecision,
    UnknownInterrupt,
    UnknownRun,
)
from adjourn.runtime.checked_answers import answered
from adjourn.runtime.run_again import known_program
from adjourn.server.api.conflict import conflict
from adjourn.server.api.decider import check_decider
from adjourn.server.api.startable import startable
from adjourn.server.api_request import ApiRequest
from adjourn.server.front_ends.interrupt_answer import GivenAnswer, read_token
from adjourn.server.front_ends.run_feed import for_people
from adjourn.server.front_ends.shown_event import Shown, ShownMessage, ShownMessages
from adjourn.server.front_ends.translator import RunTranslator
from adjourn.server.rights import RunPlace
from adjourn.server.run_access import has_right_on, place_of, refusal, visible_interrupt
from adjourn.stores.protocol import Filter

MOST_TURNS = 200
"""Earlier turns of a thread that somebody who has none of them is shown."""


class ThreadTurn(NamedTuple):
    """The run of a turn, and after which of its records a front end wants to see it. `is_new`: this
    request has started it; `answered`: the tokens of what this request answers and is no approval."""

    run: str
    after: int = 0
    is_new: bool = False
    answered: tuple[str, ...] = ()


class AskedAnswer(NamedTuple):
    """An answer beside the interrupt that it is about."""

    interrupt: Interrupt
    given: GivenAnswer
    is_open: bool


def turn_run_id(agent: str, thread: str, turn: str) -> str:
    """The id of the run of a turn: the same request again is the same run."""
    text = "\0".join(["adjourn/front-end", agent, thread, turn])
    made = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:20].upper()
    return "-".join(made[k : k + 4] for k in range(0, 20, 4))


async def started_turn(
    c: ApiRequest, thread: str, turn: str, said: Any, tools: Sequence[dict[str, Any]] = ()
) -> ThreadTurn:
    """Start the run of a turn, or find it if the same request came before. Raises `Refused` while the
    thread's last run has not ended, `RunExists` if the turn began with other words.

    Args:
        c: the request; its path names the agent.
        thread: the thread.
        turn: the turn's own id.
        said: what the person says.
        tools: those that the front end carries out.
    """
    agent = c.path["agent"]
    labels = await startable(c, RunPlace(agent, thread, {}))
    program, run = known_program(c.rt.programs, agent), turn_run_id(agent, thread, turn)
    is_new = await c.rt.row(run) is None
    if not is_new and not await has_right_on(c.app, c.who, "read", run):
        raise UnknownRun(run)
    try:
        await c.rt.start(
            program,
            said,
            run_id=run,
            session=thread,
            labels=labels,
            by=c.who.name,
            client_tools=tools,
        )
    except Refused as e:
        advice = (
            "answer its open interrupts, or wait until it has ended; then send the message again"
        )
        raise Refused(e.run_id, "continue", e.run_status, advice=advice) from None
    return ThreadTurn(run, 0, is_new)


async def last_turn(c: ApiRequest, thread: str) -> ThreadTurn:
    """The last run of a thread that the caller may see, as it stands now. Raises `UnknownRun`."""
    found = await c.rt.store.runs(Filter(session=thread, program=c.path["agent"], limit=1))
    for row in found:
        if c.who.may_everywhere("read") or c.who.may_on("read", place_of(row)):
            return ThreadTurn(row.id, row.seq)
    raise UnknownRun(thread)


async def earlier_turns(c: ApiRequest, run: str) -> list[str]:
    """The runs of the turns before this one, the first one first, as far as the caller may see
    them."""
    found: list[str] = []
    while len(found) < MOST_TURNS:
        [(_, first), *_] = await c.rt.store.load(run)
        before = first.after if isinstance(first, Started) else None
        if before is None or not await has_right_on(c.app, c.who, "read", before.run):
            break
        found.append(before.run)
        run = before.run
    return found[::-1]


async def answered_turn(
    c: ApiRequest, thread: str, answers: Sequence[GivenAnswer], *, whole: bool
) -> ThreadTurn:
    """Decide what the thread's run waits for, as the API does, and find where that continues it.

    Everything is checked before anything is decided. The same answers again, by the same person,
    decide nothing twice.

    Args:
        c: the request; its path names the agent.
        thread: the thread.
        answers: what was answered; each must be about the same run of this thread.
        whole: whether all that the run waits for must be answered, and nothing that others have
            answered otherwise. Else what is closed is left out: it is history.
    """
    asked = [await _asked(c, thread, given) for given in answers]
    told = tuple(one.given.token for one in asked if one.interrupt.kind != "approval")
    runs = {one.interrupt.run_id for one in asked}
    if len(runs) != 1:
        raise Invalid(
            "these answers are about several runs",
            consequence="nothing was decided",
            advice="send the answers of one run at a time",
        )
    [run] = runs
    if not whole:
        closed = [one.interrupt.local for one in asked if not one.is_open]
        asked = [one for one in asked if one.is_open]
        if not asked:
            return ThreadTurn(run, await closed_after(c, run, closed), answered=told)
    if (refused := await refusal(c.app, c.who, "decide", run)) is not None:
        raise refused
    await check_decider(c, run)
    if whole:
        await _check_whole(c, run, asked)
    for one in asked:
        await answered(one.interrupt, one.given.decision(one.interrupt), by=c.who.name)
    # what is closed comes first: if others have decided it otherwise, nothing here is decided
    seqs = [await _decided(c, one) for one in sorted(asked, key=lambda one: one.is_open)]
    return ThreadTurn(run, min(seqs) - 1, answered=told)


async def closed_after(c: ApiRequest, run: str, closed: Sequence[str]) -> int:
    """The last record before the first of these interrupts was closed."""
    for seq, record in await c.rt.store.load(run):
        if isinstance(record, Decided | Closed) and record.i in closed:
            return seq - 1
    return 0


async def _asked(c: ApiRequest, thread: str, given: GivenAnswer) -> AskedAnswer:
    """The interrupt that an answer is about, in our store; nothing else counts."""
    ref, digest = read_token(given.token)
    found = await visible_interrupt(c.app, c.who, ref)
    place = await c.app.place_of(found.run_id)
    if (place.program, place.session) != (c.path["agent"], thread):
        raise UnknownInterrupt(ref, ())
    _, state = await c.app.folds.of(found.run_id)
    is_open = found.local in state.open
    if is_open and found.digest != digest:
        raise await conflict(
            c.rt.store, found, digest, StaleDecision(found.id, digest, found.digest)
        )
    return AskedAnswer(found, given, is_open)


async def _check_whole(c: ApiRequest, run: str, asked: Sequence[AskedAnswer]) -> None:
    _, state = await c.app.folds.of(run)
    named = {one.interrupt.ref for one in asked}
    asked_now = [i for i in for_people(state, c.rt.store.now()) if not called_of(i)]
    left = [i.ref for i in asked_now if i.ref not in named]
    if left and any(one.is_open for one in asked):
        raise Invalid(
            f"the run also waits for {', '.join(map(repr, left))}",
            consequence="nothing was decided",
            advice="answer or cancel all its open interrupts in one request",
        )


async def _decided(c: ApiRequest, one: AskedAnswer) -> int:
    _, digest = read_token(one.given.token)
    value: Any = one.given.decision(one.interrupt)
    try:
        return await c.rt.answer(
            one.interrupt,
            value,
            by=c.who.name,
            digest=digest,
            groups=c.who.groups,
            request_id=await one.given.request_id(c.who.name, one.interrupt),
        )
    except Conflict as e:
        if isinstance(e, AlreadyDecided | InterruptClosed | StaleDecision):
            raise await conflict(c.rt.store, one.interrupt, digest, e) from None
        raise


async def is_over(c: ApiRequest, run: str) -> bool:
    """Whether a run has ended."""
    return (await c.rt.store.get(run)).status in ENDED


async def told_before(c: ApiRequest, turn: ThreadTurn, translator: RunTranslator) -> list[Shown]:
    """What was shown of a turn's run before the place from which a front end wants to see it."""
    found: list[Shown] = []
    for seq, record in await c.rt.store.load(turn.run):
        if seq > turn.after:
            break
        found += translator.record(seq, record)
    translator.usage = {}
    return found


async def messages_of(c: ApiRequest, run: str) -> list[ShownMessage]:
    """The messages of a run, as far as it has come."""
    messages, translator = ShownMessages(), RunTranslator(run)
    for seq, record in await c.rt.store.load(run):
        for event in translator.record(seq, record):
            messages.add(event)
    return list(messages)
