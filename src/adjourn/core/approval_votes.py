"""Votes: who has agreed to what an approval asks, and which seats are still empty. Pure questions over
records.

A rule that asks wants *slots* filled: so many people of these groups. Slots of one rule are filled
by different people; one person's yes counts once in every rule that it fits.
"""

from collections.abc import Iterable, Sequence

import msgspec

from adjourn.core.decision import says_yes
from adjourn.core.interrupt_kind import OF_CALLS
from adjourn.core.person_name import is_known, person
from adjourn.core.record_parts import ApprovalSlot
from adjourn.core.records import Asked, Decided
from adjourn.core.requesters import Requesters


class Vote(msgspec.Struct, frozen=True, gc=False):
    """Somebody's yes, with the groups they had then."""

    by: str
    groups: tuple[str, ...] = ()


def votes_of(decisions: Iterable[Decided]) -> list[Vote]:
    """The votes of those who decided."""
    return [Vote(decided.by, decided.groups) for decided in decisions]


def are_for_run(decisions: Iterable[Decided]) -> bool:
    """Whether all of them hold for the whole run."""
    return all(decided.scope == "run" for decided in decisions)


def groups_of(gate: Iterable[ApprovalSlot]) -> tuple[str, ...]:
    """The groups of all slots, in order."""
    found: set[str] = set()
    for slot in gate:
        found.update(slot.groups)
    return tuple(sorted(found))


def gate_of(asked: Asked) -> tuple[ApprovalSlot, ...]:
    """What an approval or a call in doubt needs; of records from before there were slots as
    well."""
    if asked.escalated and asked.escalated_gate:
        return asked.escalated_gate
    if asked.gate or asked.kind not in OF_CALLS:
        return asked.gate
    if asked.kind == "in_doubt" and not asked.rules:
        return ()
    sets = asked.group_sets or (asked.groups,)
    rules = asked.rules or ("?",)
    return tuple(
        ApprovalSlot(rules[0], groups, asked.approvers, asked.not_requester) for groups in sets
    )


def fits(slot: ApprovalSlot, vote: Vote, requesters: Requesters) -> bool:
    """Whether this person may fill this slot. Somebody without a name may be anybody, so also
    whoever asked."""
    if slot.not_requester and not person(vote.by):
        return False
    if slot.groups and not set(slot.groups).intersection(vote.groups):
        return False
    return not slot.not_requester or (bool(requesters) and not is_known(vote.by, requesters))


def _seats(gate: Iterable[ApprovalSlot]) -> dict[str, list[ApprovalSlot]]:
    seats: dict[str, list[ApprovalSlot]] = {}
    for slot in gate:
        seats.setdefault(slot.rule, []).extend([slot] * slot.count)
    return seats


def seated(
    gate: Iterable[ApprovalSlot], votes: Sequence[Vote], requesters: Requesters
) -> list[tuple[ApprovalSlot, str | None]]:
    """Every seat with whoever fills it, or None: of each rule as many as possible, by different
    people, earlier votes first.

    Somebody without a name is different from nobody, so fills no seat of a rule that wants several
    people.
    """
    found: list[tuple[ApprovalSlot, str | None]] = []
    distinct: dict[str, Vote] = {}
    for vote in votes:
        distinct.setdefault(person(vote.by), vote)
    all_votes = list(distinct.values())
    named = all_votes
    if "" in distinct:  # somebody without a name
        named = [vote for who, vote in distinct.items() if who]
    for seats in _seats(gate).values():
        votes = all_votes if len(seats) == 1 else named
        taken: dict[int, int] = {}  # seat → vote

        def place(
            at: int,
            tried: set[int],
            seats: list[ApprovalSlot] = seats,
            taken: dict[int, int] = taken,
            votes: Sequence[Vote] = votes,
        ) -> bool:
            for number, slot in enumerate(seats):
                if number in tried or not fits(slot, votes[at], requesters):
                    continue
                tried.add(number)
                if number not in taken or place(taken[number], tried):
                    taken[number] = at
                    return True
            return False

        for at in range(len(votes)):
            place(at, set())
        for number, slot in enumerate(seats):
            by = votes[taken[number]].by if number in taken else None
            found.append((slot, by))
    return found


def empty_seats(
    gate: Iterable[ApprovalSlot], votes: Sequence[Vote], requesters: Requesters
) -> list[ApprovalSlot]:
    """The seats that nobody fills yet."""
    slots = tuple(gate)
    if len(slots) == 1 and slots[0].count == 1 and len(votes) < 2:  # as nearly always
        filled = bool(votes) and fits(slots[0], votes[0], requesters)
        return [] if filled else [slots[0]]
    return [slot for slot, by in seated(slots, votes, requesters) if by is None]


def is_filled(gate: Iterable[ApprovalSlot], votes: Sequence[Vote], requesters: Requesters) -> bool:
    """Whether all agreed who must. Nobody need agree to an empty gate, but somebody must have."""
    return bool(votes) and not empty_seats(gate, votes, requesters)


def adds(
    gate: Sequence[ApprovalSlot], votes: Sequence[Vote], vote: Vote, requesters: Requesters
) -> bool:
    """Whether this yes fills a seat that is empty."""
    if not gate:
        return not votes
    empty = len(empty_seats(gate, votes, requesters))
    return len(empty_seats(gate, [*votes, vote], requesters)) < empty


def people(gate: Iterable[ApprovalSlot]) -> int:
    """How many different people it takes at least."""
    return max([1, *map(len, _seats(gate).values())])


def agreed_to(asked: Asked, decisions: Iterable[Decided]) -> list[Decided]:
    """Of these decisions, those that let the call run."""
    return [decided for decided in decisions if says_yes(asked, decided)]
