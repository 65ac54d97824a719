"""What a person reads when something did not happen: what and why, what to do, the code."""

import functools
import re
from collections.abc import Callable
from typing import Any, TypeVar

import typer
from rich.text import Text

from adjourn.cli.terminal import err, say, to_json
from adjourn.cli.visible import visible
from adjourn.cli.words import DIM
from adjourn.errors import (
    AdjournError,
    AlreadyDecided,
    Conflict,
    InterruptClosed,
    Invalid,
    InvalidAnswer,
    NotFound,
    Refused,
    StaleDecision,
    UnknownInterrupt,
    UnknownRun,
)

F = TypeVar("F", bound=Callable[..., Any])


def code_of(error: AdjournError) -> str:
    """`AlreadyDecided` → `already_decided`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", type(error).__name__).lower()


def exit_code(error: AdjournError) -> int:
    """2 for input that will fail again, 1 otherwise."""
    return 2 if isinstance(error, Invalid | NotFound) else 1


def report(error: AdjournError, what: str, *, as_json: bool = False) -> int:
    """Say on stderr what did not happen and why; the code to exit with."""
    code, message = code_of(error), str(error)
    if as_json:
        said = {"error": {"code": code, "status": error.status, "what": what, "message": message}}
        say(to_json(said, indent=None))
        return exit_code(error)
    # A message is what happened, then what to do; a list of choices has semicolons of its own.
    whole = isinstance(error, InvalidAnswer)
    why, *advice = [visible(message)] if whole else [part for part in visible(message).split("; ") if part]
    terminal = err()
    terminal.print(Text.assemble(("✗ ", "red"), (f"{what}: ", "red"), why.rstrip(".") + "."))
    if isinstance(error, Conflict) and "othing" not in message:
        terminal.print("  Nothing was changed.")
    for part in advice:
        terminal.print("  " + part[:1].upper() + part[1:].rstrip(".") + ".")
    if command := _next(error):
        terminal.print(Text.assemble("  ", ("Look again  ", DIM), command))
    terminal.print(Text(f"  {code} · {error.status}", style=DIM))
    return exit_code(error)


def _next(error: AdjournError) -> str:
    """The command that shows how things are now, for errors that say the world is not as the person thought."""
    if isinstance(error, Refused):
        return f"adjourn show {visible(error.run_id)}"
    if isinstance(error, AlreadyDecided | InterruptClosed):
        run, found, _ = error.interrupt_id.partition(":")
        return f"adjourn show {visible(run)}" if found else "adjourn inbox"
    if isinstance(error, UnknownRun):
        return "adjourn runs"
    return "adjourn inbox" if isinstance(error, UnknownInterrupt | StaleDecision) else ""


def says(what: str) -> Callable[[F], F]:
    """Turn an `AdjournError` of a command into words and an exit code: «Not approved: …»."""

    def wrap(command: F) -> F:
        @functools.wraps(command)
        def run(*args: Any, **kwargs: Any) -> Any:
            try:
                return command(*args, **kwargs)
            except AdjournError as e:
                raise typer.Exit(report(e, what, as_json=bool(kwargs.get("as_json")))) from None

        return run  # pyright: ignore[reportReturnType]

    return wrap
