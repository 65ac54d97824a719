"""The addresses of AG-UI: running an agent, and connecting again."""

import logging
from collections.abc import AsyncIterator
from typing import Any

from adjourn.core.ids import split_ref
from adjourn.errors import AdjournError
from adjourn.server.api.event_stream import event_stream, last_seen
from adjourn.server.api_request import MAX_BODY, ApiRequest, operation
from adjourn.server.front_ends.ag_ui import AgUiPlace, AgUiStream, frame, message_of
from adjourn.server.front_ends.ag_ui_input import CONNECT, RUN_AGENT_INPUT, AgUiInput
from adjourn.server.front_ends.client_calls import ReturnedCall, offered_tools, returned_turn
from adjourn.server.front_ends.run_feed import run_feed
from adjourn.server.front_ends.shown_event import PositionReached, RunRested
from adjourn.server.front_ends.thread_turn import (
    ThreadTurn,
    answered_turn,
    earlier_turns,
    last_turn,
    messages_of,
    started_turn,
    told_before,
    turn_run_id,
)
from adjourn.server.front_ends.translator import RunTranslator, is_of_run
from adjourn.server.run_access import has_right_on
from adjourn.server.schemas import EVENT

log = logging.getLogger("adjourn.server")


@operation(
    "POST /ag-ui/{agent}",
    "read",
    EVENT,
    body=RUN_AGENT_INPUT,
    size=MAX_BODY,
    problems=(404, 409, 423),
    stream=True,
    reaches="some",
)
async def run_agent(c: ApiRequest) -> Any:
    """Run an agent, by AG-UI.

    Start the run of a turn, answer what it waits for, or give it what came of calls; and show it.
    """
    given = AgUiInput.of(c.body)
    turn: ThreadTurn | None = None
    if returned := [ReturnedCall(*one) for one in given.returned()]:
        turn = await returned_turn(c, given.thread, returned)
    if given.answers:
        turn = await answered_turn(c, given.thread, given.answers, whole=True)
    elif turn is None:
        tools = offered_tools(given.tools)
        turn = await started_turn(c, given.thread, given.run_id, given.said(), tools)
    return event_stream(c, _ag_ui(c, given, turn, wait=False))


@operation(
    "POST /ag-ui/{agent}/connect",
    "read",
    EVENT,
    body=RUN_AGENT_INPUT,
    size=MAX_BODY,
    query=CONNECT,
    problems=(404,),
    stream=True,
    reaches="some",
)
async def connect_agent(c: ApiRequest) -> Any:
    """Show the run of a thread again, by AG-UI.

    From where a front end was. It starts nothing.
    """
    given = AgUiInput.of(c.body)
    turn = await last_turn(c, given.thread)
    wanted = turn_run_id(c.path["agent"], given.thread, given.run_id)
    if wanted != turn.run and await has_right_on(c.app, c.who, "read", wanted):
        row = await c.rt.row(wanted)
        if row is not None:
            turn = ThreadTurn(row.id, row.seq)
    if (after := last_seen(c)) is not None:
        turn = turn._replace(after=min(after, turn.after))
    return event_stream(c, _ag_ui(c, given, turn, wait=c.query.get("wait", False)))


async def _ag_ui(
    c: ApiRequest, given: AgUiInput, turn: ThreadTurn, *, wait: bool
) -> AsyncIterator[bytes]:
    """The stream. It watches the run and does nothing to it: who goes away ends nothing."""
    stream = AgUiStream(await _place(c, given, turn))
    translator = RunTranslator(turn.run)
    decidable = await has_right_on(c.app, c.who, "decide", turn.run)
    try:
        for event in await told_before(c, turn, translator):
            stream.told(event)
        for wire in stream.begin(restate=not turn.is_new):
            yield frame(wire)
        async for event in run_feed(c.rt, c.app.tapes, translator, turn.run, wait=wait):
            if isinstance(event, RunRested):
                for wire in stream.end(event, decidable=decidable):
                    yield frame(wire, event.seq)
            elif isinstance(event, PositionReached):
                stream.told(event)
                yield b"id: %d\n\n" % event.seq
            else:
                for wire in stream.event(event):
                    yield frame(wire)
    except AdjournError as e:
        log.warning("the stream of a front end ended early: %s", e)
        for wire in stream.failed(str(e), e.code):
            yield frame(wire)


async def _place(c: ApiRequest, given: AgUiInput, turn: ThreadTurn) -> AgUiPlace:
    """What a snapshot repeats: the front end's own messages, or what was said before, if it has
    none."""
    place = AgUiPlace(given.thread, given.run_id, turn.run, state=given.state)
    if given.messages:
        before = [m for m in given.messages if not _is_told_here(m, turn.run)]
        said = any(message["role"] == "user" for message in before)
        return place._replace(before=tuple(before), has_input=said)
    found: list[Any] = []
    for run in await earlier_turns(c, turn.run):
        found += [message_of(message) for message in await messages_of(c, run)]
    return place._replace(before=tuple(found))


def _is_told_here(message: dict[str, Any], run: str) -> bool:
    """Whether a message of the front end is one of the run, or the result of a call of the run, which
    stands behind that call."""
    if is_of_run(str(message["id"]), run):
        return True
    ref = split_ref(str(message.get("toolCallId", "")))
    return message["role"] == "tool" and ref is not None and ref[0] == run
