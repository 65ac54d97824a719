"""What the library logs, as talk."""

import logging
import traceback
from collections.abc import Callable

from rich.text import Text

from adjourn.cli.terminal.format import DIM
from adjourn.views.visible import lines, visible


class _Talk(logging.Handler):
    """Log records, said."""

    def __init__(self, write: Callable[..., object]) -> None:
        super().__init__()
        self._write = write

    def emit(self, record: logging.LogRecord) -> None:
        self._write(Text(f"! {visible(record.getMessage())}", style=DIM))
        if record.exc_info and record.exc_info[1] is not None:
            self._write(*lines("".join(traceback.format_exception(record.exc_info[1])).rstrip()))


def log_to(write: Callable[..., object]) -> None:
    """Give warnings of `adjourn.*` to `write`, which takes lines."""
    log = logging.getLogger("adjourn")
    log.handlers[:] = [_Talk(write)]
    log.propagate = False
    log.setLevel(logging.WARNING)
