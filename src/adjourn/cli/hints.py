"""The commands that are printed for a person to type: whole, so that they can be copied."""

import os
import shlex

from adjourn.cli.database import DEFAULT, VARIABLE
from adjourn.cli.finding import handle
from adjourn.cli.visible import visible
from adjourn.core.interrupt import Interrupt


def command(db: str | None, *words: str) -> str:
    """`adjourn …`, with `--db` where the command would otherwise look elsewhere."""
    here = os.environ.get(VARIABLE) or DEFAULT
    named = [] if db is None or db in (here, f"sqlite:///{here}") else ["--db", shlex.quote(visible(db))]
    return " ".join(["adjourn", *words, *named])


def how_to_decide(db: str | None, i: Interrupt) -> list[tuple[str, str]]:
    """What can be done about an interrupt: a word, and the command."""
    if i.kind == "approval" and i.call:
        return [
            ("Approve", command(db, "approve", handle(i), "--digest", i.call.digest[:16])),
            ("Deny", command(db, "deny", handle(i), "--note …")),
        ]
    return [("Answer", command(db, "answer", handle(i), " | ".join(map(visible, i.choices)) or "VALUE"))]
