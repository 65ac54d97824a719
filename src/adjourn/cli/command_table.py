"""The command line: thin translations of the runtime's verbs. A command's module is loaded when it
is called."""

import platform
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_group

from adjourn.cli.options import Json

COMMANDS = {
    "demo": "commands.demo",
    "run": "commands.run",
    "runs": "commands.runs",
    "show": "commands.runs",
    "requests": "commands.requests",
    "watch": "commands.watch",
    "inbox": "commands.inbox",
    "approve": "commands.inbox",
    "deny": "commands.inbox",
    "answer": "commands.inbox",
    "retry": "commands.inbox",
    "pause": "commands.control",
    "resume": "commands.control",
    "cancel": "commands.control",
    "accept": "commands.control",
    "say": "commands.control",
    "chapter": "commands.control",
    "fork": "commands.fork",
    "halt": "commands.control",
    "unhalt": "commands.control",
    "erase": "commands.erase",
    "hold": "commands.erase",
    "audit": "commands.audit",
    "checkpoint": "commands.checkpoint",
    "serve": "commands.serve",
    "worker": "commands.worker",
    "db": "commands.db",
    "user": "commands.user",
    "keys": "commands.keys",
    "doctor": "commands.doctor",
    "version": "command_table",
}
"""Every command, in the order of the help, and the module of this package that has it."""


class Commands(TyperGroup):
    """The commands of `COMMANDS`. Looking one up loads its module and no other."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Their names."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of this name, or None."""
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"adjourn.cli.{COMMANDS[cmd_name]}")
        if module.__name__ == __name__:
            part: typer.Typer = own
        else:
            part = module.app
        part.rich_markup_mode = None  # what a help says is text
        group: Any = get_group(part)
        return group.commands.get(cmd_name, group)


app = typer.Typer(
    cls=Commands,
    name="adjourn",
    help=(
        "Durable, interruptible agents: run them, inspect runs, decide what waits for a "
        "person, pause, resume and cancel."
    ),
    epilog="Exit codes: 0 done, 1 failed, 2 wrong input, 3 waiting for a person, 4 cancelled.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
own = typer.Typer()


@app.callback()
def adjourn() -> None:
    """Only so that there is something to call."""


@own.command()
def version(as_json: Json = False) -> None:
    """Print the versions of Adjourn, Python and SQLite."""
    from importlib.metadata import version as installed

    import apsw

    found = {
        "adjourn": installed("adjourn"),
        "python": platform.python_version(),
        "sqlite": apsw.sqlite_lib_version(),
    }
    if as_json:
        from adjourn.cli.terminal.console import print_json

        print_json(found)
    else:
        typer.echo(
            f"adjourn {found['adjourn']}, Python {found['python']}, SQLite {found['sqlite']}"
        )
