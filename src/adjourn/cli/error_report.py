"""What a person reads when something did not happen: what and why, what to do, the code."""

import functools
import traceback
from collections.abc import Callable
from typing import Any, TypeVar

import typer
from rich.text import Text

from adjourn.cli.terminal.console import err, say, to_json
from adjourn.cli.terminal.format import DIM
from adjourn.cli.terminal.hints import DIGITS, command, typed_again
from adjourn.cli.terminal.interrupt import list_line
from adjourn.core.ids import split_ref
from adjourn.core.interrupt import Interrupt
from adjourn.core.secret_places import has_secrets
from adjourn.errors import (
    AdjournError,
    AlreadyDecided,
    ForkRefused,
    InterruptClosed,
    Invalid,
    InvalidDefinition,
    NotFound,
    Refused,
    StaleDecision,
    UnknownInterrupt,
    UnknownRun,
    bare,
)
from adjourn.views.visible import lines, visible

F = TypeVar("F", bound=Callable[..., Any])


class NotShown(Invalid):
    """A person approves something of which only part was shown to them. Nothing was decided."""

    interrupt_id: str

    def __init__(self, ref: str) -> None:
        super().__init__(
            f"{bare(ref)} does not fit on one line, so only part of it was shown",
            consequence="nothing was decided",
            advice="show all of it first, or pass what you saw with --digest",
            interrupt_id=ref,
        )


class NotNamed(Invalid):
    """A person decides what a run asks now, and neither named it nor was shown it. Nothing was
    decided."""

    interrupt_id: str
    digest: str
    whole: bool
    """Whether the error itself shows all of it."""

    def __init__(self, item: str, interrupt: Interrupt) -> None:
        line = list_line(interrupt)
        super().__init__(
            f"{item!r:.200} does not say which item, and what waits there now was not shown to you: "
            f"{line.text}",
            consequence="nothing was decided",
            advice="name the item, so that repeating the command decides nothing else",
            interrupt_id=interrupt.ref,
            digest=interrupt.digest,
        )
        # what was typed as a secret is not said again
        self.whole = line.whole and not has_secrets(interrupt.answer_schema)


class NotImportable(InvalidDefinition):
    """The user's own module raised while it was imported. `trace` is its traceback."""

    def __init__(self, where: str, error: BaseException) -> None:
        self.trace = "".join(traceback.format_exception(error))
        super().__init__(
            f"{where} cannot be imported: {type(error).__name__}: {error}; fix it and start again"
        )


def exit_code(error: AdjournError) -> int:
    """2 for input that will fail again, 1 otherwise."""
    if isinstance(error, Invalid | NotFound | ForkRefused):
        return 2
    return 1


def report(error: AdjournError, what: str, *, as_json: bool = False, db: str | None = None) -> int:
    """Say on stderr what did not happen and why; the code to exit with.

    Args:
        error: why.
        what: what did not happen, for example "Not approved".
        as_json: as data, on one line.
        db: the database as it was named, for the command that shows how things are.
    """
    if as_json:
        say(to_json({"error": error_json(error, what)}, indent=None))
        return exit_code(error)
    terminal = err()
    terminal.print(
        Text.assemble(("✗ ", "red"), (f"{what}: ", "red"), _sentence(str(error.what) or str(error)))
    )
    for part in (error.consequence, error.advice):
        if part:
            terminal.print("  " + _sentence(part[:1].upper() + part[1:]))
    word, typed = _next(error, db)
    if typed:
        terminal.print(Text.assemble("  ", (f"{word}  ", DIM), typed))
    terminal.print(Text(f"  {error.code} · {error.status}", style=DIM))
    return exit_code(error)


def error_json(error: AdjournError, title: str = "") -> dict[str, Any]:
    """An error as data: its parts, the whole as `message`, and its facts.

    Args:
        error: the error.
        title: what did not happen, for example "Not approved".
    """
    return {**error.fields, "status": error.status, "title": title, "message": str(error)}


def _sentence(part: str) -> str:
    """A part of an error with its full stop, except behind a command: what is typed ends where it
    ends."""
    text = visible(part)
    if ": adjourn " in text or text[-1:] == "?":
        return text
    return text.rstrip(".") + "."


def _next(error: AdjournError, db: str | None) -> tuple[str, str]:
    """What to do next, and the command: for errors that say that the world is not as the person
    thought."""
    if isinstance(error, NotNamed) and error.whole:
        seen = {"item": error.interrupt_id, "digest": error.digest[:DIGITS]}
        return "This one", typed_again(db, seen)  # the item itself, and only as it was shown
    if isinstance(error, NotNamed | NotShown):
        return "Look first", command(db, "inbox", error.interrupt_id)
    again = ""
    if isinstance(error, Refused):
        again = command(db, "show", error.run_id)
    elif isinstance(error, AlreadyDecided | InterruptClosed) and (
        ref := split_ref(error.interrupt_id)
    ):
        again = command(db, "show", ref[0])
    elif isinstance(error, UnknownRun):
        again = command(db, "runs")
    elif isinstance(error, AlreadyDecided | InterruptClosed | UnknownInterrupt | StaleDecision):
        again = command(db, "inbox")
    return "Look again", again


def _unreadable(error: OSError) -> Invalid:
    """A file that somebody named, and that the system does not let us have."""
    return Invalid(
        f"{str(error.filename)!r:.200} cannot be used: {error.strerror}",
        advice="check the path, and whether you may read and write there",
    )


def says(what: str) -> Callable[[F], F]:
    """Turn an `AdjournError` of a command, or a file that cannot be had, into words and an exit
    code: «Not approved: …»."""

    def wrap(function: F) -> F:
        @functools.wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            try:
                return function(*args, **kwargs)
            except OSError as e:
                if e.filename is None:
                    raise
                error: AdjournError = _unreadable(e)
            except AdjournError as e:
                error = e
            if isinstance(error, NotImportable):
                say(*lines(error.trace.rstrip()))
            raise typer.Exit(
                report(error, what, as_json=bool(kwargs.get("as_json")), db=kwargs.get("db"))
            )

        return run  # pyright: ignore[reportReturnType]

    return wrap
