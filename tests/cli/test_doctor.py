"""`adjourn doctor`: what is fine, what to look at, what is wrong, and what to do about it."""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest
from tests.cli import shop, yard
from tests.cli.conftest import SECONDS, Run, begin
from tests.cli.test_run import reached

from adjourn import Agent, Policy, Runtime, ask
from adjourn.stores.audit import Evidenced
from adjourn.stores.outbox import DeliveryAttempt, Endpoint
from adjourn.stores.sqlite import SQLiteStore

GOOD = "0123456789abcdef0123456789abcdef"


@pytest.fixture(autouse=True)
def _in_order(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setenv("ADJOURN_SECRET", GOOD)
    monkeypatch.setenv("YARD", str(tmp_path))
    before = os.umask(0o077)
    yield
    os.umask(before)


def change(sql: str) -> None:
    db: Any = apsw.Connection("adjourn.db")
    db.execute(sql)
    db.close()


def findings(adjourn: Run, *words: str) -> dict[str, dict[str, Any]]:
    """By name; the last of each."""
    return {f["name"]: f for f in adjourn("doctor", "--json", *words).json["findings"]}


def test_all_is_well(adjourn: Run, waiting: str) -> None:
    said = adjourn("doctor")
    assert said.code == 0 and "!" not in said.out and "✗" not in said.out
    assert [line.split()[1] for line in said.out.splitlines()] == [
        "versions", "secret", "files", "store", "structure", "journals", "audit", "rights", "clock", "workers", "letters",
        "decisions", "users",
    ]  # fmt: skip
    assert "13 fine" in said.err and "commit" in said.out and "ms" in said.out
    assert adjourn("doctor", "--json").json["ok"] is True and adjourn("doctor", "--deep").code == 0


def test_looking_changes_nothing(adjourn: Run, waiting: str) -> None:
    before = adjourn("show", waiting, "--journal").out, adjourn("audit", "--json").out
    adjourn("doctor", "--deep")
    assert (adjourn("show", waiting, "--journal").out, adjourn("audit", "--json").out) == before
    assert not [p for p in Path.cwd().iterdir() if "doctor" in p.name]


def test_no_database_is_something_to_look_at_unless_it_was_named(adjourn: Run) -> None:
    assert adjourn("doctor").code == 0 and findings(adjourn)["store"]["level"] == "look"
    said = adjourn("doctor", "--db", "absent.db")
    assert said.code == 1 and "✗ store" in said.out and not Path("absent.db").exists()


def test_a_file_of_something_else_is_wrong(adjourn: Run) -> None:
    Path("text.db").write_text("not a database, but long enough to be taken for one" * 50)
    assert adjourn("doctor", "--db", "text.db").code == 1
    db: Any = apsw.Connection("other.db")
    db.execute("create table mine (n)")
    db.close()
    assert adjourn("doctor", "--db", "other.db").code == 1


def test_schemas_of_another_time(adjourn: Run, waiting: str) -> None:
    change("pragma user_version = 1")
    old = findings(adjourn)
    assert old["schema"]["level"] == "look" and old["journals"]["level"] == "look"
    change("pragma user_version = 999")
    assert adjourn("doctor").code == 1 and "newer Adjourn" in adjourn("doctor").out


@pytest.mark.parametrize(
    ("secret", "level"), [(None, "look"), ("", "wrong"), ("short", "wrong"), ("only twenty letters", "wrong")]
)
def test_a_secret_that_protects_little(
    secret: str | None, level: str, adjourn: Run, waiting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ADJOURN_SECRET") if secret is None else monkeypatch.setenv("ADJOURN_SECRET", secret)
    found = findings(adjourn)["secret"]
    assert found["level"] == level and "openssl rand" in found["advice"][1]


@pytest.mark.skipif(os.name != "posix", reason="rights are another matter elsewhere")
@pytest.mark.parametrize(("mode", "level"), [(0o600, "fine"), (0o644, "look"), (0o660, "wrong"), (0o666, "wrong")])
def test_who_else_can_read_or_change_it(mode: int, level: str, adjourn: Run, waiting: str) -> None:
    Path("adjourn.db").chmod(mode)
    found = findings(adjourn)["rights"]
    assert found["level"] == level and (level == "fine" or found["advice"][1].startswith("chmod 600 "))


def test_a_clock_behind_the_database_is_wrong(adjourn: Run, waiting: str) -> None:
    change(f"update run set updated_at = {time.time() + 94}")
    said = adjourn("doctor")
    assert said.code == 1 and "behind the database: timers fire late, leases are safe" in said.out


def test_a_run_that_nobody_advances(adjourn: Run, waiting: str) -> None:
    adjourn("approve", f"{waiting}:2.0?0", "--by", "ana")
    assert "alone" not in findings(adjourn), "it has only just begun to wait"
    change(f"update run set updated_at = {time.time() - 3 * 3600}")
    found = findings(adjourn)["alone"]
    assert found["level"] == "look" and "no worker for 3h00m" in found["text"]
    assert found["advice"][1] == "adjourn worker app.py:refunds"


def test_a_run_whose_worker_died(adjourn: Run) -> None:
    command = [sys.executable, "-m", "adjourn", "run", f"{Path(yard.__file__)}:deploy", "x", "--id", "ship-1"]
    worker = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        reached("healthy")
    finally:
        worker.kill()
        worker.wait(SECONDS)
    found = findings(adjourn)["died"]
    assert "the worker of run ship-1 died" in found["text"]


def test_failures_halts_and_the_letters_of_a_server(adjourn: Run) -> None:
    asyncio.run(begin(shop.failing))
    adjourn("halt", "tool:refund", "--reason", "incident 7", "--by", "ana")

    async def letters() -> None:
        async with Runtime("sqlite:///adjourn.db") as rt:
            await rt.store.endpoints(Endpoint("ops", "webhook", "https://ops.example", "whsec_x"), by="ana")
            await rt.halt("agent:x", reason="a reason", by="ana")
            [letter] = await rt.store.post(take=10)
            await rt.store.post([DeliveryAttempt(letter.n, letter.tries, "410 Gone")])

    asyncio.run(letters())
    found = findings(adjourn)
    assert found["failed"]["details"] == {"count": 1} and "adjourn runs --status failed" in found["failed"]["advice"]
    assert "halted" in found["halt"]["text"]
    assert "1 undelivered notification, the last for ops: 410 Gone" in found["letters"]["text"]


def test_nobody_who_could_decide(adjourn: Run) -> None:
    policy = Policy([ask("refund", groups=["finance"])], default="allow")
    agent = Agent("grouped", model=shop.refunds.model, tools=[shop.get_order, shop.refund], policy=policy)
    asyncio.run(begin(agent))
    adjourn("user", "add", "vic", "--role", "viewer")
    texts = [f["text"] for f in adjourn("doctor", "--json").json["findings"] if f["name"] == "users"]
    assert len(texts) == 3 and "the group finance" in texts[2]
    adjourn("user", "add", "ana", "--role", "admin", "--group", "finance")
    assert findings(adjourn)["users"]["level"] == "fine"


def test_it_says_whether_decisions_are_signed(adjourn: Run, waiting: str) -> None:
    async def require() -> None:
        store = SQLiteStore("adjourn.db")
        await store.signed(True)
        await store.close()

    assert findings(adjourn)["decisions"]["details"]["signed"] is False
    asyncio.run(require())
    said = findings(adjourn)["decisions"]
    assert said["details"]["signed"] is True and "--deciders" in said["text"]


@pytest.mark.parametrize("part", Evidenced)
def test_what_a_run_has_beside_its_audit_is_counted_as_its_journal(part: Evidenced) -> None:
    assert part.is_of_run is (part in {Evidenced.JOURNAL, Evidenced.ROWS, Evidenced.FILES})
