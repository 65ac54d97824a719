"""How things are called, in one table each: the command line, chat messages and the console read
these and no others."""

from enum import StrEnum
from typing import Any, Literal, NamedTuple, cast

from adjourn.core.record_codec import UNREADABLE
from adjourn.core.status import RunStatus


class ProgramKind(StrEnum):
    """What a run is an execution of."""

    AGENT = "agent"
    FLOW = "flow"


class ActivityVerb(StrEnum):
    """What a run does now."""

    CALLING_MODEL = "calling_model"
    RUNNING = "running"
    FINISHING = "finishing"
    UNDOING = "undoing"
    WAITING = "waiting"
    SLEEPING = "sleeping"
    QUEUED = "queued"
    UNFIT = "unfit"
    HELD = "held"
    PAUSED = "paused"
    ENDED = "ended"


class StepKind(StrEnum):
    """What a step of a timeline is."""

    START = "start"
    MODEL = "model"
    SUMMARY = "summary"
    TOOL = "tool"
    AGENT = "agent"
    CHUNK = "chunk"
    UNDO = "undo"
    INTERRUPT = "interrupt"
    FAILURE = "failure"
    PAUSE = "pause"
    RESUME = "resume"
    MESSAGE = "message"
    EVENT = "event"
    ACCEPTANCE = "acceptance"
    REVOCATION = "revocation"
    UPGRADE = "upgrade"
    CHAPTER = "chapter"
    CANCEL = "cancel"
    TAKEOVER = "takeover"
    HOLD = "hold"
    RESIDUE = "residue"
    END = "end"


class StepStatus(StrEnum):
    """Where a step is; `NONE` for one that takes no time."""

    NONE = ""
    READY = "ready"
    RUNNING = "running"
    WAITING = "waiting"
    PAUSING = "pausing"
    PAUSED = "paused"
    HELD = "held"
    COMPLETED = "completed"
    STOPPED = "stopped"
    FAILED = "failed"
    DENIED = "denied"
    EXPIRED = "expired"
    CANCELLED = "cancelled"


class SpanKind(StrEnum):
    """What a stretch of time was spent on."""

    RUN = "run"
    WAIT = "wait"
    PAUSING = "pausing"
    PAUSE = "pause"


class DecisionKind(StrEnum):
    """What became of a question."""

    APPROVED = "approved"
    DENIED = "denied"
    ANSWERED = "answered"
    INSTEAD = "instead"
    DISMISSED = "dismissed"
    EXPIRED = "expired"


class OutcomeState(StrEnum):
    """What came of a call that people were asked about."""

    DUE = "due"
    RUNNING = "running"
    RAN = "ran"
    FAILED = "failed"
    NOT_RUN = "not_run"
    UNDONE = "undone"


class RepeatState(StrEnum):
    """What is left of a call that a second run may make again."""

    MAYBE = "maybe"
    NOT_UNDONE = "not_undone"
    FINAL = "final"
    UNDONE = "undone"
    ASKED = "asked"


class BarKind(StrEnum):
    """What a stretch of a run's time was spent on."""

    MODEL = "model"
    TOOL = "tool"
    UNDO = "undo"
    WAIT = "wait"
    PAUSE = "pause"


class InterruptStatus(StrEnum):
    """Whether an interrupt can still be decided, and if not, what closed it."""

    OPEN = "open"
    DECIDED = "decided"
    EXPIRED = "expired"
    EVENT = "event"
    DUE = "due"
    VOID = "void"
    ABANDONED = "abandoned"


Role = Literal["none", "viewer", "operator", "approver", "admin", "run"]
"""What a user is everywhere; `none` has only what was granted on some runs, `run` is a run's own
credentials."""
Right = Literal["none", "read", "control", "decide", "halt", "admin"]
"""What an operation needs."""

RIGHTS: dict[Role, frozenset[Right]] = {
    "none": frozenset({"none"}),
    "viewer": frozenset({"none", "read"}),
    "operator": frozenset({"none", "read", "control", "halt"}),
    "approver": frozenset({"none", "read", "decide"}),
    "admin": frozenset({"none", "read", "control", "decide", "halt", "admin"}),
    "run": frozenset({"none", "read"}),
}

ROLES: dict[Role, str] = {
    "none": "do only what was granted on some runs",
    "viewer": "look at everything, and do nothing",
    "operator": "start, pause, resume, cancel, say, fork, halt and unhalt; decisions are for approvers",
    "approver": "approve, deny and answer; runs are controlled by operators",
    "admin": "do everything, and manage who is told",
    "run": "look at its own run",
}
"""What each role may do."""

STATUSES: dict[RunStatus, str] = {
    RunStatus.READY: "ready",
    RunStatus.RUNNING: "running",
    RunStatus.WAITING: "waiting",
    RunStatus.HELD: "held",
    RunStatus.FAILED: "failed",
    RunStatus.PAUSING: "pausing…",
    RunStatus.PAUSED: "paused",
    RunStatus.CANCELLING: "cancelling…",
    RunStatus.STUCK: "stuck",
    RunStatus.COMPLETED: "completed",
    RunStatus.STOPPED: "stopped",
    RunStatus.CANCELLED: "cancelled",
}


DECISIONS: dict[DecisionKind, str] = {
    DecisionKind.APPROVED: "approved",
    DecisionKind.DENIED: "denied",
    DecisionKind.ANSWERED: "answered",
    DecisionKind.INSTEAD: "result given instead",
    DecisionKind.DISMISSED: "dismissed",
    DecisionKind.EXPIRED: "expired",
}
"""What became of a question, as a word."""
OUTCOMES: dict[OutcomeState, str] = {
    OutcomeState.DUE: "not started yet",
    OutcomeState.RUNNING: "running",
    OutcomeState.RAN: "ran once",
    OutcomeState.FAILED: "failed",
    OutcomeState.NOT_RUN: "did not run",
    OutcomeState.UNDONE: "ran, later undone by a cancel",
}
"""What came of a call."""

REPEATS: dict[RepeatState, str] = {
    RepeatState.MAYBE: "may have been done",
    RepeatState.NOT_UNDONE: "done, and not undone",
    RepeatState.FINAL: "done, cannot be undone",
    RepeatState.UNDONE: "done, and undone since",
    RepeatState.ASKED: "not done: it waits for a person",
}
"""What is left of a call that a second run may make again, as words."""


class KindWords(NamedTuple):
    """An interrupt's kind as a word, as a heading, as a note beside a tool's name, and as a message
    about an agent."""

    word: str
    asks: str
    note: str
    message: str


KINDS: dict[str, KindWords] = {
    "approval": KindWords("Approval", "Approve this action?", "needs approval", "needs approval"),
    "question": KindWords("Question", "Answer this question", "asks", "has a question"),
    "in_doubt": KindWords("In doubt", "Did this happen?", "in doubt", "is in doubt"),
    "limit": KindWords("Limit", "A limit is reached", "limit reached", "reached a limit"),
    "error": KindWords("Error", "A step failed", "failed", "failed"),
    "undo": KindWords("Undo", "An undo failed", "undo failed", "could not be undone"),
    "event": KindWords("Event", "Waits for an event", "waits for an event", "waits for an event"),
    "timer": KindWords("Timer", "Sleeps", "sleeps", "sleeps"),
}
CHECK = "check"
CHECK_WORDS = KindWords("Check", "A check asks a person", "asks a person", "asks a person")
"""A question of the kind `limit` that a hook asks: it is no limit."""

EFFECTS: dict[str, str] = {
    "read": "read: changes nothing",
    "idempotent": "idempotent: after a crash it may run again, with the same key",
    "verifiable": "verifiable: after a crash, Adjourn checks whether it happened",
    "unsafe": "unsafe: runs once, never repeated without a person",
}

EXPIRY: dict[str, str] = {
    "deny": "denied by expiry",
    "cancel": "cancelled by expiry",
    "escalate": "given to others",
}
"""What happens to an interrupt that nobody has decided in time."""


class TopicWords(NamedTuple):
    """A topic of notifications, said of a run, and told to whoever chooses of what to be told."""

    news: str
    occasion: str


TOPICS: dict[str, TopicWords] = {
    "interrupt.opened": TopicWords(
        "something waits for a person", "something waits for a decision, or was escalated"
    ),
    "interrupt.reminded": TopicWords("still waits for a decision", "it still waits: reminders"),
    "run.completed": TopicWords("completed", "a run has completed"),
    "run.cancelled": TopicWords("was cancelled", "a run was cancelled"),
    "run.failed": TopicWords("failed", "a run has failed"),
    "run.stuck": TopicWords("is stuck", "a run is stuck"),
    "halt.set": TopicWords("was halted", "something was halted"),
    "halt.lifted": TopicWords("is no longer halted", "a halt was lifted"),
}


class ChoiceWords(NamedTuple):
    """A choice: its word, what it means, and what the button says."""

    word: str
    what: str
    deed: str


_GIVE_UP = ChoiceWords("Give up", "Cancel the run and undo what can be undone.", "Cancel and undo")
_LEAVE = ChoiceWords("Leave it", "It is listed as residue.", "Leave it")

CHOICES: dict[str, dict[str, ChoiceWords]] = {
    "in_doubt": {
        "happened": ChoiceWords(
            "It happened", "Record this as its result and continue.", "Record that it happened"
        ),
        "run": ChoiceWords("It did not happen", "Run it now, with the same key.", "Run it now"),
        "cancel": _GIVE_UP,
    },
    "in_doubt_undoing": {
        "happened": ChoiceWords("It happened", "Undo it.", "Record that it happened"),
        "not": ChoiceWords(
            "It did not happen", "There is nothing to undo.", "Record that it did not"
        ),
        "leave": _LEAVE,
    },
    "limit": {
        "extend": ChoiceWords("Extend", "Continue until the new limit.", "Extend and resume"),
        "pass": ChoiceWords("Let it pass", "Continue.", "Let it pass and resume"),
        "stop": ChoiceWords("Stop here", "End the run with what it has.", "Stop the run here"),
    },
    "error": {
        "retry": ChoiceWords(
            "Try the step again", "Nothing that finished runs again.", "Try the step again"
        ),
        "ask": ChoiceWords("Ask again", "Drop the last answer and ask again.", "Ask again"),
        "cancel": _GIVE_UP,
    },
    "undo": {
        "retry": ChoiceWords("Run the undo again", "With the same key.", "Run the undo again"),
        "done": ChoiceWords(
            "It is undone",
            "It was done by hand, or it was never needed.",
            "Record that it is undone",
        ),
        "leave": _LEAVE,
    },
}
"""What may be chosen, by kind; `in_doubt_undoing` is a call in doubt whose run is being
cancelled."""

PROSE = ("question", "error", "condition", "text", "message", "title", "reason")
"""Fields that say what a payload is about, the first that is there."""


def payload_line(payload: Any) -> Any:
    """What a payload is about, in one value: one of its `PROSE` fields, or all of it."""
    if isinstance(payload, dict):
        for name in PROSE:
            if payload.get(name):  # pyright: ignore[reportUnknownMemberType]
                return payload[name]  # pyright: ignore[reportUnknownVariableType]
    return payload  # pyright: ignore[reportUnknownVariableType]


def asking_hook(payload: Any) -> str:
    """The hook that asks a person, of an interrupt's payload; "" if it is a limit that asks.

    Args:
        payload: of an interrupt of the kind `limit`.
    """
    if isinstance(payload, dict):
        return str(cast("dict[str, Any]", payload).get("hook") or "")
    return ""


def shown_kind(kind: str, payload: Any) -> str:
    """The kind that people are told: `check`, if it is a hook that asks.

    Args:
        kind: the interrupt's kind.
        payload: what it says.
    """
    if kind == "limit" and asking_hook(payload):
        return CHECK
    return kind


def kind_words(kind: str, payload: Any) -> KindWords:
    """How an interrupt's kind is called.

    Args:
        kind: the interrupt's kind.
        payload: what it says.
    """
    if shown_kind(kind, payload) == CHECK:
        return CHECK_WORDS
    return KINDS[kind]


def interrupt_title(kind: str, type: str, tool: str, payload: Any = None) -> str:
    """What is wanted, in a few words.

    Args:
        kind: the interrupt's kind.
        type: its author's own word for it.
        tool: the tool of its call; "" without one.
        payload: what it says.
    """
    if payload == UNREADABLE and not tool:
        return UNREADABLE
    match kind:
        case "approval":
            return f"{tool} needs approval"
        case "in_doubt":
            return f"{tool} may have happened"
        case "question":
            if type == "question":
                return "a question"
            return f"{type}: an answer is needed"
        case "error":
            return "a step failed"
        case "limit":
            if hook := asking_hook(payload):
                return f"{hook} asks a person"
            return "a limit is reached"
        case "undo":
            return "an undo failed"
        case "event":
            return f"{type}: waits for an event"
        case _:
            return "sleeps until its time has come"
