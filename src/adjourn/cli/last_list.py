"""What a person was shown at their terminal: a number means what the last list there said, and a
decision is about what was seen."""

import hashlib
import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from adjourn.cli.person import KEY
from adjourn.cli.state_file import state_file

KEPT = 500
"""Items that were looked at and are remembered."""
FORGOTTEN = 30 * 86400.0
"""Seconds after which what a terminal has shown is removed."""


@dataclass(frozen=True, slots=True)
class ShownItem:
    """An item that was shown: its ref, the digest of what was shown, and whether that was all of
    it."""

    ref: str
    digest: str
    whole: bool


@dataclass(frozen=True, slots=True)
class Shown:
    """What a terminal has shown of a database: the last list in its order (None: there was none),
    whether that was read, and what was looked at by itself."""

    items: Sequence[ShownItem] | None = None
    looked: Mapping[str, str] = field(default_factory=dict[str, str])
    read: bool = True

    def numbered(self, number: int) -> ShownItem | None:
        """The item of this number in the last list."""
        items = self.items or ()
        if 0 < number <= len(items):
            return items[number - 1]
        return None

    def of(self, ref: str) -> ShownItem | None:
        """How an item was shown last; None if it was not."""
        if digest := self.looked.get(ref):
            return ShownItem(ref, digest, True)
        if not self.read:
            return None
        return next((item for item in self.items or () if item.ref == ref), None)


def remember(address: str, items: Sequence[ShownItem], *, read: bool = True) -> bool:
    """Keep what a list showed, refs and digests only; False if this machine has no place for it.

    Args:
        address: of the database.
        items: the list in its order.
        read: False if nobody is known to have seen it: its numbers name nothing, and it stands in
            the place of the list before.
    """
    before = recall(address) or Shown()
    now = {item.ref: item.digest for item in items}
    looked = {
        ref: digest for ref, digest in before.looked.items() if now.get(ref, digest) == digest
    }
    return _write(address, Shown(items, looked, read))


def look(address: str, ref: str, digest: str) -> bool:
    """Keep that an item was shown whole; False if this machine has no place for it."""
    before = recall(address) or Shown()
    looked = dict(before.looked)
    looked.pop(ref, None)
    looked[ref] = digest  # the last of them
    return _write(address, Shown(before.items, dict(list(looked.items())[-KEPT:]), before.read))


def recall(address: str) -> Shown | None:
    """What was shown of this database at this terminal; None if nothing was."""
    try:
        kept: Any = json.loads(_file(address).read_text("utf-8"))
        listed = kept["items"]
        if listed is None:
            items = None
        else:
            items = [ShownItem(str(r), str(d), whole is True) for r, d, whole in listed]
        looked = {str(ref): str(digest) for ref, digest in kept["looked"].items()}
        return Shown(items, looked, kept["read"] is True)
    except (OSError, RuntimeError, ValueError, TypeError, KeyError, AttributeError):
        return None


def _write(address: str, shown: Shown) -> bool:
    if shown.items is None:
        items = None
    else:
        items = [[i.ref, i.digest, i.whole] for i in shown.items]
    kept = {"items": items, "looked": dict(shown.looked), "read": shown.read}
    try:
        file = _file(address)
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        _forget(file.parent)
        new = file.with_suffix(f".{os.getpid()}")
        new.write_text(json.dumps(kept), "utf-8")
        new.replace(file)
    except (OSError, RuntimeError):
        return False
    return True


def _file(address: str) -> Path:
    """Where it is kept: one file for each terminal's session and each person in it, so that a list
    which somebody else has printed gives no number another meaning here."""
    seat = [os.environ.get(KEY, "")]
    if hasattr(os, "getsid"):
        leader = os.getsid(0)
        seat += [str(os.getuid()), str(leader), _started(leader)]
    return state_file(
        address, f"inbox-{hashlib.sha256(chr(0).join(seat).encode()).hexdigest()[:16]}"
    )


def _started(pid: int) -> str:
    """When a process began, where the system says so: its number is given again later."""
    try:
        return Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


def _forget(folder: Path) -> None:
    """Remove what terminals have shown that are long closed."""
    for file in folder.glob("inbox-*"):
        if file.stat().st_mtime < time.time() - FORGOTTEN:
            file.unlink(missing_ok=True)
