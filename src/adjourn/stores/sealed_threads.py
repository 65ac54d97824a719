"""Threads of guests whose rows are encrypted.

The thread of a run is encrypted with that run's key, if the run is. A thread of no run has a key of
its own, wrapped, in a row of the thread itself: whoever deletes the thread deletes the key. A row
says which key it needs.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from adjourn.errors import UnknownRun
from adjourn.stores.guest_threads import KEY, GuestThreads, ThreadChange, ThreadRow
from adjourn.stores.run_keys import NewRunKey, cipher_of, kid_of
from adjourn.stores.run_row import MARKED

SEALED = b"\0sealed "
"""So begins a body that is encrypted; what guests write is JSON, which never does."""
KNOWN = 10_000
"""Threads whose keys are remembered."""


class ThreadKey(msgspec.Struct, frozen=True):
    """With what the rows of a thread are encrypted. `kid`: the key's id, "" if they are not;
    `inside`: its row is in the thread; `new`: this row is to be written."""

    kid: str = ""
    inside: bool = False
    new: ThreadRow | None = None


def key_row(kid: str, wrapped: str) -> ThreadRow:
    """The row in which a thread keeps a key; stores find it by its tag."""
    return ThreadRow(KEY + kid, wrapped.encode(), KEY + kid)


class SealedThreads:
    """See `GuestThreads`: those of a store, encrypted where the store encrypts.

    Args:
        store: the store.
    """

    def __init__(self, store: Any) -> None:
        self._store = store
        self._inner: GuestThreads = store.guest_threads()
        self._keys: dict[str, ThreadKey] = {}
        self.version, self.tagged = self._inner.version, self._inner.tagged
        self.threads, self.delete = self._inner.threads, self._inner.delete

    async def change(self, thread: str, change: ThreadChange) -> int:
        """See `GuestThreads.change`."""
        while True:
            key = await self._key(thread, change.run)
            done = await self._inner.change(thread, _sealed(change, key))
            if done:
                self._remember(thread, key)
            if done or key.new is not None or not key.inside:
                return done
            if await self._inner.named(thread, [KEY + key.kid]):
                return done
            self._keys.pop(thread, None)  # the thread was deleted meanwhile, and its key with it

    async def rows(
        self, thread: str, prefix: str, *, before: str = "", newest: int = 0
    ) -> list[ThreadRow]:
        """See `GuestThreads.rows`."""
        return _opened(await self._inner.rows(thread, prefix, before=before, newest=newest))

    async def named(self, thread: str, keys: Sequence[str]) -> list[ThreadRow]:
        """See `GuestThreads.named`."""
        return _opened(await self._inner.named(thread, keys))

    async def _key(self, thread: str, run: str) -> ThreadKey:
        encrypts = getattr(self._store, "wraps_with", None)
        known = self._keys.get(thread)
        if known is not None and (known.kid or encrypts is None):
            return known
        if run:
            try:
                salt = (await self._store.get(run)).salt
            except UnknownRun:  # it lives in another store
                pass
            else:
                return ThreadKey(kid_of(salt) if len(salt) == MARKED else "")
        for row in await self._inner.rows(thread, KEY):
            return ThreadKey(row.key.removeprefix(KEY), inside=True)
        if encrypts is None:
            return ThreadKey()
        made = NewRunKey(encrypts)
        return ThreadKey(made.kid, inside=True, new=key_row(made.kid, made.wrapped))

    def _remember(self, thread: str, key: ThreadKey) -> None:
        if len(self._keys) >= KNOWN:
            self._keys.clear()
        self._keys[thread] = msgspec.structs.replace(key, new=None)


def _sealed(change: ThreadChange, key: ThreadKey) -> ThreadChange:
    if not key.kid:
        return change
    add, needs = _bodies(key.kid, change.add), list(change.needs)
    if key.new is not None:
        add.append(key.new)
    elif key.inside:
        needs.append(KEY + key.kid)
    put = _bodies(key.kid, change.put)
    return msgspec.structs.replace(change, put=put, add=add, needs=needs)


def _bodies(kid: str, rows: Iterable[ThreadRow]) -> list[ThreadRow]:
    found: list[ThreadRow] = []
    for row in rows:
        body = SEALED + kid.encode() + b" " + cipher_of(kid).seal(row.body)
        found.append(msgspec.structs.replace(row, body=body))
    return found


def _opened(rows: Iterable[ThreadRow]) -> list[ThreadRow]:
    """What guests wrote: without the rows of keys."""
    found: list[ThreadRow] = []
    for row in rows:
        if row.body.startswith(SEALED):
            kid, _, box = row.body[len(SEALED) :].partition(b" ")
            row = msgspec.structs.replace(row, body=cipher_of(kid.decode()).open(box))
        if not row.key.startswith(KEY):
            found.append(row)
    return found
