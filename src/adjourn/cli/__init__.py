"""The `adjourn` command: the runtime's verbs on a database file."""


def main() -> None:
    """Run the command that the arguments name, and exit with its code."""
    from adjourn.cli.command_table import app  # typer and rich are loaded for the command only

    app(prog_name="adjourn")
