"""Searching a hundred thousand runs: how long it takes, how SQLite goes about it, and what a step pays for it."""

import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.again import in_time
from tests.stores.many_runs import insert, rows

from adjourn.core.records import Parked, Returned
from adjourn.runtime.search_query import searched
from adjourn.stores import run_entry
from adjourn.stores.protocol import Filter
from adjourn.stores.run_entry import beginning
from adjourn.stores.run_index import LONGEST, MARK
from adjourn.stores.sqlite import SQLiteStore
from adjourn.stores.sqlite import lists as sqlite_lists
from adjourn.stores.sqlite.connection import bring_up_to_date, connect, transaction
from adjourn.testing.contract.fixtures import begin, commit

RUNS = 100_000
NOW = 1_000_000.0
LIMIT = 0.050
"""Seconds that are promised for a search."""
TOOLS = ("refund", "send_email", "get_order", "close_account")
WORDS = ("invoice", "parcel", "address", "voucher", "delivery", "contract", "expired", "broken")
SEARCHES = (
    "card-77777", "tool:refund", "arg.order:order-4242", "refund expired", "status:failed voucher", "cost:>0.9999", "cost:>0.5",
    "took:>3590s tool:refund", "label.tenant:acme voucher", "nothing-like-it", "tool:nobody", "agent:clerk broken parcel",
    "cost:>0.5 took:<100s waited:>10s", "tokens:<3 tool:refund",
)  # fmt: skip


def test_what_has_no_room_in_an_entry_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A long run says most of it after its entry is full: each line was looked for in all of the text."""
    made: list[str] = []

    def counted(key: str, value: str) -> str:
        made.append(key)
        return beginning(key, value)

    monkeypatch.setattr(run_entry, "beginning", counted)
    row = rows(1, strays=0)[0]
    said = [Returned(at=NOW, call="c", value=f"{n:05}" * 100, ran=True, took=0.0) for n in range(70)]
    entry = run_entry.extended(row, None, enumerate(said, 1))
    entry.text = entry.text.ljust(LONGEST, "x")
    made.clear()
    assert run_entry.extended(row, entry, enumerate(said, len(said) + 1)).seq == 2 * len(said)
    assert made == []


def test_a_line_fits_to_the_last_character() -> None:
    row = rows(1, strays=0)[0]
    entry = run_entry.extended(row, None, [])
    left = LONGEST - len(entry.text)
    entry.text += MARK.ljust(left - run_entry.SHORTEST, "x")
    entry = run_entry.extended(row, entry, [(1, Returned(at=NOW, call="c", value="é", ran=True, took=0.0))])
    assert len(entry.text) == LONGEST and entry.text.endswith(f"{beginning('out', 'é')}{MARK}")


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A file with a hundred thousand runs and their entries, made without journals."""
    path = tmp_path_factory.mktemp("search") / "runs.db"
    db: Any = connect(str(path))
    bring_up_to_date(db, str(path))
    found = rows(RUNS, strays=0)
    insert(path, found)
    chance = random.Random(3)
    db.pragma("synchronous", "off")
    with transaction(db):
        for row in found:
            lines = [
                beginning("tool", chance.choice(TOOLS)),
                beginning("arg.order", f"order-{chance.randrange(9999)}"),
                beginning("out", f"card-{row.n} {chance.choice(WORDS)} {chance.choice(WORDS)}"),
                *(beginning(f"label.{name}", value) for name, value in row.labels.items()),
            ]
            numbers = (chance.random(), chance.randrange(10_000), chance.uniform(0, 3600), chance.uniform(0, 60))
            db.execute("insert into index_number values (?, 1, ?, ?, ?, ?)", (row.n, *numbers))
            text = f"{MARK}{MARK.join(lines)}{MARK}"
            db.execute("insert into index_text values (?, ?, '{}')", (row.n, text))
        db.execute("delete from index_due")
    yield path
    db.close()


def test_a_hundred_thousand_runs_are_searched_in_less_than_fifty_milliseconds(full: Path) -> None:
    db: Any = connect(str(full))
    for text in SEARCHES:
        wanted = searched(text, Filter(), NOW)
        took = min(_took(db, wanted) for _ in range(5))
        in_time(took, LIMIT)
    db.close()


def test_what_is_found_among_them_is_what_looking_at_each_finds(full: Path) -> None:
    db: Any = connect(str(full))
    for text in SEARCHES:
        wanted = searched(text, Filter(limit=20), NOW)
        assert wanted.search is not None
        found = [row.n for row in sqlite_lists.runs(db, wanted, NOW)]
        assert found == _by_looking(db, wanted), text
    assert [row.n for row in sqlite_lists.runs(db, searched("card-77777", Filter(), NOW), NOW)] == [77_777]
    db.close()


def test_no_statement_of_a_search_goes_through_the_texts_or_sorts_more_than_a_look(full: Path) -> None:
    db: Any = connect(str(full))
    statements: dict[str, Any] = {}

    def began(_: Any, sql: str, values: Any) -> bool:
        statements.setdefault(sql, values)
        return True

    db.exec_trace = began
    for text in SEARCHES:
        sqlite_lists.runs(db, searched(text, Filter(), NOW), NOW)
    db.exec_trace = None
    for sql, values in statements.items():
        for _, _, _, line in db.execute(f"explain query plan {sql}", values).fetchall():
            assert "AUTOMATIC" not in line and not line.startswith(("SCAN t", "SCAN index_text", "SCAN run")), (
                sql,
                line,
            )
            assert "TEMP B-TREE" not in line or "json_each(:numbers)" in sql, (sql, line)
    db.close()


def _took(db: Any, wanted: Filter) -> float:
    began = time.thread_time()  # others may be at work on this machine
    sqlite_lists.runs(db, wanted, NOW)
    return time.thread_time() - began


def _by_looking(db: Any, wanted: Filter) -> list[int]:
    """The newest runs that a search finds, by going through all of them."""
    assert wanted.search is not None
    terms = ["true"] + [f"instr(t.text, ?{k}) > 0" for k in range(1, len(wanted.search.pieces) + 1)]
    values: list[Any] = list(wanted.search.pieces)
    for bound in wanted.search.bounds:
        values.append(bound.value)
        terms.append(f"x.{bound.name} {'<=' if bound.most else '>='} ?{len(values)}")
    if wanted.program:
        values.append(wanted.program)
        terms.append(f"run.program = ?{len(values)}")
    if wanted.status:
        values.append(wanted.status)
        terms.append(f"run.shown = ?{len(values)}")
    sql = (
        "select run.n from run join index_text t on t.run = run.n join index_number x on x.run = run.n "
        f"where {' and '.join(terms)} order by run.n desc limit 20"
    )
    return [number for (number,) in db.execute(sql, values)]


async def test_a_step_of_a_run_that_a_worker_has_writes_nothing_for_the_index(path: Path) -> None:
    store = SQLiteStore(str(path))
    db: Any = connect(str(path))

    def due() -> int:
        return db.execute("select count(*) from index_due").fetchone()[0]

    lease = await begin(store)
    db.execute("delete from index_due")
    for number in range(3):
        await commit(store, lease, [Returned(call=f"1.{number}", value="x")])
        assert due() == 0
    await commit(store, lease, (), [Parked(wake_at=store.now() + 60)])
    assert due() == 1
    db.close()
    await store.close()
