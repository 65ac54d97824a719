"""Users: what is kept of a key is its hash; other processes' changes count at once."""

import os
import sqlite3
from pathlib import Path

import pytest

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
    with sqlite3.connect(path) as db:
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
