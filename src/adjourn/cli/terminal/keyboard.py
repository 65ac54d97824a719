"""Single keys of a terminal, one call each, without waiting for Enter."""

import asyncio
import os
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from importlib.util import find_spec
from types import TracebackType
from typing import Any


class Keyboard:
    """While it is open, `press` is called with every key. Ctrl-C stays a signal. Without a terminal
    it does nothing."""

    def __init__(self, press: Callable[[str], None], *, on: bool) -> None:
        self._press = press
        self._before: Any = None
        self._on = on and sys.stdin.isatty() and find_spec("termios") is not None

    def __enter__(self) -> "Keyboard":
        self._listen()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._leave()

    @contextmanager
    def lines(self) -> Generator[None]:
        """Whole lines again for a while, seen as they are typed."""
        self._leave()
        try:
            yield
        finally:
            self._listen()

    def _listen(self) -> None:
        if not self._on:
            return
        import termios
        import tty

        fd = sys.stdin.fileno()
        self._before = termios.tcgetattr(fd)
        tty.setcbreak(fd)
        asyncio.get_running_loop().add_reader(fd, self._read)

    def _leave(self) -> None:
        if self._before is None:
            return
        import termios

        fd = sys.stdin.fileno()
        asyncio.get_running_loop().remove_reader(fd)
        termios.tcsetattr(fd, termios.TCSADRAIN, self._before)
        self._before = None

    def _read(self) -> None:
        try:
            read = os.read(sys.stdin.fileno(), 64)
        except OSError:  # the terminal has gone
            read = b""
        if not read:
            asyncio.get_running_loop().remove_reader(sys.stdin.fileno())
            return
        text = read.decode("utf-8", "replace")
        # an arrow or another key of several characters means nothing here
        if not text.startswith("\x1b"):
            for key in text:
                self._press(key)
