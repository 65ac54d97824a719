"""Which runs of a SQLite file a search finds, the newest first."""

from collections.abc import Iterator
from typing import Any

from adjourn.core.codec import encode
from adjourn.stores.rows import first_column
from adjourn.stores.run_index import RunSearch
from adjourn.stores.sqlite.trigrams import rarest

FIRST, LOOK = 256, 1_000
"""Entries that are looked at in one look: at first, and at most."""
FEW = 1_000
"""If no more runs have such a number, they are found by its index."""
BY_WORDS = (
    "select rowid from index_words where index_words match :words and rowid between :low and "
    ":high order by rowid desc limit :count"
)
BY_NUMBER = (
    "select run from index_number not indexed where run between :low and :high{bounds} "
    "order by run desc limit :count"
)
THOSE = (
    "select x.run from (select value as number from json_each(:numbers)) d cross join "
    "index_number x on x.run = d.number cross join index_text t on t.run = d.number "
    "where {where} order by x.run desc"
)
RARE = "select run from index_number indexed by index_{name} where {name} {sign} ? limit {count}"


def slices(db: Any, search: RunSearch, low: int, high: int) -> Iterator[list[int]]:
    """The numbers of runs that are found between two numbers, look by look.

    Args:
        db: a connection that reads.
        search: what an entry must have.
        low, high: only runs of these numbers.
    """
    newest = db.execute("select max(run) from index_number").fetchone()[0] or 0
    high = min(high, newest)
    words = rarest(db, "index_words", search.pieces, high)
    if words is None:
        return
    few = _few(db, search, low, high)
    if few is not None:
        yield _fitting(db, search, few)
        return
    sql, values = BY_NUMBER.format(bounds=_bounds(search)), _values(search)
    if words:
        sql, values["words"] = BY_WORDS, words
    count = FIRST
    while low <= high:
        given = {**values, "low": low, "high": high, "count": count}
        numbers = first_column(db.execute(sql, given).fetchall())
        yield _fitting(db, search, numbers)
        if len(numbers) < count:
            return
        high, count = numbers[-1] - 1, min(count * 4, LOOK)


def _few(db: Any, search: RunSearch, low: int, high: int) -> list[int] | None:
    """The numbers of the runs within the bound that the fewest are within; None if those are
    many."""
    for bound in search.bounds:
        sign = "<=" if bound.most else ">="
        sql = RARE.format(name=bound.name, sign=sign, count=FEW)
        found = first_column(db.execute(sql, (bound.value,)).fetchall())
        if len(found) < FEW:
            return sorted((number for number in found if low <= number <= high), reverse=True)
    return None


def _fitting(db: Any, search: RunSearch, numbers: list[int]) -> list[int]:
    """Those of some runs whose entry has all that is asked for."""
    if not numbers:
        return []
    terms = [f"instr(t.text, :piece{k}) > 0" for k in range(len(search.pieces))]
    where = " and ".join((*terms, f"true{_bounds(search)}"))
    given = {**_values(search), "numbers": encode(numbers).decode()}
    return first_column(db.execute(THOSE.format(where=where), given).fetchall())


def _bounds(search: RunSearch) -> str:
    terms = ""
    for k, bound in enumerate(search.bounds):
        sign = "<=" if bound.most else ">="
        terms += f" and {bound.name} {sign} :bound{k}"
    return terms


def _values(search: RunSearch) -> dict[str, Any]:
    values: dict[str, Any] = {f"piece{k}": piece for k, piece in enumerate(search.pieces)}
    for k, bound in enumerate(search.bounds):
        values[f"bound{k}"] = bound.value
    return values
