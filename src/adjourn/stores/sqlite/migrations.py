"""Numbered migrations: `migrations/NNNN_name.sql`, each applied once, in order, in one transaction
with its number."""

import os
from collections.abc import Callable, Mapping
from typing import Any

from adjourn.core.codec import encode
from adjourn.core.records import Decided
from adjourn.core.requesters import requesters
from adjourn.errors import StoreError
from adjourn.stores.rows import first_column, parsed

FOLDER = os.path.join(os.path.dirname(__file__), "migrations")


def migrations(after: int = 0) -> list[tuple[int, str]]:
    """Every migration behind the number `after` as (number, SQL), in order."""
    found: list[tuple[int, str]] = []
    for number, name in _names():
        if number > after:
            found.append((number, _read(name)))
    return found


def newest() -> int:
    """The number of the last one."""
    return _names()[-1][0]


def _names() -> list[tuple[int, str]]:
    found: list[tuple[int, str]] = []
    for name in os.listdir(FOLDER):
        if name.endswith(".sql"):
            found.append((int(name[:4]), name))
    return sorted(found)


def _read(name: str) -> str:
    with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
        return file.read()


def pending(version: int, where: str) -> list[tuple[int, str]]:
    """What a store at `version` still needs; refuses a store made by a newer Adjourn."""
    if version > (known := newest()):
        raise StoreError(
            f"{where} was created by a newer version (schema {version}, supported up to {known})",
            consequence="nothing was changed",
            advice="upgrade Adjourn",
        )
    return migrations(version)


def _authority(db: Any) -> None:
    """Who shaped each run that goes on, and by which records people have agreed: the journal says
    it, the rows did not."""
    for run in first_column(
        db.execute("select n from run where status not in ('completed', 'cancelled')")
    ):
        bodies = db.execute(
            "select seq, body from journal where run = ? order by seq", (run,)
        ).fetchall()
        records = parsed(bodies)
        shaped = sorted(requesters(record for _, record in records))
        db.execute(
            "update run set requesters = ? where n = ?",
            (encode(shaped).decode() if shaped else "", run),
        )
        for id in first_column(
            db.execute("select i from interrupt where run = ? and votes <> '[]'", (run,))
        ):
            votes: dict[str, int] = {}
            for seq, record in records:
                if isinstance(record, Decided) and record.i == id and record.verdict == "approve":
                    votes[record.by] = seq
            db.execute(
                "update interrupt set votes = ? where run = ? and i = ?",
                (encode(votes).decode(), run, id),
            )


def _texts(db: Any) -> None:
    """The index of what runs are found by."""
    sql = (
        "insert into run_text (rowid, words) select n, run_words(title, id, program) from "
        "run where n <= (select max(last) from zone)"
    )
    db.execute(sql)


STEPS: Mapping[int, Callable[[Any], None]] = {5: _authority, 13: _texts}
"""What a migration needs beyond SQL, in its transaction: a function over the connection."""
