"""The `adjourn` command: the runtime's verbs on a database file."""

import os
import sys

ABORTS_AT_EXIT = "temporalio.bridge.runtime"
"""The threads of this module may abort a process while its interpreter ends, with exit code 134."""


def main() -> None:
    """Run the command that the arguments name, and exit with its code."""
    from adjourn.cli.command_table import app  # typer and rich are loaded for the command only

    try:
        app(prog_name="adjourn")
    except SystemExit as end:
        if ABORTS_AT_EXIT in sys.modules and (end.code is None or isinstance(end.code, int)):
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(end.code or 0)  # everything is closed and said
        raise
