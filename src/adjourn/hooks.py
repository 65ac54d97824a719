"""Functions of an agent that are asked before a tool runs, see its result before anything else does,
or judge what the agent is told and what it gives: `Agent(hooks=[…])`."""

from adjourn.agent.hook import (
    AskPerson,
    Hook,
    HookedCall,
    HookedResult,
    HookedText,
    Veto,
    after_tool,
    before_tool,
    check_input,
    check_output,
)

__all__ = [
    # tools
    "before_tool",
    "after_tool",
    # what is said
    "check_input",
    "check_output",
    # what they give
    "Veto",
    "AskPerson",
    # what they see
    "HookedCall",
    "HookedResult",
    "HookedText",
    "Hook",
]
