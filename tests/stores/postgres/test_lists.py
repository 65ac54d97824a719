"""Lists in PostgreSQL: the same as those of the store in memory, whatever is asked; and none goes through a table."""

import random
from collections.abc import Iterator
from itertools import product
from typing import Any

import psycopg
import pytest
from tests.stores.many_runs import WORKERS, rows
from tests.stores.postgres.runs import insert
from tests.stores.postgres.server import PostgresServer
from tests.stores.test_list_plans import AUDITS, apart
from tests.stores.test_list_plans import filters as every_filter
from tests.stores.test_lists import filters, pages

from adjourn.core.record_codec import dump
from adjourn.stores.memory.store import MemoryStore
from adjourn.stores.postgres import audit_search, inbox, lists
from adjourn.stores.postgres.connections import Connection, connect, messages
from adjourn.stores.postgres.store import PostgresStore
from adjourn.stores.protocol import Filter
from adjourn.testing.contract.fixtures import approval

NOW = 1_000.0
LOOK = 500
"""Rows that one look may go through here, of 20,000."""
TABLES = {"run", "interrupt", "journal", "audit", "label"}
INBOXES: list[dict[str, Any]] = [
    {}, {"program": "clerk"}, {"run": "run-000001"}, {"kind": "error"}, {"text": "xyzzy"}, {"changed": 5e9}, {"group": "g"},
    {"label": ("tenant", "acme")}, {"session": "chat-1"}, {"members": ("a",)}, {"interrupt": "1.0?0", "run": "run-000001"},
]  # fmt: skip


@pytest.mark.parametrize("few", [True, False], ids=["every way", "the usual way"])
async def test_a_database_lists_what_memory_lists_whatever_is_asked(
    postgres: PostgresServer, few: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With small bounds a database of this size is looked through in all the ways in which a large one is."""
    if few:
        for name, bound in {"FEW": 10, "NEWEST": 20, "FIRST": 3, "LOOK": 10, "RARE": 15, "WALK": 30}.items():
            monkeypatch.setattr(lists, name, bound)
    found, chance, address = rows(700, seed=few), random.Random(few), postgres.fresh()
    insert(address, found)
    memory = MemoryStore(lambda: NOW)
    memory._runs.update({row.id: row for row in found})
    memory._workers.update(WORKERS)
    store = PostgresStore(address, lambda: NOW)
    for _ in range(200):
        wanted = filters(chance, found)
        assert await pages(store, wanted) == await pages(memory, wanted), wanted
    await store.close()


class Watched:
    """A database with so many runs, whose statements are looked at."""

    def __init__(self, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
        self.db: Connection = connect(address)
        self.statements: dict[str, Any] = {}

        def planned(db: Connection, sql: str, values: Any, plan: tuple[str, ...] = lists.PLAN) -> Any:
            self.statements[sql] = plan, dict(values)
            return messages(db, [*plan, sql, "commit"], values)[-2]

        for module in (lists, inbox, audit_search):
            monkeypatch.setattr(module, "planned", planned)

    def plans(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """How PostgreSQL went about each statement that there was."""
        for sql, (plan, values) in self.statements.items():
            explained = f"explain (analyze, timing off, format json) {sql}"
            [[(found,)]] = [messages(self.db, [*plan, explained, "commit"], values)[-2]]
            yield sql, found[0]["Plan"]


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for part in plan.get("Plans", ()):
        yield from nodes(part)


def looked_at(plan: dict[str, Any]) -> int:
    """How many rows of tables a statement has looked at."""
    found = 0
    for node in nodes(plan):
        if "Relation Name" in node:
            gone = sum(node.get(name, 0) for name in ("Rows Removed by Filter", "Rows Removed by Index Recheck"))
            found += int((node["Actual Rows"] + gone) * node["Actual Loops"])
    return found


@pytest.fixture
def watched(postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Watched]:
    address = postgres.fresh()
    insert(address, apart(20_000))
    with psycopg.connect(address) as db:
        db.execute(
            "insert into adjourn.interrupt select n, '1.0?0', 2, 'approval', 'open', '', '', 0, false, 1, '', '{}', '', '{}', 1, n, "
            "'approval', '', '{}', 'approval ' from adjourn.run"
        )
        db.execute("insert into adjourn.journal select n, 2, 1, %s, '' from adjourn.run", (dump(approval()),))
        db.execute(
            "insert into adjourn.audit select 'run-' || n, 1, n, "
            """format('{"at":%s,"run":"run-%s","verb":"answer","by":"p%s","verdict":"deny","tool":"t%s"}', n, n, mod(n, 9), mod(n, 7)),"""
            " '' from adjourn.run"
        )
    with psycopg.connect(address, autocommit=True) as db:
        db.execute("analyze")
    for name, bound in {"FEW": 100, "NEWEST": 200, "FIRST": 64, "LOOK": LOOK, "RARE": 300, "WALK": LOOK}.items():
        monkeypatch.setattr(lists, name, bound)
    for name, bound in {"FEW": 100, "FIRST": 64, "LOOK": LOOK}.items():
        monkeypatch.setattr(inbox, name, bound)
    found = Watched(address, monkeypatch)
    yield found
    found.db.close()


def test_no_statement_of_any_list_goes_through_a_table_and_each_looks_at_a_bounded_number_of_rows(
    watched: Watched,
) -> None:
    now, last = NOW, "run-010000"
    for wanted in (x for n, x in enumerate(every_filter(last)) if n % 3 == 0):
        list(lists.runs(watched.db, wanted, now))
    for wanted in (Filter(run=last), Filter(prefix="run-0001"), Filter(changed=3e9), Filter(changed=1.0)):
        list(lists.runs(watched.db, wanted, now))
    for fields, brief, after in product(INBOXES, (False, True), ("", "run-010000:1.0?0")):
        for _ in inbox.inbox(watched.db, Filter(**fields, brief=brief, after=after, limit=1), now):
            pass
    for wanted, security, before in product(AUDITS, (False, True), ("", "5.0/1/r")):
        audit_search.look(watched.db, wanted, security, before, 100)
    assert len(watched.statements) > 50
    for sql, plan in watched.plans():
        for node in nodes(plan):
            whole = node["Node Type"] == "Seq Scan" and node["Relation Name"] in TABLES
            assert not whole, (sql, node)
        assert looked_at(plan) <= 5 * LOOK, (looked_at(plan), sql)
