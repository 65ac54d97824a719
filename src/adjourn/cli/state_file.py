"""What this machine remembers for a database, beside it: one small file for each thing."""

import hashlib
import os
from pathlib import Path

from adjourn.stores.address import file_of


def state_file(address: str, what: str) -> Path:
    """Where it is kept. Raises `RuntimeError` if this machine has no home for it.

    Args:
        address: the store's address.
        what: what is remembered, for example "inbox".
    """
    home = (
        os.environ.get("XDG_STATE_HOME")
        or os.environ.get("LOCALAPPDATA")
        or str(Path.home() / ".local" / "state")
    )
    path = file_of(address)
    place = str(Path(path).resolve()) if path else address
    name = hashlib.sha256(place.encode()).hexdigest()[:16]
    return Path(home) / "adjourn" / f"{what}-{name}.json"
