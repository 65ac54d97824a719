"""`adjourn user` and `adjourn serve`: who may come in, and the door."""

import json
import os
import signal
import sqlite3
import stat
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.cli import yard
from tests.cli.conftest import SECONDS, AtTerminal, Run

from adjourn.server import Users

YARD = str(Path(yard.__file__))


def ask(url: str, key: str) -> Any:
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {key}"})
    with urllib.request.urlopen(request, timeout=SECONDS) as answer:
        return json.load(answer)


def test_a_key_is_printed_once_and_only_its_hash_is_kept(adjourn: Run, waiting: str) -> None:
    said = adjourn("user", "add", "ana", "--role", "approver", "--group", "finance", "--group", "leads")
    key = said.out.strip()
    assert said.code == 0 and key.startswith("adj_") and key not in said.err
    assert key.encode() not in Path("adjourn.db-users").read_bytes()
    if os.name == "posix":
        assert stat.S_IMODE(Path("adjourn.db-users").stat().st_mode) == 0o600
    [user] = adjourn("user", "list", "--json").json
    assert (user["name"], user["role"], user["groups"]) == ("ana", "approver", ["finance", "leads"])
    assert "finance, leads" in adjourn("user", "list").out and key not in adjourn("user", "list").out


def test_another_key_and_the_end_of_all_of_them(adjourn: Run, waiting: str) -> None:
    first = adjourn("user", "add", "ana", "--json").json["key"]
    second = adjourn("user", "key", "ana", "--json").json["key"]
    assert first != second
    assert adjourn("user", "remove", "ana").code == 0 and adjourn("user", "list", "--json").json == []
    with closing(sqlite3.connect("adjourn.db-users")) as db, db:
        assert db.execute("select count(*) from key").fetchone() == (0,)
    db.close()


def test_one_key_of_several_is_found_and_ended(adjourn: Run, waiting: str) -> None:
    first = adjourn("user", "add", "ana", "--json").json["key"]
    second = adjourn("user", "key", "ana", "--expires", "30d", "--json").json["key"]
    one, two = adjourn("user", "keys", "ana", "--json").json
    assert (one["hint"], one["expires_at"], two["hint"]) == (first[-4:], None, second[-4:])
    assert 29.9 * 86400 < two["expires_at"] - two["created_at"] < 30.1 * 86400
    shown = adjourn("user", "keys", "ana").out
    assert one["id"] in shown and "never" in shown and first not in shown
    said = adjourn("user", "revoke", one["id"])
    assert said.code == 0 and "ana" in said.err
    assert [k["id"] for k in adjourn("user", "keys", "ana", "--json").json] == [two["id"]]
    assert adjourn("user", "revoke", second, "--json").json == {"revoked": two["id"], "person": "ana"}
    assert adjourn("user", "revoke", second).code == 2


def test_role_groups_and_sessions_change_and_the_key_stays(adjourn: Run, waiting: str) -> None:
    key = adjourn("user", "add", "ana", "--group", "old", "--json").json["key"]
    assert adjourn("user", "role", "ANA", "approver", "--json").json["role"] == "approver"
    assert adjourn("user", "groups", "ana", "leads", "finance", "--json").json["groups"] == ["leads", "finance"]
    assert adjourn("user", "groups", "ana").out == "ana  approver  leads, finance\n"
    users = Users("adjourn.db-users")
    cookie = users.open_session("ana", key)
    assert adjourn("user", "logout", "ana", "--json").json == {"person": "ana", "sessions": 1}
    assert users.session(cookie) is None
    found = users.by_key(key)
    assert found is not None and (found.role, found.groups) == ("approver", ("leads", "finance"))
    assert adjourn("user", "groups", "ana", "--none", "--json").json["groups"] == []
    users.close()


def test_users_may_be_in_a_file_of_their_own(adjourn: Run) -> None:
    assert adjourn("user", "list", "--users", "people").code == 2 and not Path("people").exists()
    assert adjourn("user", "add", "ana", "--users", "people").code == 0
    assert [u["name"] for u in adjourn("user", "list", "--users", "people", "--json").json] == ["ana"]


@pytest.mark.parametrize(
    "words",
    [
        ["add", "ana", "--role", "king"], ["add", ""], ["add", "@ana"], ["add", "a\x1b[31mb"], ["key", "nobody"], ["remove", "nobody"],
        ["keys", "nobody"], ["revoke", "abc"], ["revoke", ""], ["role", "nobody", "admin"], ["role", "vic", "king"],
        ["groups", "nobody"], ["groups", "vic", "a\nb"], ["groups", "vic", "a", "--none"], ["logout", "nobody"],
        ["key", "vic", "--expires", "soon"], ["key", "vic", "--expires", "0d"], ["key", "vic", "--expires", "2001-01-01"],
        ["key", "vic", "--expires", "99999999d"], ["add", "Vic"],
    ],
)  # fmt: skip
def test_wrong_input_is_told(words: list[str], adjourn: Run, waiting: str) -> None:
    adjourn("user", "add", "vic")
    said = adjourn("user", *words)
    assert said.code == 2 and said.err.startswith("✗ ") and "\x1b" not in said.err and said.out == ""


def test_a_name_is_given_once(adjourn: Run, waiting: str) -> None:
    adjourn("user", "add", "ana")
    assert adjourn("user", "add", "ana").code == 2


def test_without_a_database_there_are_no_users(adjourn: Run) -> None:
    assert adjourn("user", "list").code == 2 and not Path("adjourn.db-users").exists()


@pytest.fixture
def serving() -> Iterator[Callable[..., tuple[subprocess.Popen[str], Any]]]:
    """A server as a process, and what it printed."""
    begun: list[subprocess.Popen[str]] = []

    def start(*words: str) -> tuple[subprocess.Popen[str], Any]:
        process = subprocess.Popen(
            [sys.executable, "-m", "adjourn", "serve", "--port", "0", "--json", *words],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        begun.append(process)
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, process.communicate(timeout=SECONDS)[1]
        return process, json.loads(line)

    yield start
    for process in begun:
        process.kill()
        process.communicate(timeout=SECONDS)


Serve = Callable[..., tuple[subprocess.Popen[str], Any]]


def test_the_link_has_the_token_in_its_fragment_and_works(serving: Serve, waiting: str) -> None:
    process, up = serving()
    url, found, token = up["link"].partition("/#token=")
    assert found and url == up["url"] and up["pid"] == process.pid
    assert ask(f"{url}/api/v1/runs", token)["items"][0]["run_id"] == waiting
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=SECONDS)
    assert process.returncode == 0 and out == "" and "Server stopped. All runs are saved." in err


def test_with_programs_it_is_a_worker_too(serving: Serve, adjourn: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("YARD", str(Path.cwd()))
    Path("healthy").touch()
    adjourn("run", f"{YARD}:guarded", "x", "--id", "two")
    adjourn("inbox")
    assert adjourn("approve", "two", "--by", "ana").code == 0
    _, up = serving(f"{YARD}:guarded")
    assert up["programs"] == ["guarded"]
    assert adjourn("watch", "two", "--rest").code == 3
    assert Path("ledger").read_text() == "create a\n"


def test_a_users_key_opens_it_and_no_link_does(serving: Serve, adjourn: Run, waiting: str) -> None:
    key = adjourn("user", "add", "vic", "--json").json["key"]
    _, up = serving()
    assert "token" not in up["link"]
    assert ask(f"{up['url']}/api/v1/me", key)["name"] == "vic"


@pytest.mark.parametrize(
    ("words", "made"),
    [([], True), (["--origin", "https://ops.example"], False), (["--origin", "https://ops.example", "--token"], True)],
)
def test_what_a_service_writes_into_its_log_opens_nothing(
    serving: Serve, waiting: str, words: list[str], made: bool
) -> None:
    process, up = serving(*words)
    assert ("#token=" in up["link"]) is made
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=SECONDS)
    assert ("has all rights" in err) is made and ("log in with their keys" in err) is not made
    assert "token=" not in err


@pytest.mark.parametrize(
    "words", [["--trusted-proxy", "10.0.0.0/33"], ["--max-connections", "3"], ["--head-timeout", "0"]]
)
def test_options_that_make_no_sense_are_refused(words: list[str], adjourn: Run, waiting: str) -> None:
    said = adjourn("serve", "--port", "0", *words)
    assert said.code == 2 and said.out == "" and said.err


def test_an_address_of_other_machines_needs_users(adjourn: Run, waiting: str) -> None:
    said = adjourn("serve", "--host", "0.0.0.0", "--port", "0", "--origin", "https://ops.example")
    assert said.code == 2 and "adjourn user add" in said.err and said.out == ""


def test_without_the_extra_it_is_said_by_name(adjourn: Run, waiting: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [
        name for name in sys.modules if name.split(".")[0] in ("uvicorn", "starlette") or "adjourn.server" in name
    ]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    monkeypatch.setitem(sys.modules, "starlette.applications", None)
    for words in (["serve"], ["user", "list"]):
        said = adjourn(*words)
        assert said.code == 2 and "pip install 'adjourn[server]'" in said.err and "not_installed · 422" in said.err


@pytest.mark.parametrize(
    "words",
    [["nothing"], ["--certfile", "absent"], ["--users", "absent"], ["--host", "999.1.1.1"], ["--db", "text.db"], ["--port", "99999"]],
)  # fmt: skip
def test_what_cannot_be_served_is_told(words: list[str], adjourn: Run, waiting: str) -> None:
    Path("text.db").write_text("not a database, but long enough to be taken for one" * 50)
    said = adjourn("serve", "--port", "0", *words)
    assert said.code in (1, 2) and said.out == "" and said.err


def test_at_a_terminal_the_link_is_a_line_and_ctrl_c_stops(terminal: AtTerminal, waiting: str) -> None:
    pty = terminal("serve", "--port", "0")
    pty.see("/#token=")
    pty.see("Ctrl-C stops it.")
    pty.interrupt()
    pty.see("Server stopped. All runs are saved.")
    assert pty.end() == 0


def test_the_first_user_is_made_before_there_is_a_database(adjourn: Run) -> None:
    said = adjourn("user", "add", "ana", "--role", "admin", "--db", "new.db")
    assert said.code == 0 and said.out.startswith("adj_"), said.err
    assert not Path("new.db").exists() and Path("new.db-users").exists()
    assert adjourn("user", "list", "--db", "new.db").code == 2, "only `add` makes anything"
