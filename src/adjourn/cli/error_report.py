"""What a person reads when something did not happen: what and why, what to do, the code."""

import functools
import re
from collections.abc import Callable
from typing import Any, TypeVar

import typer
from rich.text import Text

from adjourn.cli.terminal.console import err, say, to_json
from adjourn.cli.terminal.format import DIM
from adjourn.cli.terminal.hints import command
from adjourn.core.ids import split_ref
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
from adjourn.views.visible import visible

F = TypeVar("F", bound=Callable[..., Any])
_MASK = "\ue000"


class NotShown(Invalid):
    """A person says yes to something of which not all was shown to them. Nothing was decided."""

    def __init__(self, ref: str) -> None:
        self.interrupt_id = ref
        super().__init__(
            f"{ref!r} does not fit into a line, so not all of it was shown; nothing was decided; "
            "look at it whole, or say what you saw with --digest"
        )


def code_of(error: AdjournError) -> str:
    """`AlreadyDecided` → `already_decided`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", type(error).__name__).lower()


def exit_code(error: AdjournError) -> int:
    """2 for input that will fail again, 1 otherwise."""
    return 2 if isinstance(error, Invalid | NotFound) else 1


def report(error: AdjournError, what: str, *, as_json: bool = False, db: str | None = None) -> int:
    """Say on stderr what did not happen and why; the code to exit with.

    Args:
        error: why.
        what: what did not happen, for example "Not approved".
        as_json: as data, on one line.
        db: the database as it was named, for the command that shows how things are.
    """
    code, message = code_of(error), str(error)
    if as_json:
        said = {"error": {"code": code, "status": error.status, "what": what, "message": message}}
        say(to_json(said, indent=None))
        return exit_code(error)
    why, *advice = _parts(error)
    terminal = err()
    terminal.print(Text.assemble(("✗ ", "red"), (f"{what}: ", "red"), why.rstrip(".") + "."))
    if isinstance(error, Conflict) and "othing" not in message:
        terminal.print("  Nothing was changed.")
    for part in advice:
        end = "" if ": adjourn " in part else "."  # what is typed ends where it ends
        terminal.print("  " + part[:1].upper() + part[1:].rstrip(".") + end)
    if typed := _next(error, db):
        word = "Look first" if isinstance(error, NotShown) else "Look again"
        terminal.print(Text.assemble("  ", (f"{word}  ", DIM), typed))
    terminal.print(Text(f"  {code} · {error.status}", style=DIM))
    return exit_code(error)


def _parts(error: AdjournError) -> list[str]:
    """A message is what happened, then what to do; a list of choices, and an id, has semicolons of its own."""
    message = str(error)
    if isinstance(error, InvalidAnswer):
        return [visible(message)]
    for name in ("run_id", "interrupt_id"):
        if id := getattr(error, name, ""):
            message = message.replace(id, id.replace("; ", f";{_MASK}"))
    return [visible(part.replace(_MASK, " ")) for part in message.split("; ") if part]


def _next(error: AdjournError, db: str | None) -> str:
    """The command that shows how things are now, for errors that say the world is not as the person thought."""
    if isinstance(error, Refused):
        return command(db, "show", error.run_id)
    if isinstance(error, NotShown):
        return command(db, "inbox", error.interrupt_id)
    if isinstance(error, AlreadyDecided | InterruptClosed) and (ref := split_ref(error.interrupt_id)):
        return command(db, "show", ref[0])
    if isinstance(error, UnknownRun):
        return command(db, "runs")
    again = (AlreadyDecided, InterruptClosed, UnknownInterrupt, StaleDecision)
    return command(db, "inbox") if isinstance(error, again) else ""


def says(what: str) -> Callable[[F], F]:
    """Turn an `AdjournError` of a command into words and an exit code: «Not approved: …»."""

    def wrap(function: F) -> F:
        @functools.wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            try:
                return function(*args, **kwargs)
            except AdjournError as e:
                raise typer.Exit(report(e, what, as_json=bool(kwargs.get("as_json")), db=kwargs.get("db"))) from None

        return run  # pyright: ignore[reportReturnType]

    return wrap
