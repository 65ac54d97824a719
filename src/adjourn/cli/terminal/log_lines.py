"""What the library logs: as talk, or as lines of JSON."""

import logging
import traceback
from collections.abc import Callable, Collection

from rich.text import Text

from adjourn.cli.terminal import console
from adjourn.cli.terminal.format import DIM
from adjourn.errors import InvalidDefinition
from adjourn.views.visible import lines, visible

FORMATS = ("text", "json")
LEVELS = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}


class _Talk(logging.Handler):
    """Log records, said."""

    def __init__(self, write: Callable[..., object]) -> None:
        super().__init__()
        self._write = write

    def emit(self, record: logging.LogRecord) -> None:
        self._write(Text(f"! {visible(record.getMessage())}", style=DIM))
        if record.exc_info and record.exc_info[1] is not None:
            self._write(*lines("".join(traceback.format_exception(record.exc_info[1])).rstrip()))


def log_to(write: Callable[..., object], level: int = logging.WARNING) -> None:
    """Give what `adjourn.*` logs to `write`, which takes lines.

    Args:
        write: takes them.
        level: the least that is written.
    """
    log = logging.getLogger("adjourn")
    log.handlers[:] = [_Talk(write)]
    log.propagate = False
    log.setLevel(level)


def log_as(kind: str, level: str) -> None:
    """How a process logs that runs for long. As JSON it says nothing else on stderr.

    Args:
        kind: `text` or `json`.
        level: `debug`, `info`, `warning` or `error`; "": `warning`, and `info` as JSON.
    """
    _check("--log-format", kind, FORMATS)
    _check("--log-level", level or "info", LEVELS)
    if kind == "text":
        log_to(console.say, LEVELS[level or "warning"])
        return
    from adjourn.cli.terminal.json_log import JsonLines

    log = logging.getLogger("adjourn")
    handler = JsonLines()
    log.handlers[:] = [handler]
    log.propagate = False
    log.setLevel(LEVELS[level or "info"])
    everything = logging.getLogger()
    if not everything.handlers:  # what tools log: a program that has its own way keeps it
        everything.addHandler(handler)
    console.say_instead(lambda line: log.info("%s", line))


def _check(name: str, given: str, known: Collection[str]) -> None:
    if given not in known:
        raise InvalidDefinition(f"{name} must be one of {', '.join(known)}, got {given!r:.80}")
