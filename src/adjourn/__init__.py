"""Adjourn: a durable, interruptible runtime for AI agents.

To adjourn: to break off with the intention of resuming later.

`__all__` has the names that programs begin with. What stands in `adjourn.policy`, `adjourn.events`,
`adjourn.views`, `adjourn.signing`, `adjourn.wakes`, `adjourn.models`, `adjourn.stores` and
`adjourn.errors` can be imported from here too.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from adjourn.agent.agent import Agent
    from adjourn.agent.history import drop_tool_results, summarise, trim
    from adjourn.agent.tool import Tool, ask_human, tool
    from adjourn.bodies.signature import Resource
    from adjourn.bodies.tool_context import ToolContext, pause_for
    from adjourn.core.argument_conditions import (
        email_in as email_in,
        eq as eq,
        ge as ge,
        gt as gt,
        host_in as host_in,
        le as le,
        lt as lt,
        matches as matches,
        ne as ne,
        one_of as one_of,
        path_under as path_under,
        under as under,
    )
    from adjourn.core.decision import Decision
    from adjourn.core.standing_decision import Standing
    from adjourn.core.interrupt import Interrupt, PendingToolCall as PendingToolCall, Seat as Seat
    from adjourn.core.usage import Usage
    from adjourn.core.policy import Policy
    from adjourn.core.policy_rule import Verdict as Verdict, allow, ask, deny
    from adjourn.core.rebuilt_requests import SentRequest as SentRequest
    from adjourn.core.stop_conditions import (
        External,
        MaxCost,
        MaxSteps,
        MaxTime,
        MaxTokens,
        TextMention,
        ToolCalled,
    )
    from adjourn.driver.decider_keys import Deciders as Deciders, SigningKey as SigningKey
    from adjourn.driver.watch import (
        Event as Event,
        Published as Published,
        Recorded,
        TextArrived,
        ToolCallApprovalRequired as ToolCallApprovalRequired,
    )
    from adjourn.errors import (
        AdjournError,
        AlreadyDecided as AlreadyDecided,
        AlreadyResumed as AlreadyResumed,
        AnswerRequired as AnswerRequired,
        AuditBroken as AuditBroken,
        BrokenHistory as BrokenHistory,
        CheckpointInvalid as CheckpointInvalid,
        Conflict,
        EngineError as EngineError,
        ForkRefused as ForkRefused,
        Halted as Halted,
        InDoubt,
        InterruptClosed as InterruptClosed,
        Invalid as Invalid,
        InvalidAnswer as InvalidAnswer,
        InvalidDefinition as InvalidDefinition,
        LeaseLost as LeaseLost,
        MissingResource as MissingResource,
        Misused as Misused,
        ModelError as ModelError,
        NoOneToAnswer as NoOneToAnswer,
        NoOutput as NoOutput,
        NotAllowed as NotAllowed,
        NotFound as NotFound,
        NotJSON as NotJSON,
        NotTrusted as NotTrusted,
        PauseRequest as PauseRequest,
        ProgramChanged as ProgramChanged,
        Refused as Refused,
        RequestReused as RequestReused,
        RunErased as RunErased,
        RunExists as RunExists,
        RunFailed,
        RunHeld as RunHeld,
        RunPruned as RunPruned,
        SessionMoved as SessionMoved,
        StaleDecision as StaleDecision,
        KeyMissing as KeyMissing,
        StoreError as StoreError,
        ToolFailed,
        Unauthorised as Unauthorised,
        UnknownInterrupt as UnknownInterrupt,
        UnknownRun as UnknownRun,
        can_resume,
    )
    from adjourn.flow.execution import Execution
    from adjourn.flow.flow import Flow
    from adjourn.flow.flow_context import FlowContext
    from adjourn.models.model import Model as Model
    from adjourn.runtime.advance_result import Busy as Busy, Rested as Rested, Unfit as Unfit
    from adjourn.runtime.checkpoint import Checkpoint
    from adjourn.runtime.outcome import Cancelled, Completed, Outcome, Paused, Stopped, is_paused
    from adjourn.runtime.run import Run
    from adjourn.runtime.runtime import Runtime
    from adjourn.runtime.stream import Handle as Handle, RunStream as RunStream
    from adjourn.runtime.upgraders import register_upgrader
    from adjourn.runtime.wake_relay import WakeRelay as WakeRelay
    from adjourn.stores.protocol import Store as Store
    from adjourn.stores.seals import Anchor as Anchor
    from adjourn.stores.verification import Verification as Verification
    from adjourn.views.run_view import RunState as RunState

__version__ = "0.1.0"

__all__ = [
    # agents and tools
    "Agent",
    "Tool",
    "tool",
    "ToolContext",
    "Resource",
    "pause_for",
    "ask_human",
    "trim",
    "drop_tool_results",
    "summarise",
    # flows
    "Flow",
    "FlowContext",
    "Execution",
    # policy
    "Policy",
    "allow",
    "ask",
    "deny",
    # stop conditions
    "MaxSteps",
    "MaxTokens",
    "MaxCost",
    "MaxTime",
    "TextMention",
    "ToolCalled",
    "External",
    # outcomes
    "Outcome",
    "Completed",
    "Paused",
    "Stopped",
    "Cancelled",
    "is_paused",
    "can_resume",
    "Usage",
    "Checkpoint",
    "register_upgrader",
    # people
    "Interrupt",
    "Decision",
    "Standing",
    # runtime
    "Runtime",
    "Run",
    "Recorded",
    "TextArrived",
    # errors
    "AdjournError",
    "RunFailed",
    "ToolFailed",
    "InDoubt",
    "Conflict",
]

_HOMES = {
    "agent.agent": "Agent",
    "agent.history": "drop_tool_results summarise trim",
    "runtime.outcome": "Cancelled Completed Outcome Paused Stopped is_paused",
    "runtime.stream": "Handle RunStream",
    "agent.tool": "Tool ask_human tool",
    "bodies.signature": "Resource",
    "bodies.tool_context": "ToolContext pause_for",
    "core.argument_conditions": "email_in eq ge gt host_in le lt matches ne one_of path_under under",
    "core.decision": "Decision",
    "core.interrupt": "Interrupt PendingToolCall Seat",
    "core.standing_decision": "Standing",
    "core.usage": "Usage",
    "core.policy": "Policy",
    "core.policy_rule": "Verdict allow ask deny",
    "core.rebuilt_requests": "SentRequest",
    "core.stop_conditions": "External MaxCost MaxSteps MaxTime MaxTokens TextMention ToolCalled",
    "runtime.checkpoint": "Checkpoint",
    "driver.watch": "Event Published Recorded TextArrived ToolCallApprovalRequired",
    "driver.decider_keys": "Deciders SigningKey",
    "runtime.upgraders": "register_upgrader",
    "errors": "AdjournError AlreadyDecided AlreadyResumed AnswerRequired AuditBroken "
    "BrokenHistory CheckpointInvalid Conflict EngineError ForkRefused "
    "Halted InDoubt InterruptClosed Invalid InvalidAnswer InvalidDefinition LeaseLost "
    "MissingResource Misused ModelError "
    "NoOneToAnswer NoOutput NotAllowed NotFound NotJSON NotTrusted PauseRequest "
    "ProgramChanged Refused RequestReused RunErased "
    "RunExists RunFailed RunHeld RunPruned SessionMoved StaleDecision StoreError ToolFailed KeyMissing "
    "Unauthorised UnknownInterrupt UnknownRun "
    "can_resume",
    "flow.flow_context": "FlowContext",
    "flow.execution": "Execution",
    "flow.flow": "Flow",
    "models.model": "Model",
    "runtime.advance_result": "Busy Rested Unfit",
    "runtime.run": "Run",
    "views.run_view": "RunState",
    "runtime.runtime": "Runtime",
    "runtime.wake_relay": "WakeRelay",
    "stores.seals": "Anchor",
    "stores.protocol": "Store",
    "stores.verification": "Verification",
}
"""Where each name is defined: a module is loaded when the first of its names is asked for."""
_HOME = {name: module for module, names in _HOMES.items() for name in names.split()}


if not TYPE_CHECKING:  # which would otherwise believe that there is every name

    def __getattr__(name: str) -> Any:
        home = _HOME.get(name)
        if home is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(f"{__name__}.{home}"), name)
        return value


def __dir__() -> list[str]:
    """The names of `__all__`, and no others: what an editor offers first."""
    return sorted(
        {*__all__, "__all__", "__doc__", "__file__", "__name__", "__path__", "__version__"}
    )
