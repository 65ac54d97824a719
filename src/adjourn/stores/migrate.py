"""Numbered migrations: `sql/NNNN_name.sql`, each applied once, in order, in one transaction with its number."""

from collections.abc import Callable, Mapping
from importlib import resources
from typing import Any

from adjourn.core.authority import requesters
from adjourn.core.codec import encode
from adjourn.core.records import Decided, parse
from adjourn.errors import StoreError


def migrations() -> list[tuple[int, str]]:
    """Every migration as (number, SQL), in order."""
    folder = resources.files("adjourn.stores") / "sql"
    found = [(int(f.name[:4]), f.read_text()) for f in folder.iterdir() if f.name.endswith(".sql")]
    return sorted(found)


def pending(version: int, where: str) -> list[tuple[int, str]]:
    """What a store at `version` still needs; refuses a store made by a newer Adjourn."""
    known = migrations()
    newest = known[-1][0]
    if version > newest:
        raise StoreError(
            f"{where} has schema {version}; this Adjourn knows {newest}: use a newer Adjourn. Nothing was changed"
        )
    return [m for m in known if m[0] > version]


def _authority(db: Any) -> None:
    """Who shaped each run that goes on, and by which records people have agreed: the journal says it, the rows did not."""
    for (n,) in db.execute("select n from run where status not in ('completed', 'cancelled')").fetchall():
        bodies = db.execute("select seq, body from journal where run = ? order by seq", (n,)).fetchall()
        records = [(seq, parse(body)) for seq, body in bodies]
        shaped = sorted(requesters(record for _, record in records))
        db.execute("update run set requesters = ? where n = ?", (encode(shaped).decode() if shaped else "", n))
        voted = db.execute("select i from interrupt where run = ? and votes <> '[]'", (n,)).fetchall()
        for (i,) in voted:
            agreed = [(seq, x) for seq, x in records if isinstance(x, Decided) and x.i == i and x.verdict == "approve"]
            votes = {x.by: seq for seq, x in agreed}
            db.execute("update interrupt set votes = ? where run = ? and i = ?", (encode(votes).decode(), n, i))


def _texts(db: Any) -> None:
    """The index of what runs are found by."""
    sql = "insert into run_text (rowid, words) select n, run_words(title, id, program) from run where n <= (select max(last) from zone)"
    db.execute(sql)


STEPS: Mapping[int, Callable[[Any], None]] = {5: _authority, 13: _texts}
"""What a migration needs beyond SQL, in its transaction: a function over the connection."""
