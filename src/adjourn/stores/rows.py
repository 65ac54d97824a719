"""What stores make of the rows that a database gives, whatever database it is."""

from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from adjourn.core.record_codec import parse
from adjourn.core.records import AnyRecord

Ask = Callable[[Callable[[Any], Any]], Awaitable[Any]]
"""Lets a thread of a store do something with a connection that reads."""
Rows = Callable[..., Awaitable[list[tuple[Any, ...]]]]
"""Gives the rows of a statement with these values, by their names."""
BESIDE = (
    "run_key",
    "interrupt",
    "request",
    "misfit",
    "snapshot",
    "segment",
    "blob",
    "wake",
    "index_due",
    "index_number",
    "index_text",
)
"""The tables that have rows of a run beside its journal, by the run's number."""


def first_column(rows: Iterable[tuple[Any, ...]]) -> list[Any]:
    """The values of rows that have only one column."""
    return [value for (value,) in rows]


def parsed(lines: Iterable[tuple[int, str]]) -> list[tuple[int, AnyRecord]]:
    """Lines of a journal as records, each with its number."""
    return [(seq, parse(body)) for seq, body in lines]


def present(lines: Iterable[tuple[int, str | None]]) -> list[tuple[int, str]]:
    """The lines of a journal that were not erased."""
    return [(seq, body) for seq, body in lines if body is not None]


def picked(row: object, names: Iterable[str]) -> dict[str, Any]:
    """Some fields of a row, by their names."""
    return {name: getattr(row, name) for name in names}
