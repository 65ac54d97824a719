"""Every command that stands anywhere for a person to type is one that the command line understands.

`test_hints` pastes what is printed about real runs. Here are the others: the words of errors and advice in the source,
those of the console, and those of the documentation.
"""

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.cli.test_commands import LEAVES
from typer._click.exceptions import UsageError
from typer.main import get_command

from adjourn.cli.command_table import COMMANDS, app

ROOT = Path(__file__).parents[2]
PAGES = [*ROOT.glob("*.md"), *sorted((ROOT / "docs").rglob("*.md"))]
VERB = rf"adjourn (?:{'|'.join(sorted(COMMANDS, key=len, reverse=True))})\b"
MADE = ROOT / "docs" / "reference" / "api"
"""Made of docstrings, if the documentation was built here."""
INLINE = re.compile(rf"`({VERB}[^`\n]*)`")
AT_THE_END = re.compile(rf"(?:^|: )({VERB}[^`\n]*)$")
LINE = re.compile(rf"^(?:\$ |[^\s`]*/)?({VERB}.*)$")
NAMED = re.compile(r"adjourn (?!import )")
"""In every file that says a command, also where one string stands on two lines."""
IN_THE_CONSOLE = re.compile(rf"({VERB}[^\"'`<{{;$]*(?:\$\{{[^}}]+\}}[^\"'`<{{;$]*)*)")
SUBSTITUTED = "order-1"


class Printed(NamedTuple):
    """A command, and where it stands."""

    where: str
    text: str
    whole: bool
    """Whether it is to be typed as it is: not only named."""


def in_source() -> Iterator[Printed]:
    for file in sorted((ROOT / "src").rglob("*.py")):
        source = file.read_text("utf-8")
        if NAMED.search(source):
            yield from in_module(file.relative_to(ROOT).as_posix(), ast.parse(source))


def in_module(file: str, tree: ast.Module) -> Iterator[Printed]:
    nodes = [*ast.walk(tree)]
    told = {id(said) for node in nodes for said in docstrings(node)}
    told |= {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in nodes:
        if isinstance(node, ast.Constant | ast.JoinedStr) and id(node) not in told:
            yield from in_text(f"{file}:{node.lineno}", text_of(node))


def docstrings(node: ast.AST) -> Iterator[ast.expr]:
    """Strings that stand by themselves: nobody prints them."""
    if isinstance(node, ast.Expr):
        yield node.value


def text_of(node: ast.Constant | ast.JoinedStr) -> str:
    """A string as it is printed; for what is filled in stands a word."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    return "".join(str(part.value) if isinstance(part, ast.Constant) else SUBSTITUTED for part in node.values)


def in_text(where: str, text: str) -> Iterator[Printed]:
    for found in INLINE.findall(text):
        yield Printed(where, found, whole=False)
    if at_end := AT_THE_END.search(text):
        yield Printed(where, at_end[1], whole=True)


def in_console() -> Iterator[Printed]:
    for file in sorted((ROOT / "console" / "src").rglob("*.ts*")):
        for number, line in enumerate(file.read_text("utf-8").splitlines(), 1):
            for found in IN_THE_CONSOLE.findall(line):
                filled = re.sub(r"\$\{[^}]*\}", SUBSTITUTED, found)
                yield Printed(f"{file.relative_to(ROOT).as_posix()}:{number}", filled.strip(), whole=True)


def in_pages() -> Iterator[Printed]:
    for page in PAGES:
        if page.parent == MADE or page.name == "CHANGELOG.md":
            continue
        fenced = ""
        for number, line in enumerate(page.read_text("utf-8").splitlines(), 1):
            where = f"{page.relative_to(ROOT).as_posix()}:{number}"
            if line.lstrip().startswith("```"):
                fenced = "" if fenced else line.strip()
            elif fenced and (typed := LINE.match(line.strip())):
                yield Printed(where, re.split(r" {3,}", typed[1])[0], whole=True)
            elif not fenced and not line.startswith("#"):
                yield from (Printed(where, found, whole=False) for found in INLINE.findall(line))


def understood(printed: Printed) -> None:
    """Raise if the command line would not take it."""
    words = shlex.split(printed.text, comments=True)[1:]
    if words[0] == "audit" and " ".join(words[:2]) not in LEAVES:
        words = ["audit", "show", *words[1:]]
    for shell in (">", "|", "2>", "&&", "<"):
        if shell in words:
            words = words[: words.index(shell)]
    name = next((" ".join(words[:n]) for n in (2, 1) if " ".join(words[:n]) in LEAVES), "")
    if not name and len(words) == 1 and words[0] in COMMANDS:
        return  # a group, which has its own help
    assert name, f"{printed.where}: no command {printed.text!r}"
    given = words[len(name.split()) :]
    if not given and not printed.whole:
        return  # only its name
    LEAVES[name].make_context(name, given, parent=get_command(app).make_context("adjourn", [name]))


EVERY = [*in_source(), *in_console(), *in_pages()]


@pytest.mark.parametrize("folder", ["src/", "console/", "docs/", "README.md"])
def test_commands_were_found_on_every_surface(folder: str) -> None:
    assert sum(printed.where.startswith(folder) for printed in EVERY) > 4


@pytest.mark.parametrize("printed", EVERY, ids=lambda printed: printed.where)
def test_what_stands_there_to_be_typed_is_understood(printed: Printed) -> None:
    try:
        understood(printed)
    except UsageError as wrong:
        pytest.fail(f"{printed.where}: {printed.text!r}: {wrong.format_message()}")
