"""Users: what is kept of a key is its hash; other processes' changes count at once."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.server.world import Time

from adjourn.errors import Invalid, NotFound
from adjourn.server import Users, users_path


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "users")


def test_a_key_is_shown_once_and_kept_as_a_hash(path: str) -> None:
    users = Users(path)
    key = users.add("ana", "approver", ["leads", "eu"])
    cookie = users.open_session("ana")
    run = users.run_key("r1")
    users.close()
    raw = Path(path).read_bytes()
    for secret in (key, cookie, run):
        assert secret.encode() not in raw
        assert secret.removeprefix("adj_").encode() not in raw
    assert os.stat(path).st_mode & 0o077 == 0


def test_who_has_a_key_is_known_also_after_a_restart(path: str) -> None:
    users = Users(path)
    key = users.add("ana", "approver", ["leads"])
    users.close()
    again = Users(path)
    found = again.by_key(key)
    assert found is not None
    assert (found.name, found.role, found.groups) == ("ana", "approver", ("leads",))
    assert again.by_key(key + "x") is None
    assert again.by_key("") is None
    again.close()


def test_what_another_process_changes_counts_at_once(path: str) -> None:
    one, two = Users(path), Users(path)
    key = one.add("ana", "viewer")
    assert two.by_key(key) is not None
    second = two.new_key("ana")
    assert one.by_key(second) is not None
    one.revoke(key)
    assert two.by_key(key) is None
    assert two.by_key(second) is not None
    two.remove("ana")
    assert one.by_key(second) is None
    assert one.all() == []
    one.close()
    two.close()


def test_a_removed_user_has_no_session_left(path: str) -> None:
    users = Users(path)
    users.add("ana", "viewer")
    cookie = users.open_session("ana")
    assert users.session(cookie) == "ana"
    users.remove("ana")
    assert users.session(cookie) is None
    assert users.session("") is None
    users.close()


def test_a_session_ends_by_itself(path: str) -> None:
    users = Users(path)
    cookie = users.open_session("ana")
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("update session set until = 1")
    db.close()
    assert users.session(cookie) is None
    users.close()


@pytest.mark.parametrize("name", ["", "@expiry", "@run:x", "a\nb", "x" * 101, " ana", "a\u202eb"])
def test_a_name_that_could_be_taken_for_something_else_is_refused(name: str) -> None:
    users = Users()
    with pytest.raises(Invalid):
        users.add(name, "viewer")
    users.close()


def test_what_is_not_there_or_there_already() -> None:
    users = Users()
    users.add("ana", "viewer")
    with pytest.raises(Invalid, match="already"):
        users.add("ana", "admin")
    with pytest.raises(Invalid, match="role"):
        users.add("ben", "root")
    with pytest.raises(Invalid, match="role"):
        users.add("ben", "run")
    with pytest.raises(Invalid, match="group"):
        users.add("ben", "viewer", ["a\nb"])
    for act in (users.new_key, users.remove, users.revoke):
        with pytest.raises(NotFound):
            act("nobody")
    assert [u.name for u in users.all()] == ["ana"]
    users.run_key("r1")
    assert [u.name for u in users.all()] == ["ana"]  # a run is nobody
    users.close()


def test_users_are_beside_their_store() -> None:
    assert users_path("sqlite:///a.db") == "a.db-users"
    assert users_path("sqlite:////srv/a.db") == "/srv/a.db-users"
    assert users_path("memory://") == ""
    assert users_path("sqlite:///") == ""


# Keys


def test_a_key_ends_when_it_was_said_to_and_no_other_does() -> None:
    clock = Time()
    users = Users(clock=clock)
    short, long = users.add("ana", "viewer", expires_in=60), users.new_key("ana")
    clock.at += 59
    assert users.by_key(short) is not None
    clock.at += 1
    assert users.by_key(short) is None
    assert users.by_key(long) is not None
    assert [(k.hint, k.expires_at) for k in users.keys("ana")] == [(short[-4:], 1_000_060.0), (long[-4:], None)]
    users.close()


@pytest.mark.parametrize("seconds", [0, -1, float("inf"), float("nan")])
def test_a_key_that_would_not_last_is_not_made(seconds: float) -> None:
    users = Users()
    with pytest.raises(Invalid, match="positive"):
        users.add("ana", "viewer", expires_in=seconds)
    assert users.all() == [], "the user was not made either"
    users.close()


def test_a_key_is_revoked_by_its_id_or_as_itself_and_the_others_stay() -> None:
    users = Users()
    keys = [users.add("ana", "viewer"), users.new_key("ana"), users.new_key("ana")]
    listed = {k.hint: k for k in users.keys("ana")}
    assert users.revoke(listed[keys[0][-4:]].id).user == "ana"
    users.revoke(keys[1])
    assert [users.by_key(k) is not None for k in keys] == [False, False, True]
    for gone in (listed[keys[0][-4:]].id, keys[1], "", "%", "_" * 12, listed[keys[2][-4:]].id[:8]):
        with pytest.raises(NotFound):
            users.revoke(gone)
    assert users.by_key(keys[2]) is not None
    users.close()


# Sessions


def test_a_session_ends_with_the_key_that_opened_it_and_with_no_other() -> None:
    clock = Time()
    users = Users(clock=clock)
    keys = [users.add("ana", "admin"), users.new_key("ana"), users.new_key("ana", expires_in=60)]
    cookies = [users.open_session("ana", key) for key in keys]
    users.revoke(keys[0])
    assert [users.session(c) for c in cookies] == [None, "ana", "ana"]
    clock.at += 61
    assert [users.session(c) for c in cookies] == [None, "ana", None]
    users.close()


def test_a_session_ends_after_its_life_also_in_use() -> None:
    clock = Time()
    users = Users(clock=clock)
    cookie = users.open_session("ana", users.add("ana", "viewer"), life=1000)
    for _ in range(9):
        clock.at += 100
        assert users.session(cookie, idle=150) == "ana"
    clock.at += 100
    assert users.session(cookie, idle=150) is None
    users.close()


def test_a_session_that_nobody_uses_ends_and_looking_is_no_use() -> None:
    clock = Time()
    users = Users(clock=clock)
    key = users.add("ana", "viewer")
    used, watched = users.open_session("ana", key), users.open_session("ana", key)
    for _ in range(20):
        clock.at += 100
        assert users.session(used, idle=1000) == "ana"
        users.session(watched, idle=1000, used=False)
    assert users.session(used, idle=1000) == "ana"
    assert users.session(watched, idle=1000) is None
    users.close()


def test_logging_somebody_out_ends_their_sessions_and_keeps_their_keys() -> None:
    users = Users()
    keys = {name: users.add(name, "viewer") for name in ("ana", "ben")}
    cookies = {name: [users.open_session(name, keys[name]) for _ in range(2)] for name in keys}
    assert users.logout("ana") == 2
    assert [users.session(c) for c in cookies["ana"]] == [None, None]
    assert [users.session(c) for c in cookies["ben"]] == ["ben", "ben"]
    assert users.by_key(keys["ana"]) is not None
    users.close()


# Changes


def test_role_and_groups_change_without_new_keys() -> None:
    users = Users()
    key = users.add("ana", "viewer", ["a"])
    assert users.set_role("ana", "approver").role == "approver"
    assert users.set_groups("ana", ["b", "c"]).groups == ("b", "c")
    found = users.by_key(key)
    assert found is not None and (found.role, found.groups) == ("approver", ("b", "c"))
    for wrong in (lambda: users.set_role("ana", "king"), lambda: users.set_groups("ana", [""])):
        with pytest.raises(Invalid):
            wrong()
    for unknown in (
        lambda: users.keys("nobody"),
        lambda: users.logout("nobody"),
        lambda: users.set_role("nobody", "viewer"),
    ):
        with pytest.raises(NotFound):
            unknown()
    users.close()


@pytest.mark.parametrize("again", ["ana", "Ana", "ANA", "ａｎａ", "Ａna"])
def test_a_name_is_one_name_however_it_is_written(again: str) -> None:
    users = Users()
    key = users.add("ana", "viewer")
    with pytest.raises(Invalid, match="already"):
        users.add(again, "admin")
    found = users.get(again)
    assert found is not None and found.name == "ana"
    users.remove(again)
    assert users.by_key(key) is None
    users.close()


def test_two_people_whom_an_older_version_kept_apart_stay_two(path: str) -> None:
    Users(path).close()
    with closing(sqlite3.connect(path)) as db, db:
        db.executemany(
            "insert into user (name, role, groups, created_at) values (?, 'viewer', '', 1)", [("ana",), ("Ana",)]
        )
    db.close()
    users = Users(path)
    assert [u.name for u in users.all()] == ["Ana", "ana"]
    assert [getattr(users.get(n), "name", None) for n in ("ana", "Ana", "ANA")] == ["ana", "Ana", None]
    users.close()


@pytest.mark.parametrize("failing", range(1, 4))
def test_a_removal_that_fails_at_any_statement_has_changed_nothing(path: str, failing: int) -> None:
    """In one transaction: nobody is left with a key and without a name, or with a session and without a key."""
    users = Users(path)
    key = users.add("ana", "approver")
    cookie = users.open_session("ana", key)
    table: Any = users._table
    real, count = table._db, 0

    class Breaking:
        def execute(self, sql: str, *values: object) -> object:
            nonlocal count
            count += sql.startswith("delete")
            if count == failing and sql.startswith("delete"):
                raise sqlite3.OperationalError("disk I/O error")
            return real.execute(sql, *values)

    table._db = Breaking()
    with pytest.raises(sqlite3.OperationalError):
        users.remove("ana")
    table._db = real
    assert users.by_key(key) is not None
    assert users.session(cookie) == "ana"
    users.remove("ana")
    assert (users.by_key(key), users.session(cookie)) == (None, None)
    users.close()


OLD = """
create table user (name text primary key, role text not null, groups text not null, created_at real not null);
create table key (hash text primary key, user text not null, hint text not null, created_at real not null);
create table session (hash text primary key, user text not null, until real not null);
insert into user values ('ana', 'admin', 'leads', 1);
insert into session values ('h', 'ana', 99999999999);
"""


def test_a_file_of_an_older_version_goes_on_and_its_sessions_end(path: str) -> None:
    with closing(sqlite3.connect(path)) as db, db:
        db.executescript(OLD)
    db.close()
    one, two = Users(path), Users(path)
    assert [(u.name, u.groups) for u in one.all()] == [("ana", ("leads",))]
    key = two.new_key("ana")
    assert one.by_key(key) is not None
    assert one.logout("ana") == 0, "a session that does not know its key could outlive it"
    one.close()
    two.close()


@pytest.mark.skipif(os.name != "posix", reason="rights of files are those of POSIX")
def test_a_file_that_others_could_read_is_closed(path: str) -> None:
    Users(path).close()
    os.chmod(path, 0o644)
    Users(path).close()
    assert os.stat(path).st_mode & 0o777 == 0o600


def test_a_file_from_before_there_were_grants_keeps_users_keys_and_sessions(path: str) -> None:
    users = Users(path)
    key, cookie = users.add("ana", "admin"), users.open_session("ana")
    users.close()
    with closing(sqlite3.connect(path)) as db, db:
        db.executescript(
            "alter table user drop column grants; alter table user drop column tenant; pragma user_version = 1"
        )
    db.close()
    again = Users(path)
    assert again.by_key(key) is not None
    assert again.session(cookie) == "ana"
    again.close()
