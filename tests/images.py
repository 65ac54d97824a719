"""New databases of SQLite as images: a file in which all migrations are done is copied, instead of doing them for each test.

Every process of tests makes its image itself, from nothing, so it is what this code makes. Most tests of the store itself
(`tests/stores`), and all processes that tests start, make their databases from nothing, as people do.
"""

import os
import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from secrets import token_hex
from typing import Any

from adjourn.stores.sqlite import connection, store


@cache
def image() -> tuple[bytes, bytes]:
    """The file of a new database, and the id of the store in it."""
    with tempfile.TemporaryDirectory(prefix="adjourn-") as folder:
        path = os.path.join(folder, "runs.db")
        db = connection.connect(path)
        connection.bring_up_to_date(db, path)
        [(identity,)] = db.execute("select value from meta where key = 'store'").fetchall()
        db.close()  # what is in its log goes into the file
        assert os.listdir(folder) == ["runs.db"]
        made, told = Path(path).read_bytes(), str(identity).encode()
    assert made.count(told) == 1
    return made, told


def put(path: str) -> None:
    """A new database, of an id of its own. If there is a file already, or can be none, nothing happens."""
    made, identity = image()
    mine = f"{path}.{token_hex(4)}"
    with suppress(OSError):
        file = os.open(mine, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with open(file, "wb") as written:
                written.write(made.replace(identity, token_hex(16).encode()))
            os.link(mine, path)  # whole, or not at all: others may open it at this moment
        finally:
            os.unlink(mine)


def opened(path: str, connect: Callable[[str], Any] = connection.connect) -> Any:
    """What `connect` does, over an image where there is nothing yet."""
    if not os.path.exists(path):
        put(path)
    return connect(path)


@contextmanager
def images() -> Generator[None]:
    """Inside, the databases that stores of this process make are images."""
    image()
    before, store.connect = store.connect, opened
    try:
        yield
    finally:
        store.connect = before
