"""What bodies gave to `ctx.on_cancel`, as long as their calls are in flight."""

import inspect
from collections.abc import Callable
from typing import Any

from adjourn.core.call import Call
from adjourn.core.memo_key import MemoKind, memo_key
from adjourn.driver.located_run import LocatedCall, LocatedRun, located_call
from adjourn.errors import InvalidDefinition, Misused

_registered: dict[LocatedCall, dict[int, Callable[..., Any]]] = {}
"""What bodies of this process gave to `on_cancel`, by store, run and call, as long as the call has
no result."""


def named(function: Any) -> str:
    """The name by which a compensation is recorded. Raises `InvalidDefinition` for what has none:
    after a crash neither this process nor a person would know what was to be done."""
    if not callable(function):
        raise InvalidDefinition(f"on_cancel needs a function, got {function!r}")
    name = getattr(function, "__qualname__", "")
    if not isinstance(name, str) or not name.rpartition(".")[2].isidentifier():
        raise InvalidDefinition(
            f"on_cancel needs a function with a name, got {function!r:.80}: it is recorded by its "
            "name, so it must have one to be found after a crash",
            advice="def a function in the tool's module, and give what it needs as arguments: "
            "on_cancel(release, lock_id)",
        )
    return name


def register(place: LocatedCall, number: int, function: Callable[..., Any]) -> None:
    """Keep a compensation, by its `number`, of a call that is in flight."""
    _registered.setdefault(place, {})[number] = function


def compensation(
    place: LocatedRun,
    call: Call,
    number: int,
    function: Callable[..., Any],
    *,
    by_name: bool = True,
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
    found = _registered.get(located_call(place, call), {}).get(number) or there.get(value["fn"])
    by_hand = f"run it by hand, with the arguments {value['args']!r:.400}"
    if not callable(found) and not by_name:
        raise Misused(
            f"the compensation {value['fn']!r} was registered by a process that is gone",
            advice=(
                "where decisions are signed, a function is not run just because a record names "
                f"it: {by_hand}"
            ),
        )
    if not callable(found):
        raise Misused(
            f"the compensation {value['fn']!r} is not a function of the tool's module",
            advice=(
                f"{by_hand}; give on_cancel a function of the module, not a lambda, method or "
                "nested function: only a module's function can be found after a crash"
            ),
        )
    return found, value["args"]


def forget(place: LocatedRun, call: Call) -> None:
    """Drop what a body registered: its call has a result."""
    if _registered:
        _registered.pop(located_call(place, call), None)
