"""What a front end sees of a run as it happens: until the run ends, or waits for people."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing, suppress
from typing import Any

from adjourn.core.interrupt import Interrupt
from adjourn.core.interrupt_kind import NOT_FOR_PEOPLE
from adjourn.core.state import State
from adjourn.core.status import ENDED, Status
from adjourn.driver.watch import Event, Recorded, ToolCallApprovalRequired
from adjourn.runtime.runtime import Runtime
from adjourn.server.front_ends.shown_event import RunRested, Shown
from adjourn.server.front_ends.translator import RunTranslator
from adjourn.server.record_stream import Tapes


def for_people(state: State, now: float) -> tuple[Interrupt, ...]:
    """What a run waits for that a person can answer now."""
    found: list[Interrupt] = []
    for interrupt in state.interrupts:
        expired = interrupt.expires_at is not None and interrupt.expires_at <= now
        if interrupt.kind not in NOT_FOR_PEOPLE and not expired:
            found.append(interrupt)
    return tuple(found)


async def run_feed(
    rt: Runtime, tapes: Tapes, translator: RunTranslator, run: str, *, wait: bool = False
) -> AsyncGenerator[Shown | RunRested]:
    """What follows what the translator was told, and at last that the run rests.

    A run that a person has paused, or that only a timer or an event continues, does not rest here:
    it goes on by itself. With `wait`, neither does one that waits for people: the stream ends when
    something was decided and the run rests again, or ends.
    """
    after = translator.seq
    waits_at = after if wait else -1
    with tapes.of(rt.store, run, after) as tape:
        events = rt.watch(run, after, load=tape.load)
        async with aclosing(_merged(rt, events, run, after)) as merged:
            async for event in merged:
                if not isinstance(event, State):
                    for shown in _shown(translator, event):
                        yield shown
                elif rested := _rested(rt, event, translator, waits_at):
                    yield rested
                    return


def _shown(translator: RunTranslator, event: Event) -> Iterator[Shown]:
    if isinstance(event, Recorded):
        return translator.record(event.seq, event.record)
    if isinstance(event, ToolCallApprovalRequired):  # its record was told
        return iter(())
    return translator.live(event)


def _rested(
    rt: Runtime, state: State, translator: RunTranslator, waits_at: int
) -> RunRested | None:
    interrupts: tuple[Interrupt, ...] = ()
    output = None
    if state.status in ENDED:
        output = getattr(state.ended, "output", None)
    elif state.status == Status.PAUSED or state.seq <= waits_at:
        return None
    else:
        interrupts = for_people(state, rt.store.now())
        if not interrupts:
            return None
    return RunRested(state.view, state.seq, output, interrupts, translator.usage)


async def _merged(
    rt: Runtime, events: AsyncIterator[Event], run: str, position: int
) -> AsyncGenerator[Event | State]:
    """The events of a run; and its state whenever it rests, once all events up to there were
    given."""
    resting: State | None = None
    step = asyncio.ensure_future(anext(events, None))
    rest: asyncio.Future[Any] | None = asyncio.ensure_future(rt.worker.rest(run))
    try:
        while True:
            if resting is not None and resting.seq == position:
                yield resting
                resting = None
            awaited: set[asyncio.Future[Any]] = {step} if rest is None else {step, rest}
            await asyncio.wait(awaited, return_when=asyncio.FIRST_COMPLETED)
            if rest is not None and rest.done():
                (resting, _), rest = rest.result(), None
            if not step.done():
                continue
            event = step.result()
            if event is None:  # the run has ended
                yield resting or (await rt.worker.rest(run))[0]
                return
            if isinstance(event, Recorded):
                position = event.seq
            if rest is None and (resting is None or resting.seq < position):
                resting, rest = None, asyncio.ensure_future(rt.worker.rest(run))
            yield event
            step = asyncio.ensure_future(anext(events, None))
    finally:
        for task in (step, rest):
            if task is not None:
                task.cancel()
                with suppress(asyncio.CancelledError, Exception):
                    await task
        await events.aclose()  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
