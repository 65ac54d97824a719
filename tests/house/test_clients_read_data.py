"""No client reads English: what terminal, console, engines and front ends decide by is data, not a sentence of ours.

Sentences change, and may be translated. A client that compares one, or searches in it, breaks then, and nothing says so.
What looks like a sentence is a string of two words or more, where it is compared or searched for.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CLIENTS = ("cli", "engines", "mcp", "server")
SENTENCE = re.compile(r"[A-Za-z]{2,} [A-Za-z]")
SEARCHES = {
    "startswith",
    "endswith",
    "find",
    "index",
    "count",
    "removeprefix",
    "removesuffix",
    "partition",
    "rpartition",
} | {*("split", "search", "match", "fullmatch", "compile")}
ENUMERATED = {"lose lines"}
"""A verb of the security log: some have two words."""
TYPESCRIPT = re.compile(
    r"""(?:[!=]==\s*|case\s+|\.(?:includes|startsWith|endsWith|indexOf|split|match|search|test)\(\s*)["'`/]([^"'`/\n]*)"""
)


def read_in_python(source: str) -> Iterator[tuple[int, str]]:
    """Line and string of everything that looks like a sentence, and is compared or searched for."""
    for node in ast.walk(ast.parse(source)):
        looked_at: list[ast.expr] = []
        if isinstance(node, ast.Compare):
            looked_at = [node.left, *node.comparators]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in SEARCHES:
            looked_at = node.args
        elif isinstance(node, ast.MatchValue):
            looked_at = [node.value]
        for one in (part for found in looked_at for part in ast.walk(found)):
            if isinstance(one, ast.Constant) and isinstance(one.value, str) and SENTENCE.search(one.value):
                yield one.lineno, one.value


def read_in_typescript(source: str, listed: frozenset[str] = frozenset()) -> Iterator[tuple[int, str]]:
    """The same of TypeScript. `listed`: what types of the console's own list, which is data."""
    for found in TYPESCRIPT.finditer(source):
        if SENTENCE.search(found[1]) and found[1] not in listed:
            yield source.count("\n", 0, found.start()) + 1, found[1]


@pytest.mark.parametrize("room", CLIENTS)
def test_no_client_in_python_reads_a_sentence(room: str) -> None:
    found: list[str] = []
    for file in sorted((ROOT / "src" / "adjourn" / room).rglob("*.py")):
        for line, text in read_in_python(file.read_text("utf-8")):
            if text not in ENUMERATED:
                found.append(f"{file.relative_to(ROOT)}:{line} reads {text!r}: give it a field, an enum or a code")
    assert not found, "\n".join(found)


def test_the_console_reads_no_sentence() -> None:
    sources: dict[Path, str] = {}
    for file in sorted((ROOT / "console" / "src").rglob("*.ts*")):
        if "generated" not in file.parts:
            sources[file] = file.read_text("utf-8")
    listed = frozenset(re.findall(r'\|\s*"([^"]*)"', "\n".join(sources.values())))
    found: list[str] = []
    for file, source in sources.items():
        for line, text in read_in_typescript(source, listed):
            found.append(f"{file.relative_to(ROOT)}:{line} reads {text!r}: give it a field of its view")
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "source",
    [
        'if error.what == "is not there": pass',
        'if "already decided" in str(error): pass',
        'if text.startswith("No run"): pass',
        'm = re.search(r"by ann, not (.*)", text)',
        'match row.now:\n    case "waits for": pass',
    ],
)
def test_what_reads_a_sentence_is_found_in_python(source: str) -> None:
    assert list(read_in_python(source))


@pytest.mark.parametrize(
    "source",
    [
        'if (l.error === "quiet hours") x();',
        'told.includes("was decided")',
        'case "waits for":',
        "rule.match(/^asks a person/)",
    ],
)
def test_what_reads_a_sentence_is_found_in_typescript(source: str) -> None:
    assert list(read_in_typescript(source))
