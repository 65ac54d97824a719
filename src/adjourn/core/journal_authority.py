"""A whole journal: whether somebody's decision stands behind every intent in it."""

from collections.abc import Iterable, Iterator, Sequence

from adjourn.core.approval_votes import agreed_to, are_for_run
from adjourn.core.authority import Support, goes_on, needs_authority, objection
from adjourn.core.belief import disowned
from adjourn.core.records import (
    AnyRecord,
    Asked,
    Decided,
    Forked,
    Intended,
    Restored,
    Revoked,
    Started,
    Suspended,
)
from adjourn.core.requesters import shapes
from adjourn.core.standing_decision import StandingDecision, under


def with_runs(records: Sequence[AnyRecord]) -> Iterator[tuple[int, str, AnyRecord]]:
    """Every record with its seq and the run that it is of: a fork's journal begins with parts of
    its originals."""
    originals = [record.of for record in records if isinstance(record, Forked)]
    first = records[0] if records else None
    own = first.run if isinstance(first, Started) else ""
    run = own
    for seq, record in enumerate(records, 1):
        if isinstance(record, Started | Forked):
            run = originals.pop(0) if originals else own
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
                    yield (
                        f"record {seq}: {record.call} ({record.tool}) needs approval, but no "
                        "person was asked"
                    )
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
                    yield f"record {seq}: {behind} stands for {says.times} calls, but answers more"
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
