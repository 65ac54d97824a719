"""A database that tests get as an image is the one that migrations make."""

import os
from pathlib import Path
from typing import Any

import apsw
import pytest
from tests.images import images, opened

from adjourn.errors import StoreError
from adjourn.stores.sqlite import SQLiteStore, connection, store

PRAGMAS = ("user_version", "journal_mode", "page_size", "integrity_check", "encoding")


def everything(path: Path) -> dict[str, Any]:
    """What is in a file, but for the id of its store."""
    db: Any = apsw.Connection(str(path))
    schema = db.execute("select type, name, tbl_name, sql from sqlite_schema order by rowid").fetchall()
    tables = [name for kind, name, _, sql in schema if kind == "table" and "virtual" not in sql.lower()]
    rows = {name: db.execute(f"select * from {name}").fetchall() for name in tables}
    [identity] = [value for key, value in rows["meta"] if key == "store"]
    rows["meta"] = [row for row in rows["meta"] if row[0] != "store"]
    pragmas = {name: db.pragma(name) for name in PRAGMAS}
    db.close()
    assert len(identity) == 32
    return {"schema": schema, "rows": rows, "pragmas": pragmas, "mode": os.stat(path).st_mode, "id": identity}


async def test_an_image_is_what_the_migrations_make_with_an_id_of_its_own(tmp_path: Path) -> None:
    def made(name: str) -> dict[str, Any]:
        path = tmp_path / name
        db = connection.connect(str(path))
        connection.bring_up_to_date(db, str(path))
        db.close()
        return everything(path)

    async def copied(name: str) -> dict[str, Any]:
        await SQLiteStore(str(tmp_path / name)).close()
        return everything(tmp_path / name)

    assert store.connect is opened, "this very test is given images"
    found = [made("made.db"), await copied("one.db"), await copied("two.db")]
    assert len({each.pop("id") for each in found}) == 3
    assert found[0] == found[1] == found[2]


async def test_what_is_there_already_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "runs.db").write_bytes(b"")
    with images():
        await SQLiteStore(str(tmp_path / "runs.db")).close()
    before = everything(tmp_path / "runs.db")
    with images():
        await SQLiteStore(str(tmp_path / "runs.db")).close()
    assert everything(tmp_path / "runs.db") == before
    assert os.listdir(tmp_path) == ["runs.db"]


def test_where_no_file_can_be_the_error_is_the_stores_own(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="does not exist"):
        SQLiteStore(str(tmp_path / "nowhere" / "runs.db"))
