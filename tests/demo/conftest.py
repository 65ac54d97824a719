"""The demo is started as the command line's tests start theirs."""

from tests.cli.conftest import _alone, process, terminal

__all__ = ["_alone", "process", "terminal"]
