"""How a saved run is continued: whatever can be wrong is found before anything is recorded. Every
resume is one of these."""

import inspect
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from adjourn.core.ids import check_imported
from adjourn.core.program_changes import changes
from adjourn.core.record_effects import Together
from adjourn.core.records import Command, Resumed, Said
from adjourn.core.state import State
from adjourn.core.status import ENDED, Status
from adjourn.errors import (
    AlreadyDecided,
    AlreadyResumed,
    AnswerRequired,
    Invalid,
    ProgramChanged,
    Refused,
    RunExists,
)
from adjourn.runtime.arguments import check_same
from adjourn.runtime.checked_answers import MISSING, answers_for, describe, is_answer_needed
from adjourn.runtime.checkpoint import Checkpoint
from adjourn.runtime.definition import Definition, OnChange
from adjourn.runtime.program_choice import check_resources
from adjourn.runtime.run import Run
from adjourn.runtime.run_start import at_home
from adjourn.runtime.upgraders import upgraded
from adjourn.stores.run_row import RunRow

if TYPE_CHECKING:
    from adjourn.runtime.runtime import Runtime


class Continuation(msgspec.Struct, frozen=True, kw_only=True):
    """What is said to a saved run as it continues.

    Attributes:
        answer: for the one interrupt that is open.
        answers: by the id of their interrupts: any of those that are open.
        approved: for the one interrupt that is open: yes or no.
        instruction: what the agent reads as it continues.
        by: who says all this.
        on_change: what to do if the definition has changed; None: what the definition itself says.
        attended: a person is there who will be asked: answers may be missing.
    """

    answer: Any = MISSING
    answers: Mapping[str, Any] | None = None
    approved: bool | None = None
    instruction: str | None = None
    by: str = ""
    on_change: OnChange | None = None
    attended: bool = False


class Prepared(msgspec.Struct, frozen=True, kw_only=True):
    """A saved run that can continue.

    Attributes:
        saved: its records, with those of an upgrade behind them if it needs one and the store does
            not have it.
        commands: what was said to it, checked, in order.
        is_stored: whether the store has the run.
        at: the last record that whoever continues it knows.
    """

    saved: Checkpoint
    commands: tuple[Command, ...]
    is_stored: bool
    at: int


async def prepare(
    saved: Checkpoint,
    definition: Definition[Any] | None,
    wanted: Continuation,
    now: float,
    *,
    row: RunRow | None = None,
    resources: Mapping[str, Any] | None = None,
) -> Prepared:
    """Check everything that can be wrong with continuing a saved run. Nothing is recorded.

    Args:
        saved: the run.
        definition: what continues it, if that is known here. It is given, not looked up by its
            name: whether it is another agent is one of the things that are checked.
        wanted: what is said to it.
        now: the time, by the store's clock.
        row: the run as the store has it, if it does.
        resources: the live objects that there are, if it continues here; None: that is for whoever
            continues it to say.
    """
    _check_instruction(wanted.instruction)
    fitted = saved
    if definition is not None:
        fitted = fitting(saved, definition, wanted.on_change)
        if resources is not None:
            check_resources(definition.program, resources)
    if row is not None:
        check_same(row, saved)
        fitted = saved  # whoever takes it upgrades what the store has
    commands = await _commands(fitted.state, wanted, now)
    if wanted.instruction and definition is not None:
        definition.program.check_requester(wanted.by)
    return Prepared(saved=fitted, commands=commands, is_stored=row is not None, at=fitted.seq)


def fitting(
    saved: Checkpoint, definition: Definition[Any], on_change: OnChange | None = None
) -> Checkpoint:
    """The saved run as this definition continues it: upgraded, if it has changed and there is an
    upgrader.

    Raises `ProgramChanged`, naming what has changed; or, with `on_change="warn"`, warns.
    """
    fitted = upgraded(saved, definition.name, definition.fingerprint)
    found = changes(definition.name, fitted.state.fingerprint, definition.fingerprint)
    if found and (on_change or definition.on_change) != "warn":
        raise ProgramChanged(definition.name, found)
    if found:
        text = f"{definition.name!r} has changed since the run started: {'; '.join(found)}"
        warnings.warn(text, stacklevel=_level_of_caller())
    return fitted


def resuming(state: State, instruction: str | None, by: str) -> list[Command]:
    """What lets a run go on that was paused, or tells another one something."""
    if state.status in (Status.PAUSED, Status.PAUSING):
        return [Resumed(instruction=instruction or "", by=by)]
    if instruction:
        return [Said(text=instruction, by=by)]
    return []


async def _commands(state: State, wanted: Continuation, now: float) -> tuple[Command, ...]:
    if state.status in ENDED:
        if state.started.kind == "agent":
            advice = "start the next turn with after=checkpoint"
        else:
            advice = ""
        raise Refused(state.run, "resume", state.view, advice=advice)
    decisions = await answers_for(
        state, wanted.answer, wanted.answers, wanted.approved, wanted.by, now
    )
    silent = not decisions and not wanted.instruction and not wanted.attended
    if silent and is_answer_needed(state, now):
        raise AnswerRequired(describe(state))
    return (*decisions, *resuming(state, wanted.instruction, wanted.by))


def _check_instruction(instruction: Any) -> None:
    if instruction is not None and not isinstance(instruction, str):
        raise Invalid(f"instruction= must be a string, got {type(instruction).__name__}")


def _level_of_caller() -> int:
    """How far up whoever called this package is, for a warning."""
    level, frame = 0, inspect.currentframe()
    while frame is not None and str(frame.f_globals.get("__name__")).startswith("adjourn."):
        level, frame = level + 1, frame.f_back
    return level


async def enter(rt: "Runtime", prepared: Prepared, *, is_new: bool = False) -> Run[Any]:
    """Continue a saved run in this runtime: create it, if the store does not have it, say what is
    said to it, and wake it.

    Args:
        rt: the runtime.
        prepared: the run, and what is said to it.
        is_new: it is a run of its own: `RunExists` if there is one of its id. Else `AlreadyResumed`
            if the run has moved on.
    """
    saved, run = prepared.saved, prepared.saved.run_id
    check_imported(run)
    rt.signatures.check_key(run, prepared.commands)
    with rt.worker.expecting(run):
        if not prepared.is_stored:
            home = await at_home(rt, saved)
            new = await rt.store.create(
                home.started, home.records[1:], origin=rt.origin, blobs=home.files
            )
            if not new:
                if is_new:
                    raise RunExists(run, taken=True)
                check_same(await rt.store.get(run), saved)  # somebody else was first
        # the first settles who resumes: only if nothing has come since
        at = 0 if is_new else prepared.at
        sealed = [await rt.signatures.sealed(run, command) for command in prepared.commands]
        try:
            if sealed:
                await rt.store.deliver(run, Together(tuple(sealed)), origin=rt.origin, at=at)
        except (AlreadyDecided, Refused):
            if is_new:
                raise
            row = await rt.store.get(run)
            if row.seq == saved.seq:  # nobody was first
                raise
            raise AlreadyResumed(run, saved.seq, row.seq, row.status.value) from None
        rt.worker.wake(run)
    return Run(rt, run)
