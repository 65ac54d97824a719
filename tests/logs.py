"""What a test reads of the log: what this project said, whatever else the process logs meanwhile."""

import logging

import pytest


def ours(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    """The lines of this project's loggers: asyncio complains of tasks that an earlier test left behind whenever garbage is
    collected."""
    return [line for line in caplog.records if line.name.partition(".")[0] == "adjourn"]
