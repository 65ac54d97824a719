"""What `adjourn inbox` showed: a number means what that list said, not what has moved into its place since."""

import hashlib
import json
import os
from pathlib import Path

from adjourn.cli.database import file_of
from adjourn.core.interrupt import Interrupt

Shown = dict[int, tuple[str, str]]
"""Number → interrupt id, and the digest that was shown."""


def _file(address: str) -> Path:
    home = os.environ.get("XDG_STATE_HOME") or os.environ.get("LOCALAPPDATA") or str(Path.home() / ".local" / "state")
    path = file_of(address)
    name = hashlib.sha256((str(Path(path).resolve()) if path else address).encode()).hexdigest()[:16]
    return Path(home) / "adjourn" / f"inbox-{name}.json"


def remember(address: str, items: list[Interrupt]) -> bool:
    """Keep what was shown, ids and digests only; False if this machine has no place for it."""
    shown = [[i.id, i.call.digest if i.call else ""] for i in items]
    try:
        file = _file(address)
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        new = file.with_suffix(f".{os.getpid()}")
        new.write_text(json.dumps(shown), "utf-8")
        new.replace(file)
    except (OSError, RuntimeError):
        return False
    return True


def recall(address: str) -> Shown | None:
    """What was shown last for this database; None if nothing was."""
    try:
        shown = json.loads(_file(address).read_text("utf-8"))
        return {n: (str(id), str(digest)) for n, (id, digest) in enumerate(shown, 1)}
    except (OSError, RuntimeError, ValueError, TypeError):
        return None
