"""`adjourn db`: what is in the file, its schema, a copy while others write, and whether it is whole."""

import asyncio
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest
from tests.cli import shop
from tests.cli.conftest import Run, begin


def change(sql: str, file: str = "adjourn.db") -> None:
    db: Any = apsw.Connection(file)
    db.execute(sql)
    db.close()


def test_info_counts_what_there_is(adjourn: Run, waiting: str) -> None:
    said = adjourn("db", "info", "--json").json
    assert said["runs"] == 1 and said["statuses"] == {"waiting": 1} and said["open"] == 1
    assert said["schema"] == said["newest"] and said["bytes"] > 0
    assert "1 interrupt" in adjourn("db", "info").out


def test_an_older_schema_is_said_and_migrated(adjourn: Run, waiting: str) -> None:
    newest = adjourn("db", "info", "--json").json["newest"]
    assert adjourn("db", "upgrade").out == f"schema {newest}: nothing to do\n"
    Path("old.db").touch()
    from adjourn.stores.sqlite.migrations import migrations

    number, sql = migrations()[0]
    change(sql, "old.db")
    change(f"pragma user_version = {number}", "old.db")
    dry = adjourn("db", "upgrade", "--dry-run", "--db", "old.db")
    assert dry.code == 0 and "to do" in dry.out
    assert adjourn("db", "upgrade", "--dry-run", "--db", "old.db", "--json").json["pending"]
    looked = adjourn("db", "upgrade", "--check", "--db", "old.db")
    assert looked.code == 1 and "to do" in looked.out
    assert adjourn("db", "info", "--json", "--db", "old.db").json["schema"] == number, "looking changes nothing"
    assert adjourn("db", "upgrade", "--db", "old.db").out == f"schema {number} → {newest}\n"


def test_a_newer_schema_is_left_alone(adjourn: Run, waiting: str) -> None:
    change("pragma user_version = 999")
    said = adjourn("db", "upgrade")
    assert said.code == 1 and "999" in said.err and "Nothing was changed" in said.err


def test_a_copy_is_whole_private_and_can_be_used(adjourn: Run, waiting: str) -> None:
    said = adjourn("db", "backup", "copy.db")
    assert (said.code, said.out) == (0, "copy.db\n")
    assert stat.S_IMODE(Path("copy.db").stat().st_mode) == 0o600
    assert adjourn("show", waiting, "--journal", "--db", "copy.db").out == adjourn("show", waiting, "--journal").out
    assert adjourn("db", "check", "--db", "copy.db").code == 0


def test_a_copy_never_replaces_a_file(adjourn: Run, waiting: str) -> None:
    Path("precious").write_text("mine")
    said = adjourn("db", "backup", "precious")
    assert said.code == 1 and Path("precious").read_text() == "mine"
    assert adjourn("db", "backup", "no/such/folder/copy.db").code == 1


def test_a_copy_is_of_one_moment_while_others_write(adjourn: Run, process: Run, waiting: str) -> None:
    async def both() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(begin(*[shop.make() for _ in range(10)]))
            for n in range(3):
                assert (await asyncio.to_thread(process, "db", "backup", f"copy{n}.db")).code == 0

    asyncio.run(both())
    for n in range(3):
        assert adjourn("db", "check", "--db", f"copy{n}.db").code == 0


def test_a_backup_is_restored_and_the_way_back_is_printed(adjourn: Run, waiting: str) -> None:
    adjourn("db", "backup", "copy.db")
    adjourn("say", waiting, "after the backup", "--by", "ana")
    said = adjourn("db", "restore", "copy.db", "--by", "ops")
    assert said.code == 0 and said.out.endswith("adjourn.db\n") and "1 run of 1 paused" in said.err
    looked = adjourn("show", waiting)
    assert "paused" in looked.out and "restored" in looked.out and "by ops" in looked.out
    doctor = adjourn("doctor")
    assert "1 run paused since a backup was restored" in doctor.out
    assert adjourn("db", "check").code == 0
    [back] = [line for line in said.err.splitlines() if line.startswith("To undo this: ")]
    subprocess.run(back.removeprefix("To undo this: "), shell=True, check=True)
    assert "after the backup" in adjourn("show", waiting).out
    assert "restored" not in adjourn("doctor").out


def test_a_restore_says_as_json_what_it_did(adjourn: Run, waiting: str) -> None:
    adjourn("db", "backup", "copy.db")
    said = adjourn("db", "restore", "copy.db", "--json").json
    assert (said["runs"], said["held"]) == (1, 1) and Path(said["kept"]).exists()
    adjourn("resume", waiting, "--by", "ops")
    assert "restored" not in adjourn("doctor").out


def test_a_backup_that_cannot_be_restored_changes_nothing(adjourn: Run, waiting: str) -> None:
    before = adjourn("show", waiting, "--journal").out
    assert adjourn("db", "restore", "none.db").code == 2
    Path("text.db").write_text("not a database, but long enough to be taken for one" * 50)
    said = adjourn("db", "restore", "text.db")
    assert said.code == 1 and "Not restored" in said.err and "Nothing was changed" in said.err
    assert adjourn("show", waiting, "--journal").out == before


def test_restoring_makes_a_database_where_there_is_none(adjourn: Run, waiting: str) -> None:
    adjourn("db", "backup", "copy.db")
    said = adjourn("db", "restore", "copy.db", "--db", "new.db")
    assert said.code == 0 and "to undo this" not in said.err
    assert adjourn("db", "check", "--db", "new.db").code == 0


DAMAGE: dict[str, Callable[[], None]] = {
    "a journal": lambda: change("update journal set body = replace(body, '4417', '4418') where seq = 1"),
    "the audit": lambda: change("update audit set body = replace(body, 'shop', 'ana')"),
    "the end of a journal": lambda: change("delete from journal where seq = (select max(seq) from journal)"),
}


@pytest.mark.parametrize("what", DAMAGE)
def test_damage_is_found_in(what: str, adjourn: Run, waiting: str) -> None:
    assert adjourn("db", "check").code == 0
    DAMAGE[what]()
    said = adjourn("db", "check")
    assert said.code == 1 and "✗" in said.out and "broken" in said.out
    assert adjourn("doctor").code == 1


@pytest.mark.parametrize("words", [["info"], ["upgrade"], ["backup", "x"], ["check"]])
def test_what_is_not_there_or_not_ours_is_left_alone(words: list[str], adjourn: Run) -> None:
    assert adjourn("db", *words).code == 2 and not Path("adjourn.db").exists()
    Path("text.db").write_text("not a database, but long enough to be taken for one" * 50)
    assert adjourn("db", *words, "--db", "text.db").code == 1
    change("create table mine (n)", "other.db")
    said = adjourn("db", *words, "--db", "other.db")
    assert said.code == 1 and "not an Adjourn database" in said.err
    assert adjourn("db", *words, "--db", "memory://").code == 2
