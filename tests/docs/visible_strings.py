"""Every string of the source that a person can come to see.

That is every string constant and f-string but the docstrings: which of them reach a person (in an error, an answer of the
API, a help text, a line of a log) cannot be told from the tree, and an identifier, a key or a statement of SQL loses
nothing by the same words. Beside them stand the docstrings of the public API, of which the reference is made.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.docs.public_api import public_callables, returned_callables

SOURCE = Path(__file__).parents[2] / "src" / "adjourn"


@dataclass(frozen=True)
class VisibleString:
    """A string, and where it stands: a file and a line, or the name of what it documents."""

    place: str
    line: int
    text: str


def template(node: ast.JoinedStr) -> str:
    """An f-string with `{…}` for what is put into it."""
    text = ""
    for part in node.values:
        if isinstance(part, ast.Constant):
            text += str(part.value)
        else:
            text += "{…}"
    return text


def strings(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """The constants and f-strings of a module that do not stand by themselves, with their lines."""
    seen = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if id(node) in seen:
            continue
        if isinstance(node, ast.JoinedStr):
            seen |= {id(part) for part in node.values}
            yield node.lineno, template(node)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def visible_strings() -> list[VisibleString]:
    """Those of the source, then the docstrings of the public API."""
    found: list[VisibleString] = []
    for path in sorted(SOURCE.rglob("*.py")):
        place = path.relative_to(SOURCE).as_posix()
        found += [VisibleString(place, *one) for one in strings(ast.parse(path.read_text("utf-8")))]
    documented = (*public_callables(), *returned_callables())
    return found + [VisibleString(f"{one.module}.{one.name}", 0, one.docstring) for one in documented]
