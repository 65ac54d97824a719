"""From `--db` to an open runtime. Only a worker makes a database; every other command needs one
that is there."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from adjourn.cli.tenant_option import tenant
from adjourn.errors import StoreError
from adjourn.runtime.runtime import Runtime
from adjourn.stores.address import VARIABLE, database_at, file_of, is_postgres
from adjourn.stores.database import Database

T = TypeVar("T")

DEFAULT = "adjourn.db"


def address_of(db: str | None) -> str:
    """The store's address: `--db`, else the environment, else `adjourn.db`; a path or a whole
    address."""
    given = db or os.environ.get(VARIABLE) or DEFAULT
    if "://" in given:
        return given
    return f"sqlite:///{given}"


def database_of(db: str | None) -> Database:
    """The database, to be looked at; raises `NoDatabase` or `StoreError` if there is none of
    ours."""
    found = database_at(address_of(db))
    if not found.schema:
        raise StoreError(
            f"{found.where!r} is not an Adjourn database",
            consequence="nothing was changed",
            advice="name another with --db",
        )
    return found


def check_exists(address: str) -> None:
    """Raise `NoDatabase` or `StoreError` rather than make a database, or make one of somebody
    else's."""
    if file_of(address) is not None or is_postgres(address):
        database_of(address)


def with_runtime(db: str | None, work: Callable[[Runtime], Awaitable[T]], **options: Any) -> T:
    """Do something with the runtime of a database that exists. It has no programs: it reads,
    decides and controls.

    The other options are the runtime's.
    """
    address = address_of(db)
    check_exists(address)

    async def go() -> T:
        async with Runtime(address, tenant=tenant(), **options) as rt:
            return await work(rt)

    return asyncio.run(go())
