"""Halts in a terminal: each with how many runs it holds, and a warning for a name that nothing has."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from rich.text import Text

from adjourn.cli.terminal.console import give, out, say
from adjourn.cli.terminal.format import count
from adjourn.cli.terminal.hints import command
from adjourn.core.halt import scope_parts
from adjourn.runtime.halt_survey import SurveyedHalts
from adjourn.stores.protocol import Halt
from adjourn.views.halt_scope import HaltScope
from adjourn.views.visible import visible


@dataclass(frozen=True, slots=True)
class LiftedHalt:
    """A halt that was lifted just now: how many runs it held, and how many another halt still holds."""

    halt: Halt
    held: int
    still_held: int


def print_halts(
    halts: Sequence[Halt], found: SurveyedHalts, as_json: bool, lifted: LiftedHalt | None = None
) -> None:
    """Print the halts that are on, after the one that was lifted.

    Args:
        halts: the halts.
        found: what they hold.
        as_json: as data.
        lifted: the halt that was lifted just now.
    """
    scopes = {item.scope: item for item in found.items}
    if give(as_json, [_data(halt, scopes) for halt in halts]):
        return
    terminal = out()
    if lifted is not None:
        terminal.print(_lifted_line(lifted, found.complete))
    for halt in halts:
        held = f"  ({held_words(scopes[halt.scope], found.complete)})"
        terminal.print(halt_line(halt) + held)
    if not halts:
        terminal.print("Nothing is halted." if lifted is None else "Nothing else is halted.")


def _lifted_line(lifted: LiftedHalt, complete: bool) -> str:
    """What was lifted, and for how many runs: they are counted before, for they continue at once."""
    free = max(0, lifted.held - lifted.still_held)
    at_least = "" if complete else "at least "
    words = f"{at_least}{count(free, 'run')} no longer held"
    if lifted.still_held:
        words += f", {lifted.still_held} still held by another halt"
    return f"lifted    {visible(halt_words(lifted.halt))}  ({words})"


def halt_words(halt: Halt) -> str:
    """A halt: `tool:refund  by ana: incident 7`; names are as they were recorded."""
    return f"{halt.scope}  by {halt.by}: {halt.reason}"


def halt_line(halt: Halt) -> Text:
    """A halt as a line."""
    return Text.assemble(("■ halted  ", "red"), visible(halt_words(halt)))


def print_would_halt(found: SurveyedHalts, wanted: str, as_json: bool) -> None:
    """Print what a halt would hold now; nothing is halted.

    Args:
        found: what can be halted.
        wanted: the scope that would be halted.
        as_json: as data.
    """
    scope = found.of(wanted)
    if give(as_json, {**_held(scope), "scope": scope.scope, "dry_run": True}):
        return
    words = f"  ({held_words(scope, found.complete)})"
    out().print(Text.assemble("would halt  ", visible(scope.scope), words))
    if not scope.known:
        kind, name = scope_parts(scope.scope)
        near = ", ".join(visible(one) for one in scope.near)
        meant = f" Did you mean {near}?" if near else ""
        say(f"! No {kind} here is called {visible(name)}.{meant}")


def held_words(scope: HaltScope, complete: bool = True) -> str:
    """What a halt holds, in words: `3 runs held, 1 call finishing`.

    Args:
        scope: what is halted.
        complete: whether every open run was counted.
    """
    at_least = "" if complete else "at least "
    words = f"{at_least}{count(scope.holds, 'run')} held"
    if scope.finishing:
        words += f", {count(scope.finishing, 'call')} finishing"
    return words


def warn_of_unknown(scope: HaltScope, db: str | None, reason: str) -> None:
    """Say that nothing here has the name that was halted, and which one may have been meant.

    Args:
        scope: what was halted.
        db: the database as it was named.
        reason: why it was halted.
    """
    if scope.known:
        return
    kind, name = scope_parts(scope.scope)
    say(
        f"! No {kind} here is called {visible(name)}. The halt is on, but it holds nothing in "
        "this store."
    )
    for near in scope.near:
        meant = command(db, "halt", f"{kind}:{near}", options=("--reason", reason))
        say(f"  Did you mean {visible(near)}?  {meant}")


def _data(halt: Halt, scopes: Mapping[str, HaltScope]) -> dict[str, Any]:
    return {**msgspec.to_builtins(halt), **_held(scopes[halt.scope])}


def _held(scope: HaltScope) -> dict[str, Any]:
    return {
        "known": scope.known,
        "near": list(scope.near),
        "holds": scope.holds,
        "finishing": scope.finishing,
        "waiting": scope.waiting,
    }
