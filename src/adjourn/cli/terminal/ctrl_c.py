"""Ctrl-C, taken by us: whatever the event loop is doing, and whichever thread the system tells."""

import asyncio
import signal
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from types import FrameType


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
    try:
        yield
    finally:
        with suppress(NotImplementedError, RuntimeError, ValueError):
            loop.remove_signal_handler(signal.SIGINT)
        signal.signal(signal.SIGINT, before)
