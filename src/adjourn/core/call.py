"""The unit of work and what hangs on it: a call's life, what it was begun on, an open question, a
step's failures."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Literal

import msgspec

from adjourn.core import records as r
from adjourn.core.action_digest import idempotency_key
from adjourn.core.memo_key import PROGRESS, MemoKind, is_memo, parse_memo


class Phase(StrEnum):
    """A call's life: new → asked → approved → intended → returned, with suspended, doubt and
    faulted beside it."""

    NEW = "new"
    ASKED = "asked"
    APPROVED = "approved"
    CLEARED = "cleared"
    INTENDED = "intended"
    SUSPENDED = "suspended"
    DOUBT = "doubt"
    FAULTED = "faulted"
    RETURNED = "returned"


VETOED, WITHHELD = "vetoed", "withheld"
"""Why a call has an error: a hook stood against it; it ran, and what it gave could not be shown to
a hook."""
OWING = frozenset({Phase.NEW, Phase.APPROVED, Phase.CLEARED, Phase.DOUBT, Phase.FAULTED})
"""Phases in which a call owes the plan a decision."""


_NAMED = 8
"""So many steps are named in a sentence."""


class VerifyAnswer(StrEnum):
    """What the world, or a person, says about a call in doubt. The values are those of the records
    and snapshots."""

    NONE = ""
    HAPPENED = "happened"
    NOT_HAPPENED = "not"
    UNKNOWN = "unknown"
    GIVEN_UP = "given up"


class UndoState(StrEnum):
    """What became of the undo of a call. The values are the words of a cancelled run's residue."""

    NONE = ""
    UNDONE = "undone"
    UNDONE_BY_PERSON = "undone: a person says so"
    LEFT = "left: its undo failed"
    LEFT_IN_DOUBT = "in doubt: left"

    @property
    def is_undone(self) -> bool:
        """Whether its effect is gone."""
        return self in (UndoState.UNDONE, UndoState.UNDONE_BY_PERSON)


CallKind = Literal["tool", "chunk", "agent", "test"]


class Basis(msgspec.Struct, frozen=True, gc=False):
    """What a call was begun on: its intent, what people were asked, and what they decided."""

    intended: r.Intended
    asked: r.Asked
    decisions: tuple[r.Decided, ...]


class Call(msgspec.Struct, gc=False):
    """The unit of work: a tool call, a nested agent, an undo, a chunk's activation (`of` is the
    chunk's flow).

    In doubt for the `doubts`-th time; the world is not asked before `settles`, and its first "not"
    (`denied`) is asked again after `settle` seconds. `left`: its body was still at work when a
    cancel stopped waiting for it, or came before it ended. `lost`: it has no intent here, and may
    have begun in a time that was lost with its store. `began`: the tool and the arguments that it
    began with, if an upgrade reads those differently. `checked`: the epoch in which its hooks let it
    pass, `veto`: what one of them said against it; both are about the next time that it begins.
    `agent`: whose tool it is, if not of the one that began the conversation.
    """

    id: str
    tool: str
    args: Any
    path: str = ""
    kind: CallKind = "tool"
    of: str = ""
    phase: Phase = Phase.NEW
    attempt: int = 0
    epoch: int = 0
    at: float = 0.0
    effect: str = "unsafe"
    undo: bool = False
    digest: str = ""
    memo: dict[str, Any] = {}
    grant: str = ""
    basis: Basis | None = None
    inherited: bool = False
    edited: bool = False
    queued: bool = False
    verified: VerifyAnswer = VerifyAnswer.NONE
    doubt: str = ""
    doubts: int = 0
    settle: float = 0.0
    settles: float = 0.0
    denied: bool = False
    left: bool = False
    lost: bool = False
    value: Any = None
    error: str = ""
    ran: bool = False
    suspended: str = ""
    resume_to: Literal["", "next", "self"] = ""
    undone: UndoState = UndoState.NONE
    compensated: frozenset[int] = frozenset()
    began: tuple[str, Any] | None = None
    checked: int = 0
    veto: str = ""
    agent: str = ""

    def key(self, run: str) -> str:
        """What a target needs to refuse the second of two; the same for every attempt, whatever the
        program calls it now."""
        return idempotency_key(run, self.id, *(self.began or (self.tool, self.args)))

    @property
    def begun(self) -> bool:
        """Whether its body may have done something. What it has noted as done was done, whatever
        anybody says of the call."""
        said_not = self.verified == VerifyAnswer.NOT_HAPPENED
        return self.attempt > 0 and (not said_not or bool(deeds(self.memo)))

    @property
    def compensations(self) -> list[int]:
        """What its body registered with `on_cancel` and nobody has run yet, latest first."""
        found: list[int] = []
        for key in self.memo:
            if (
                is_memo(key, MemoKind.UNDO)
                and (number := int(parse_memo(key)[1])) not in self.compensated
            ):
                found.append(number)
        return sorted(found, reverse=True)


class OpenInterrupt(msgspec.Struct, gc=False):
    """An open interrupt. `seq` is for people to find its record; the fold never compares it.
    `heard`: how many events had come before it."""

    record: r.Asked | r.Suspended
    seq: int
    votes: dict[str, str] = {}
    disowned: tuple[str, ...] = ()
    reminded: float = 0.0
    once: bool = False
    heard: int = 0


class Failures(msgspec.Struct):
    """Failed attempts of one step, counted here so that a crash loop gives up as well."""

    count: int
    error: str
    kind: str
    transient: bool
    retry_at: float
    asked: bool = False


def deeds(memo: Mapping[str, Any]) -> list[str]:
    """What a body has noted as done, in words: its steps by their keys, and how far it has come."""
    found: list[str] = []
    for key in memo:
        if is_memo(key, MemoKind.STEP):
            found.append(f"{parse_memo(key)[1]:.80}")
        elif key == PROGRESS:
            found.append("progress was saved")
    return found


def registered(memo: Mapping[str, Any]) -> dict[str, Any]:
    """What a body has registered with `on_cancel`."""
    return {key: value for key, value in memo.items() if is_memo(key, MemoKind.UNDO)}


def had_begun(memo: Mapping[str, Any]) -> str:
    """What whoever reads that a call has failed must know of it: a sentence, to stand behind
    another; "" if nothing was noted as done."""
    found = deeds(memo)
    if not found:
        return ""
    more = len(found) - _NAMED
    named = ", ".join(found[:_NAMED]) + (f" and {more} more" if more > 0 else "")
    return f". It had begun, and this is done: {named}"


def answers_of(call: Call) -> list[str]:
    """The keys of what people answered to its body, oldest first."""
    return [key for key, memo in call.memo.items() if _is_answer(key, memo)]


def _is_answer(key: str, memo: Any) -> bool:
    return is_memo(key, MemoKind.ANSWER) and isinstance(memo, dict) and "value" in memo


def questions(open: Mapping[str, OpenInterrupt]) -> list[str]:
    """The open questions of bodies: what a message with `abandon` drops."""
    return [interrupt for interrupt, opened in open.items() if opened.record.kind == "question"]
