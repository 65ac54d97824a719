"""Which tools a graph's models run at their provider, where nobody can stop them."""

# LangChain's own types are unknown in part.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from collections.abc import Iterable, Iterator
from types import FunctionType
from typing import Any, cast

from langchain_core.runnables import RunnableBinding


def hosted_tools(bound: Iterable[Any]) -> tuple[str, ...]:
    """Names of hosted tools that the functions of a graph's nodes hold: in lists of tools, as
    `create_agent` does, or bound to a model. They are dicts with a type of their provider's."""
    found: dict[str, None] = {}
    for one in bound:
        for function in (getattr(one, "func", None), getattr(one, "afunc", None)):
            for value in _held_by(function):
                for tool in _tools(value):
                    if name := _hosted_name(tool):
                        found[name] = None
    return tuple(found)


def _held_by(function: Any) -> Iterator[Any]:
    """What a function has closed over, and the global names that it uses."""
    function = getattr(function, "__func__", function)
    if not isinstance(function, FunctionType):
        return
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # a name that has no value yet
            continue
    for name in function.__code__.co_names:
        if name in function.__globals__:
            yield function.__globals__[name]


def _tools(value: Any) -> list[Any]:
    if isinstance(value, RunnableBinding):
        value = cast("dict[str, Any]", value.kwargs).get("tools")
    if isinstance(value, list | tuple):
        return list(cast("list[Any]", value))
    return []


def _hosted_name(tool: Any) -> str:
    """The name of a hosted tool; "" for any other."""
    if not isinstance(tool, dict):
        return ""
    given = cast("dict[str, Any]", tool)
    kind = given.get("type")
    if not isinstance(kind, str) or kind in ("function", "custom") or "input_schema" in given:
        return ""
    return str(given.get("name") or kind)
