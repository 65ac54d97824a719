"""Plain English in the console: no word that the glossary refuses stands in its source, but for comments."""

import re
from pathlib import Path

import pytest
from tests.docs.test_words import PATTERN

CONSOLE = Path(__file__).parents[2] / "console"
SOURCES = [
    CONSOLE / "index.html",
    *sorted(path for path in (CONSOLE / "src").rglob("*.ts*") if "generated" not in path.parts),
]
COMMENTS = re.compile(r"/\*.*?\*/|(?:^|(?<=\s))//[^\n]*|<!--.*?-->", re.DOTALL)
"""What is generated is made of strings of the package."""


def refused_in(source: str) -> list[str]:
    """Every refused word of a module, with what stands around it: in the text of elements, attributes, strings and names alike."""
    shown = COMMENTS.sub(lambda comment: "\n" * comment[0].count("\n"), source)
    return [f"{shown.count(chr(10), 0, hit.start()) + 1}: {_around(shown, hit)}" for hit in PATTERN.finditer(shown)]


def _around(text: str, hit: re.Match[str]) -> str:
    return " ".join(text[max(0, hit.start() - 50) : hit.end() + 40].split())


@pytest.mark.parametrize("file", SOURCES, ids=lambda file: file.relative_to(CONSOLE).as_posix())
def test_what_the_console_shows_is_in_plain_words(file: Path) -> None:
    assert refused_in(file.read_text("utf-8")) == []


@pytest.mark.parametrize(
    "source",
    [
        '<Empty title="There is no such page" />',
        "<p>\n  To nobody yet.\n</p>",
        "`${n} left behind`",
        "<p>It goes\n  on there.</p>",
        'const url = "https://example.com/"; const who = "anybody";',
        'const aria = { "aria-label": "Tell somebody" };',
    ],
)
def test_a_refused_word_is_found_wherever_the_console_shows_it(source: str) -> None:
    assert len(refused_in(source)) == 1


def test_a_comment_may_say_what_it_wants() -> None:
    assert refused_in("/** Whoever\n * reads. */\nx(); // nobody does") == []
