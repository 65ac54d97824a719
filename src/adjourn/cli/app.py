"""The command line: thin translations of the runtime's verbs, grouped by what a person does with them."""

import platform

import typer

from adjourn.cli import controlling, deciding, demo, history, reading, working
from adjourn.cli.options import Json
from adjourn.cli.terminal import out, print_json

app = typer.Typer(
    name="adjourn",
    help="Durable, interruptible agents: look at runs, decide what waits for a person, pause, resume and cancel.",
    epilog="Exit codes: 0 done, 1 failed, 2 wrong input, 3 waiting for a person, 4 cancelled.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    rich_markup_mode=None,
)
for part in (demo, reading, deciding, controlling, history, working):
    app.registered_commands += part.app.registered_commands


@app.command()
def version(as_json: Json = False) -> None:
    """Print the versions of Adjourn, Python and SQLite."""
    from importlib.metadata import version as installed

    import apsw

    found = {"adjourn": installed("adjourn"), "python": platform.python_version(), "sqlite": apsw.sqlite_lib_version()}
    if as_json:
        print_json(found)
    else:
        out().print(f"adjourn {found['adjourn']}, Python {found['python']}, SQLite {found['sqlite']}")
