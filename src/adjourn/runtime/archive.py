"""What is pruned is put here first: one file for each run, its checkpoint."""

import hashlib
import os
import secrets
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

from adjourn.errors import CheckpointInvalid, StoreError
from adjourn.runtime.checkpoint import Checkpoint

NAMED = 100
"""So much of a run's id is in the name of its file."""


def file_of(folder: str | os.PathLike[str], run: str) -> Path:
    """The file of a run. Ids may have any letters, and a disk may not tell large from small: a
    digest is in the name, too."""
    digest = hashlib.sha256(run.encode()).hexdigest()[:12]
    return Path(os.path.abspath(folder)) / f"{quote(run, safe='')[:NAMED]}.{digest}.json"


def put(folder: str | os.PathLike[str], saved: Checkpoint, secret: str | None) -> tuple[Path, str]:
    """Write a run's checkpoint; its file and the SHA-256 of that. When this returns, it is on the
    disk, for its owner alone, and was read back. Raises `StoreError`. A file that is there already
    is replaced: an id is never used twice."""
    path, data = file_of(folder, saved.run_id), saved.to_json().encode()
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
    if again.records != saved.records:
        raise StoreError(f"{path}: the archive is not what was written. Its run was not pruned")
    return path, hashlib.sha256(data).hexdigest()


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
