"""What a server or a worker logs, one JSON object a line, on stderr.

A line says when, how grave, which logger, what, and to which run, step and worker it belongs. Of an
error it says the type and the places in the code; its text only if it is one of ours, because the
text of any other may hold arguments or secrets."""

import json
import logging
import os
import socket
import sys
import traceback
from datetime import UTC, datetime
from typing import Any, TextIO

from adjourn.driver.log_place import log_place
from adjourn.errors import AdjournError


class JsonLines(logging.Handler):
    """Writes each record as one line.

    Args:
        stream: where; without one, stderr as it is when a line is written.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        super().__init__()
        self._stream = stream
        self._worker = f"{socket.gethostname()}:{os.getpid()}"

    def emit(self, record: logging.LogRecord) -> None:
        """Write it; a stream that is closed is no reason to fail."""
        try:
            stream = self._stream or sys.stderr
            stream.write(json.dumps(self._fields(record), ensure_ascii=True, default=str) + "\n")
            stream.flush()
        except (OSError, ValueError):
            pass

    def _fields(self, record: logging.LogRecord) -> dict[str, Any]:
        at = datetime.fromtimestamp(record.created, UTC)
        fields: dict[str, Any] = {
            "time": at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            "worker": self._worker,
        }
        run, step = log_place()
        if run:
            fields["run_id"] = run
        if step:
            fields["step"] = step
        for name in ("fields", "security"):
            given: Any = getattr(record, name, None)
            if isinstance(given, dict):
                fields |= {str(key): value for key, value in given.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        if record.exc_info and record.exc_info[1] is not None:
            fields |= _of_error(record.exc_info[1])
        return fields


def _of_error(error: BaseException) -> dict[str, Any]:
    kind = type(error)
    found: dict[str, Any] = {"error": f"{kind.__module__}.{kind.__qualname__}"}
    if isinstance(error, AdjournError):
        found["error_text"] = str(error)
    places: list[str] = []
    for frame in traceback.extract_tb(error.__traceback__):
        places.append(f"{frame.filename}:{frame.lineno} {frame.name}")
    found["stack"] = places
    return found
