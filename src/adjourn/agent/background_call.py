"""A model call that its provider works on in the background: handed in, looked at, withdrawn.

What is paid for is paid once. That it is about to be handed in is recorded first, then the id that
the provider gives it, then the run waits. Where a worker ended in between, nobody knows whether the
provider has it: it is handed in again only with a key that the provider honours.
"""

import logging
from typing import TYPE_CHECKING, Any

from adjourn.agent.model_call import (
    PERHAPS_PAID,
    TO_THE_DRIVER,
    OwnRequest,
    chain_fault,
    kept,
    replied,
    request_of,
    with_files,
)
from adjourn.agent.recordable_reply import recordable
from adjourn.agent.toolset import find_tools
from adjourn.core.action_digest import digest
from adjourn.core.background import TRIES, wait_for
from adjourn.core.codec import text_of
from adjourn.core.conversation_effects import Submission
from adjourn.core.messages import ModelRequest, Reply
from adjourn.core.plan import Step
from adjourn.core.record_parts import BackgroundRequest
from adjourn.core.records import Fact, Faulted, Submitted
from adjourn.driver.program import StepHandle
from adjourn.errors import ModelError
from adjourn.models.background_model import BackgroundModel, ResponseEnd, background_of, priced
from adjourn.models.model import Model

if TYPE_CHECKING:
    from adjourn.agent.agent import Agent

log = logging.getLogger("adjourn.agent")

AGAIN = 5.0
"""Seconds until a withdrawal that failed is tried again."""


async def background_call(agent: "Agent[Any]", step: Step, desk: StepHandle) -> Fact:
    """Hand the model call in, or look at it: the fact that the run waits for it, its reply, or
    that it failed."""
    known = desk.state.submitted.get(step.path)
    try:
        if known is not None and known.id:
            return await _look(agent, step, desk, known)
        return await _hand_in(agent, step, desk, known)
    except TO_THE_DRIVER:
        raise
    except BaseException as e:
        desk.failed(e)
        return chain_fault(agent.chain, step, e, desk)


async def withdrawal(agent: "Agent[Any]", step: Step, desk: StepHandle) -> Fact:
    """Cancel the response at the provider: the fact that it is over, or that this is tried again."""
    known = desk.state.submitted[step.path]
    try:
        _, model = _worker(agent, known.of.model)
        usage = await model.withdraw(known.id)
    except TO_THE_DRIVER:
        raise
    except BaseException as e:
        why = f"{known.of.model} could not cancel the response {known.id}: {text_of(e)}"
        log.warning("run %s: %s", desk.run_id, why)
        again = desk.now() + AGAIN if known.tries + 1 < TRIES else 0.0
        return Submitted(path=step.path, left=why, again=again)
    return Submitted(path=step.path, ended="withdrawn", usage=usage)


def _worker(agent: "Agent[Any]", name: str) -> tuple[Model, BackgroundModel]:
    """The model of the chain to which it was handed in."""
    for model in agent.chain.models:
        if model.name == name and (found := background_of(model)) is not None:
            return model, found
    raise ModelError(
        f"agent {agent.name!r} no longer has the background model {name!r}, and a response is "
        "waiting there; add that model to the agent again",
        kind="invalid_request",
    )


async def _hand_in(
    agent: "Agent[Any]", step: Step, desk: StepHandle, lost: Submission | None
) -> Fact:
    chosen = agent.chain.model(step.attempt)
    if lost is not None:
        chosen, _ = _worker(agent, lost.of.model)
    model = background_of(chosen)
    assert model is not None
    if lost is not None and not model.honours_keys:
        return _perhaps_paid(step, desk, lost)
    found = await find_tools(agent, desk, step.path)
    request = await with_files(chosen, request_of(agent, found, step, desk, chosen.name), desk)
    outgoing = desk.outgoing
    if lost is not None:
        key = lost.of.key
    else:
        key = digest("background", desk.run_id, step.path, request.index)
    handed = BackgroundRequest(
        key, chosen.name, desk.upto, desk.heard, outgoing.digest, outgoing.sent
    )
    await desk.record(Submitted(path=step.path, of=handed))
    began = desk.now()
    await desk.fence()
    try:
        given = await model.submit(request, key)
    except TO_THE_DRIVER:
        raise
    except BaseException as e:
        return _not_handed_in(agent, step, desk, model, e)
    if isinstance(given, Reply):
        answer = kept(agent, found, recordable(priced(chosen, given), chosen.name))
        return await replied(agent, step, answer, found, OwnRequest.of(desk, began))
    known = desk.state.submitted[step.path]
    return wait_for(step.path, known, given, desk.now() + model.wait(0))


def _not_handed_in(
    agent: "Agent[Any]", step: Step, desk: StepHandle, model: BackgroundModel, error: BaseException
) -> Fact:
    """It failed. If the provider may have it all the same, it is not simply handed in again."""
    desk.failed(error)
    doubtful = not isinstance(error, ModelError) or error.kind in PERHAPS_PAID
    if doubtful and model.honours_keys:
        return chain_fault(agent.chain, step, error, desk)  # again, with the same key
    known = desk.state.submitted.get(step.path)
    if doubtful and known is not None:
        return _perhaps_paid(step, desk, known, f"{error}; ")
    desk.post(Submitted(path=step.path, ended="failed"))
    return chain_fault(agent.chain, step, error, desk)


def _perhaps_paid(step: Step, desk: StepHandle, known: Submission, why: str = "") -> Fact:
    if not why:
        why = (
            f"the worker that submitted it to {known.of.model} ended before it had recorded an id; "
        )
    desk.post(Submitted(path=step.path, ended="unknown"))
    return Faulted(
        step=step.id,
        error=(
            f"{why}the provider may be working on it, and charge for it: look for "
            f"adjourn_key={known.of.key} in the metadata of the provider's responses; `retry` "
            "submits it again"
        ),
        kind="perhaps_paid",
    )


async def _look(agent: "Agent[Any]", step: Step, desk: StepHandle, known: Submission) -> Fact:
    chosen, model = _worker(agent, known.of.model)
    thread = desk.state.threads[step.path]
    asked = ModelRequest(desk.request, index=thread.index, run=desk.run_id, path=step.path)
    try:
        given = await model.fetch(asked, known.id)
    except ModelError as e:
        if not e.transient:
            raise
        log.warning("run %s: %s; it will be checked again", desk.run_id, e)
        given = None
    if given is None:
        return wait_for(step.path, known, known.id, desk.now() + model.wait(known.polls))
    if isinstance(given, ResponseEnd):
        desk.post(Submitted(path=step.path, ended=given.kind))
        failed = ModelError(given.error, kind=given.kind, transient=given.transient)
        desk.failed(failed)
        return chain_fault(agent.chain, step, failed, desk)
    found = await find_tools(agent, desk, step.path)
    answer = kept(agent, found, recordable(priced(chosen, given), chosen.name))
    of, took = known.of, desk.now() - known.at
    own = OwnRequest(of.upto, of.heard, of.request, of.sent, desk.place, took)
    return await replied(agent, step, answer, found, own)
