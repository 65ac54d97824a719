"""Users in a file and users in PostgreSQL keep the same promises."""

import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.stores.postgres.server import PostgresServer

from adjourn.errors import Conflict
from adjourn.stores.user_table import (
    KeyRow,
    SessionRow,
    UserRow,
    UserTable,
    copy_users,
    open_user_table,
    users_place,
)

ANA = UserRow("ana", "approver", "leads\neu", 10.5, "viewer of agent:refunds", "acme")
BEN = UserRow("Ben", "admin", "", 11.0)
FIRST = KeyRow("a" * 64, "ana", "wxyz", 12.0, 0.0)
SECOND = KeyRow("ab" * 32, "ana", "1234", 13.0, 99.5)
OTHER = KeyRow("c" * 64, "Ben", "5678", 14.0, 0.0)
OPENED = SessionRow("d" * 64, "ana", 100.0, FIRST.hash, 20.0)
KEYLESS = SessionRow("e" * 64, "ana", 100.0, "", 30.0)
FOREIGN = SessionRow("f" * 64, "Ben", 100.0, OTHER.hash, 25.0)


class UserTables:
    """What holds wherever users are kept."""

    place = ""

    @pytest.fixture
    def table(self) -> Iterator[UserTable]:
        with closing(open_user_table(self.place)) as found:
            yield found

    @pytest.fixture
    def other(self, table: UserTable) -> Iterator[UserTable]:
        """The same users, as another process sees them."""
        with closing(open_user_table(self.place)) as found:
            yield found

    def test_users_are_read_as_they_were_written(self, table: UserTable, other: UserTable) -> None:
        with table.changing():
            table.add_user(ANA)
            table.add_user(BEN)
        assert other.users() == [BEN, ANA]
        with table.changing():
            table.add_user(ANA._replace(role="admin"), unless_there=True)
            table.set_role("Ben", "viewer")
            table.set_groups("Ben", "ops")
            table.set_grants("Ben", "approver of agent:desk")
            table.set_tenant("Ben", "globex")
        assert other.users() == [UserRow("Ben", "viewer", "ops", 11.0, "approver of agent:desk", "globex"), ANA]

    def test_a_name_that_is_there_is_not_written_again(self, table: UserTable) -> None:
        table.add_user(ANA)
        with pytest.raises(Exception, match="(?i)unique"):
            table.add_user(ANA)
        assert table.users() == [ANA]

    def test_keys_are_those_of_their_user_the_oldest_first(self, table: UserTable, other: UserTable) -> None:
        for key in (SECOND, FIRST, OTHER):
            table.add_key(key)
        assert other.keys_of("ana") == [SECOND, FIRST]
        assert other.all_keys() == [SECOND, FIRST, OTHER]
        assert other.keys_like("ab") == [SECOND]
        assert other.keys_like(FIRST.hash) == [FIRST]
        assert other.keys_like("%") == []

    def test_a_key_ends_with_its_sessions_and_no_others(self, table: UserTable, other: UserTable) -> None:
        _fill(table)
        table.remove_key(FIRST.hash)
        assert other.keys_of("ana") == [SECOND]
        assert other.sessions() == [KEYLESS, FOREIGN]

    def test_a_user_goes_with_all_keys_and_sessions(self, table: UserTable, other: UserTable) -> None:
        _fill(table)
        with table.changing():
            table.remove_user("ana")
        assert (other.users(), other.all_keys(), other.sessions()) == ([BEN], [OTHER], [FOREIGN])

    def test_a_session_that_ends_here_is_dead_there(self, table: UserTable, other: UserTable) -> None:
        _fill(table)
        assert other.session(OPENED.hash) == OPENED
        table.saw_session(OPENED.hash, 40.0)
        assert other.sessions() == [OPENED._replace(seen=40.0), KEYLESS, FOREIGN]
        table.end_session(OPENED.hash)
        assert other.session(OPENED.hash) is None
        assert table.end_sessions("ana") == 1
        assert other.sessions() == [FOREIGN]

    def test_sessions_that_are_over_make_room(self, table: UserTable) -> None:
        table.add_session(OPENED)
        table.add_session(KEYLESS._replace(seen=100.5, until=200.0))
        assert [row.hash for row in table.sessions()] == [KEYLESS.hash]

    def test_another_process_sees_by_a_number_that_something_changed(self, table: UserTable, other: UserTable) -> None:
        seen = [other.version()]
        for change in (
            lambda: table.add_user(ANA),
            lambda: table.add_key(FIRST),
            lambda: table.set_role("ana", "viewer"),
            lambda: table.set_groups("ana", ""),
            lambda: table.set_grants("ana", ""),
            lambda: table.set_tenant("ana", ""),
            lambda: table.remove_key(FIRST.hash),
            lambda: table.remove_user("ana"),
        ):
            with table.changing():
                change()
            seen.append(other.version())
        assert len(set(seen)) == len(seen)

    def test_a_transaction_that_fails_changes_nothing(self, table: UserTable, other: UserTable) -> None:
        table.add_user(ANA)
        with pytest.raises(ZeroDivisionError), table.changing():
            table.remove_user("ana")
            table.add_user(BEN)
            raise ZeroDivisionError
        assert other.users() == table.users() == [ANA]

    def test_one_transaction_waits_for_the_other(self, table: UserTable, other: UserTable) -> None:
        """So two admins who remove each other do not both succeed."""
        seen: list[list[UserRow]] = []
        began = threading.Event()

        def later() -> None:
            began.set()
            with other.changing():
                seen.append(other.users())

        with table.changing():
            table.add_user(ANA)
            thread = threading.Thread(target=later)
            thread.start()
            assert began.wait(30)
            table.add_user(BEN)
        thread.join(30)
        assert seen == [[BEN, ANA]]

    def test_a_copy_loses_nothing(self, table: UserTable) -> None:
        with closing(open_user_table("")) as source:
            _fill(source)
            assert copy_users(source, table, "there") == 2
            assert table.users() == source.users()
            assert table.all_keys() == source.all_keys()
            assert table.sessions() == source.sessions()
            with pytest.raises(Conflict, match="already has users"):
                copy_users(source, table, "there")

    def test_a_copy_leads_out_again(self, table: UserTable) -> None:
        _fill(table)
        with closing(open_user_table("")) as target:
            copy_users(table, target, "there")
            assert (target.users(), target.all_keys()) == (table.users(), table.all_keys())


class TestUserFile(UserTables):
    @pytest.fixture(autouse=True)
    def _in_a_file(self, folder: Path) -> None:
        self.place = str(folder / "users")


class TestPostgresUsers(UserTables):
    @pytest.fixture(autouse=True)
    def _on_server(self, postgres: PostgresServer) -> None:
        self.place = postgres.fresh()


def test_where_users_are() -> None:
    assert users_place("sqlite:///a.db") == "a.db-users"
    assert users_place("postgresql://h/d") == "postgresql://h/d"
    assert users_place("memory://") == ""


def _fill(table: UserTable) -> None:
    with table.changing():
        table.add_user(ANA)
        table.add_user(BEN)
        for key in (FIRST, SECOND, OTHER):
            table.add_key(key)
        for session in (OPENED, KEYLESS, FOREIGN):
            table.add_session(session)
