"""Chapters: where the journal of a long run begins anew. Same run, same interrupts, same chain.

A chapter says everything that the records before it mean. Whoever folds those finds nothing new in
it; whoever begins with it needs none of them. It brings nothing of its own: the store makes it,
from the fold of what stands before, in the transaction that appends it. A check of the store, and a
store that takes a journal over from elsewhere, make it again and compare.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from adjourn.core.call import Phase
from adjourn.core.packed_state import as_plain, from_plain
from adjourn.core.records import AnyRecord, Chapter
from adjourn.core.status import CANCELS, ENDED, Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from adjourn.core.state import State

LONG = 20_000
"""So many records a run has before a chapter begins by itself: reading them takes a fifth of a
second."""
LARGE, FEW = 32_000_000, 1_000
"""Or so many bytes, if there are at least so many records: reading them takes as long."""
MUCH = 5
"""A chapter that begins by itself repeats at most one message or call that was done for so many
records that it replaces."""
FORMATS = (1, 2)
"""Of what a chapter says; the second, of a run that continues another one. Every one that was ever
written is read for ever; a new form has a new number."""


def is_due(state: State, size: int) -> bool:
    """Whether the run has become so long, or so large, that a chapter begins by itself. `size`: the
    bytes of its records.

    The next one begins when the run has twice as many records, so that all chapters together are no
    longer than what they are about; and none begins that would repeat most of what was said: a long
    conversation is quick to take up by its snapshot.
    """
    new = state.seq - state.chapter
    if new < LONG and (size < LARGE or new < FEW):
        return False
    if new < state.chapter:
        return False
    repeated = len(state.effects)
    for thread in state.threads.values():
        repeated += len(thread.transcript) - _earlier(state, thread.path)
    return repeated * MUCH <= new and not hindrance(state)


def _earlier(state: State, path: str) -> int:
    """How many messages of this conversation are of earlier turns, which no chapter repeats."""
    ref = state.started.before
    if ref is not None and not path:
        return ref.messages
    return 0


def copies_earlier_turns(state: State) -> bool:
    """Whether the state has messages of earlier turns in it, because a history processor chose some
    of them for a request. Those may be erased one day, so nothing is written that has a copy."""
    return state.started.before is not None and state.threads[""].sent is not None


def hindrance(state: State) -> str:
    """Why no chapter can begin now; "" if one can."""
    if state.status in ENDED:
        return "it has ended"
    if state.status in CANCELS or state.status == Status.PAUSING:
        return "a call in it is being stopped"
    if state.belief.disowns or state.trust is not None:
        return "it is read by a process that does not trust all of its records"
    if copies_earlier_turns(state):
        return "its last request had a part of the conversation of another run, which a chapter would copy"
    flying = [
        call.id
        for call in state.in_phase(Phase.INTENDED, Phase.DOUBT)
        if call.id not in state.threads
    ]
    if flying:
        return f"{', '.join(flying)} is in flight"
    return ""


def format_of(state: State) -> int:
    """The form of the chapter that says this state."""
    if state.started.before is None:
        return 1
    return 2


def content(state: State) -> dict[str, Any]:
    """What a chapter says: all that the records before it mean, in plain JSON. The same for the
    same fold, whoever makes it."""
    whole = msgspec.structs.replace(state, trust=None, head=b"", before=None)
    said: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(whole, enc_hook=as_plain))
    for names in _sets(said):
        names.sort()  # sets have no order, and lists of them must not depend on who made them
    return said


def _sets(said: dict[str, Any]) -> Iterator[list[Any]]:
    """What a state has as sets."""
    for name in ("ids", "flags", "called", "requesters"):
        yield said[name]
    for name in ("void", "upgrades", "nonces"):
        yield said["belief"][name]
    if flow := said["flow"]:
        yield flow["called"]
        for join in flow["joins"].values():
            yield join["lent"]
    for thread in said["threads"].values():
        yield thread["called"]
    for call in (*said["live"].values(), *said["effects"].values()):
        yield call["compensated"]


def meant(chapter: Chapter, kind: type[State]) -> State:
    """The state that a chapter says; raises `msgspec.ValidationError` if it says none."""
    said = msgspec.convert(chapter.state, kind, str_keys=True, dec_hook=from_plain)
    said.effects = said.effects.shared_with(said.live)
    return said


def begun(state: State, seq: int, chapter: Chapter) -> None:
    """Of whoever has folded what stands before it, nothing changes. Otherwise the fold begins
    here."""
    if state.run:
        if chapter.state:
            state.chapter = seq
        return
    if chapter.format not in FORMATS or not chapter.state:
        raise ValueError(
            f"the chapter at record {seq} cannot be read without the records before it"
        )
    said = meant(chapter, type(state))
    said.trust, said.seq, said.chapter, said.at = state.trust, seq, seq, chapter.at
    state.become(said)


def without_content(record: AnyRecord) -> AnyRecord:
    """The record, for the journal of another run: a chapter is only a mark there, as it says what
    its own run was."""
    if isinstance(record, Chapter):
        return Chapter(at=record.at, by=record.by, why=record.why)
    return record
