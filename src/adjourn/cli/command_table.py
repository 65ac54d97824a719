"""The command line: thin translations of the runtime's verbs. A command's module is loaded when it
is called."""

import platform
from functools import cache
from importlib import import_module
from typing import Annotated, Any

import typer
from typer._click.exceptions import ClickException
from typer.core import TyperGroup
from typer.main import get_group

from adjourn.cli.options import Json
from adjourn.cli.tenant_option import add_tenant

GROUPS: dict[str, dict[str, str]] = {
    "Run": {
        "demo": "commands.demo",
        "run": "commands.run",
        "start": "commands.start",
        "schedule": "commands.schedule",
        "worker": "commands.worker",
        "serve": "commands.serve",
        "mcp": "commands.mcp",
    },
    "Inspect": {
        "runs": "commands.runs",
        "show": "commands.runs",
        "requests": "commands.requests",
        "watch": "commands.watch",
        "workers": "commands.workers",
        "inbox": "commands.inbox",
        "policies": "commands.policies",
        "audit": "commands.audit",
        "numbers": "commands.numbers",
        "compare": "commands.compare",
    },
    "Decide": {
        "approve": "commands.inbox",
        "deny": "commands.inbox",
        "answer": "commands.inbox",
        "dismiss": "commands.inbox",
        "retry": "commands.inbox",
        "assign": "commands.item_notes",
        "snooze": "commands.item_notes",
        "comment": "commands.item_notes",
        "standing": "commands.standing_decisions",
        "revoke": "commands.standing_decisions",
    },
    "Steer": {
        "pause": "commands.control",
        "resume": "commands.control",
        "cancel": "commands.cancel",
        "bulk": "commands.bulk",
        "accept": "commands.control",
        "say": "commands.control",
        "chapter": "commands.control",
        "fork": "commands.fork",
        "again": "commands.again",
        "halt": "commands.control",
        "unhalt": "commands.control",
        "erase": "commands.erase",
        "hold": "commands.erase",
    },
    "Files": {
        "checkpoint": "commands.checkpoint",
        "db": "commands.db",
    },
    "Maintain": {
        "doctor": "commands.doctor",
        "user": "commands.user",
        "notify": "commands.notify",
        "keys": "commands.keys",
        "version": "command_table",
    },
}
"""Every command, in the groups and in the order of the help, and the module of this package that
has it."""
COMMANDS = {name: module for group in GROUPS.values() for name, module in group.items()}
HELP_NAMES = {"help_option_names": ["-h", "--help"]}


@cache
def _command(name: str) -> Any:
    """One of `COMMANDS`: made of its functions once, which takes longer than most commands do."""
    module = import_module(f"adjourn.cli.{COMMANDS[name]}")
    if module.__name__ == __name__:
        part: typer.Typer = own
    else:
        part = module.app
    part.rich_markup_mode = None  # what a help says is text
    group: Any = get_group(part)
    return add_tenant(group.commands.get(name, group), name)


class Commands(TyperGroup):
    """The commands of `COMMANDS`. Looking one up loads its module and no other.

    A word that is none of them, or no option of theirs, is answered with those that are like it.
    """

    def list_commands(self, ctx: Any) -> list[str]:
        """Their names."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of this name, or None."""
        if cmd_name not in COMMANDS:
            return None
        return _command(cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that the first word names; `help` in front of it asks for its help."""
        if args[0] == "help":
            args = [*args[1:], "--help"]
            if len(args) == 1:
                _print_help(ctx)
        if args[0] not in COMMANDS:
            from adjourn.cli.suggestions import meant

            ctx.fail(f"Unknown command {args[0]!r}.{meant(args[0], COMMANDS)}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the command; a wrong option of it is answered with the right one."""
        try:
            return super().invoke(ctx)
        except ClickException as wrong:
            near = getattr(wrong, "possibilities", None)
            if near:
                wrong.message = f"{wrong.message}. Did you mean {' or '.join(sorted(near))}?"
                wrong.__dict__["possibilities"] = None
            raise

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """The commands of the help, under the names of their groups."""
        wide = max(map(len, COMMANDS))
        for group, commands in GROUPS.items():
            limit = formatter.width - 6 - wide
            rows = [
                (name.ljust(wide), self.get_command(ctx, name).get_short_help_str(limit))
                for name in commands
            ]
            with formatter.section(group):
                formatter.write_dl(rows)


def _print_help(ctx: Any) -> None:
    typer.echo(ctx.get_help())
    raise typer.Exit


app = typer.Typer(
    cls=Commands,
    name="adjourn",
    help=(
        "Durable, interruptible agents: run them, inspect runs, decide what waits for a "
        "person, pause, resume and cancel."
    ),
    epilog="Exit codes: 0 done, 1 failed, 2 wrong input, 3 waiting for a person, 4 cancelled.",
    context_settings=HELP_NAMES,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
own = typer.Typer()


@app.callback(invoke_without_command=True)
def adjourn(
    ctx: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", help="Print the versions and exit.")
    ] = False,
) -> None:
    """Print what was asked for without a command: the versions, or the help."""
    if ctx.invoked_subcommand is not None:
        return
    if version:
        typer.echo(_versions_line(_versions()))
    else:
        _print_help(ctx)


@own.command()
def version(as_json: Json = False) -> None:
    """Print the versions of Adjourn, Python and SQLite."""
    found = _versions()
    if as_json:
        from adjourn.cli.terminal.console import print_json

        print_json(found)
    else:
        typer.echo(_versions_line(found))


def _versions() -> dict[str, str]:
    from importlib.metadata import version as installed

    import apsw

    return {
        "adjourn": installed("adjourn"),
        "python": platform.python_version(),
        "sqlite": apsw.sqlite_lib_version(),
    }


def _versions_line(found: dict[str, str]) -> str:
    return f"adjourn {found['adjourn']}, Python {found['python']}, SQLite {found['sqlite']}"
