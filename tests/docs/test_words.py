"""Plain English: no word that the glossary refuses stands in the documentation or in any string that a person can see."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from tests.docs.visible_strings import strings, visible_strings
from typer.main import get_command
from typer.testing import CliRunner

from adjourn.cli.command_table import app

ROOT = Path(__file__).parents[2]
GLOSSARY = ROOT / "docs" / "glossary.md"
PAGES = [
    *(
        ROOT / name
        for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "AGENTS.md", "ARCHITECTURE.md", "SECURITY.md")
    ),
    *sorted((ROOT / "docs").rglob("*.md")),
]
ELSEWHERE = ("decisions", "api", "glossary.md")
"""Decisions are kept as they were made; the pages of names are made of docstrings; the glossary names the words itself."""

DERIVED = (
    "the fold makes it of old records: chapters and digests of requests were recorded over it, and it is never changed"
)
FLAG = "an option, which scripts use"
EXEMPT = {
    ("core/decision_effects.py", "nobody"): DERIVED,
    ("core/decision_effects.py", "go on"): DERIVED,
    ("core/state.py", "go on"): DERIVED,
    ("core/thread.py", "go on"): DERIVED,
    ("cli/commands/item_notes.py", "nobody"): FLAG,
    (
        "server/notifications/web_push.py",
        "nobody",
    ): "an address for push services to write to, which is nobody's on purpose",
}
"""Words that stay where they are, and why."""


def refused() -> list[str]:
    """The words of the glossary's last column that are set as code."""
    found: list[str] = []
    for line in GLOSSARY.read_text("utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) == 3:
            found += re.findall(r"`([^`]+)`", cells[2])
    return found


PATTERN = re.compile(
    r"\b(?:" + "|".join(re.escape(word).replace(r"\ ", r"\s+") for word in refused()) + r")\b", re.IGNORECASE
)


def prose(text: str) -> str:
    """A page without its blocks of code and its names."""
    text = re.sub(r"^[ \t]*(```|~~~).*?^[ \t]*\1[ \t]*$", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"`[^`\n]*`", "", text)


def found_in(text: str) -> list[str]:
    return [f"…{text[max(0, hit.start() - 40) : hit.end() + 30]}…".replace("\n", " ") for hit in PATTERN.finditer(text)]


def helps(command: Any, name: str) -> Iterator[tuple[str, str]]:
    """Every help text of a command and of those below it."""
    yield name, command.help or ""
    for parameter in command.params:
        yield f"{name} {parameter.opts[0] if parameter.opts else parameter.name}", getattr(parameter, "help", "") or ""
    if hasattr(command, "list_commands"):
        context = typer.Context(command, info_name=name)
        for below in command.list_commands(context):
            yield from helps(command.get_command(context, below), f"{name} {below}")


HELP = dict(helps(get_command(app), "adjourn"))


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if not {*ELSEWHERE} & {*page.parts}],
    ids=lambda page: page.relative_to(ROOT).as_posix(),
)
def test_a_page_is_in_plain_words(page: Path) -> None:
    assert not found_in(prose(page.read_text("utf-8")))


def test_the_help_of_every_command_and_option_is_in_plain_words() -> None:
    assert len(HELP) > 100
    assert not {name: found for name, text in HELP.items() if (found := found_in(text))}


def test_the_list_of_commands_fits_into_80_columns_and_nothing_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    shown = CliRunner().invoke(app, ["--help"]).stdout
    assert "halt" in shown
    assert not [line for line in shown.splitlines() if line.endswith("...") and not line.startswith("Usage")]


def test_every_string_of_the_source_is_in_plain_words() -> None:
    """Errors, answers, notices, lines of logs and the reference."""
    found = visible_strings()
    assert len(found) > 10_000
    refused_words = {
        (one.place, one.line, hit.group().lower(), one.text)
        for one in found
        for hit in PATTERN.finditer(one.text)
        if (one.place, " ".join(hit.group().lower().split())) not in EXEMPT
    }
    assert not refused_words, "\n".join(
        f"{place}:{line}: {word}: {text!r}" for place, line, word, text in sorted(refused_words)
    )


def test_no_exemption_is_left_over() -> None:
    used = {(one.place, hit.group().lower()) for one in visible_strings() for hit in PATTERN.finditer(one.text)}
    assert {*EXEMPT} <= used


def test_the_parts_of_an_f_string_are_read_as_one_and_a_docstring_is_not_read() -> None:
    module = ast.parse("def f(by):\n    'whoever reads'\n    return f'{by or \"somebody\"} goes ' f'on'")
    assert sorted(text for _, text in strings(module)) == ["somebody", "{…} goes on"]


def test_a_refused_word_is_found_across_a_line_and_not_inside_of_code() -> None:
    assert len(refused()) > 15
    assert found_in(prose("The run goes\non. `somebody` is a name.")) == ["…The run goes on.  is a name.…"]
    assert not found_in(prose("```text\nwhoever\n```\n"))
