"""What a person was shown: a number means what the last list said, and a decision is about what was
seen."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from adjourn.cli.state_file import state_file

KEPT = 500
"""Items that were looked at and are remembered."""


@dataclass(frozen=True, slots=True)
class ShownItem:
    """An item that was shown: its ref, the digest of what was shown, and whether that was all of
    it."""

    ref: str
    digest: str
    whole: bool


@dataclass(frozen=True, slots=True)
class Shown:
    """What this machine remembers for a database: the last list in its order (None: there was
    none), and what was looked at by itself."""

    items: Sequence[ShownItem] | None = None
    looked: Mapping[str, str] = field(default_factory=dict[str, str])

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
        return next((item for item in self.items or () if item.ref == ref), None)


def remember(address: str, items: Sequence[ShownItem]) -> bool:
    """Keep what a list showed, refs and digests only; False if this machine has no place for it."""
    before = recall(address) or Shown()
    now = {item.ref: item.digest for item in items}
    looked = {
        ref: digest for ref, digest in before.looked.items() if now.get(ref, digest) == digest
    }
    return _write(address, Shown(items, looked))


def look(address: str, ref: str, digest: str) -> bool:
    """Keep that an item was shown whole; False if this machine has no place for it."""
    before = recall(address) or Shown()
    looked = dict(before.looked)
    looked.pop(ref, None)
    looked[ref] = digest  # the last of them
    return _write(address, Shown(before.items, dict(list(looked.items())[-KEPT:])))


def recall(address: str) -> Shown | None:
    """What was shown for this database; None if nothing was."""
    try:
        kept: Any = json.loads(state_file(address, "inbox").read_text("utf-8"))
        listed = kept["items"]
        if listed is None:
            items = None
        else:
            items = [ShownItem(str(r), str(d), whole is True) for r, d, whole in listed]
        return Shown(items, {str(ref): str(digest) for ref, digest in kept["looked"].items()})
    except (OSError, RuntimeError, ValueError, TypeError, KeyError, AttributeError):
        return None


def _write(address: str, shown: Shown) -> bool:
    if shown.items is None:
        items = None
    else:
        items = [[i.ref, i.digest, i.whole] for i in shown.items]
    kept = {"items": items, "looked": dict(shown.looked)}
    try:
        file = state_file(address, "inbox")
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        new = file.with_suffix(f".{os.getpid()}")
        new.write_text(json.dumps(kept), "utf-8")
        new.replace(file)
    except (OSError, RuntimeError):
        return False
    return True
