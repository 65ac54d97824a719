"""Adjourn: a durable, interruptible runtime for AI agents.

To adjourn: to break off with the intention of resuming later.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from adjourn.agent.agent import Agent
    from adjourn.agent.history import drop_tool_results, summarise, trim
    from adjourn.agent.tool import Tool, ask_human, tool
    from adjourn.bodies.signature import Resource
    from adjourn.bodies.tool_context import ToolContext, pause_for
    from adjourn.core.conditions import (
        email_in,
        eq,
        ge,
        gt,
        host_in,
        le,
        lt,
        matches,
        ne,
        one_of,
        path_under,
        under,
    )
    from adjourn.core.decision import Decision
    from adjourn.core.interrupt import Interrupt, PendingToolCall, Seat
    from adjourn.core.messages import Usage
    from adjourn.core.policy import Policy, Verdict, allow, ask, deny
    from adjourn.core.sent_request import SentRequest
    from adjourn.core.stop import External, MaxCost, MaxSteps, MaxTime, MaxTokens, TextMention, ToolCalled
    from adjourn.driver.decider_keys import Deciders, SigningKey
    from adjourn.driver.watch import Event, Published, Recorded, TextArrived, ToolCallApprovalRequired
    from adjourn.errors import (
        AdjournError,
        AlreadyDecided,
        AlreadyResumed,
        AnswerRequired,
        AuditBroken,
        BrokenHistory,
        CheckpointInvalid,
        Conflict,
        Halted,
        InDoubt,
        InterruptClosed,
        Invalid,
        InvalidAnswer,
        InvalidDefinition,
        LeaseLost,
        MissingResource,
        Misused,
        ModelError,
        NoOutput,
        NotAllowed,
        NotFound,
        NotJSON,
        NotTrusted,
        PauseRequest,
        ProgramChanged,
        Refused,
        RequestReused,
        RunErased,
        RunExists,
        RunFailed,
        RunHeld,
        RunPruned,
        SessionMoved,
        StaleDecision,
        StoreError,
        ToolFailed,
        Unauthorised,
        UnknownInterrupt,
        UnknownRun,
        can_resume,
    )
    from adjourn.flow.execution import Execution
    from adjourn.flow.flow import Flow
    from adjourn.flow.flow_context import FlowContext
    from adjourn.models.model import Model
    from adjourn.runtime.advance import Busy, Rested, Unfit
    from adjourn.runtime.checkpoint import Checkpoint
    from adjourn.runtime.local import Handle
    from adjourn.runtime.outcome import Cancelled, Completed, Outcome, Paused, Stopped, is_paused
    from adjourn.runtime.run import Run, RunState
    from adjourn.runtime.runtime import Runtime
    from adjourn.runtime.upgraders import register_upgrader
    from adjourn.runtime.wake_relay import WakeRelay
    from adjourn.stores.protocol import Store
    from adjourn.stores.seals import Anchor
    from adjourn.stores.verification import Verification

__version__ = "0.1.0"

__all__ = [
    # agents and tools
    "Agent", "Tool", "tool", "ToolContext", "Resource", "pause_for", "ask_human", "Model",
    "trim", "drop_tool_results", "summarise",
    # flows
    "Flow", "FlowContext", "Execution",
    # policy and limits
    "Policy", "Verdict", "allow", "ask", "deny", "eq", "ne", "gt", "ge", "lt", "le", "one_of", "matches",
    "email_in", "host_in", "path_under", "under",
    "MaxSteps", "MaxTokens", "MaxCost", "MaxTime", "TextMention", "ToolCalled", "External",
    # outcomes
    "Outcome", "Completed", "Paused", "Stopped", "Cancelled", "is_paused", "Usage", "Checkpoint", "Handle", "register_upgrader",
    # people
    "Interrupt", "PendingToolCall", "Seat", "Decision", "Deciders", "SigningKey",
    # runtime
    "Runtime", "Run", "RunState", "Rested", "Busy", "Unfit", "WakeRelay", "SentRequest", "Store",
    "Event", "Recorded", "TextArrived", "Published", "ToolCallApprovalRequired",
    "Anchor", "Verification",
    # errors
    "AdjournError", "AlreadyDecided", "AlreadyResumed", "AnswerRequired", "AuditBroken", "BrokenHistory", "CheckpointInvalid", "Conflict",
    "Halted", "InDoubt", "InterruptClosed", "Invalid", "InvalidAnswer", "InvalidDefinition", "LeaseLost", "MissingResource",
    "Misused", "ModelError", "NoOutput", "NotAllowed", "NotFound", "NotJSON", "NotTrusted", "PauseRequest", "ProgramChanged",
    "Refused",
    "RequestReused", "RunErased", "RunExists", "RunFailed", "RunHeld", "RunPruned", "SessionMoved",
    "StaleDecision", "StoreError", "ToolFailed", "Unauthorised",
    "UnknownInterrupt", "UnknownRun", "can_resume",
]  # fmt: skip

_HOMES = {
    "agent.agent": "Agent",
    "agent.history": "drop_tool_results summarise trim",
    "runtime.outcome": "Cancelled Completed Outcome Paused Stopped is_paused",
    "runtime.local": "Handle",
    "agent.tool": "Tool ask_human tool",
    "bodies.signature": "Resource",
    "bodies.tool_context": "ToolContext pause_for",
    "core.conditions": "email_in eq ge gt host_in le lt matches ne one_of path_under under",
    "core.decision": "Decision",
    "core.interrupt": "Interrupt PendingToolCall Seat",
    "core.messages": "Usage",
    "core.policy": "Policy Verdict allow ask deny",
    "core.sent_request": "SentRequest",
    "core.stop": "External MaxCost MaxSteps MaxTime MaxTokens TextMention ToolCalled",
    "runtime.checkpoint": "Checkpoint",
    "driver.watch": "Event Published Recorded TextArrived ToolCallApprovalRequired",
    "driver.decider_keys": "Deciders SigningKey",
    "runtime.upgraders": "register_upgrader",
    "errors":
        "AdjournError AlreadyDecided AlreadyResumed AnswerRequired AuditBroken BrokenHistory CheckpointInvalid Conflict Halted "
        "InDoubt InterruptClosed Invalid InvalidAnswer InvalidDefinition LeaseLost MissingResource Misused ModelError NoOutput "
        "NotAllowed NotFound NotJSON NotTrusted PauseRequest ProgramChanged Refused RequestReused RunErased RunExists RunFailed "
        "RunHeld RunPruned SessionMoved StaleDecision StoreError ToolFailed Unauthorised UnknownInterrupt UnknownRun can_resume",
    "flow.flow_context": "FlowContext",
    "flow.execution": "Execution",
    "flow.flow": "Flow",
    "models.model": "Model",
    "runtime.advance": "Busy Rested Unfit",
    "runtime.run": "Run RunState",
    "runtime.runtime": "Runtime",
    "runtime.wake_relay": "WakeRelay",
    "stores.seals": "Anchor",
    "stores.protocol": "Store",
    "stores.verification": "Verification",
}  # fmt: skip
"""Where each public name is defined: a module is loaded when the first of its names is asked for."""
_HOME = {name: module for module, names in _HOMES.items() for name in names.split()}


if not TYPE_CHECKING:  # which would otherwise believe that there is every name

    def __getattr__(name: str) -> Any:
        home = _HOME.get(name)
        if home is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(f"{__name__}.{home}"), name)
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
