"""Asking hooks: before a call begins, and about what it gave."""

import asyncio
import copy
import inspect
import logging
import traceback
from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from adjourn.agent.hook import AskPerson, Hook, HookedCall, HookedResult, HookedText, Veto
from adjourn.agent.tool import Tool
from adjourn.bodies.async_or_sync import is_async
from adjourn.core.call import WITHHELD, Call
from adjourn.core.codec import error_text, legible, plain
from adjourn.core.conversation_effects import input_text
from adjourn.core.ids import StepId, StepIdKind, is_undo
from adjourn.core.messages import Message, UserMessage
from adjourn.core.plan import Step
from adjourn.core.policy_rule import RunTraits
from adjourn.core.records import Checked, Doubted, Fact, Faulted, Returned, Verified
from adjourn.core.thread import Thread
from adjourn.driver.program import StepHandle
from adjourn.driver.threads import in_thread

log = logging.getLogger("adjourn.hook")


async def check_call(hooks: Sequence[Hook], tool: Tool, step: Step, desk: StepHandle) -> Checked:
    """Ask hooks whether a call may begin. The first veto decides; so does whatever goes wrong."""
    assert step.call is not None
    started = desk.now()
    asked: list[str] = []
    reason = ""
    for hook in hooks:
        asked.append(hook.name)
        reason = await _objection(hook, _seen_call(tool, step.call, desk), desk)
        if reason:
            break
    return Checked(
        step=step.id,
        tool=tool.name,
        verdict="veto" if reason else "pass",
        hooks=tuple(asked),
        reason=legible(reason),
        took=round(desk.now() - started, 4),
    )


async def check_talk(hooks: Sequence[Hook], step: Step, desk: StepHandle) -> Checked | Faulted:
    """Ask an agent's hooks whether what it was told, or its output, passes. The first that does not
    let it pass decides; one that fails fails the step."""
    started, thread = desk.now(), desk.state.threads[step.path]
    kind = StepId.parse(step.id).kind
    if kind is StepIdKind.INPUT:
        upto, text, value = thread.unscreened, _unread(thread), None
    else:
        upto, value = thread.turn, thread.output
        text = input_text(value)
    facts = RunTraits.of_run(desk.state)
    said = HookedText(
        run_id=desk.run_id,
        agent=thread.agent,
        text=text,
        value=copy.deepcopy(value),
        requesters=facts.requesters,
        session=facts.session,
        labels=dict(facts.labels),
        resources=desk.resources,
    )
    asked: list[str] = []
    answer: Any = None
    for hook in hooks:
        if hook.when != kind.value:
            continue
        asked.append(hook.name)
        try:
            answer = await _heard(hook, said)
            if answer is not None and not isinstance(answer, Veto | AskPerson):
                given = type(answer).__name__
                raise TypeError(f"it gave {given}, not None, Veto(reason) or AskPerson(reason)")
        except BaseException as error:
            if desk.cut and isinstance(error, asyncio.CancelledError):
                raise
            desk.failed(error)
            log.warning("run %s: %s", desk.run_id, _where(hook, error))
            said = f"the hook {hook.name} failed ({error_text(error)})"
            return Faulted(step=step.id, error=said, kind="hook")
        if answer is not None:
            break
    return Checked(
        step=step.id,
        verdict=_verdict(answer),
        hooks=tuple(asked),
        reason="" if answer is None else legible(answer.reason),
        upto=upto,
        took=round(desk.now() - started, 4),
    )


def _verdict(answer: Veto | AskPerson | None) -> Literal["pass", "veto", "ask"]:
    if answer is None:
        return "pass"
    return "veto" if isinstance(answer, Veto) else "ask"


def _unread(thread: Thread) -> str:
    """What people said that no hook has let pass."""
    found: list[Message] = []
    if thread.screened < 0:
        found += thread.transcript[slice(*thread.told)]
    for pending in thread.pending:
        if not pending.call and pending.seq > thread.screened:
            found.append(pending.message)
    return "\n".join(said.text for said in found if isinstance(said, UserMessage))


async def _objection(hook: Hook, hooked: HookedCall, desk: StepHandle) -> str:
    """What a hook says against a call, or ""."""
    try:
        answer = await _heard(hook, hooked)
    except BaseException as error:
        if desk.cut and isinstance(error, asyncio.CancelledError):
            raise
        log.warning("run %s: %s", desk.run_id, _where(hook, error))
        return f"it could not be asked ({error_text(error)}), so the call may not run"
    if answer is None:
        return ""
    if isinstance(answer, Veto):
        return answer.reason
    return f"it gave {type(answer).__name__}, not None or Veto(reason), so the call may not run"


async def _heard(hook: Hook, *args: Any) -> Any:
    """What its function gives. Raises what that raises, and `TimeoutError`."""
    limit = asyncio.timeout(hook.timeout)
    try:
        async with limit:
            if is_async(hook.function):
                return await hook.function(*args)
            answer = await in_thread(lambda: hook.function(*args))
            if inspect.isawaitable(answer):
                return await answer
            return answer
    except TimeoutError:
        if limit.expired():
            raise TimeoutError(f"it did not end within {hook.timeout:g} s") from None
        raise


def _where(hook: Hook, error: BaseException) -> str:
    """That a hook failed, and where. Never the text of the error, which may be what is to be
    hidden."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f", line {frames[-1].lineno} of {frames[-1].name}" if frames else ""
    return f"the hook {hook.name} failed ({type(error).__name__}{place})"


def _seen_call(tool: Tool, call: Call, desk: StepHandle) -> HookedCall:
    facts = RunTraits.of(desk.state, call)
    thread = desk.state.threads[call.path]
    return HookedCall(
        run_id=desk.run_id,
        call_id=call.id,
        agent=thread.agent,
        tool=tool.name,
        arguments=copy.deepcopy(tool.validate(call.args)),
        effect=tool.effect.value,
        undo=tool.undo is not None,
        requesters=facts.requesters,
        session=facts.session,
        labels=dict(facts.labels),
        calls=dict(facts.calls),
        resources=desk.resources,
    )


class AfterTool:
    """The hooks that see what a call gave. A step of the call ends with what they leave of it."""

    def __init__(self, hooks: Sequence[Hook], tool: Tool, call: Call) -> None:
        self._hooks, self._tool, self._call = hooks, tool, call

    async def seen(self, fact: Fact, desk: StepHandle) -> Fact:
        """The fact as it may be recorded. Whatever a hook does, it says as much as before about
        whether the call ran."""
        result = _result_of(fact)
        if result is None:
            return fact
        desk.in_thread = True  # it has happened: this is waited for, or left, and never cut
        try:
            for hook in self._hooks:
                try:
                    result = await self._seen_by(hook, result, desk)
                except BaseException as error:
                    log.error(
                        "run %s: %s: what %s gave is withheld",
                        desk.run_id,
                        _where(hook, error),
                        self._tool.name,
                    )
                    return _withheld(
                        fact, result, f"the hook {hook.name} failed ({type(error).__name__})"
                    )
        finally:
            desk.in_thread = False
        return _with_result(fact, result)

    async def _seen_by(self, hook: Hook, result: HookedResult, desk: StepHandle) -> HookedResult:
        own = msgspec.structs.replace(result, value=copy.deepcopy(result.value))
        answer = await _heard(hook, _seen_call(self._tool, self._call, desk), own)
        if not isinstance(answer, HookedResult):
            raise TypeError(f"it gave {type(answer).__name__}, not the result")
        if bool(answer.error) != bool(result.error) or not isinstance(answer.error, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError("it turned a result into a failure, or a failure into a result")
        return msgspec.structs.replace(
            answer, value=plain(answer.value, "result"), error=legible(answer.error), of=result.of
        )


def _result_of(fact: Fact) -> HookedResult | None:
    """What a fact says that came from the tool's author; None if nothing does."""
    match fact:
        case Returned() if not fact.ran:
            return None
        case Returned():
            return HookedResult(fact.value, fact.error, "undo" if is_undo(fact.call) else "call")
        case Faulted() if fact.kind == "changed":
            return None
        case Faulted():
            return HookedResult(error=fact.error, of="undo" if is_undo(fact.step) else "call")
        case Doubted():
            return HookedResult(error=fact.why)
        case Verified() if fact.answer == "unknown" and fact.value:
            return HookedResult(error=str(fact.value), of="verify")
        case Verified():
            return HookedResult(fact.value, of="verify")
        case _:
            return None


def _with_result(fact: Fact, result: HookedResult) -> Fact:
    match fact:
        case Returned():
            return msgspec.structs.replace(fact, value=result.value, error=result.error)
        case Faulted():
            return msgspec.structs.replace(fact, error=result.error)
        case Doubted():
            return msgspec.structs.replace(fact, why=result.error)
        case Verified():
            return msgspec.structs.replace(fact, value=result.error or result.value)
        case _:
            return fact


def _withheld(fact: Fact, result: HookedResult, why: str) -> Fact:
    """The fact without what no hook has let pass."""
    if result.of == "undo" and isinstance(fact, Returned):
        return Returned(call=fact.call)
    if isinstance(fact, Returned | Verified) and not result.error and result.of != "undo":
        took = fact.took if isinstance(fact, Returned) else 0.0
        if isinstance(fact, Verified) and fact.answer != "happened":
            return Verified(call=fact.call, answer=fact.answer)
        text = f"it ran, but its result is withheld: {why}"
        return Returned(call=fact.call, error=text, why=WITHHELD, took=took)
    text = f"its error is withheld: {why}"
    return _with_result(fact, msgspec.structs.replace(result, error=text))
