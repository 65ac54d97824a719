"""The ledger of the demo: a file outside the store into which every tool writes what it really
did."""

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from adjourn import ToolContext

LEDGER = "ADJOURN_DEMO_LEDGER"
"""The environment variable with the path of the file."""


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """One line: a tool reached the outside world. `effect`: something changed there; False for a
    read or a known key."""

    tool: str
    key: str
    args: dict[str, Any]
    pid: int
    effect: bool


def entries(ledger: Path) -> list[LedgerEntry]:
    """Every complete line of a ledger, in order."""
    if not ledger.exists():
        return []
    lines = ledger.read_text("utf-8").splitlines(keepends=True)
    return [LedgerEntry(**json.loads(line)) for line in lines if line.endswith("\n")]


def is_known(ctx: ToolContext) -> bool:
    """Whether this call has written a line before, in this process or in another."""
    return any(entry.key == ctx.idempotency_key for entry in entries(Path(os.environ[LEDGER])))


def write_entry(ctx: ToolContext, name: str, args: dict[str, Any], *, effect: bool = True) -> None:
    """Append one line; it is on the disk before this returns."""
    entry = LedgerEntry(name, ctx.idempotency_key, args, os.getpid(), effect)
    file = os.open(os.environ[LEDGER], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(file, (json.dumps(asdict(entry)) + "\n").encode())
        os.fsync(file)
    finally:
        os.close(file)
