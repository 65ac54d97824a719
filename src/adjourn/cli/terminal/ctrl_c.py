"""Ctrl-C, taken by us: whatever the event loop is doing, and whichever thread the system tells."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from types import FrameType
from typing import Any, NoReturn

LOCAL_FLAGS = 3
"""Where they stand in what `termios.tcgetattr` returns."""
_before: list[Any] = []
"""How the terminal was, while it is changed."""


@contextmanager
def on_interrupt(press: Callable[[], object]) -> Generator[None]:
    """While inside, every Ctrl-C calls `press`, in the main thread, between two instructions of
    whatever runs there."""
    loop = asyncio.get_running_loop()
    before = signal.getsignal(signal.SIGINT)

    def handle(number: int, frame: FrameType | None) -> None:
        press()

    # The loop's own handler does nothing, but it wakes a loop that sleeps: the signal may come to
    # another thread.
    with suppress(NotImplementedError, RuntimeError, ValueError):
        loop.add_signal_handler(signal.SIGINT, lambda: None)
    signal.signal(signal.SIGINT, handle)
    _keep_output()
    try:
        yield
    finally:
        _restore()
        with suppress(NotImplementedError, RuntimeError, ValueError):
            loop.remove_signal_handler(signal.SIGINT)
        signal.signal(signal.SIGINT, before)


def leave(code: int) -> NoReturn:
    """End this process at once, with the terminal as it was."""
    _restore()
    os._exit(code)


def _keep_output() -> None:
    """A terminal throws away what it has not shown yet when Ctrl-C is pressed. Of a picture that is
    being drawn again, half would be gone, and the next one would be drawn over the wrong lines."""
    if find_spec("termios") is None or not sys.stdin.isatty():
        return
    import termios

    fd = sys.stdin.fileno()
    with suppress(OSError, termios.error):
        # in the background, setting it would stop this process
        if os.tcgetpgrp(fd) != os.getpgrp():
            return
        _before[:] = termios.tcgetattr(fd)
        changed = termios.tcgetattr(fd)
        changed[LOCAL_FLAGS] |= termios.NOFLSH
        termios.tcsetattr(fd, termios.TCSANOW, changed)


def _restore() -> None:
    if not _before:
        return
    import termios

    with suppress(OSError, termios.error):
        if os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp():
            termios.tcsetattr(sys.stdin.fileno(), termios.TCSANOW, _before)
    _before.clear()
