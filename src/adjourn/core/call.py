"""The unit of work and what hangs on it: a call's life, a person's yes, an open question, a step's failures."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from adjourn.core import records as r


class Phase(StrEnum):
    """A call's life: new → asked → approved → intended → returned, with suspended, doubt and faulted beside it."""

    NEW = "new"
    ASKED = "asked"
    APPROVED = "approved"
    CLEARED = "cleared"
    INTENDED = "intended"
    SUSPENDED = "suspended"
    DOUBT = "doubt"
    FAULTED = "faulted"
    RETURNED = "returned"


OWING = frozenset({Phase.NEW, Phase.APPROVED, Phase.CLEARED, Phase.DOUBT, Phase.FAULTED})
"""Phases in which a call owes the plan a decision."""


@dataclass(slots=True)
class Approval:
    """A person's yes: for these rules, this digest, until then."""

    rules: tuple[str, ...]
    digest: str
    by: str
    until: float


@dataclass(slots=True)
class Call:
    """The unit of work: a tool call, a nested agent, an undo, a chunk's activation."""

    id: str
    tool: str
    args: Any
    path: str = ""
    phase: Phase = Phase.NEW
    attempt: int = 0
    epoch: int = 0
    at: float = 0.0
    effect: str = "unsafe"
    undo: bool = False
    digest: str = ""
    memo: dict[str, Any] = field(default_factory=dict[str, Any])
    approval: Approval | None = None
    edited: bool = False
    queued: bool = False
    verified: str = ""
    doubt: str = ""
    value: Any = None
    error: str = ""
    ran: bool = False
    suspended: str = ""
    resume_to: str = ""
    undone: str = ""


@dataclass(slots=True)
class Open:
    """An open interrupt. `seq` is for people to find its record; the fold never compares it."""

    record: r.Asked | r.Suspended
    seq: int
    votes: dict[str, str] = field(default_factory=dict[str, str])


@dataclass(slots=True)
class Fault:
    """Failed attempts of one step, counted here so that a crash loop gives up as well."""

    count: int
    error: str
    kind: str
    transient: bool
    retry_at: float
    asked: bool = False
