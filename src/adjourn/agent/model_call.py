"""A model call of an agent's conversation, and one for a summary of it: what is sent, and the fact
that ends it."""

import asyncio
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

import msgspec

from adjourn.agent.tool import Tool, drawn_for
from adjourn.agent.toolset import find_tools, with_findings
from adjourn.bodies.retries import retry_at
from adjourn.core.codec import legible, plain, text_of
from adjourn.core.files import FILE, described
from adjourn.core.messages import ModelRequest, Reply, TextDelta, files_in, is_only_named
from adjourn.core.plan import Step
from adjourn.core.record_parts import Sent
from adjourn.core.records import Fact, Faulted, Replied, Summarised
from adjourn.core.request_digest import UNRECORDED, Terms, difference, recorded, request_digest
from adjourn.core.stop_conditions import limits_cost
from adjourn.core.summary import question
from adjourn.core.transcript import Messages
from adjourn.driver.program import StepHandle
from adjourn.errors import LeaseLost, ModelError, NotJSON, StoreError
from adjourn.models.model import Model, ModelChain

if TYPE_CHECKING:
    from adjourn.agent.agent import Agent
    from adjourn.driver.located_run import LocatedRun

TO_THE_DRIVER = (asyncio.CancelledError, KeyboardInterrupt, LeaseLost, StoreError)
"""What is no failure of the model, nor of a function that is called on the way to it."""
PERHAPS_PAID = ("timeout", "connection", "unrecordable")
"""Kinds of failures after which the provider may have answered, and been paid."""
PRIVATE = ("extra_headers", "extra_body")
"""Settings that may hold a password."""


async def reply(agent: "Agent[Any]", step: Step, desk: StepHandle) -> Fact:
    """The model's next reply, or that it failed."""
    started = desk.now()
    model = agent.chain.model(step.attempt)
    try:
        found = await find_tools(agent, desk, step.path)
        request = await with_files(model, request_of(agent, found, step, desk, model.name), desk)
        answer = kept(agent, found, await _stream(model, request, desk, step.path))
        return await replied(agent, step, answer, found, OwnRequest.of(desk, started))
    except TO_THE_DRIVER:
        raise
    except BaseException as e:
        desk.failed(e)
        return chain_fault(agent.chain, step, e, desk)


class OwnRequest(msgspec.Struct, frozen=True):
    """What a record says of the request that a reply answers, and how long that took."""

    upto: int
    heard: tuple[str, ...]
    digest: str
    sent: Sent | None
    place: "LocatedRun"
    took: float

    @classmethod
    def of(cls, desk: StepHandle, began: float) -> "OwnRequest":
        """The one that this step has sent."""
        outgoing, took = desk.outgoing, desk.now() - began
        return cls(desk.upto, desk.heard, outgoing.digest, outgoing.sent, desk.place, took)


def request_of(
    agent: "Agent[Any]", found: Mapping[str, Tool], step: Step, desk: StepHandle, model: str
) -> ModelRequest:
    """What the model is asked next. The desk keeps what a record will say of it."""
    terms = agent.terms(agent.instructions_for(desk), found, model)
    return ModelRequest(
        _prepared(agent, terms, step, desk),
        terms.instructions,
        (*agent.specs, *(tool.spec for tool in found.values())),
        agent.settings,
        desk.state.threads[step.path].index,
        run=desk.run_id,
        path=step.path,
        session=desk.state.started.session,
    )


def kept(agent: "Agent[Any]", found: Mapping[str, Tool], answer: Reply) -> Reply:
    """A reply as it is recorded: with the tools that were found for it, and with secrets sealed."""
    answer = with_findings(answer, found)
    tools = agent.tools
    if found:
        tools = {**tools, **found}
    if any(tool.secrets for tool in tools.values()):
        from adjourn.agent.sealed_reply import sealed_reply

        return sealed_reply(tools, answer)
    return answer


async def replied(
    agent: "Agent[Any]", step: Step, answer: Reply, found: Mapping[str, Tool], asked: OwnRequest
) -> Replied:
    """The record of a whole reply to what was `asked`."""
    if limits_cost(agent.stop):
        from adjourn.agent.cost_limits import warn_of_no_cost

        warn_of_no_cost(agent, asked.place, answer)
    final, output, invalid = agent.output.take(answer)
    spoken = final and output == answer.text  # the words stand in the parts already
    drawn = await drawn_for({**agent.tools, **found}, answer)
    return Replied(
        drawn=drawn,
        path=step.path,
        upto=asked.upto,
        heard=asked.heard,
        parts=answer.parts,
        usage=answer.usage,
        model=answer.model,
        details=answer.details,
        output=None if spoken or not final else output,
        final=final,
        spoken=spoken,
        invalid=invalid,
        took=round(asked.took, 4),
        request=asked.digest,
        sent=asked.sent,
    )


async def with_files(model: Model, request: ModelRequest, desk: StepHandle) -> ModelRequest:
    """The request with the bytes of the files in its messages. Raises `ModelError` for a model that
    would send something else in their place."""
    messages = request.messages
    if isinstance(messages, Messages) and not messages.may_have_files():
        return request
    wanted = {ref[FILE]: ref for ref in files_in(messages)}
    if not wanted:
        return request
    found = await desk.files(wanted.keys())
    if not getattr(model, "takes_files", False):
        for digest, ref in wanted.items():
            if digest in found or not is_only_named(ref, messages):
                raise ModelError(
                    f"{model.name} does not take files, and the conversation has {described(ref)}; "
                    "nothing was sent. A model that sends files says so with takes_files = True",
                    kind="unsupported_file",
                )
    return msgspec.structs.replace(request, files=found)


def _prepared(agent: "Agent[Any]", terms: Terms, step: Step, desk: StepHandle) -> Any:
    """The messages to send. The desk keeps what a record will say of them, also if the call is cut
    off."""
    thread, whole, outgoing = desk.state.threads[step.path], desk.request, desk.outgoing
    if agent.history:
        messages = agent.history.processed(whole, outgoing.instruction(), thread)
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
    chain, covers = agent.summary_chain, by.covers(thread)
    model = chain.model(step.attempt)
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
    except TO_THE_DRIVER:
        raise
    except BaseException as e:
        desk.failed(e)
        return chain_fault(chain, step, e, desk)
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
    """The whole reply, fit for a record; its pieces are published as that agent's, if `path` says whose."""
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
    return _recordable()(found, model.name)


@cache
def _recordable() -> Callable[[Reply, str], Reply]:
    """Only whoever asks models needs it; and it is imported once, not in every turn."""
    from adjourn.agent.recordable_reply import recordable

    return recordable


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


def chain_fault(chain: ModelChain, step: Step, error: BaseException, desk: StepHandle) -> Faulted:
    """The record of an attempt that failed. It says who is asked next, and whether the one that
    failed may have answered."""
    text = text_of(error) or type(error).__name__
    transient, after, kind = _nature(error)
    following = chain.after(step.attempt)
    if following is not None and _is_of_model(error):
        if _is_perhaps_paid(error, desk):
            text = f"{text}; it may have answered, and the answer may be charged"
        text = f"{text}; {following.name} is asked instead"
        return Faulted(step=step.id, error=text, kind=kind, transient=True)
    if not transient:
        return Faulted(step=step.id, error=text, kind=kind)
    at = retry_at(desk.now(), chain.round(step.attempt), after)
    return Faulted(step=step.id, error=text, kind=kind, transient=True, retry_at=at)


def _is_perhaps_paid(error: BaseException, desk: StepHandle) -> bool:
    """Whether the provider may have answered, as far as can be known here."""
    if isinstance(error, ModelError):
        return error.kind in PERHAPS_PAID or bool(desk.partial)
    return True


def _is_of_model(error: BaseException) -> bool:
    """Whether the model failed, not the program around it."""
    return isinstance(error, ModelError | TimeoutError | ConnectionError)


def _nature(error: BaseException) -> tuple[bool, float | None, str]:
    """Whether it may pass, after how long, and its kind."""
    if isinstance(error, ModelError):
        return error.transient, error.retry_after, error.kind
    return isinstance(error, TimeoutError | ConnectionError), None, type(error).__name__
