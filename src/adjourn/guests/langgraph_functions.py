"""What a function of a graph reaches, other graphs and tool nodes, and copies of functions that see held
copies of these."""

# LangGraph's own types are unknown in part.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

import dis
import functools
from collections.abc import Callable, Iterable, Iterator
from types import CellType, CodeType, FunctionType
from typing import Any, cast

from langgraph.prebuilt import ToolNode
from langgraph.pregel import Pregel

Held = Callable[[Any], Any]
"""Makes the held copy of a graph or of a tool node."""


def closed_over(value: Any) -> Iterator[Any]:
    """The compiled graphs and tool nodes that a function has closed over.

    Args:
        value: the function, or what it holds.
    """
    return _found(value, _parts, set())


def reached(value: Any) -> Iterator[Any]:
    """The same, and those that it finds by a global name, also in functions of its own module.

    Args:
        value: the function, or what it holds.
    """
    return _found(value, lambda one: [*_parts(one), *_globals(one).values()], set())


def _found(value: Any, parts: Callable[[Any], Iterable[Any]], seen: set[int]) -> Iterator[Any]:
    """The graphs and tool nodes in a value and its parts, each looked at once."""
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, Pregel | ToolNode):
        yield value
    for part in parts(value):
        yield from _found(part, parts, seen)


def _parts(value: Any) -> Iterator[Any]:
    """What a value holds: a function its cells, a list its items."""
    if isinstance(value, dict):
        yield from cast("dict[Any, Any]", value).values()
    elif isinstance(value, list | tuple):
        yield from cast("list[Any]", value)
    elif isinstance(value, functools.partial):
        given = cast("functools.partial[Any]", value)
        yield from (given.func, *given.args, *given.keywords.values())
    elif isinstance(value, FunctionType):
        for cell in value.__closure__ or ():
            try:
                yield cell.cell_contents
            except ValueError:  # a name that has no value yet
                continue


def _globals(value: Any) -> dict[str, Any]:
    """The global names that a function reads, with the graphs, tool nodes, lists and functions of the
    same module that they have now."""
    if not isinstance(value, FunctionType):
        return {}
    found: dict[str, Any] = {}
    for name in _read(value.__code__):
        one = value.__globals__.get(name)
        is_near = isinstance(one, FunctionType) and one.__globals__ is value.__globals__
        if is_near or isinstance(one, Pregel | ToolNode | dict | list | tuple | functools.partial):
            found[name] = one
    return found


def _read(code: CodeType) -> Iterator[str]:
    """The global names that code reads, with that of the functions in it."""
    for step in dis.get_instructions(code):
        if step.opname == "LOAD_GLOBAL":
            yield str(step.argval)
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield from _read(one)


class HeldFunctions:
    """Copies of functions that see held copies of the graphs and tool nodes that they reach. What
    reaches none stays as it is."""

    def __init__(self, held: Held) -> None:
        self._held = held
        self._known: dict[int, Any] = {}

    def value(self, value: Any) -> Any:
        """A value as the copies see it.

        Args:
            value: what a function is, or holds.
        """
        if isinstance(value, Pregel | ToolNode):
            return self._held(value)
        if not any(reached(value)):
            return value
        if isinstance(value, FunctionType):
            return self._function(value)
        if isinstance(value, functools.partial):
            given = cast("functools.partial[Any]", value)
            named = {name: self.value(one) for name, one in given.keywords.items()}
            return functools.partial(self.value(given.func), *map(self.value, given.args), **named)
        if type(value) is dict:
            items = cast("dict[Any, Any]", value).items()
            return {key: self.value(one) for key, one in items}
        if type(value) in (list, tuple):
            return type(value)(map(self.value, cast("list[Any]", value)))
        return value

    def _function(self, function: FunctionType) -> FunctionType:
        known = self._known.get(id(function))
        if known is not None:
            return known
        old = function.__closure__ or ()
        cells = tuple(CellType() for _ in old)
        names = HeldNames(function.__globals__)
        copy = FunctionType(
            function.__code__, names, function.__name__, function.__defaults__, cells or None
        )
        copy.__kwdefaults__ = function.__kwdefaults__
        functools.update_wrapper(copy, function)
        del copy.__dict__["__wrapped__"]
        self._known[id(function)] = copy
        for new, cell in zip(cells, old, strict=True):
            try:
                new.cell_contents = self.value(cell.cell_contents)
            except ValueError:  # a name that has no value yet
                continue
        for name, one in _globals(function).items():
            if any(reached(one)):
                names[name] = self.value(one)
        return copy


class HeldNames(dict[str, Any]):
    """The global names of a function's copy: its own, and beside them those of its module."""

    def __init__(self, module: dict[str, Any]) -> None:
        dunder = {name: one for name, one in module.items() if name.startswith("__")}
        super().__init__(dunder)
        self._module = module

    def __missing__(self, name: str) -> Any:
        return self._module[name]
