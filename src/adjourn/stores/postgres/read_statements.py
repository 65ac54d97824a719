"""From what a rule asks for to statements that read it. All of them go in one message, each with a
view of its own: what the locks before them have made sure of is the same for all."""

from collections.abc import Callable, Mapping, Sequence
from itertools import starmap
from typing import Any, NamedTuple, cast

from adjourn.core.status import Status
from adjourn.stores.erasure import Hold
from adjourn.stores.outbox import Notification, Wake
from adjourn.stores.postgres import conversation_turns, due, fleet
from adjourn.stores.postgres.rows import (
    COLUMNS,
    INTERRUPT,
    LETTER,
    SEAL,
    columns,
    interrupt_row,
    run_row,
)
from adjourn.stores.rows import first_column
from adjourn.stores.rules.interrupt_row import InterruptRow
from adjourn.stores.rules.reads_and_writes import LAST, Before, ReadRequest, ReadResult
from adjourn.stores.run_row import RunRow
from adjourn.stores.seals import Covered, Seal, sealed_head

NUMBER = "(select n from adjourn.run where id = %(run)s)"
Rows = Sequence[tuple[Any, ...]]


class Question(NamedTuple):
    """A statement, and which part of `ReadResult` is made of its rows, and how."""

    sql: str
    part: str
    made: Callable[[Rows], Any]

    def take(self, seen: ReadResult, rows: Rows) -> None:
        """Put what was found where it belongs."""
        setattr(seen, self.part, self.made(rows))


RUN = f"select {COLUMNS} from adjourn.run r where r.id = %(run)s"
TAIL = (
    f"select seq, body from adjourn.journal where run = {NUMBER} and seq > %(tail)s and "
    f"body is not null order by seq"
)
HEAD = f"select head from adjourn.journal where run = {NUMBER} and seq = %(head_at)s"
BEFORE = f"""
select j.head, {COLUMNS} from adjourn.run r left join adjourn.journal j on j.run = r.n and j.seq = %(before_seq)s
where r.id = %(before)s
"""
COPIED = f"select {COLUMNS} from adjourn.run r where r.id = %(copied)s"
_INTERRUPTS = f"select {columns(INTERRUPT, 'x')} from adjourn.interrupt x where x.run = {NUMBER}"
_MISSING = f"""
cardinality(%(named)s::text[]) > (select count(*) from adjourn.interrupt y where y.run = {NUMBER} and y.i = any(%(named)s::text[]))
"""
RECORDS = f"""
select j.seq, j.body from adjourn.journal j where j.run = {NUMBER} and j.body is not null and j.seq = any(
    array(select unnest(%(records)s::bigint[])
    union select r.seq from adjourn.run r where %(with_last)s and r.id = %(run)s
    union select x.seq from adjourn.interrupt x where %(openings)s and x.run = {NUMBER} and x.i = any(%(named)s::text[])
    union select v.value::bigint from adjourn.interrupt x, json_each_text(x.votes::json) v
        where %(openings)s and x.run = {NUMBER} and x.i = any(%(named)s::text[])))
"""
REQUEST = f"select seq, body from adjourn.request where run = {NUMBER} and id = %(request)s"
AUDIT = "select scope, n, head from adjourn.audit_head where scope = any(%(scopes)s::text[])"
HOLDS = "select scope, by, reason, at from adjourn.hold order by at"
SOME_LETTERS = (
    f"select {', '.join(LETTER)} from adjourn.letter where n = any(%(letters)s::bigint[])"
)
DUE_LETTERS = f"""
select {columns(LETTER, "x")} from adjourn.letter x where x.state = 'due' and x.due_at <= %(now)s and not exists (
    select 1 from adjourn.letter o where o.endpoint = x.endpoint and o.run = x.run and o.state = 'due' and o.n < x.n)
and x.endpoint <> all(%(but)s::text[]) order by x.n limit %(take)s for update of x skip locked
"""
WAKES = """
select w.n, r.id, w.not_before from adjourn.wake w join adjourn.run r on r.n = w.run where w.not_before <= %(now)s
order by w.not_before, w.n limit %(wakes)s for update of w skip locked
"""
STORE = "select value from adjourn.meta where key = 'store'"
TOUCHED = """
select scope from adjourn.touched where scope in (select scope from adjourn.touched order by scope limit %(touched)s)
order by scope for update
"""
COVERED = """
select t.scope, coalesce(a.n, 0), coalesce(encode(a.head, 'hex'), ''), coalesce(r.seq, 0), r.salt, r.head from adjourn.touched t
left join adjourn.audit_head a on a.scope = t.scope left join adjourn.run r on r.id = t.scope order by t.scope
limit %(touched)s
"""
SEALS = f"""
select k = (select max(k) from adjourn.seal), {", ".join(SEAL)} from adjourn.seal
where k = %(seal)s or k = (select max(k) from adjourn.seal)
"""


def name(text: str) -> str:
    """A name as it can be looked for. With a NUL there is none such; and nothing of this name."""
    if "\0" not in text:
        return text
    return "@nul"


def _looked_for(value: Any) -> Any:
    if isinstance(value, str):
        return name(value)
    return value


def looked_for(values: Mapping[str, Any]) -> dict[str, Any]:
    """What a statement that only reads is given, with every name in it as it can be looked for."""
    found: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, list):
            found[key] = [_looked_for(one) for one in cast("list[Any]", value)]
        else:
            found[key] = _looked_for(value)
    return found


def values_of(ask: ReadRequest, now: float) -> dict[str, Any]:
    """What the statements of an `ReadRequest` are given."""
    before, before_seq = ask.before or ("", 0)
    session, program = ask.last or ("", "")
    return {
        "run": name(ask.run),
        "tail": ask.tail,
        "head_at": ask.head_at,
        "before": name(before),
        "before_seq": before_seq,
        "copied": name(ask.copied),
        "session": name(session),
        "program": name(program),
        "named": [*map(name, ask.named)],
        "lives": [*map(name, ask.lives)],
        "openings": ask.openings,
        "records": [seq for seq in ask.records if seq != LAST],
        "with_last": LAST in ask.records,
        "request": name(ask.request),
        "scopes": [*map(name, ask.audit)],
        "letters": list(ask.letters),
        "take": ask.take,
        "but": [*map(name, ask.but)],
        "wakes": ask.wakes,
        "touched": ask.touched,
        "seal": ask.seal,
        "now": now,
    }


def questions(ask: ReadRequest, *, waking: bool) -> list[Question]:
    """What is to be read for an `ReadRequest`, except what `config` has. `waking`: whether wakes
    are wanted, as far as is known."""
    found = [*_of_run(ask), *_of_others(ask)]
    if ask.audit:
        found.append(Question(AUDIT, "audit", _lines))
    if ask.holds:
        found.append(Question(HOLDS, "holds", _each(Hold)))
    if ask.letters:
        found.append(Question(SOME_LETTERS, "letters", _letters))
    if ask.take:
        found.append(Question(DUE_LETTERS, "due", _each(Notification)))
    if ask.wakes:
        found.append(Question(WAKES, "wakes", _each(Wake)))
    if ask.asleep == "all" or (ask.asleep and waking):
        found.append(
            Question(due.BLOCKED if ask.asleep == "blocked" else due.ASLEEP, "asleep", _runs)
        )
    if ask.tickets:
        found.append(Question(fleet.TICKETS, "tickets", _text))
    if ask.touched:
        locked = Locked()
        found += [
            Question(TOUCHED, "touched", locked.take),
            Question(COVERED, "touched", locked.covered),
            Question(STORE, "store", _text),
            Question(SEALS, "seals", _seals),
        ]
    return found


def _of_run(ask: ReadRequest) -> list[Question]:
    """About the run itself."""
    if not ask.run:
        return []
    found = [Question(RUN, "row", _run)]
    if ask.tail >= 0:
        found.append(Question(TAIL, "tail", list))
    if ask.head_at > 0:
        found.append(Question(HEAD, "head", _head))
    if ask.opens or ask.named or ask.lives or ask.all_interrupts:
        found.append(Question(f"{_INTERRUPTS} and ({_wanted(ask)})", "interrupts", _interrupts))
    if ask.records or ask.openings:
        found.append(Question(RECORDS, "records", dict))
    if ask.request:
        found.append(Question(REQUEST, "request", _first))
    return found


def _of_others(ask: ReadRequest) -> list[Question]:
    """About other runs that it has to do with."""
    found: list[Question] = []
    if ask.before:
        found.append(Question(BEFORE, "before", _before))
    if ask.copied:
        found.append(Question(COPIED, "copied", _run))
    if ask.last:
        found.append(Question(conversation_turns.LAST, "last", _text))
    if ask.queue:
        found.append(Question(due.AHEAD, "ahead", _text))
    if ask.later:
        found.append(Question(conversation_turns.LATER, "later", _later))
    return found


def _wanted(ask: ReadRequest) -> str:
    """Which interrupts of a run."""
    if ask.all_interrupts:
        return "true"
    terms: list[str] = []
    if ask.named:
        terms.append("x.i = any(%(named)s::text[])")
    if ask.lives:
        terms.append("x.lives = any(%(lives)s::text[])")
    if ask.opens:
        terms.append("x.state = 'open'")
    elif ask.otherwise_opens:
        terms.append(f"(x.state = 'open' and {_MISSING})")
    return " or ".join(terms)


def _first(rows: Rows) -> tuple[Any, ...] | None:
    return rows[0] if rows else None


def _text(rows: Rows) -> str:
    return rows[0][0] if rows else ""


def _head(rows: Rows) -> bytes:
    return rows[0][0] if rows else b""


def _run(rows: Rows) -> RunRow | None:
    return run_row(rows[0]) if rows else None


def _runs(rows: Rows) -> list[RunRow]:
    return list(map(run_row, rows))


def _interrupts(rows: Rows) -> dict[str, InterruptRow]:
    return {interrupt.i: interrupt for interrupt in map(interrupt_row, rows)}


def _before(rows: Rows) -> Before | None:
    if not rows:
        return None
    head, *row = rows[0]
    return Before(run_row(row), head or b"")


def _later(rows: Rows) -> list[tuple[str, Status]]:
    return [(id, Status(status)) for id, status in rows]


def _lines(rows: Rows) -> dict[str, tuple[int, bytes]]:
    return {scope: (n, head) for scope, n, head in rows}


def _each(made: Callable[..., Any]) -> Callable[[Rows], list[Any]]:
    """A list of what is made of each row."""
    return lambda rows: list(starmap(made, rows))


def _letters(rows: Rows) -> dict[int, Notification]:
    return {letter.n: letter for letter in starmap(Notification, rows)}


class Locked:
    """The scopes that are locked to be sealed: what others touch from now on stays touched."""

    def __init__(self) -> None:
        self._scopes: set[str] = set()

    def take(self, rows: Rows) -> Sequence[Covered]:
        """These are; where they stand comes next."""
        self._scopes = set(first_column(rows))
        return ()

    def covered(self, rows: Rows) -> list[Covered]:
        """Where those of them stand that are locked."""
        found: list[Covered] = []
        for scope, number, line, seq, salt, head in rows:
            if scope in self._scopes:
                found.append(
                    Covered(scope, number, line, seq, sealed_head(salt, head) if head else "")
                )
        return found


def _seals(rows: Rows) -> dict[int, Seal]:
    found: dict[int, Seal] = {}
    for last, *values in rows:
        seal = Seal(*values)
        found[seal.k] = seal
        if last:
            found[0] = seal
    return found
