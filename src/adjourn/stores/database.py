"""What can be known of a store's database without opening it as a store: nothing of it is
changed."""

import statistics
from collections.abc import Callable
from typing import Any

from adjourn.stores.rows import first_column

TRIES = 20
"""Commits that are timed."""


class Database:
    """A database that is there. Every kind says how it is read, and how it calls its tables. A value
    is `:name` in a statement."""

    address: str
    """As `Runtime` takes it."""
    where: str
    """As it may be shown."""
    _within = ""
    """What stands before the name of a table."""

    def rows(self, sql: str, **values: Any) -> list[tuple[Any, ...]]:
        """What a statement gives."""
        raise NotImplementedError

    def _begins(self, text: str) -> str:
        """The condition that a text begins with `:beginning`."""
        return f"substr({text}, 1, length(:beginning)) = :beginning"

    @property
    def schema(self) -> int:
        """The number of its last migration; 0 if it is not one of ours."""
        raise NotImplementedError

    @property
    def newest_schema(self) -> int:
        """The schema that this Adjourn makes."""
        raise NotImplementedError

    @property
    def size(self) -> int:
        """Bytes."""
        raise NotImplementedError

    def pending(self) -> list[int]:
        """The migrations that are to be applied; raises `StoreError` if a newer Adjourn has made
        it."""
        raise NotImplementedError

    def counts(self) -> dict[str, Any]:
        """How much there is of what."""
        numbers = (
            f"select 'runs', count(*) from {self._within}run "
            f"union all select 'records', count(*) from {self._within}journal "
            f"union all select 'open', count(*) from {self._within}interrupt where state = 'open' "
            f"union all select 'halts', count(*) from {self._within}halt"
        )
        statuses = f"select status, count(*) from {self._within}run group by status order by 2 desc"
        return {**_numbers(self.rows(numbers)), "statuses": _numbers(self.rows(statuses))}

    def programs(self) -> list[str]:
        """The agents and flows that have runs in it."""
        return first_column(self.rows(f"select distinct program from {self._within}run"))

    def newest(self) -> float:
        """The time of the last change to any run; 0 if there is none."""
        [(at,)] = self.rows(f"select coalesce(max(updated_at), 0) from {self._within}run")
        return float(at)

    def restored(self) -> int:
        """How many runs wait for a person since a backup was restored."""
        raise NotImplementedError

    def obstacle(self) -> str:
        """Why nothing can be written to it now; "" if nothing is known to be in the way."""
        return ""

    def damage(self, *, deep: bool) -> list[str]:
        """What is wrong with its structure."""
        return []

    def commit_time(self) -> float:
        """Seconds that a durable commit takes."""
        raise NotImplementedError

    def runs_like(self, beginning: str, most: int) -> list[tuple[str, str]]:
        """The newest runs whose id begins so, each with a few words."""
        sql = (
            f"select id, status || '  ' || program || '  ' || title from {self._within}run "
            f"where {self._begins('id')} order by n desc limit :most"
        )
        return [(id, words) for id, words in self.rows(sql, beginning=beginning, most=most)]

    def items_like(self, beginning: str, most: int) -> list[tuple[str, str]]:
        """What waits for a person and whose id begins so, each with a few words; the oldest first."""
        item = "r.id || ':' || x.i"
        sql = (
            f"select {item}, x.kind || '  ' || r.program || '  ' || r.title "
            f"from {self._within}interrupt x join {self._within}run r on r.n = x.run "
            f"where x.state = 'open' and {self._begins(item)} order by x.opened_at limit :most"
        )
        return [(id, words) for id, words in self.rows(sql, beginning=beginning, most=most)]


def _numbers(rows: list[tuple[Any, ...]]) -> dict[str, int]:
    return dict(rows)


def median_of(commit: Callable[[int], object], steady: Callable[[], float]) -> float:
    """Seconds that one of some commits takes.

    Args:
        commit: makes one; it is given its number.
        steady: a clock that is never set.
    """
    took: list[float] = []
    for number in range(TRIES):
        began = steady()
        commit(number)
        took.append(steady() - began)
    return statistics.median(took)
