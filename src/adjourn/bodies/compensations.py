"""What bodies gave to `ctx.on_cancel`, as long as their calls are in flight."""

import inspect
from collections.abc import Callable
from typing import Any

from adjourn.core.call import Call
from adjourn.core.memo_key import MemoKind, memo_key
from adjourn.errors import Misused

_registered: dict[tuple[str, str], dict[int, Callable[..., Any]]] = {}
"""What bodies of this process gave to `on_cancel`, by run and call, as long as the call has no
result."""


def register(run: str, call: str, number: int, function: Callable[..., Any]) -> None:
    """Keep a compensation, by its `number`, of a call that is in flight."""
    _registered.setdefault((run, call), {})[number] = function


def compensation(
    run: str, call: Call, number: int, function: Callable[..., Any], *, by_name: bool = True
) -> tuple[Callable[..., Any], list[Any]]:
    """What the body of `function` registered with `on_cancel`, and its arguments.

    After a crash it is found by its name among the globals of the tool's own module: nothing is
    imported for it. Not `by_name` where the records are not to be trusted with that: whoever can
    write them could name any function.
    """
    value = call.memo[memo_key(MemoKind.UNDO, number)]
    if by_name:
        there: dict[str, Any] = getattr(inspect.unwrap(function), "__globals__", {})
    else:
        there = {}
    found = _registered.get((run, call.id), {}).get(number) or there.get(value["fn"])
    if not callable(found) and not by_name:
        raise Misused(
            f"the compensation {value['fn']!r} was registered by a process that is gone",
            advice=(
                "where decisions are signed, a function is not run because a record "
                "names it: run it by hand"
            ),
        )
    if not callable(found):
        raise Misused(
            f"the compensation {value['fn']!r} is not a function of the tool's module",
            advice="run it by hand",
        )
    return found, value["args"]


def forget(run: str, call: str) -> None:
    """Drop what a body registered: its call has a result."""
    _registered.pop((run, call), None)
