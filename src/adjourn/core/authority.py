"""Authority: whose decisions stand behind a call. Pure questions over records, asked wherever a
call may come to run.

A rule that asks wants *slots* filled: so many people of these groups. Slots of one rule are filled
by different people; one person's yes counts once in every rule that it fits.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import msgspec

from adjourn.core.action_digest import action_digest, digest
from adjourn.core.decision import chosen, decided_at, is_instead
from adjourn.core.record_parts import ApprovalSlot
from adjourn.core.records import (
    AnyRecord,
    Asked,
    Decided,
    Disowned,
    Emitted,
    Forked,
    Intended,
    Restored,
    Resumed,
    Revoked,
    Said,
    Started,
    Suspended,
    Verified,
    Yielded,
)
from adjourn.core.standing_decision import Known, StandingDecision, under, use_flaw

Requesters = frozenset[str]


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


@lru_cache(maxsize=4096)
def person(name: str) -> str:
    """Whose name this is, to compare by: `Ana`, `ANA `, `ａｎａ` and one with characters that nobody
    sees are one person.

    Names are shown as they were given.
    """
    if name.isascii() and name.isprintable():
        return " ".join(name.lower().split())
    import unicodedata

    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    words: list[str] = []
    for word in text.split():
        seen = "".join(char for char in word if unicodedata.category(char) not in ("Cc", "Cf"))
        if seen:
            words.append(seen)
    return " ".join(words)


def is_known(name: str, names: Iterable[str]) -> bool:
    """Whether somebody of these names is this person."""
    who = person(name)
    return who in map(person, names)


def gate_of(asked: Asked) -> tuple[ApprovalSlot, ...]:
    """What an approval or a call in doubt needs; of records from before there were slots as
    well."""
    if asked.escalated and asked.escalated_gate:
        return asked.escalated_gate
    if asked.gate or asked.kind not in ("approval", "in_doubt"):
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
        if len(seats) == 1:
            votes = all_votes
        else:
            votes = named
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
            if number in taken:
                by = votes[taken[number]].by
            else:
                by = None
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


def shapes(record: AnyRecord, kind: str = "question") -> str:
    """Who shaped the run by this record, if it is somebody's words that it goes by. `kind`: of what
    a decision is about."""
    match record:
        case Started() | Said() | Emitted():
            return record.by
        case Resumed():
            if record.instruction:
                return record.by
            return ""
        case Forked():
            return record.by
        case Decided():
            # a choice says nothing, but for the result of what happened
            if record.verdict == "value":
                told = kind in ("question", "event") or "result" in chosen(record)
            else:
                denies = record.verdict == "deny" and bool(record.note)
                told = record.edit is not None or denies or is_instead(record)
            return record.by if told else ""
        case _:
            return ""


def disowned(records: Iterable[AnyRecord]) -> set[int]:
    """The records among these that do not count, by their seq."""
    return {record.seq for record in records if type(record) is Disowned}


def requesters(records: Iterable[AnyRecord]) -> Requesters:
    """Everybody who shaped the run; of a fork also who shaped what it was forked from."""
    found: set[str] = set()
    kinds: dict[str, str] = {}
    for record in records:
        if isinstance(record, Asked | Suspended):
            kinds[record.i] = record.kind
        if by := shapes(
            record, kinds.get(record.i, "question") if isinstance(record, Decided) else ""
        ):
            found.add(by)
        if isinstance(record, Started | Forked):
            found.update(record.requesters)
    return frozenset(found)


def shown_digest(run: str, asked: Asked) -> str:
    """What a person agrees to: everything that an approval shows. One that was escalated still
    shows the same."""
    if asked.carries:
        first = asked.carries[0]
    else:
        first = asked.i
    said: list[Any] = [
        asked.kind,
        asked.describes,
        asked.effect,
        asked.undo,
        asked.reason,
        list(asked.rules),
        _said(asked.gate),
    ]
    if asked.escalated_gate:  # said before it is escalated as well: who agrees knows who else may
        said.append(_said(asked.escalated_gate))
    if not may_edit(asked):
        said.append("as it is")
    return digest("shown", run, first, asked.action, said, list(asked.requesters), asked.valid_for)


def may_edit(asked: Asked) -> bool:
    """Whether an approver may change the arguments: no value fits the schema `false`."""
    return asked.schema is not False


def _said(gate: Iterable[ApprovalSlot]) -> list[Any]:
    return [(slot.rule, slot.groups, slot.count, slot.not_requester) for slot in gate]


def is_as_shown(run: str, asked: Asked) -> bool:
    """Whether the record says what its digests say: a signature covers those, and nothing else of
    it."""
    action = action_digest(run, asked.call, asked.tool, asked.definition, asked.args)
    return asked.action == action and asked.digest == shown_digest(run, asked)


def says_yes(asked: Asked, decided: Decided) -> bool:
    """Whether this decision lets the call run."""
    if asked.kind == "approval":
        return decided.verdict == "approve"
    return decided.verdict == "value" and chosen(decided).get("choice") == "run"


def agreed_to(asked: Asked, decisions: Iterable[Decided]) -> list[Decided]:
    """Of these decisions, those that let the call run."""
    return [decided for decided in decisions if says_yes(asked, decided)]


def lapses(asked: Asked, decisions: Sequence[Decided]) -> float:
    """When the life of the agreement is over; 0.0 for never."""
    return (
        max(map(decided_at, decisions)) + asked.valid_for if asked.valid_for and decisions else 0.0
    )


def _always(_: Decided) -> bool:
    return True


NONE_STANDS: Known = MappingProxyType({})


class Support(msgspec.Struct, frozen=True, gc=False):
    """What is known about decisions beside their records. `genuine`: whether one is signed, where
    that is asked for; `standing`: the standing decisions of the run, as far as they follow one."""

    genuine: Callable[[Decided], bool] = _always
    standing: Known = NONE_STANDS


ALL_GENUINE = Support()


def objection(  # noqa: C901 - a list of reasons, in their order: the invariant stays in one place
    run: str,
    intended: Intended,
    asked: Asked,
    decisions: Sequence[Decided],
    requesters: Requesters,
    now: float,
    spent: bool = False,
    support: Support = ALL_GENUINE,
) -> str:
    """Why these decisions do not stand behind this intent; "" if they do. The invariant, in one
    place.

    `decisions` are those that were recorded for `asked` (and for what it carries over); `spent`: an
    intent lives on them already, and nothing since then says that its execution goes on.
    """
    agreed = agreed_to(asked, decisions)
    if not agreed:
        return "nobody has agreed to it"
    agreed = list(filter(support.genuine, agreed))
    if not agreed:
        return "nobody has agreed to it whose signature counts here"
    if any(decided.verdict == "deny" for decided in decisions):
        return "it was denied"
    if spent:
        return "what was agreed to has been used"
    if more := sorted(_rules(intended.gate) - _rules(gate_of(asked))):
        return f"rules ask that nobody was asked about: {', '.join(more)}"
    if intended.grant != asked.i:
        return "it was agreed to as something else"
    if not is_as_shown(run, asked):
        return "what was asked is not what was shown"
    about, args, edit = (asked.i, *asked.carries), asked.args, None
    for decided in agreed:
        if decided.i not in about or decided.digest != asked.digest:
            return "a decision was about something else"
        if decided.edit is not None:
            args, edit = decided.edit, decided
    if why := standing_flaw(run, support.standing, asked, agreed, now):
        return why
    if edit is not None and not may_edit(asked):
        return "its arguments may not be changed"
    if edit is not None:
        agreed = [edit]  # the others agreed to something else
    if intended.call != asked.call and not are_for_run(agreed):
        return "it was agreed to for another call"
    if action_digest(run, intended.call, asked.tool, asked.definition, args) != intended.digest:
        return "it is not what was agreed to"
    if (intended.tool, intended.effect, intended.undo) != (asked.tool, asked.effect, asked.undo):
        return "it is said to be something else than what was agreed to"
    if intended.agent and args != {"input": intended.input}:
        return "the nested agent would be told something else than what was agreed to"
    if asked.expires and max(map(decided_at, agreed)) >= asked.expires:
        return "it was agreed to after it had expired"
    if (until := lapses(asked, agreed)) and now >= until:
        return "the agreement's life is over"
    gate = dict.fromkeys((*gate_of(asked), *intended.gate))
    empty = empty_seats(gate, votes_of(agreed), requesters)
    return "; ".join(f"somebody {_of(slot)} has not agreed" for slot in empty)


def standing_flaw(
    run: str, known: Known, asked: Asked, decisions: Sequence[Decided], now: float
) -> str:
    """Why those of these decisions that follow a standing one do not count; "" if they do."""
    for decided in decisions:
        if (standing := known.get(under(decided))) and not _is_of(run, standing):
            return "the standing decision behind it was made about something else"
    return use_flaw(known, asked, decisions, now)


def _is_of(run: str, standing: StandingDecision) -> bool:
    """Whether it was made about what was shown, in this run and in time."""
    made = standing.made
    for decided in standing.decisions:
        late = bool(made.expires) and decided_at(decided) >= made.expires
        if late or decided.i not in (made.i, *made.carries) or decided.digest != made.digest:
            return False
    return is_as_shown(run, made)


def _rules(gate: Iterable[ApprovalSlot]) -> set[str]:
    return {slot.rule for slot in gate}


def _of(slot: ApprovalSlot) -> str:
    if not slot.groups:
        if slot.not_requester:
            return "else"
        return "who may"
    of = f"of {' or '.join(slot.groups)}"
    if slot.not_requester:
        return f"{of} who did not ask for it"
    return of


def needs_authority(intended: Intended) -> bool:
    """Whether somebody must have agreed to this intent."""
    return bool(intended.gate or intended.grant)


GOING_ON = frozenset({Suspended, Yielded, Verified})


def goes_on(record: AnyRecord) -> str:
    """The call whose execution goes on, if this record says so: the next intent of it is no new
    execution."""
    if type(record) not in GOING_ON:
        return ""
    match record:
        case Suspended() if record.resume_to == "self":
            return record.call
        case Yielded():
            return record.call
        case Verified() if record.answer == "not":
            return record.call
        case _:
            return ""


def with_runs(records: Sequence[AnyRecord]) -> Iterator[tuple[int, str, AnyRecord]]:
    """Every record with its seq and the run that it is of: a fork's journal begins with parts of
    its originals."""
    originals = [record.of for record in records if isinstance(record, Forked)]
    first = records[0] if records else None
    if isinstance(first, Started):
        own = first.run
    else:
        own = ""
    run = own
    for seq, record in enumerate(records, 1):
        if isinstance(record, Started | Forked):
            if originals:
                run = originals.pop(0)
            else:
                run = own
        yield seq, run, record


def violations(records: Sequence[AnyRecord]) -> Iterator[str]:
    """Every intent of a journal that nobody's decision stands behind, in words. The oracle of
    tests, imports and `verify`."""
    asked: dict[str, Asked] = {}
    decided: dict[str, list[Decided]] = {}
    spent: dict[str, str] = {}  # interrupt → call that lives on it
    shaped: set[str] = set()
    kinds: dict[str, str] = {}
    log = _StandingLog(asked, decided)
    void = disowned(records)
    for seq, run, record in with_runs(records):
        if seq in void:
            continue
        yield from log.heard(seq, record)
        if by := _shaper(record, kinds):
            shaped.add(by)
        match record:
            case Started():
                shaped.update(record.requesters)
            case Forked():
                shaped.update(record.requesters)
                asked.clear()
                decided.clear()
                spent.clear()
            case Asked():
                asked[record.i] = record
                decided[record.i] = _carried(record, decided)
            case Decided() if record.i in decided:
                decided[record.i].append(record)
            case Intended() if needs_authority(record):
                if record.grant not in asked:
                    yield f"record {seq}: {record.call} ({record.tool}) is gated, and no person was asked"
                    continue
                lives = spent.get(record.grant)
                again = record.effect in ("read", "idempotent") and lives == record.call
                once = not are_for_run(agreed_to(asked[record.grant], decided[record.grant]))
                why = objection(
                    run,
                    record,
                    asked[record.grant],
                    decided[record.grant],
                    frozenset(shaped),
                    record.at,
                    spent=lives is not None and once and not again,
                    support=Support(standing=log.known(decided[record.grant])),
                )
                spent[record.grant] = record.call
                if why:
                    yield f"record {seq}: {record.call} ({record.tool}) runs although {why}"
            case _:
                pass
        if call := goes_on(record):
            _let_go(spent, call)


class _StandingLog:
    """The standing decisions of a journal that is read: how often each was used, and what ended
    it."""

    def __init__(self, asked: dict[str, Asked], decided: dict[str, list[Decided]]) -> None:
        self._asked, self._decided = asked, decided
        self._uses: dict[str, set[str]] = {}
        self._ended: dict[str, str] = {}

    def heard(self, seq: int, record: AnyRecord) -> Iterator[str]:
        """Take in a record; says so if it is one use too many."""
        match record:
            case Revoked():
                self._ended[record.i] = "revoked"
            case Restored() | Forked():
                self._ended.update(dict.fromkeys(self._asked, "made before"))
            case Decided() if behind := under(record):
                used = self._uses.setdefault(behind, {behind})
                used.add(record.i)
                standing = self.known([record]).get(behind)
                says = standing.says if standing else None
                if says is not None and says.times and len(used) > says.times:
                    yield f"record {seq}: {behind} stands for {says.times} calls, and answers more"
            case _:
                pass

    def known(self, decisions: Iterable[Decided]) -> dict[str, StandingDecision]:
        """Those that these decisions follow."""
        found: dict[str, StandingDecision] = {}
        for behind in filter(None, map(under, decisions)):
            if behind in self._asked:
                made = self._asked[behind]
                agreed = agreed_to(made, self._decided[behind])
                ended = self._ended.get(behind, "")
                found[behind] = StandingDecision(made, agreed, ended=ended)
        return found


def _shaper(record: AnyRecord, kinds: dict[str, str]) -> str:
    """Who shapes the run with this record; `kinds` learns what is asked by it."""
    if isinstance(record, Asked | Suspended):
        kinds[record.i] = record.kind
    if isinstance(record, Decided):
        return shapes(record, kinds.get(record.i, "question"))
    return shapes(record, "")


def _carried(asked: Asked, decided: dict[str, list[Decided]]) -> list[Decided]:
    """The decisions that count for this question already."""
    found: list[Decided] = []
    for old in asked.carries:
        found += decided.get(old, [])
    return found


def _let_go(spent: dict[str, str], call: str) -> None:
    """The execution of this call goes on: what it lives on is there for its next intent."""
    for interrupt, user in list(spent.items()):
        if user == call:
            del spent[interrupt]
