"""A terminal with lines that stay and, below them, a few that change. In a pipe there are only
those that stay."""

from collections.abc import Sequence

from rich.text import Text

from adjourn.cli.terminal.console import Line, Terminal

TALLEST = 12
"""Lines that may change at most: more would push what stays out of a small window."""


class Screen:
    """Whatever is written scrolls by above; `draw` replaces what stands below it."""

    def __init__(self, terminal: Terminal) -> None:
        self.terminal = terminal
        self._below: list[Text] = []
        self._height = 0

    @property
    def moves(self) -> bool:
        """Whether there is a part that changes."""
        return self.terminal.moves

    def write(self, *lines: Line, below: Sequence[Text] | None = None) -> None:
        """Lines that stay; and what stands below them from now on, if that is another."""
        self._erase()
        self.terminal.print(*lines)
        if below is not None and self.moves:
            self._below = list(below)[-TALLEST:]
        self._put()

    def draw(self, lines: Sequence[Text]) -> None:
        """The part that changes, from now on."""
        if not self.moves:
            return
        self._erase()
        self._below = list(lines)[-TALLEST:]
        self._put()

    def clear(self) -> None:
        """Leave only what stays, with the cursor below it; also without the ^C that a terminal
        writes by itself."""
        self._height = self._height or 1
        self._erase()
        self._below = []
        self.terminal.flush()

    def _put(self) -> None:
        # a full line would wrap, and then could not be found again
        room = max(10, self.terminal.columns - 1)
        for place, line in enumerate(self._below):
            line = line.copy()
            line.truncate(room, overflow="ellipsis")
            self.terminal.print(line, end="\n" if place < len(self._below) - 1 else "")
        self._height = len(self._below)
        self.terminal.flush()

    def _erase(self) -> None:
        if self._height:
            up = f"\x1b[{self._height - 1}A" if self._height > 1 else ""
            self.terminal.control(f"\r{up}\x1b[J")
        self._height = 0
