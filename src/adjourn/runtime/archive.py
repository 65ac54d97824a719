"""What is pruned is put here first: one file for each run, its checkpoint."""

import asyncio
import hashlib
import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

from adjourn.errors import CheckpointInvalid, StoreError
from adjourn.runtime.checkpoint import Checkpoint
from adjourn.stores.guest_threads import ThreadChange
from adjourn.stores.protocol import Store
from adjourn.stores.sealed_threads import key_row
from adjourn.stores.tenant_store import whole_store

ARCHIVE = "!archive"
"""To this belong the threads that hold the keys of archives, and to no run."""
TURNS = 10_000
"""So many turns before an archived run are looked for."""
NAMED = 100
"""So much of a run's id is in the name of its file."""


def file_of(folder: str | os.PathLike[str], run: str) -> Path:
    """The file of a run. Ids may have any letters, and a disk may not tell large from small: a
    digest is in the name, too."""
    digest = hashlib.sha256(run.encode()).hexdigest()[:12]
    return Path(os.path.abspath(folder)) / f"{quote(run, safe='')[:NAMED]}.{digest}.json"


def put(folder: str | os.PathLike[str], saved: Checkpoint, secret: str | None) -> tuple[Path, str]:
    """Write a run's checkpoint; its file and the SHA-256 of that. When this returns, it is on the
    disk, for its owner alone, and was read back. That of an encrypted run is encrypted with its key.
    Raises `StoreError`. A file that is there already
    is replaced: an id is never used twice."""
    path, data = file_of(folder, saved.run_id), saved.to_json(sealed=bool(saved.key)).encode()
    temporary = path.with_name(f".{secrets.token_hex(8)}.part")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
        _sync(path.parent)
        again = Checkpoint.from_json(path.read_bytes(), secret=secret)
    except (OSError, CheckpointInvalid) as e:
        with suppress(OSError):
            temporary.unlink()
        raise StoreError(
            f"{path}: the archive cannot be written: {e}. Its run was not pruned"
        ) from e
    if again.records != saved.records or again.files != saved.files:
        raise StoreError(
            f"{path}: the archive differs from what was written. Its run was not pruned"
        )
    return path, hashlib.sha256(data).hexdigest()


async def keep_key(store: Any, saved: Checkpoint) -> None:
    """Keep the key of an encrypted run beyond its pruning, as long as nothing in its archive is
    erased: neither the run nor a turn before it."""
    turns = [turn.run for turn in await store.turns(saved.run_id, saved.seq, TURNS)]
    also = tuple(dict.fromkeys([saved.run_id, *turns]))
    wrapped: str | None = ""
    while wrapped != (found := await asyncio.to_thread(store.wrapped_key, saved.key)):
        wrapped = found  # once more: keys may be wrapped anew meanwhile
        if wrapped is None:
            raise StoreError(f"the key of run {saved.run_id!r} is gone. It was not pruned")
        row = key_row(saved.key, wrapped)
        change = ThreadChange(put=[row], run=ARCHIVE, also=also)
        await whole_store(store).guest_threads().change(thread_of(saved.run_id), change)


async def erase_key(store: Store, run: str) -> bool:
    """Delete the key of a run's archive; False if there is none."""
    return bool(await whole_store(store).guest_threads().delete([thread_of(run)]))


def thread_of(run: str) -> str:
    """The thread in which the key of an archived run is kept."""
    return f"{ARCHIVE} {quote(run, safe='')}"


def _sync(folder: Path) -> None:
    """The names in a folder are on the disk, too; where folders cannot be opened, they are when the
    system says so."""
    if os.name != "posix":
        return
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
