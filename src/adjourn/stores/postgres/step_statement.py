"""The statement that writes what rules say of runs that are there: their rows, records, interrupts and
what was touched, however many runs there are.

What is written stands in the statement itself, as values. PostgreSQL then plans for what is there, and
leaves out what is not: given as one argument of JSON, the same took it twice as long. Bodies of records
are texts and stay texts: PostgreSQL never reads the JSON in them, which may have escapes that it refuses.
"""

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Any

from adjourn.stores.postgres.rows import INTERRUPT, TYPES, interrupt_values
from adjourn.stores.rules.reads_and_writes import Writes
from adjourn.stores.run_row import CHANGING, RunRow

RECORD = ("run", "seq", "epoch", "body", "head")
INTERRUPT_COLUMNS = (*INTERRUPT, "said")
_TYPES = {**TYPES, "head": "bytea", "was": "bytea"}
_changing = attrgetter(*CHANGING)
_JOURNAL = f"insert into adjourn.journal ({', '.join(RECORD)}) select x.* from {{}} join done on done.n = x.run"
_INTERRUPTS = f"""
insert into adjourn.interrupt (run, {", ".join(INTERRUPT_COLUMNS)}) select x.* from {{}} join done on done.n = x.run
on conflict (run, i) do update set state = excluded.state, by = excluded.by, votes = excluded.votes, lives = excluded.lives,
    disowned = excluded.disowned, assigned = excluded.assigned, snoozed = excluded.snoozed, uses = excluded.uses
"""
_TOUCHED = """
insert into adjourn.touched select x.scope, x.at from {} join done on done.n = x.run order by x.scope
on conflict (scope) do update set at = excluded.at where false
"""
BYTES = 8
"""So much of the hash of the last record tells two pasts of a run apart."""
_AS_REMEMBERED = (
    f"and r.epoch = x.epoch and substr(r.head, 1, {BYTES}) = x.was "
    "and (select generation from adjourn.config) = {}"
)
"""Of the runs that are as they are remembered, while what all rules go by is what was remembered;
the others are left. The number of the last record does not say it: a server that took the place of
another may have as many records, and others."""


def quoted(text: str) -> str:
    """A text as a statement has it, whatever the settings of the session; as `PQescapeLiteral` does."""
    doubled = text.replace("'", "''")
    if "\\" in text:
        return "E'" + doubled.replace("\\", "\\\\") + "'"
    return f"'{doubled}'"


def _array(values: Sequence[str]) -> str:
    if not values:
        return "'{}'"
    return f"array[{', '.join(map(quoted, values))}]"


_LITERALS: dict[type, Callable[[Any], str]] = {
    int: repr,
    float: repr,
    bool: repr,
    bytes: lambda value: f"E'\\\\x{value.hex()}'",
    tuple: _array,
    list: _array,
}


def literal(value: Any) -> str:
    """A value as a statement has it: of a row, an interrupt or a record."""
    return _LITERALS.get(value.__class__, quoted)(value)


def _table(rows: Sequence[Sequence[Any]], names: Sequence[str], called: int | None = None) -> str:
    """Rows of values. Of which types they are is said of the first; the first columns, so many, get
    their names, the others need none."""
    typed = [
        f"{literal(value)}::{_TYPES[name]}" for value, name in zip(rows[0], names, strict=True)
    ]
    found = [f"({', '.join(typed)})"]
    for row in rows[1:]:
        found.append(f"({', '.join(map(literal, row))})")
    return f"(values {', '.join(found)}) x ({', '.join(names[:called])})"


def changed(was: RunRow, row: RunRow) -> list[str]:
    """The columns in which the two differ, of those that a step may change."""
    pairs = zip(CHANGING, _changing(was), _changing(row), strict=True)
    return [name for name, old, new in pairs if old != new]


def step(
    items: Sequence[Writes],
    sets: Sequence[str] = CHANGING,
    generation: str = "",
    heads: Mapping[str, bytes] | None = None,
) -> str:
    """A statement that writes what is said of runs, and gives their numbers. Rows get these columns. With
    a generation, and the hash of each run's last record as it was before, only those runs are written
    that are as they are remembered."""
    given = ("n", *sets)
    if "epoch" not in sets:
        given = (*given, "epoch")
    values_of = attrgetter(*given)
    runs: list[tuple[Any, ...]] = []
    journal: list[tuple[Any, ...]] = []
    interrupts: list[list[Any]] = []
    touched: list[tuple[Any, ...]] = []
    for writes in items:
        row = writes.row
        assert row is not None
        values = values_of(row)
        if heads is not None:
            values = (*values, heads[row.id][:BYTES])
        runs.append(values)
        for line in writes.journal:
            journal.append((row.n, line.seq, line.epoch, line.body, line.head))
        for interrupt in writes.interrupts.values():
            found = interrupt_values(row.n, interrupt)
            interrupts.append([row.n, *(found[name] for name in INTERRUPT_COLUMNS)])
        for scope, at in writes.touched.items():
            touched.append((row.n, scope, at))
    guard = ""
    if heads is not None:
        guard, given = _AS_REMEMBERED.format(quoted(generation)), (*given, "was")
    setting = ", ".join(f"{name} = x.{name}" for name in sets)
    parts = [
        f"done as (update adjourn.run r set {setting} from {_table(runs, given)} where r.n = x.n {guard} returning r.n)"
    ]
    for name, sql, rows, names, called in (
        ("j", _JOURNAL, journal, RECORD, 1),
        ("i", _INTERRUPTS, interrupts, ("run", *INTERRUPT_COLUMNS), 1),
        ("t", _TOUCHED, touched, ("run", "scope", "at"), 3),
    ):
        if rows:
            parts.append(f"{name} as ({sql.format(_table(rows, names, called))})")
    return f"with {', '.join(parts)} select n from done"
