"""Which runs of a PostgreSQL database a search finds, the newest first."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from adjourn.stores.postgres.connections import Connection
from adjourn.stores.rows import first_column
from adjourn.stores.run_index import RunSearch

Planned = Callable[..., list[tuple[Any, ...]]]
FIRST, LOOK = 1_000, 4_000
"""Entries that are looked at in one look: at first, and at most."""
RARE = 5_000
"""If no more runs have such a text, or such a number, they are found by its index."""
WALK = """
select x.run, ({fits}) from adjourn.index_number x join adjourn.index_text t on t.run = x.run
where x.run between %(low)s and %(high)s order by x.run desc limit %(count)s
"""
BY_WORDS = "select t.run from adjourn.index_text t where {texts} limit %(count)s"
BY_NUMBER = "select x.run from adjourn.index_number x where {bounds} limit %(count)s"
THOSE = """
select x.run from adjourn.index_number x join adjourn.index_text t on t.run = x.run
where x.run = any(%(numbers)s::bigint[]) and x.run between %(low)s and %(high)s and {fits}
"""


class Looker:
    """One search. `planned` and `by_text` give the rows of a statement that goes along the indexes
    of numbers, and of one that goes along that of texts."""

    def __init__(
        self, db: Connection, search: RunSearch, planned: Planned, plan_of_texts: tuple[str, ...]
    ) -> None:
        self._db, self._planned, self._of_texts = db, planned, plan_of_texts
        self._texts, self._bounds = list[str](), list[str]()
        self._values: dict[str, Any] = {}
        for k, piece in enumerate(search.pieces):
            self._texts.append(f"t.text like %(piece{k})s")
            self._values[f"piece{k}"] = f"%{_escaped(piece)}%"
        for k, bound in enumerate(search.bounds):
            sign = "<=" if bound.most else ">="
            self._bounds.append(f"x.{bound.name} {sign} %(bound{k})s")
            self._values[f"bound{k}"] = bound.value

    def slices(self, low: int, high: int) -> Iterator[list[int]]:
        """The numbers of runs that are found between two numbers, look by look."""
        fits = " and ".join((*self._texts, *self._bounds)) or "true"
        values = {**self._values, "low": low, "high": high, "count": FIRST}
        first = True
        while values["low"] <= values["high"]:
            rows = self._planned(self._db, WALK.format(fits=fits), values)
            found = [number for number, is_found in rows if is_found]
            yield found
            if len(rows) < values["count"]:
                return
            values |= {"high": rows[-1][0] - 1, "count": LOOK}
            if first and not found:
                few = self._few(values)
                if few is not None:
                    those = {**values, "numbers": few}
                    rest = self._planned(self._db, THOSE.format(fits=fits), those)
                    yield sorted(first_column(rest), reverse=True)
                    return
            first = False

    def _few(self, values: Mapping[str, Any]) -> list[int] | None:
        """All runs that may be found, by an index; None if they are many."""
        given = {**values, "count": RARE + 1}
        asked: list[tuple[str, tuple[str, ...]]] = []
        if self._texts:
            sql = BY_WORDS.format(texts=" and ".join(self._texts))
            asked.append((sql, self._of_texts))
        for bound in self._bounds:
            asked.append((BY_NUMBER.format(bounds=bound), ()))
        for sql, plan in asked:
            rows = self._planned(self._db, sql, given, *((plan,) if plan else ()))
            if len(rows) <= RARE:
                return first_column(rows)
        return None


def _escaped(text: str) -> str:
    """A text that means itself in a pattern."""
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
