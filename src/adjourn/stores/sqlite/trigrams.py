"""Indexes of three letters each: by which pieces of a text rows are found soonest."""

from typing import Any

PROBED, PROBES, ENOUGH = 12, 20, 3
"""How many pieces of a text are looked up, how many rows of each to see how rare it is, and by how
many one searches."""
MOSTLY = 0.5
"""Of so many rows a piece says nothing, and is only read."""


def rarest(db: Any, table: str, texts: tuple[str, ...], upto: int) -> str | None:
    """The question by which an index finds the rows that have all these texts, by their rarest
    pieces; None if no row has one of them, "" if no text is long enough to say.

    Args:
        db: the connection.
        table: the index.
        texts: what the rows must have.
        upto: the highest row that is wanted.
    """
    every: dict[str, None] = {}
    for text in texts:
        for start in range(len(text) - 2):
            piece = text[start : start + 3]
            if "\0" not in piece:  # it would end the question
                every[piece] = None
    pieces = list(every)
    if not pieces:
        return ""
    probe = f"select rowid from {table} where {table} match ? and rowid <= ? order by rowid desc limit ?"
    rare: list[tuple[float, str]] = []
    for piece in pieces[:: 1 + (len(pieces) - 1) // PROBED]:
        found = db.execute(probe, (quoted(piece), upto, PROBES)).fetchall()
        if not found:
            return None
        if len(found) == PROBES:
            often = len(found) / (upto - found[-1][0] + 1)
        else:
            often = 0.0
        rare.append((often, quoted(piece)))
    least, *others = sorted(rare)[:ENOUGH]
    wanted = [least[1]]
    for often, piece in others:
        if often < MOSTLY:
            wanted.append(piece)
    return " AND ".join(wanted)


def quoted(piece: str) -> str:
    """A piece as a question has it."""
    return '"' + piece.replace('"', '""') + '"'
