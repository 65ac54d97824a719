"""Where a database has users, whoever decides on the command line is who their key says, and may no more than over HTTP."""

import asyncio
from pathlib import Path
from typing import Any, cast

import pytest
from tests.cli import shop, yard
from tests.cli.conftest import AtTerminal, Run, advance, begin

from adjourn import Agent, Completed, Policy, Runtime, ask
from adjourn.core.records import Decided, Forked
from adjourn.testing import ScriptedModel, call
from adjourn.views.words import RIGHTS, Role

KEY = "ADJOURN_KEY"
ROLES = ("viewer", "operator", "approver", "admin")
YARD, SHOP = str(Path(yard.__file__)), f"{Path(shop.__file__)}:refunds"
DECIDES: dict[str, tuple[list[str], str]] = {
    "approve": (["approve", "REFUND"], "decide"), "deny": (["deny", "REFUND"], "decide"), "answer": (["answer", "ASK", "yes"], "decide"),
    "halt": (["halt", "tool:x", "--reason", "y"], "halt"), "unhalt": (["unhalt", "tool:refund"], "halt"),
    "fork --answers keep": (["fork", "REFUND", "--answers", "keep"], "decide"),
    "say": (["say", "REFUND", "hello"], "control"), "fork": (["fork", "REFUND"], "control"),
    "again": (["again", "REFUND", SHOP], "control"),
    "run": (["run", SHOP, "order 7"], "control"),
    "checkpoint resume": (["checkpoint", "resume", "saved.json", SHOP, "--approve", "--db", "adjourn.db"], "decide"),
}  # fmt: skip
"""What needs a right, and which one."""
FREE: dict[str, list[str]] = {
    "pause": ["pause", "REFUND"], "cancel": ["cancel", "REFUND"],
    "show": ["show", "REFUND"], "runs": ["runs"], "inbox": ["inbox"], "audit": ["audit"],
}  # fmt: skip


def filled(adjourn: Run) -> dict[str, str]:
    """A database with something of each kind to decide; ids."""
    refund, ask_ = asyncio.run(begin(shop.refunds, shop.asker))
    adjourn("halt", "tool:refund", "--reason", "x")
    Path("saved.json").write_text(adjourn("show", refund, "--checkpoint").out)
    return {"REFUND": refund, "ASK": ask_}


def users(adjourn: Run) -> dict[str, str]:
    """Somebody of each role; their keys."""
    return {role: adjourn("user", "add", f"{role}-person", "--role", role).out.strip() for role in ROLES}


def rows(db: str = "adjourn.db") -> list[Any]:
    """Everything that the runs' database has, but for the audit of refusals."""

    async def read() -> list[Any]:
        async with Runtime(f"sqlite:///{db}") as rt:
            found: list[Any] = [(row.id, await rt.store.load(row.id)) for row in await rt.runs(limit=1000)]
            return [*found, list(await rt.halts())]

    return asyncio.run(read())


@pytest.mark.parametrize("verb", DECIDES)
def test_without_a_key_nothing_is_decided_where_there_are_users(
    verb: str, adjourn: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = filled(adjourn)
    users(adjourn)
    words, _ = DECIDES[verb]
    before = rows()
    for key, by in (("", "admin-person"), ("adj_wrong", "admin-person"), ("", None), ("adj_wrong", None)):
        monkeypatch.setenv(KEY, key)
        named = ["--by", by] if by else []
        said = adjourn(*(ids.get(word, word) for word in words), *named)
        assert said.code == 1 and "not_allowed · 403" in said.err and KEY in said.err, said.err
    assert rows() == before


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("verb", DECIDES)
def test_a_key_may_what_its_role_may_over_http(
    verb: str, role: str, adjourn: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = filled(adjourn)
    keys = users(adjourn)
    words, right = DECIDES[verb]
    if verb in ("approve", "checkpoint resume"):  # what is halted is not approved by anybody
        monkeypatch.setenv(KEY, keys["admin"])
        assert adjourn("unhalt", "tool:refund").code == 0
    monkeypatch.setenv(KEY, keys[role])
    adjourn("inbox")
    before = rows()
    said = adjourn(*(ids.get(word, word) for word in words))
    if right in RIGHTS[cast("Role", role)]:
        assert said.code in (0, 3) and rows() != before, said.err
    else:
        assert said.code == 1 and f"'{role}-person' is {role}" in said.err and rows() == before


@pytest.mark.parametrize("verb", FREE)
def test_what_needs_no_right_needs_no_key(verb: str, adjourn: Run) -> None:
    ids = filled(adjourn)
    users(adjourn)
    assert adjourn(*(ids.get(word, word) for word in FREE[verb])).code in (0, 3)


def test_the_name_and_the_groups_come_from_the_key(adjourn: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = Policy([ask("refund", groups=("finance",)), ask("refund", groups=("leads",))], default="allow")
    model = ScriptedModel([call("refund", order_id="1", cents=1)], "Done.")
    agent = Agent("strict", model=model, tools=[shop.refund], policy=policy)
    [run] = asyncio.run(begin(agent))
    keys = {
        name: adjourn("user", "add", name, "--role", "approver", *groups).out.strip()
        for name, groups in {"ana": ["--group", "finance"], "bob": ["--group", "leads"], "eve": []}.items()
    }
    for name, words, why in (
        ("eve", [], "is not in a group"), ("eve", ["--group", "finance"], "is not in the group 'finance'"),
        ("ana", ["--by", "bob"], "belongs to 'ana', not to 'bob'"), ("ana", ["--group", "leads"], "is not in the group 'leads'"),
        ("ana", ["--by", "Ana"], "belongs to 'ana'"),
    ):  # fmt: skip
        monkeypatch.setenv(KEY, keys[name])
        adjourn("inbox")
        said = adjourn("approve", run, *words)
        assert said.code == 1 and why in said.err, said.err
    monkeypatch.setenv(KEY, keys["ana"])
    assert adjourn("approve", run, "--by", "ana", "--group", "finance", "--json").json["by"] == "ana"
    monkeypatch.setenv(KEY, keys["bob"])
    assert adjourn("approve", run).code == 2, "it was shown to the others"
    adjourn("inbox")
    assert adjourn("approve", run, "--json").json["by"] == "bob"
    assert isinstance(asyncio.run(advance(agent, run=run)), Completed)


def test_a_key_also_says_who_steers(adjourn: Run, waiting: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who shaped a run is remembered by name: nobody with a key passes for another."""
    monkeypatch.setenv(KEY, users(adjourn)["operator"])
    assert adjourn("say", waiting, "hello", "--by", "nobody").code == 1
    assert adjourn("say", waiting, "hello").code == 0
    assert "by operator-person: hello" in adjourn("show", waiting).out


@pytest.mark.parametrize("verb", ["approve", "deny", "answer"])
def test_a_run_s_own_key_decides_nothing(verb: str, adjourn: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from adjourn.server.users import Users

    ids = filled(adjourn)
    users(adjourn)
    beside = Users("adjourn.db-users")
    monkeypatch.setenv(KEY, beside.run_key(ids["REFUND"]))
    beside.close()
    before = rows()
    words, _ = DECIDES[verb]
    said = adjourn(*(ids.get(word, word) for word in words))
    assert said.code == 1 and "not the key of a user" in said.err and rows() == before


def test_who_was_removed_decides_no_more(adjourn: Run, waiting: str, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = users(adjourn)
    monkeypatch.setenv(KEY, keys["approver"])
    assert adjourn("user", "remove", "approver-person").code == 0
    assert adjourn("approve", f"{waiting}:2.0?0").code == 1


def test_without_users_it_is_as_it_was(adjourn: Run, waiting: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY, "adj_of_another_database")
    adjourn("user", "list")  # it makes an empty file
    assert adjourn("approve", f"{waiting}:2.0?0", "--by", "ana", "--json").json["by"] == "ana"


def test_users_that_cannot_be_read_are_users(adjourn: Run, waiting: str) -> None:
    Path("adjourn.db-users").write_bytes(b"this is no database at all, and long enough to be seen as that" * 20)
    said = adjourn("approve", f"{waiting}:2.0?0", "--by", "ana")
    assert said.code == 1 and "cannot be read here" in said.err


def test_at_a_prompt_without_a_key_it_is_shown_and_not_asked(terminal: AtTerminal, adjourn: Run, waiting: str) -> None:
    key = users(adjourn)["approver"]
    pty = terminal("inbox", waiting, "--by", "ana")
    pty.see("48250")
    pty.see("this database has users")
    assert pty.end() == 1
    pty = terminal("inbox", waiting, **{KEY: key})
    pty.answer("ater  ?", "a")
    pty.answer("exactly as shown?", "yes")
    pty.see("Approved by approver-person")
    assert pty.end() == 0


def test_a_run_in_the_foreground_asks_only_whoever_may_decide(terminal: AtTerminal, adjourn: Run) -> None:
    key = adjourn("user", "add", "ana", "--role", "approver").out.strip()
    starter = adjourn("user", "add", "olga", "--role", "operator").out.strip()
    assert "needs a key" in adjourn("run", f"{YARD}:guarded", "Two servers").err
    pty = terminal("run", f"{YARD}:guarded", "Two servers", "--id", "one", **{KEY: starter})
    pty.see("Nothing will be decided here")
    pty.see("◆ Waiting for a person: 1 item")
    assert pty.end() == 3 and not Path("ledger").exists()
    pty = terminal("run", f"{YARD}:guarded", "--resume", "one", **{KEY: key})
    for _ in range(2):
        pty.answer("ater  ?", "a")
        pty.answer("exactly as shown?", "yes")
    pty.see("Both are up.")
    assert pty.end() == 0

    async def deciders() -> list[str]:
        async with Runtime("sqlite:///adjourn.db") as rt:
            return [x.by for _, x in await rt.store.load("one") if isinstance(x, Decided)]

    assert asyncio.run(deciders()) == ["ana", "ana"]


def test_answers_are_kept_as_those_of_the_key(adjourn: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    [run] = asyncio.run(begin(shop.asker))
    adjourn("inbox")
    assert adjourn("answer", run, "all", "--by", "ben").code == 0
    assert isinstance(asyncio.run(advance(shop.asker, run=run)), Completed)
    monkeypatch.setenv(KEY, users(adjourn)["admin"])
    kept = adjourn("fork", run, "--answers", "keep", "--json").json
    again = adjourn("fork", run, "--json").json
    assert not kept["reopened"] and again["reopened"] and again["at_seq"] < kept["at_seq"]

    async def marks() -> list[tuple[str, str]]:
        async with Runtime("sqlite:///adjourn.db") as rt:
            both = [await rt.store.load(made["run_id"]) for made in (kept, again)]
            return [(x.by, x.answers) for records in both for _, x in records if isinstance(x, Forked)]

    assert asyncio.run(marks()) == [("admin-person", "keep"), ("admin-person", "reopen")]
