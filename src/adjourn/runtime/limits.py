"""Limits across all workers as people write them: `{"tool:refund": 5}`, `"60/m"`, or both."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias, cast

from msgspec.structs import replace

from adjourn.errors import InvalidDefinition
from adjourn.stores.tickets import ToolLimit

Limit: TypeAlias = int | str | tuple[int, str]
"""How many calls at the same time, how many in a span of time, or both."""
SPANS = {"s": 1.0, "m": 60.0, "h": 3600.0}
TOOL = "tool:"
MOST = 1_000
"""The largest bound: every ticket and every start is counted one by one."""
_RATE = re.compile(r"([0-9]{1,4})/(s|m|h)")
_HOW = "write a number of simultaneous calls (5), or calls per second, minute or hour (60/m)"


def tool_limits(given: Mapping[str, Limit] | None) -> dict[str, ToolLimit]:
    """By the names of tools; raises `InvalidDefinition` for what cannot be read.

    Args:
        given: `tool:NAME`, and its limit.
    """
    found: dict[str, ToolLimit] = {}
    for scope, limit in (given or {}).items():
        found[_tool(scope)] = _limit(scope, limit)
    return found


def merged_limits(lines: Iterable[str]) -> dict[str, Limit]:
    """Of the lines of a command: `tool:refund=5`, `tool:refund=60/m`.

    Args:
        lines: each a scope, `=` and a limit; two of the same tool may be one of each kind.
    """
    found: dict[str, Limit] = {}
    for line in lines:
        scope, equals, text = line.rpartition("=")
        if not equals:
            raise InvalidDefinition(
                f"--limit must be tool:NAME=LIMIT, got {line!r:.80}", advice=_HOW
            )
        limit: Limit = text
        if text.isascii() and text.isdigit():
            limit = int(text)
        if scope not in found:
            found[scope] = limit
            continue
        both = (found[scope], limit)
        if isinstance(both[0], str):
            both = (both[1], both[0])
        found[scope] = cast("tuple[int, str]", both)
    return found


def _tool(scope: str) -> str:
    name = scope.removeprefix(TOOL)
    if not scope.startswith(TOOL) or not name:
        raise InvalidDefinition(f"the scope of a limit must be 'tool:NAME', got {scope!r:.80}")
    return name


def _limit(scope: str, given: Any) -> ToolLimit:
    parts: tuple[Any, ...] = (given,)
    if isinstance(given, tuple):
        parts = cast("tuple[Any, ...]", given)
    limit = ToolLimit()
    for part in parts:
        if isinstance(part, int) and not isinstance(part, bool) and not limit.most:
            limit = replace(limit, most=part)
            is_bound = 1 <= part <= MOST
        elif isinstance(part, str) and not limit.rate and (rate := _RATE.fullmatch(part)):
            limit = replace(limit, rate=int(rate[1]), per=SPANS[rate[2]])
            is_bound = 1 <= limit.rate <= MOST
        else:
            is_bound = False
        if not is_bound:
            raise InvalidDefinition(
                f"{given!r:.80} is not a limit for {scope!r:.80}", advice=f"{_HOW}, up to {MOST}"
            )
    return limit
