"""How dense the source reads: what costs a reader time is counted, per 1,000 lines of code, and stays under its aim."""

import ast
import io
import tokenize
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from tests.house.statements import statements

SOURCE = Path(__file__).parents[2] / "src" / "adjourn"

CONDITIONAL = "conditional expressions"
NESTED = "conditional expressions in one another"
COMPREHENSIONS = "comprehensions"
LETTERS = "one-letter names"
SKIPPED = "fmt: skip"

AIMS = {CONDITIONAL: 12.0, NESTED: 0.0, COMPREHENSIONS: 20.0, LETTERS: 6.0, SKIPPED: 1.0}
"""Per 1,000 lines of code."""

COLUMNS = 100
WIDE = 3.0
"""Of 100 lines, so many may reach over the columns."""

LOOPS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


def is_docstring(node: ast.AST) -> bool:
    if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Constant):
        return False
    return isinstance(node.value.value, str)


def code_lines(text: str) -> int:
    """Lines with code: none that is empty, a comment or a docstring."""
    docstrings: set[int] = set()
    for node in statements(ast.parse(text)):
        if isinstance(node, ast.Expr) and is_docstring(node):
            docstrings.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in NO_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - docstrings)


def small_scopes(tree: ast.AST) -> set[int]:
    """Everything in comprehensions and lambdas: a short name is known there for one line."""
    inside: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, (*LOOPS, ast.Lambda)):
            inside.update(map(id, ast.walk(node)))
    return inside


def is_short_name(node: ast.AST) -> bool:
    if isinstance(node, ast.arg):
        return len(node.arg) == 1
    if isinstance(node, ast.Name):
        return isinstance(node.ctx, ast.Store) and len(node.id) == 1 and node.id != "_"
    return False


def density(text: str) -> Counter[str]:
    """How often each thing is in a file."""
    tree = ast.parse(text)
    inside = small_scopes(tree)
    found = Counter[str]()
    for node in ast.walk(tree):
        if isinstance(node, LOOPS):
            found[COMPREHENSIONS] += 1
        elif isinstance(node, ast.IfExp):
            found[CONDITIONAL] += 1
            found[NESTED] += isinstance(node.body, ast.IfExp) or isinstance(node.orelse, ast.IfExp)
        elif id(node) not in inside and is_short_name(node):
            found[LETTERS] += 1
    found[SKIPPED] = text.count("# fmt: skip") + text.count("# fmt: off")
    return found


@cache
def densities() -> Counter[str]:
    """Of all files together."""
    found = Counter[str]()
    for text in texts():
        found += density(text)
    return found


@cache
def all_code_lines() -> int:
    return sum(map(code_lines, texts()))


@cache
def texts() -> tuple[str, ...]:
    return tuple(path.read_text("utf-8") for path in sorted(SOURCE.rglob("*.py")))


@pytest.mark.parametrize("what", AIMS)
def test_the_source_is_no_denser_than_its_aim(what: str) -> None:
    lines, found = all_code_lines(), densities()[what]
    assert 1000 * found / lines <= AIMS[what], f"{found} {what} in {lines} lines of code"


def test_few_lines_are_wide() -> None:
    lines = [line for text in texts() for line in text.splitlines()]
    wide = sum(len(line) > COLUMNS for line in lines)
    assert 100 * wide / len(lines) <= WIDE


def test_the_count_itself() -> None:
    text = "\n".join(
        (
            '"""About."""',
            "# nothing",
            "x = 1 if y else 2 if z else 3",
            "words = [a for a in b]",
            "def f(k, _, key=lambda q: q):",
            "    return k",
        )
    )
    assert density(text) == {CONDITIONAL: 2, NESTED: 1, COMPREHENSIONS: 1, LETTERS: 3, SKIPPED: 0}
    assert code_lines(text) == 4
