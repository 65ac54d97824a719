"""Copying a whole store to another place, of whichever kind. Both are halted then: only one of them
may continue."""

import asyncio
from collections.abc import Generator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path

from adjourn.errors import Conflict, StoreError, bare
from adjourn.stores.address import database_at, file_of, is_postgres, open_store, without_password
from adjourn.stores.contents import Contents, Copied, Filling, differences, put
from adjourn.stores.user_table import copy_users, open_user_table, users_place

EVERYTHING = "*"
"""The scope of the halt."""


async def transfer(source: str, target: str, *, by: str, origin: str = "") -> Copied:
    """Copy the store at one address to another, where there is none, and compare both.

    The source is halted first, and the copy has that halt, too: whoever lifts it says which of the
    two continues. The copy is the same store: its id, its audit and its seals.

    Args:
        source: its address.
        target: an address with no store: a file that is not there, or a database with nothing of
            ours in it.
        by: who does it, for the audit.
        origin: from where.

    Raises `Conflict` while a worker is at work in the source, or if the target is not empty;
    `StoreError` if the source is not as it was written, or if the copy is not the same. Nothing was
    copied then.
    """
    database_at(source)
    store = open_store(source)
    try:
        alive = [worker for worker, until in (await store.workers()).items() if until > store.now()]
        if alive:
            raise Conflict(
                f"worker {bare(alive[0])} is running on {without_password(source)!r}",
                consequence="nothing was copied",
                advice="stop all workers and servers first",
            )
        broken = await store.verify()
        if broken:
            raise StoreError(
                f"{without_password(source)!r} is not as it was written: {broken[0]}",
                consequence="nothing was copied",
            )
        await store.halt(
            EVERYTHING, by=by, reason=f"copied to {without_password(target)}", origin=origin
        )
    finally:
        await store.close()
    done = await asyncio.to_thread(_copy, source, target)
    await _check(target)
    await asyncio.to_thread(_copy_users, source, target)
    return done


async def _check(target: str) -> None:
    """That the audit goes on in the copy where it ended, which is written beside its lines."""
    copy = open_store(target)
    try:
        broken = await copy.verify()
    finally:
        await copy.close()
    if broken:
        raise StoreError(
            f"{without_password(target)!r} differs from what was copied: {broken[0]}",
            advice="do not use the copy",
        )


def _copy_users(source: str, target: str) -> None:
    """The users of a store, where it has some: in a file beside its own, or in its database."""
    if (place := users_place(source)) and (is_postgres(source) or Path(place).exists()):
        with (
            closing(open_user_table(place)) as old,
            closing(open_user_table(users_place(target))) as new,
        ):
            if old.users():
                copy_users(old, new, target)


def _copy(source: str, target: str) -> Copied:
    with _reading(source) as contents:
        with _filling(target, contents.identity()) as filling:
            done = put(contents, filling)
        with _reading(target) as copy:
            for difference in differences(contents, copy):
                raise StoreError(
                    f"{without_password(target)!r} differs from what was copied: {difference}",
                    advice="do not use the copy",
                )
    return done


@contextmanager
def _reading(address: str) -> Generator[Contents]:
    if (path := file_of(address)) is not None:
        from adjourn.stores.sqlite.contents import reading

        with reading(path) as found:
            yield found
    else:
        from adjourn.stores.postgres.contents import reading as reading_postgres

        with reading_postgres(address) as there:
            yield there


def _filling(address: str, identity: tuple[str, int]) -> AbstractContextManager[Filling]:
    if (path := file_of(address)) is not None:
        from adjourn.stores.sqlite.contents import filling

        return filling(path, identity)
    from adjourn.stores.postgres.contents import filling as filling_postgres

    return filling_postgres(address, identity)
