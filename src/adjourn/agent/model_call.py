"""A model call of an agent's conversation, and one for a summary of it: what is sent, and the fact
that ends it."""

import asyncio
import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import msgspec

from adjourn.agent.tool import drawn_for
from adjourn.agent.toolset import find_tools, with_findings
from adjourn.bodies.runner import retry_at
from adjourn.core.codec import encode, legible, plain, text_of
from adjourn.core.messages import (
    ModelRequest,
    Reply,
    ReplyPart,
    Text,
    TextDelta,
    Thinking,
    ToolCall,
)
from adjourn.core.plan import Step
from adjourn.core.records import Fact, Faulted, Replied, Summarised
from adjourn.core.request_digest import UNRECORDED, Terms, difference, recorded, request_digest
from adjourn.core.summary import question
from adjourn.driver.program import StepHandle
from adjourn.errors import LeaseLost, ModelError, NotJSON, StoreError
from adjourn.models.model import Model

if TYPE_CHECKING:
    from adjourn.agent.agent import Agent

log = logging.getLogger("adjourn.agent")
PRIVATE = ("extra_headers", "extra_body")
"""Settings that may hold a password."""


async def reply(agent: "Agent[Any]", step: Step, desk: StepHandle) -> Fact:
    """The model's next reply, or that it failed."""
    started = desk.now()
    thread = desk.state.threads[step.path]
    try:
        found = await find_tools(agent, desk, step.path)
        terms = agent.terms(agent.instructions_for(desk), found)
        request = ModelRequest(
            _prepared(agent, terms, step, desk),
            terms.instructions,
            (*agent.specs, *(tool.spec for tool in found.values())),
            agent.settings,
            thread.requests,
            run=desk.run_id,
            path=step.path,
            session=desk.state.started.session,
        )
        answer = with_findings(
            recordable(await _stream(agent.model, request, desk, step.path)), found
        )
    except (asyncio.CancelledError, LeaseLost, StoreError):
        raise
    except Exception as e:
        desk.failed(e)
        return _fault(step, e, desk.now())
    final, output, invalid = agent.output.take(answer)
    spoken = final and output == answer.text  # the words stand in the parts already
    drawn = await drawn_for({**agent.tools, **found}, answer)
    return Replied(
        drawn=drawn,
        path=step.path,
        upto=desk.upto,
        heard=desk.heard,
        parts=answer.parts,
        usage=answer.usage,
        model=answer.model,
        details=answer.details,
        output=None if spoken or not final else output,
        final=final,
        spoken=spoken,
        invalid=invalid,
        took=round(desk.now() - started, 4),
        request=desk.outgoing.digest,
        sent=desk.outgoing.sent,
    )


def _prepared(agent: "Agent[Any]", terms: Terms, step: Step, desk: StepHandle) -> Any:
    """The messages to send. The desk keeps what a record will say of them, also if the call is cut
    off."""
    thread, whole, outgoing = desk.state.threads[step.path], desk.request, desk.outgoing
    if agent.history:
        messages = agent.history.processed(whole, outgoing.instruction, thread)
    else:
        messages = whole
    if messages is whole or messages == whole:
        items = None
        outgoing.digest = outgoing.running.digest(thread.transcript, whole, terms)
    else:
        items = difference(thread.known(whole), messages)
        outgoing.digest = request_digest(messages, terms)
    outgoing.sent = recorded(thread.terms, terms, desk.state.bodies, items)
    return messages


async def summary(agent: "Agent[Any]", step: Step, desk: StepHandle) -> Fact:
    """A summary of the beginning of the conversation, or that it failed."""
    started = desk.now()
    thread, by = desk.state.threads[step.path], agent.history.summarise
    assert by is not None
    model, covers = by.model or agent.model, by.covers(thread)
    asked, terms = question(thread, covers), Terms(by.instructions, model.name)
    outgoing = desk.outgoing
    outgoing.digest, outgoing.sent = (
        request_digest([asked], terms),
        recorded({}, terms, desk.state.bodies, None),
    )
    try:
        request = ModelRequest(
            (asked,),
            by.instructions,
            index=thread.summaries,
            run=desk.run_id,
            path=step.path,
            session=desk.state.started.session,
        )
        answer = await _stream(model, request, desk)
        text = legible(answer.text).strip()
        if not text:
            raise ModelError(f"{model.name} gave no summary")
    except (asyncio.CancelledError, LeaseLost, StoreError):
        raise
    except Exception as e:
        desk.failed(e)
        return _fault(step, e, desk.now())
    return Summarised(
        path=step.path,
        covers=covers,
        text=text,
        usage=answer.usage,
        model=answer.model,
        took=round(desk.now() - started, 4),
        request=outgoing.digest,
        sent=outgoing.sent,
    )


async def _stream(
    model: Model, request: ModelRequest, desk: StepHandle, path: str | None = None
) -> Reply:
    """The whole reply; its pieces are published as that agent's, if `path` says whose."""
    found: Reply | None = None
    stream = model.request(request)
    try:
        async for item in stream:
            if isinstance(item, Reply):
                found = item
            elif path is not None:
                desk.publish(
                    legible(item.text), path=path, thinking=not isinstance(item, TextDelta)
                )
    finally:
        close = getattr(stream, "aclose", None)
        if close is not None:
            await close()
    if found is None:
        raise ModelError(f"{model.name} ended without a reply")
    return found


def recorded_settings(settings: dict[str, Any] | None) -> dict[str, Any] | None:
    """An agent's settings as a journal may hold them: without what may be a password, and without
    what is no JSON."""
    if settings is None:
        return None
    found: dict[str, Any] = {}
    for name, value in settings.items():
        try:
            found[name] = UNRECORDED if name in PRIVATE else plain(value, name)
        except NotJSON:
            found[name] = UNRECORDED
    return found


def recordable(reply: Reply) -> Reply:
    """A model's reply as JSON can hold it: arguments that are no JSON stay as text, which no tool
    accepts.

    Raises `NotJSON` for details that cannot be recorded.
    """
    if reply.details:
        details = plain(reply.details, "details")
    else:
        details = None
    return msgspec.structs.replace(
        reply, parts=_once(map(_recordable, reply.parts)), details=details
    )


def _once(parts: Iterable[ReplyPart]) -> tuple[ReplyPart, ...]:
    """Without the calls that a provider sent twice: the same id, the same tool, the same
    arguments."""
    kept: list[ReplyPart] = []
    seen: set[tuple[str, str, bytes]] = set()
    for part in parts:
        if isinstance(part, ToolCall) and part.id:
            key = (part.id, part.tool, encode(part.args))
            if key in seen:
                log.warning(
                    "a reply has the call %r of %s twice, with the same arguments: it is one call",
                    part.id,
                    part.tool,
                )
                continue
            seen.add(key)
        kept.append(part)
    return tuple(kept)


def _recordable(part: ReplyPart) -> ReplyPart:
    if part.details:
        details = plain(part.details, "details")
    else:
        details = None
    if isinstance(part, Text | Thinking):
        return msgspec.structs.replace(part, text=legible(part.text), details=details)
    if not isinstance(part, ToolCall):
        return msgspec.structs.replace(part, details=details)
    try:
        args = plain(part.args, "arguments")
    except NotJSON:
        args = repr(part.args)
    return msgspec.structs.replace(
        part, id=legible(part.id), tool=legible(part.tool), args=args, details=details
    )


def _fault(step: Step, error: Exception, now: float) -> Faulted:
    if isinstance(error, ModelError):
        transient = error.transient
    else:
        transient = isinstance(error, TimeoutError | ConnectionError)
    if isinstance(error, ModelError):
        after = error.retry_after
    else:
        after = None
    if isinstance(error, ModelError):
        kind = error.kind
    else:
        kind = type(error).__name__
    text = text_of(error) or type(error).__name__
    return Faulted(
        step=step.id,
        error=text,
        kind=kind,
        transient=transient,
        retry_at=retry_at(now, step.attempt, after) if transient else 0.0,
    )
