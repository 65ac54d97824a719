"""A function takes at most six parameters; what needs more gets an options struct.

Left out are the commands of the command line, whose parameters are its options, and what users call: there each parameter is a
documented keyword. What implements a public method has its parameters.
"""

import ast
import inspect
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tests.docs.public_api import public_callables

SOURCE = Path(__file__).parents[2] / "src" / "adjourn"
MOST = 6

MORE: dict[str, int] = {
    # what a person agreed to is compared with what would run, in one place and with nothing in between
    "agent/conversations.py::Conversations._agreed": 7,
    "agent/conversations.py::Conversations._asked": 7,
    "core/authority.py::objection": 8,
    # made in one place each, of what a runtime was given
    "driver/loop.py::Drive.__init__": 15,
    "runtime/advancer.py::Advancer.__init__": 13,
    "runtime/worker.py::Worker.__init__": 11,
    # options that users give, to `mcp_tools`
    "mcp/mcp_tools.py::mcp_tools": 10,
    "guests/langgraph.py::read": 7,
    "bodies/runner.py::ended": 7,
    "views/interrupt_view.py::view_of": 7,
}
"""What takes more, and how many. The numbers only go down."""


class Signature(NamedTuple):
    place: str
    name: str
    parameters: tuple[str, ...]
    is_command: bool


def parameters(node: ast.FunctionDef | ast.AsyncFunctionDef) -> tuple[str, ...]:
    found = [one.arg for one in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
    return tuple(name for name in found if name not in ("self", "cls"))


def is_command(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether it is decorated with `app.command()`."""
    calls = [one.func for one in node.decorator_list if isinstance(one, ast.Call)]
    return any(isinstance(call, ast.Attribute) and call.attr == "command" for call in calls)


def signatures(node: ast.AST, place: str) -> Iterator[Signature]:
    """Every function below a node; `place` is that of the node, `file::qualified name`."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            own = f"{place}{child.name}"
            yield Signature(own, child.name, parameters(child), is_command(child))
            yield from signatures(child, f"{own}.<locals>.")
        elif isinstance(child, ast.ClassDef):
            yield from signatures(child, f"{place}{child.name}.")
        elif not isinstance(child, ast.expr):
            yield from signatures(child, place)


@cache
def everything() -> tuple[Signature, ...]:
    files = [(path.relative_to(SOURCE).as_posix(), path.read_text("utf-8")) for path in sorted(SOURCE.rglob("*.py"))]
    return tuple(found for name, text in files for found in signatures(ast.parse(text), f"{name}::"))


@cache
def public_places() -> frozenset[str]:
    """Where the functions stand that users call."""
    found: set[str] = set()
    for one in public_callables():
        function = one.written
        if inspect.isfunction(function):
            file = Path(function.__code__.co_filename).relative_to(SOURCE).as_posix()
            found.add(f"{file}::{function.__qualname__}")
    return frozenset(found)


def too_many() -> dict[str, int]:
    public = public_places()
    promised = {(one.name, one.parameters) for one in everything() if one.place in public}
    return {
        one.place: len(one.parameters)
        for one in everything()
        if len(one.parameters) > MOST and not one.is_command and (one.name, one.parameters) not in promised
    }


def test_a_function_takes_at_most_six_parameters() -> None:
    over = {place: count for place, count in too_many().items() if count > MORE.get(place, MOST)}
    assert not over, f"{over}: a struct is missing that has a name"


def test_every_exception_is_still_needed() -> None:
    found = too_many()
    assert not [place for place, count in MORE.items() if found.get(place) != count]


def test_the_rule_itself() -> None:
    text = "class A:\n  def b(self, c, *, d): ...\n@app.command()\ndef e(f):\n  def g(h): ..."
    assert list(signatures(ast.parse(text), "x.py::")) == [
        Signature("x.py::A.b", "b", ("c", "d"), False),
        Signature("x.py::e", "e", ("f",), True),
        Signature("x.py::e.<locals>.g", "g", ("h",), False),
    ]
    assert "runtime/runtime.py::Runtime.start" in public_places()
