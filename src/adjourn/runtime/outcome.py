"""How a call to `run`, `resume` or `wait` ended."""

from typing import TYPE_CHECKING, Any, Generic, Never, final

import msgspec
from typing_extensions import TypeIs, TypeVar

from adjourn.core.doubt import left_behind
from adjourn.core.interrupt import Interrupt
from adjourn.core.records import RunCancelled, RunCompleted
from adjourn.core.state import State
from adjourn.core.usage import Usage
from adjourn.errors import NoOutput, RunFailed, bare
from adjourn.runtime.checkpoint import Checkpoint

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T", default=str)


class RestState(msgspec.Struct, frozen=True, kw_only=True):
    """What every outcome has."""

    status: str
    run_id: str
    checkpoint: Checkpoint
    usage: Usage

    def _no_output(self, why: str, advice: str) -> NoOutput:
        what = f"run {bare(self.run_id)} {why}"
        return NoOutput(what, self.run_id, self.status, advice=advice)

    def __repr__(self) -> str:
        shown = [name for name in self.__struct_fields__ if name not in ("checkpoint", "usage")]
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"


@final
class Completed(RestState, Generic[T], frozen=True, kw_only=True):
    """The run has ended with an output.

    Attributes:
        status: the run's status.
        run_id: the run's id.
        checkpoint: the run as data, to save or to continue with.
        usage: tokens and cost so far.
        output: the output.
        by: the stop condition that ended it, if one did.
    """

    output: T
    by: str = ""


@final
class Paused(RestState, frozen=True, kw_only=True):
    """The run is waiting.

    Attributes:
        status: `"waiting"` for answers, `"paused"` by a person, or `"stuck"`: a cancel needs a
            person.
        run_id: the run's id.
        checkpoint: the run as data, to save or to continue with.
        usage: tokens and cost so far.
        interrupts: what it waits for.
    """

    interrupts: list[Interrupt]

    @property
    def output(self) -> Never:
        """There is none yet."""
        what = f"is {self.status} and has no output yet"
        raise self._no_output(what, "answer its interrupts and resume it")


@final
class Stopped(RestState, frozen=True, kw_only=True):
    """A limit ended the run.

    Attributes:
        status: the run's status.
        run_id: the run's id.
        checkpoint: the run as data, to save or to continue with.
        usage: tokens and cost so far.
        by: the condition that tripped.
        partial: the last text of the agent.
    """

    by: str
    partial: str

    @property
    def output(self) -> Never:
        """There is none."""
        what = f"was stopped by {self.by} and has no output"
        raise self._no_output(what, "see .partial for its last text, or raise the limit")


@final
class Cancelled(RestState, frozen=True, kw_only=True):
    """The run was cancelled.

    Attributes:
        status: the run's status.
        run_id: the run's id.
        checkpoint: the run as data, to save or to continue with.
        usage: tokens and cost so far.
        undone: the calls that were undone.
        residue: the calls that were not.
    """

    undone: list[str]
    residue: list[dict[str, Any]]

    @property
    def output(self) -> Never:
        """There is none."""
        raise self._no_output("was cancelled and has no output", "see .undone and .residue")


Outcome = Completed[T] | Paused | Stopped | Cancelled
"""Every way a run can end or come to rest."""


def is_paused(outcome: "Outcome[Any]") -> TypeIs[Paused]:
    """Whether the run is waiting for a person. A `TypeIs`: the outcome is `Paused` afterwards.

    Args:
        outcome: what a run returned.
    """
    return isinstance(outcome, Paused)


def outcome_of(
    state: State,
    checkpoint: Checkpoint,
    load: "Callable[[Any], Any]",
    cause: BaseException | None = None,
    *,
    stored: bool = False,
) -> "Outcome[Any]":
    """The outcome of a run at rest; raises `RunFailed` if only errors are open.

    Args:
        state: of the run.
        checkpoint: the run as data.
        load: makes the output of its recorded form.
        cause: what was raised.
        stored: the run is in a store: it is resumed there, not a copy of it here.
    """
    common: dict[str, Any] = {"run_id": state.run, "checkpoint": checkpoint, "usage": state.usage}
    ended = state.ended
    if isinstance(ended, RunCancelled):
        return Cancelled(
            status="cancelled", undone=list(ended.undone), residue=left_behind(state), **common
        )
    if isinstance(ended, RunCompleted):
        if ended.stopped:
            return Stopped(status="stopped", by=ended.stopped, partial=ended.output or "", **common)
        return Completed(
            status="completed",
            output=ended.output if ended.by else load(ended.output),
            by=ended.by,
            **common,
        )
    if state.failed:
        raise failure(state, checkpoint, stored=stored) from cause
    return Paused(
        status=state.status.value if state.status else "", interrupts=state.interrupts, **common
    )


def failure(state: State, checkpoint: Checkpoint, *, stored: bool = False) -> RunFailed:
    """The error of a failed run. `stored`: see `outcome_of`."""
    payloads = [o.record.payload for o in state.open.values() if o.record.kind == "error"]
    errors = "; ".join(str(p.get("error")) for p in payloads)
    resumable = all(p.get("can_resume", True) for p in payloads)
    if stored:
        how = "run.resume()"
    elif state.flow is None:
        how = "agent.resume(error.checkpoint)"
    else:
        how = "resume()"
    if resumable:
        advice = f"call {how} to retry the failed step"
    else:
        advice = f"a retry alone will not help: fix the cause, then call {how}"
    return RunFailed(
        f"run {bare(state.run)} failed: {errors}",
        checkpoint,
        run_id=state.run,
        resumable=resumable,
        consequence="finished calls will not run again",
        advice=advice,
    )
