"""The AI SDK's addresses: a chat, its stream, and its messages."""

import logging
from collections.abc import AsyncIterator
from typing import Any

from starlette.responses import Response

from adjourn.errors import AdjournError, UnknownRun
from adjourn.server.api.event_stream import event_stream
from adjourn.server.api_request import MAX_BODY, ApiRequest, operation
from adjourn.server.front_ends.ai_sdk import DONE, HEADERS, AiSdkStream, chunk_frame, ui_messages
from adjourn.server.front_ends.ai_sdk_input import CHAT, ChatInput
from adjourn.server.front_ends.run_feed import run_feed
from adjourn.server.front_ends.shown_event import RunRested
from adjourn.server.front_ends.thread_turn import (
    ThreadTurn,
    answered_turn,
    earlier_turns,
    is_over,
    last_turn,
    messages_of,
    started_turn,
    told_before,
)
from adjourn.server.front_ends.translator import RunTranslator
from adjourn.server.run_access import has_right_on
from adjourn.server.schemas import EVENT, OBJECTS, answer
from adjourn.server.sse import EventStream

log = logging.getLogger("adjourn.server")


@operation(
    "POST /ai-sdk/{agent}",
    "read",
    EVENT,
    body=CHAT,
    size=MAX_BODY,
    problems=(404, 409, 423),
    stream=True,
    reaches="some",
)
async def chat(c: ApiRequest) -> Any:
    """Run an agent, by the AI SDK's message stream.

    Start the run of a turn, or answer what it waits for; and show it.
    """
    given = ChatInput.of(c.body)
    if given.answers:
        turn = await answered_turn(c, given.chat, given.answers, whole=False)
    else:
        turn = await started_turn(c, given.chat, given.turn, given.said())
    return _response(c, turn)


@operation(
    "GET /ai-sdk/{agent}/{chat}/stream", "read", EVENT, also=(204,), stream=True, reaches="some"
)
async def watch_chat(c: ApiRequest) -> Any:
    """Show the turn that a chat is in again.

    From its beginning; nothing, if it is in none.
    """
    try:
        turn = await last_turn(c, c.path["chat"])
    except UnknownRun:
        return Response(status_code=204)
    if await is_over(c, turn.run):
        return Response(status_code=204)
    return _response(c, turn._replace(after=0))


@operation("GET /ai-sdk/{agent}/{chat}", "read", answer(messages=OBJECTS), reaches="some")
async def get_chat(c: ApiRequest) -> Any:
    """The messages of a chat, as the AI SDK keeps them.

    Of a turn that has not ended, what it began with: its stream has the rest.
    """
    try:
        turn = await last_turn(c, c.path["chat"])
    except UnknownRun:
        return {"messages": []}
    found: list[Any] = []
    for run in await earlier_turns(c, turn.run):
        found += ui_messages(run, await messages_of(c, run))
    shown = ui_messages(turn.run, await messages_of(c, turn.run))
    if not await is_over(c, turn.run):
        shown = shown[:1]
    return {"messages": [*found, *shown]}


def _response(c: ApiRequest, turn: ThreadTurn) -> EventStream:
    response = event_stream(c, _chunks(c, turn))
    response.headers.update(HEADERS)
    return response


async def _chunks(c: ApiRequest, turn: ThreadTurn) -> AsyncIterator[bytes]:
    """The stream. It watches the run and does nothing to it: who goes away ends nothing."""
    stream, translator = AiSdkStream(turn.run), RunTranslator(turn.run)
    decidable = await has_right_on(c.app, c.who, "decide", turn.run)
    try:
        await told_before(c, turn, translator)
        for chunk in stream.begin(turn.answered):
            yield chunk_frame(chunk)
        async for event in run_feed(c.rt, c.app.tapes, translator, turn.run):
            if isinstance(event, RunRested):
                chunks = stream.end(event, decidable=decidable)
            else:
                chunks = stream.event(event)
            for chunk in chunks:
                yield chunk_frame(chunk)
    except AdjournError as e:
        log.warning("the stream of a front end ended early: %s", e)
        for chunk in stream.failed(str(e)):
            yield chunk_frame(chunk)
    yield DONE
