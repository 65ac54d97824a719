"""From `--db` to an open runtime. Only a worker makes a database; every other command needs one that is there."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

from adjourn.errors import StoreError
from adjourn.runtime.runtime import Runtime
from adjourn.stores.address import BUSY, VARIABLE, NoDatabase

T = TypeVar("T")

DEFAULT = "adjourn.db"


def address_of(db: str | None) -> str:
    """The store's address: `--db`, else the environment, else `adjourn.db`; a path or a whole address."""
    given = db or os.environ.get(VARIABLE) or DEFAULT
    return given if "://" in given else f"sqlite:///{given}"


def file_of(address: str) -> str | None:
    """The file behind an address, if there is one."""
    scheme, _, rest = address.partition("://")
    return rest[1:] if scheme == "sqlite" and rest.startswith("/") else None


def check_exists(address: str) -> None:
    """Raise `NoDatabase` or `StoreError` rather than make a database, or make one of somebody else's file."""
    path = file_of(address)
    if path is None:
        return
    if not Path(path).is_file():
        raise NoDatabase(path)
    import apsw

    try:
        db = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
        db.set_busy_timeout(BUSY)  # another process may be putting its log away
        version = bool(db.pragma("user_version"))  # pyright: ignore[reportUnknownMemberType]
        db.close()
    except apsw.Error as e:
        raise StoreError(f"{path!r} cannot be read as a database: {e}; nothing was changed") from e
    if not version:
        raise StoreError(f"{path!r} is not an Adjourn database; nothing was changed; name another with --db")


def with_runtime(db: str | None, work: Callable[[Runtime], Awaitable[T]], **options: Any) -> T:
    """Do something with the runtime of a database that exists. It has no programs: it reads, decides and controls.

    The other options are the runtime's.
    """
    address = address_of(db)
    check_exists(address)

    async def go() -> T:
        async with Runtime(address, **options) as rt:
            return await work(rt)

    return asyncio.run(go())
