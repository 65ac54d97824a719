"""What a check found: fine, to look at, or wrong; with advice."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, NoReturn

import typer
from rich.text import Text

from adjourn.cli.terminal.console import Terminal, give, out, remark, wrap
from adjourn.cli.terminal.format import DIM
from adjourn.views.visible import visible

MARKS = {"fine": ("✓", "green"), "look": ("!", "yellow"), "wrong": ("✗", "red")}


@dataclass(frozen=True, slots=True)
class Finding:
    """One line. `advice` is a word and what to type, for example
    `("Start one", "adjourn worker app.py:travel")`."""

    level: Literal["fine", "look", "wrong"]
    name: str
    text: str
    advice: tuple[str, str] | None = None
    details: dict[str, Any] = field(default_factory=dict[str, Any])

    def as_json(self) -> dict[str, Any]:
        """The finding as data."""
        return asdict(self)


def fine(name: str, text: str, **details: Any) -> Finding:
    """Nothing to do."""
    return Finding("fine", name, text, None, details)


def look(name: str, text: str, *advice: str, **details: Any) -> Finding:
    """A person should look at it."""
    return Finding("look", name, text, (advice[0], advice[1]) if advice else None, details)


def wrong(name: str, text: str, *advice: str, **details: Any) -> Finding:
    """It must be put right."""
    return Finding("wrong", name, text, (advice[0], advice[1]) if advice else None, details)


def print_findings(found: Sequence[Finding], terminal: Terminal) -> None:
    """One line each, advice below; then, beside the data, how many of each."""
    space = max([9, *(len(finding.name) for finding in found)]) + 4
    for finding in found:
        glyph, colour = MARKS[finding.level]
        for line, piece in enumerate(wrap(visible(finding.text), max(20, terminal.width - space))):
            if line == 0:
                head = f"{finding.name:<{space - 4}}"
            else:
                head = " " * (space - 4)
            terminal.print(
                Text.assemble((glyph if line == 0 else " ", colour), " ", head, "  ", piece)
            )
        if finding.advice:
            terminal.print(
                Text.assemble(" " * space, (f"{finding.advice[0]}  ", DIM), finding.advice[1])
            )
    levels = [finding.level for finding in found]
    words = (("fine", "fine"), ("look", "to look at"), ("wrong", "wrong"))
    remark(", ".join(f"{levels.count(level)} {word}" for level, word in words if level in levels))


def report_findings(found: Sequence[Finding], as_json: bool) -> NoReturn:
    """Print what was found, and end the process: with 1 if something is wrong."""
    if not give(as_json, [finding.as_json() for finding in found]):
        print_findings(found, out())
    raise typer.Exit(exit_of(found))


def exit_of(found: Sequence[Finding]) -> int:
    """1 if something is wrong."""
    if any(finding.level == "wrong" for finding in found):
        return 1
    return 0
