"""Where words go: data to stdout, talk to stderr; colour only for a terminal that wants it; nothing
raw, ever."""

import json
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, TextIO

import msgspec
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from adjourn.cli.terminal.format import DIM
from adjourn.views.visible import shown

Line = str | Text

_ASCII = str.maketrans(
    {
        "◆": "!",
        "●": "*",
        "‖": "=",
        "✓": "+",
        "✗": "x",
        "⊘": "-",
        "⧗": "-",
        "−": "-",
        "↶": "<",
        "○": "o",
        "■": "#",
        "·": "-",
        "›": ">",
        "–": "-",
        "…": "...",
        "⟨": "<",
        "⟩": ">",
        "┊": "|",
        "├": "|",
        "└": "`",
        "’": "'",
        "─": "-",
        "→": "->",
        "▌": "_",
        "“": '"',
        "”": '"',
    }
)
WIDE = 1_000_000
"""The width of a pipe: nothing is wrapped or shortened there."""


class Terminal:
    """One of the two streams. `tty`: a person reads it. `width`: in columns."""

    def __init__(self, stream: TextIO) -> None:
        self.tty = stream.isatty()
        self._utf8 = (getattr(stream, "encoding", None) or "").lower().replace("-", "").replace(
            "_", ""
        ) in ("utf8", "")
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
        plain = self._plain = (
            not self.tty or bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
        )
        self._console = Console(
            file=stream,
            color_system=None if plain else "standard",
            force_terminal=self.tty,
            highlight=False,
            markup=False,
            emoji=False,
            soft_wrap=True,
            width=None if self.tty else WIDE,
        )
        if self.tty:
            self.width = max(40, min(self._console.width, 120))
        else:
            self.width = WIDE
        self.moves = self.tty and os.environ.get("TERM") != "dumb"
        """Whether lines that are there can be written again."""
        self._stream = stream

    @property
    def columns(self) -> int:
        """The width as it is now: the window may have been resized."""
        return self._console.width

    @property
    def rows(self) -> int:
        """The height as it is now."""
        return self._console.height

    def control(self, sequence: str) -> None:
        """Write a sequence of our own that moves the cursor; only where `moves`."""
        if self.moves:
            self._stream.write(sequence)

    def flush(self) -> None:
        """Let the reader see everything so far."""
        self._stream.flush()

    def print(self, *lines: Line, end: str = "\n") -> None:
        """Write each line, styled or not."""
        for line in lines:
            text = Text(line) if isinstance(line, str) else line
            if not self._utf8 or not text.plain.replace("\n", "").isprintable():
                text = self._safe(text)
            if self._plain:
                self._stream.write(text.plain + end)
            else:
                self._console.print(text, end=end, soft_wrap=True)

    def _safe(self, text: Text) -> Text:
        """The last gate: whatever was not made visible before is made visible here."""
        parts: list[tuple[str, Any]] = []
        for piece in text.divide(
            sorted({at for span in text.spans for at in (span.start, span.end)})
        ):
            plain = "".join(
                char if char == "\n" or char.isprintable() else shown(char) for char in piece.plain
            )
            style = piece.spans[0].style if piece.spans else ""
            parts.append((plain if self._utf8 else plain.translate(_ASCII), style))
        return Text.assemble(*parts)


def out() -> Terminal:
    """Where data goes."""
    return Terminal(sys.stdout)


def err() -> Terminal:
    """Where talk goes."""
    return Terminal(sys.stderr)


_instead: list[Callable[[str], object]] = []


def say(*lines: Line) -> None:
    """Talk to the person, beside the data."""
    if not _instead:
        err().print(*lines)
        return
    for line in lines:
        _instead[0](str(line))


def remark(*lines: str) -> None:
    """Say what a person may pass over: it stands back behind the rest."""
    say(*(Text(line, style=DIM) for line in lines))


def say_instead(write: Callable[[str], object] | None) -> None:
    """From now on nobody is talked to: what would be said is given to `write`; None: as before.

    Args:
        write: takes a line.
    """
    _instead[:] = [] if write is None else [write]


def to_json(value: Any, indent: int | None = 2) -> str:
    """JSON in ASCII: every character that could do something to a terminal is escaped by the
    encoder."""
    return json.dumps(value, ensure_ascii=True, indent=indent, default=_plain).replace(
        "\x7f", "\\u007f"
    )


def _plain(value: Any) -> Any:
    """A struct as plain data."""
    return msgspec.to_builtins(value)


def print_json(value: Any) -> None:
    """A value as the command's data."""
    sys.stdout.write(to_json(value) + "\n")


def give(as_json: bool, value: Any, *lines: Line) -> bool:
    """What a command gives: as JSON, or in these lines. Whether it was JSON: then nothing else is
    said."""
    if as_json:
        print_json(value)
    else:
        out().print(*lines)
    return as_json


def print_line(value: Any) -> None:
    """A value as one line of a stream of data, at once."""
    sys.stdout.write(to_json(value, indent=None) + "\n")
    sys.stdout.flush()


def is_attended() -> bool:
    """Whether a person can be asked: they see what is printed, and type."""
    return sys.stdin.isatty() and sys.stdout.isatty() and sys.stderr.isatty()


def is_read() -> bool:
    """Whether what is printed is taken as read: by the person at the terminal, or by the program
    that has called this one. What a person sends through a pipe may be cut or thrown away."""
    return sys.stdout.isatty() or not (sys.stdin.isatty() or sys.stderr.isatty())


def fit(text: str, width: int) -> str:
    """`text` in exactly `width` columns: shortened with an ellipsis, or filled up."""
    size = cell_len(text)
    if size <= width:
        return text + " " * (width - size)
    kept, used = "", 0
    for char in text:
        used += cell_len(char)
        if used > width - 1:
            break
        kept += char
    if width > 0:
        return fit(kept + "…", width)
    return ""


def widths(rows: Sequence[Sequence[str]], size: Callable[[str], int]) -> list[int]:
    """How wide each column of a table is, its heading included; `size` measures a cell."""
    return [max(map(size, column)) for column in zip(*rows, strict=True)]


def columns(cells: Sequence[str], wide: Sequence[int]) -> str:
    """A row of a table: every cell in its width."""
    return "  ".join(map(fit, cells, wide)).rstrip()


def numbered(cells: Sequence[str], wide: Sequence[int]) -> str:
    """A row of a table: a name at the left, numbers at the right."""
    numbers = map(str.rjust, cells[1:], wide[1:])
    return "  ".join([fit(cells[0], wide[0]), *numbers]).rstrip()


def print_table(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    row_of: Callable[[Sequence[str], Sequence[int]], str] = columns,
) -> None:
    """Rows under their headings, every column as wide as its widest cell."""
    wide = widths([head, *rows], cell_len)
    out().print(Text(row_of(head, wide), style=DIM))
    for row in rows:
        out().print(Text(row_of(row, wide)))


def print_section(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    row_of: Callable[[Sequence[str], Sequence[int]], str] = columns,
) -> None:
    """A table behind an empty line; nothing at all without rows."""
    if rows:
        out().print("")
        print_table(head, rows, row_of)


def wrap(text: str, width: int) -> list[str]:
    """`text` cut into pieces of at most `width` columns, after a space where there is one; no
    character is lost.

    A character that is shown by its name is not cut, unless it is longer than a line.
    """
    if width >= WIDE // 2 or cell_len(text) <= width:
        return [text]
    pieces: list[str] = []
    start = blank = used = 0
    named = False
    for place, char in enumerate(text):
        named = char != "⟩" and (named or char == "⟨")
        size = cell_len(char)
        if used + size > width:
            cut = blank if blank > start else place
            pieces.append(text[start:cut])
            used = cell_len(text[cut:place])
            start = cut
        used += size
        if char == "⟨":
            blank = place
        elif (char == " " and not named) or char == "⟩":
            blank = place + 1
    return [*pieces, text[start:]]
