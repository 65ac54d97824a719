"""No list goes through a table or sorts one: what SQLite says of every statement, and how many steps each takes.

Steps of SQLite's machine are counted, not seconds: they are the same on every computer, however busy it is.
"""

from collections.abc import Iterator
from itertools import combinations, product
from pathlib import Path
from typing import Any

import apsw
import pytest
from msgspec.structs import replace
from tests.stores.many_runs import insert, rows

from adjourn.core.status import Status
from adjourn.stores.audit import AuditFilter
from adjourn.stores.protocol import Filter
from adjourn.stores.run_row import RunRow
from adjourn.stores.sqlite import audit_search
from adjourn.stores.sqlite import lists as sqlite_lists
from adjourn.stores.sqlite.connection import bring_up_to_date, connect

NOW = 1_000.0
AUDITS = [
    AuditFilter(), AuditFilter(by="ana"), AuditFilter(verb="deny"), AuditFilter(verb="answer"), AuditFilter(agent="clerk"),
    AuditFilter(tool="refund"), AuditFilter(run="r"), AuditFilter(since=5.0, until=9.0), AuditFilter(text="x"),
    AuditFilter(tool="refund", by="ana", since=5.0), AuditFilter(refused=True),
]  # fmt: skip
VIEWS = ("", "completed", "waiting", "failed", "stopped", "running", "nothing")
TEXTS = ("", "Refund order", "xyzzy", "qz")


def filters(last: str) -> Iterator[Filter]:
    """Every combination of what lists of runs are filtered by."""
    fields = product(
        VIEWS,
        ("", "clerk"),
        ("", "chat-1"),
        (None, ("tenant", "acme"), ("tenant", "x")),
        TEXTS,
        (0.0, 900.0),
        ("", last),
    )
    for status, program, session, label, text, since, after in fields:
        yield Filter(
            status=status, program=program, session=session, label=label, text=text, since=since, until=since and since + 9,
            after=after,
        )  # fmt: skip


class Watched:
    """A file with so many runs, whose statements are looked at."""

    def __init__(self, path: Path, found: list[RunRow]) -> None:
        self.path = path
        self.db: Any = connect(str(path))
        bring_up_to_date(self.db, str(path))
        insert(path, found)
        self.last = found[len(found) // 2].id
        self.statements: dict[str, Any] = {}
        self.steps = 0

        def finished(event: dict[str, Any]) -> None:
            if event["sql"].startswith("select"):  # the index of texts has statements of its own, which are never reset
                self.steps += event["stmt_status"]["SQLITE_STMTSTATUS_VM_STEP"]

        def began(_: Any, sql: str, values: Any) -> bool:
            self.statements.setdefault(sql, values)
            return True

        self.db.trace_v2(apsw.SQLITE_TRACE_PROFILE, finished)
        self.db.exec_trace = began

    def steps_of(self, wanted: Filter) -> int:
        """How many steps a list takes."""
        self.steps = 0
        sqlite_lists.runs(self.db, wanted, NOW)
        return self.steps

    def longest_look(self, wanted: Filter, looks: Any = sqlite_lists.looks) -> int:
        """How many steps its longest look takes."""
        steps: list[int] = []
        self.steps = 0
        for _ in looks(self.db, wanted, NOW):
            steps.append(self.steps)
            self.steps = 0
        return max([*steps, self.steps])

    def plans(self) -> dict[str, list[str]]:
        """How SQLite goes about each statement that there was."""
        self.db.exec_trace = None
        self.db.trace_v2(0, None)
        return {
            sql: [row[3] for row in self.db.execute(f"explain query plan {sql}", values)]
            for sql, values in self.statements.items()
        }


def test_no_statement_of_any_list_goes_through_a_table_or_sorts_one(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_lists, "FEW", 20)
    watched = Watched(path, rows(600, strays=0))
    for wanted in filters(watched.last):
        sqlite_lists.runs(watched.db, wanted, NOW)
    for run, prefix, changed in ((watched.last, "", 0.0), ("", "run-", 0.0), ("", "", 1e9), ("", "", 1.0)):
        sqlite_lists.runs(watched.db, Filter(run=run, prefix=prefix, changed=changed), NOW)
    inboxes: list[dict[str, Any]] = [
        {}, {"program": "clerk"}, {"run": "r"}, {"kind": "error"}, {"text": "x"}, {"changed": 1e9}, {"group": "g"},
    ]  # fmt: skip
    for fields in inboxes:
        sqlite_lists.inbox(watched.db, Filter(**fields), NOW)
        sqlite_lists.inbox(watched.db, Filter(**fields, brief=True, after="r:1"), NOW)
    for scope in (None, "", "r"):
        sqlite_lists.audit(watched.db, scope, 0, 100)
    for before, security, wanted in product(("", "5.0/1/r"), (False, True), AUDITS):
        audit_search.look(watched.db, wanted, security, before, 100)
    plans = watched.plans()
    assert len(plans) > 100
    for sql, plan in plans.items():
        # In hand, changed, of few runs, or some that were found already: at most `LOOK`.
        small = any(
            part in sql for part in ("run_worker", "cross join interrupt x on x.run = d.n", "from json_each(:numbers)")
        )
        for line in plan:
            assert "AUTOMATIC" not in line, (sql, line)
            assert "TEMP B-TREE" not in line or "LAST TERM" in line or small, (sql, line)  # lines of one moment
            whole = line.startswith("SCAN") and line.split()[1] in (
                "run",
                "r",
                "interrupt",
                "x",
                "audit",
                "journal",
                "label",
            )
            assert not whole or "USING INDEX" in line or "USING COVERING INDEX" in line, (sql, line)


def test_no_list_takes_as_many_steps_as_going_through_all_runs(path: Path) -> None:
    """Of all combinations, whether a page is full or nothing is there. Only looking at each row would be eight steps for each."""
    watched = Watched(path, rows(30_000, strays=0))
    # What is running is found by who runs it: as many rows as workers have in hand, which are thousands here.
    took = {wanted: watched.steps_of(wanted) for wanted in filters("") if wanted.status != "running"}
    worst = max(took, key=lambda wanted: took[wanted])
    assert took[worst] < 4 * 30_000, f"{took[worst]} steps for {worst}"


BROAD: list[dict[str, Any]] = [
    {"status": "failed"}, {"program": "clerk"}, {"session": "chat-1"}, {"label": ("tenant", "acme")}, {"text": "refund order"},
    {"text": "zq"}, {"since": 1.0, "until": 2.0}, {"changed": 3e9},
]  # fmt: skip
"""Conditions that each many runs fulfil, and no run two of them."""
IN_A_LOOK = 60 * sqlite_lists.LOOK
"""Steps: to find the numbers of so many runs, and to look at their rows."""


def apart(count: int) -> list[RunRow]:
    """Runs of which each fulfils one of those conditions."""
    plain = RunRow("", "agent", "maid", "", {}, "a letter", status=Status.COMPLETED, created_at=500.0, updated_at=600.0)
    kinds = [
        replace(plain, status=Status.WAITING, opens=1, errors=1), replace(plain, program="clerk"), replace(plain, session="chat-1"),
        replace(plain, labels={"tenant": "acme"}), replace(plain, title="Refund order"), replace(plain, title="zq"),
        replace(plain, created_at=1.5), replace(plain, updated_at=4e9),
    ]  # fmt: skip
    return [replace(kinds[n % len(kinds)], id=f"run-{n:06}", n=n) for n in range(1, count + 1)]


def test_no_look_takes_longer_because_there_are_more_runs_whatever_two_things_are_asked_for(tmp_path: Path) -> None:
    """Each pair of conditions that many runs fulfil and none both: it cannot be known before all of the one have been looked at."""
    few, many = (Watched(tmp_path / f"{count}.db", apart(count)) for count in (16_000, 24_000))
    for one, other in combinations(BROAD, 2):
        wanted = Filter(**{**one, **other})
        assert not sqlite_lists.runs(many.db, wanted, NOW) or one.keys() == other.keys(), wanted
        assert many.longest_look(wanted) < IN_A_LOOK, wanted
        assert many.longest_look(wanted) <= 1.1 * few.longest_look(wanted) + 500, wanted
    for one in BROAD:
        assert sqlite_lists.runs(many.db, Filter(**one), NOW), one
        assert many.longest_look(Filter(**one)) < IN_A_LOOK, one


def all_wait(db: Any) -> None:
    """Each run asks somebody something."""
    db.execute(
        "insert into interrupt (run, i, seq, kind, state, digest, event, expires, undoing, approvers, by, votes, opened_at, type) "
        "select n, '1.0?0', 2, 'approval', 'open', '', '', 0.0, 0, 1, '', '[]', n, 'approval' from run"
    )
    db.execute("insert into journal (key, epoch, body, head) select n << 32 | 2, 1, '', x'' from run")


NOBODYS: list[dict[str, Any]] = [
    {"text": "xyzzy"}, {"group": "nobody"}, {"kind": "error"}, {"since": 9e9}, {"program": "clerk", "text": "zq"},
    {"label": ("tenant", "acme"), "session": "chat-1"}, {"program": "clerk", "kind": "error"},
]  # fmt: skip


@pytest.mark.parametrize("brief", [False, True])
def test_no_look_at_an_inbox_takes_longer_because_more_wait_though_nobody_asked_for_that(
    tmp_path: Path, brief: bool
) -> None:
    few, many = (Watched(tmp_path / f"{count}.db", apart(count)) for count in (6_000, 9_000))
    for one in (few, many):
        all_wait(one.db)
    for fields in NOBODYS:
        wanted = Filter(**fields, brief=brief)
        assert sqlite_lists.inbox(many.db, wanted, NOW) == [], wanted
        took = [one.longest_look(wanted, sqlite_lists.inbox_looks) for one in (few, many)]
        assert took[1] < IN_A_LOOK and took[1] <= 1.1 * took[0] + 500, (wanted, took)
