"""What a fold believes: which of people's records count. Without deciders all do, but those that a
worker disowned."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from adjourn.core.approval_votes import is_filled, votes_of
from adjourn.core.authority import Support, objection
from adjourn.core.decision import is_instead
from adjourn.core.ids import local_event
from adjourn.core.record_parts import ApprovalSlot
from adjourn.core.records import (
    AnyRecord,
    Asked,
    Decided,
    Disowned,
    Emitted,
    Forked,
    Suspended,
    Upgraded,
)
from adjourn.core.signatures import SEALED, Trust, is_genuine, prefix_digest, shown, was_accepted
from adjourn.core.standing_decision import backing, under
from adjourn.core.upgraded_journal import Numbered, as_upgraded

if TYPE_CHECKING:
    from adjourn.core.call import Call
    from adjourn.core.state import State


def disowned(records: Iterable[AnyRecord]) -> set[int]:
    """The records among these that do not count, by their seq."""
    return {record.seq for record in records if type(record) is Disowned}


class FoldAgain(ValueError):
    """A record takes an earlier one back that is folded already, or reads it differently: fold the
    journal again from its beginning."""

    def __init__(self) -> None:
        super().__init__(
            "a record of this run was disowned or upgraded: fold its journal again from the beginning"
        )


class Belief(msgspec.Struct, gc=False):
    """Of one fold: the records that do not count (`void`), and those of them that are to be
    disowned.

    `untrusted` says why a worker must not go on with the run at all.
    """

    void: frozenset[int] = frozenset()
    disowns: tuple[Disowned, ...] = ()
    untrusted: str = ""
    upgrades: frozenset[int] = frozenset()
    nonces: set[str] = msgspec.field(default_factory=set[str])
    answered: bool = False

    def sifted(
        self, state: State, records: Iterable[Numbered]
    ) -> Iterator[tuple[int, AnyRecord, bool]]:
        """Every record, and whether it counts. The state must have folded all before the next is
        asked for."""
        batch = records if isinstance(records, list) else list(records)
        void, upgrades = set[int](), set[int]()
        for seq, record in batch:
            if type(record) is Disowned:
                void.add(record.seq)
            elif type(record) is Upgraded:
                upgrades.add(seq)
        if (upgrades and state.seq) or any(
            seq <= state.seq and seq not in self.void for seq in void
        ):
            raise FoldAgain
        if upgrades:
            self.upgrades |= upgrades
            read = as_upgraded(batch)
        else:
            read = batch
        for place, (seq, record) in enumerate(read):
            counts = seq not in void
            if state.trust is not None and counts and isinstance(record, SEALED):
                counts = self._counts(state, state.trust, batch, place)
            yield seq, record, counts

    def recorded(self, record: Disowned) -> None:
        """A worker has disowned a record; raises `FoldAgain` if that one was folded."""
        if record.seq not in self.void:
            raise FoldAgain
        self.disowns = tuple(mine for mine in self.disowns if mine.seq != record.seq)

    def knows(self, seq: int) -> None:
        """Raise `FoldAgain` unless what stood before the upgrade at `seq` was read as it says."""
        if seq not in self.upgrades:
            raise FoldAgain

    def _counts(self, state: State, trust: Trust, batch: Sequence[Numbered], place: int) -> bool:
        """What a worker has gone on from is history: it counts. Only a call that needs an agreement
        asks for signatures again."""
        seq, record = batch[place]
        if isinstance(record, Forked):
            self.untrusted = self.untrusted or self._kept(state, trust, batch, place, record)
            return True
        assert isinstance(record, Decided | Emitted)
        about = _about(state, record)
        if not about and isinstance(record, Emitted):  # it answers nothing, so it decides nothing
            return True
        used = record.seal is not None and record.seal.nonce in self.nonces
        if about and not used and was_accepted(batch, place):
            self.answered |= isinstance(about[0], Suspended)
            self.answered |= isinstance(record, Decided) and is_instead(record)
            if record.seal is not None:
                self.nonces.add(record.seal.nonce)
            return True
        if used:
            why = "its signature has already been used"
        else:
            why = self._flaw(state, trust, record, about)
        if why:
            if isinstance(record, Decided):
                interrupt = record.i
            else:
                interrupt = about[0].i
            self.disowns += (Disowned(seq=seq, i=interrupt, by=record.by, why=why),)
        elif record.seal is not None:
            self.nonces.add(record.seal.nonce)
        return not why

    def _flaw(
        self,
        state: State,
        trust: Trust,
        record: Decided | Emitted,
        about: Sequence[Asked | Suspended],
    ) -> str:
        if not about:
            return "it is not about an interrupt that was open"
        if isinstance(record, Decided) and under(record):
            behind = backing(state.standing, record)
            if behind is None:
                return "it follows no standing decision"
            return trust.flaw(state.run, behind[1], shown(state.run, behind[0]))
        return trust.flaw(
            state.run, record, shown(state.run, about[0]) if isinstance(record, Decided) else ""
        )

    def _kept(
        self, state: State, trust: Trust, batch: Sequence[Numbered], place: int, record: Forked
    ) -> str:
        """Why a fork must not go on: it keeps people's answers, and nobody who is trusted has said
        so."""
        if record.answers != "keep":
            if self.answered:
                return (
                    "it is a fork that contains people's answers, and does not name the "
                    "person who keeps them"
                )
            return ""
        if batch[0][0] != 1:
            return "it became a fork after it had begun"
        why = trust.flaw(state.run, record, prefix_digest(record, [x for _, x in batch[:place]]))
        if why:
            return f"it is a fork that keeps people's answers, and {why}"
        return ""


def _about(state: State, record: Decided | Emitted) -> list[Asked | Suspended]:
    """What it decides, if that is open: one interrupt, or the questions that wait for an event."""
    if isinstance(record, Decided):
        opened = state.open.get(record.i)
        if opened:
            return [opened.record]
        return []
    found: list[Asked | Suspended] = []
    for asked in state.open_suspensions():
        if asked.kind == "question" and asked.event and local_event(asked.event) == record.event:
            found.append(asked)
    return found


def is_vouched(state: State, call: Call, gate: Sequence[ApprovalSlot]) -> bool:
    """Whether people whom a worker trusts stand behind a call that has begun, and would fill this
    gate.

    A file can say that a call was begun which nobody agreed to. Nothing more is done on its
    account.
    """
    if state.trust is None:
        return True
    if call.basis is None:
        return False
    asked, decisions = call.basis.asked, call.basis.decisions
    # as they were then: what has ended one since takes nothing back that has begun
    standing = {id: replace(one, ended="") for id, one in state.standing.items()}
    signed: list[Decided] = []
    for decided in decisions:
        if is_genuine(state.trust, state.run, asked, decided, standing):
            signed.append(decided)
    requesters = frozenset(asked.requesters)
    intended = call.basis.intended
    if objection(
        state.run,
        intended,
        asked,
        signed,
        requesters,
        intended.at,
        support=Support(standing=standing),
    ):
        return False
    return is_filled(gate, votes_of(signed), requesters)
