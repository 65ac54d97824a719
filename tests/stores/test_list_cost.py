"""What a page of a list costs beside its rows: statements and calls of functions are counted, not seconds."""

import gc
import sys
from pathlib import Path
from types import FrameType
from typing import Any

from adjourn.stores.protocol import Filter
from adjourn.stores.sqlite import SQLiteStore
from adjourn.stores.sqlite import lists as sqlite_lists
from adjourn.stores.sqlite.connection import connect
from adjourn.testing import FakeClock
from adjourn.testing.contract.fixtures import approval, wait_for

PAGE, OTHERS = 50, 30
EACH = 25
"""Calls of functions, Python's and C's, by which a record becomes what people see."""
BESIDE = 100


def calls_of(work: Any) -> int:
    """How many functions it calls. Not those that hear of a collection of garbage, which may come at any of them."""
    calls = 0

    def count(frame: FrameType, event: str, arg: Any) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    gc.disable()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
        gc.enable()
    return calls


async def test_a_page_of_an_inbox_is_one_statement_and_a_few_calls_for_each_that_is_shown(path: Path) -> None:
    clock = FakeClock()
    store = SQLiteStore(str(path), clock.now)
    for n in range(PAGE + OTHERS):
        await wait_for(store, approval(), run=f"r{n}")
    await store.close()
    db: Any = connect(str(path))
    statements: list[str] = []

    def began(_: Any, sql: str, values: Any) -> bool:
        statements.append(sql)
        return True

    db.exec_trace = began
    found = sqlite_lists.inbox(db, Filter(limit=PAGE), clock.now())
    assert len(found) == PAGE and len(statements) == 1
    db.exec_trace = None
    took = [calls_of(lambda n=n: sqlite_lists.inbox(db, Filter(limit=n), clock.now())) for n in (PAGE, 1)]
    assert (took[0] - took[1]) / (PAGE - 1) <= EACH, f"{took[0]} calls for {PAGE}, {took[1]} for one"
    assert took[1] <= BESIDE
    db.close()
