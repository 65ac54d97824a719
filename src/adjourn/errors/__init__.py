"""Everything Adjourn raises. Each error says what happened, what that means and what to do next,
and owns its HTTP status.

The parts of an error are put together here and nowhere else: who shows one reads its fields.
"""

from adjourn.errors.error import AdjournError, bare, counted
from adjourn.errors.failure import (
    EngineError,
    InDoubt,
    KeyMissing,
    LeaseBusy,
    LeaseLost,
    ModelError,
    PauseRequest,
    RunFailed,
    StoreError,
    ToolFailed,
    can_resume,
)
from adjourn.errors.invalid import (
    AnswerRequired,
    CheckpointInvalid,
    CheckpointPart,
    Invalid,
    InvalidAnswer,
    InvalidDefinition,
    MissingResource,
    Misused,
    NoOneToAnswer,
    NoOutput,
    NotJSON,
)
from adjourn.errors.not_found import NotFound, UnknownInterrupt, UnknownRun
from adjourn.errors.refusal import (
    AlreadyDecided,
    AlreadyResumed,
    AuditBroken,
    BrokenHistory,
    Conflict,
    ForkRefused,
    Halted,
    InterruptClosed,
    NotAllowed,
    NotTrusted,
    ProgramChanged,
    Refused,
    RequestReused,
    RunErased,
    RunExists,
    RunHeld,
    RunPruned,
    SessionMoved,
    StaleDecision,
    Unauthorised,
)

__all__ = [
    "AdjournError", "Invalid", "NotJSON", "InvalidAnswer", "AnswerRequired",
    "InvalidDefinition", "MissingResource", "CheckpointPart", "CheckpointInvalid", "NoOutput",
    "Misused", "NoOneToAnswer",
    "Conflict", "Refused", "ForkRefused", "SessionMoved", "BrokenHistory", "AlreadyDecided",
    "InterruptClosed", "StaleDecision", "AlreadyResumed", "RunExists", "RunErased", "RunHeld",
    "RunPruned", "RequestReused", "ProgramChanged", "Halted", "AuditBroken", "NotTrusted",
    "NotAllowed", "Unauthorised", "NotFound", "UnknownRun", "UnknownInterrupt",
    "StoreError", "KeyMissing", "LeaseLost", "LeaseBusy", "EngineError", "ModelError", "RunFailed",
    "InDoubt", "ToolFailed",
    "PauseRequest",
    "bare", "counted", "can_resume",
]  # fmt: skip

# An error is known by its public name: in a pickle, in a traceback, and where the identity of a
# function that raises it is compared.
for _name in __all__:
    if _name != "CheckpointPart":
        globals()[_name].__module__ = __name__
