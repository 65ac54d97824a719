"""Everything Adjourn raises. Each error says what happened and what to do next, and owns its HTTP status."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from adjourn.runtime.checkpoint import Checkpoint


class AdjournError(Exception):
    """The root of everything raised here. Each can be pickled: a process pool gives it back as it was."""

    status: int = 500

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (type(self), self.args), dict(self.__dict__)


def _again(kind: type[AdjournError], args: tuple[Any, ...]) -> AdjournError:
    """An error as it was, without asking for what it was made of: its text is among `args` already."""
    error = kind.__new__(kind, *args)
    error.args = args
    return error


# Fix: the caller's input is wrong; the same call will fail again.


class Invalid(AdjournError):
    """The input is wrong. Fix it; nothing was recorded."""

    status = 422


class NotJSON(Invalid, TypeError):
    """A value that cannot be JSON. `path` says where, for example `payload.callback: function`."""

    def __init__(self, path: str, what: str) -> None:
        self.path = path
        super().__init__(
            f"{path}: {what} cannot be recorded as JSON; pass plain data, a pydantic model, a dataclass, a date or an enum"
        )


class InvalidAnswer(Invalid):
    """An answer that does not fit its interrupt. Nothing was recorded; the question stays open."""


class AnswerRequired(Invalid):
    """The run waits for an answer and none was given."""

    def __init__(self, interrupts: Sequence[tuple[str, str]]) -> None:
        listed = ", ".join(f"{i!r} ({what})" for i, what in interrupts)
        super().__init__(
            f"the run waits for {len(interrupts)} answer(s): {listed}; pass answer= (one) or answers={{id: value}} (several)"
        )


class InvalidDefinition(Invalid, ValueError):
    """An agent, tool, policy or condition that cannot work as written."""


class MissingResource(Invalid):
    """A tool needs a live object that nobody passed. Nothing was consumed."""

    def __init__(self, names: Iterable[str], where: str) -> None:
        self.names = sorted(names)
        super().__init__(
            f"missing resource(s) {', '.join(map(repr, self.names))} for {where}; pass resources={{name: object}}"
        )


class CheckpointInvalid(Invalid):
    """A checkpoint that is malformed, altered, unsigned or too large. Its body was not used."""

    status = 400


class NoOutput(AdjournError):
    """`.output` of an outcome that has none."""

    status = 409


# Reload: the world moved on since the caller looked.


class Conflict(AdjournError):
    """What was asked no longer applies. Reload the run to see where it is."""

    status = 409


class Refused(Conflict):
    """The run's status does not admit this command."""

    def __init__(self, run_id: str, verb: str, status: str, hint: str = "") -> None:
        self.run_id, self.verb, self.run_status = run_id, verb, status
        super().__init__(f"cannot {verb} run {run_id!r}: it is {status}" + (f"; {hint}" if hint else ""))


class SessionMoved(Conflict):
    """Another run of the session began meanwhile: this one would have gone on with an earlier turn. Nothing was started."""

    def __init__(self, session: str) -> None:
        self.session = session
        super().__init__(f"another run of session {session!r} began meanwhile; start it again to go on with that one")


class BrokenHistory(Conflict):
    """A run goes on with another's conversation, and that journal is not the one which it began with. Nothing was sent."""

    def __init__(self, run_id: str, before: str, seq: int) -> None:
        self.run_id, self.before, self.seq = run_id, before, seq
        super().__init__(
            f"run {run_id!r} goes on with the conversation of run {before!r} up to its record {seq}, and the records that are there "
            "are others; it is not taken for that conversation. `adjourn audit verify` says whether the file was changed"
        )


class AlreadyDecided(Conflict):
    """Somebody else's decision was first."""

    def __init__(self, interrupt_id: str, by: str, how: str = "decided") -> None:
        self.interrupt_id, self.by = interrupt_id, by
        who = f" by {by!r}" if by else ""
        super().__init__(f"interrupt {interrupt_id!r} was {how}{who}; reload the run to see how")


class InterruptClosed(Conflict):
    """The interrupt expired, was resolved by an event, or its run ended. Not a person's decision."""

    def __init__(self, interrupt_id: str, why: str) -> None:
        self.interrupt_id, self.why = interrupt_id, why
        super().__init__(f"interrupt {interrupt_id!r} is closed: {why}; nothing was recorded")


class StaleDecision(Conflict):
    """The decision was about something else than what would run now."""

    def __init__(self, interrupt_id: str, seen: str, now: str) -> None:
        super().__init__(
            f"interrupt {interrupt_id!r} changed: you saw {seen[:16]}, it is {now[:16]}; nothing ran; look again"
        )


class AlreadyResumed(Conflict):
    """This checkpoint was resumed before, or its run has moved on. Nothing was done."""

    def __init__(self, run_id: str, seq: int, at: int, status: str) -> None:
        but = f"but the run is at {at} and {status}"
        if seq == at:
            but = f"and so does the run ({status}), but the records differ: it is of another history"
        super().__init__(
            f"the checkpoint of run {run_id!r} ends at record {seq}, {but}; "
            f"take a new checkpoint, or act on the run itself"
        )


class RunExists(Conflict):
    """A run of this id exists and was started with another input or program."""

    def __init__(self, run_id: str) -> None:
        super().__init__(f"run {run_id!r} exists already, with another input or program; choose another run_id")


class RunErased(Conflict):
    """The run was erased: what it was about is gone. `said` is who erased it, and why."""

    def __init__(self, run_id: str, said: str = "erased") -> None:
        self.run_id, self.said = run_id, said
        super().__init__(f"run {run_id!r} was {said}; of what was in it nothing is left")


class RunHeld(Conflict):
    """The run is under a legal hold: nothing of it is removed. `scope` is the hold's, `by` who set it."""

    def __init__(self, run_id: str, scope: str, by: str, reason: str) -> None:
        from shlex import quote

        self.run_id, self.scope, self.by = run_id, scope, by
        kind, _, name = scope.partition(":")
        lift = f"adjourn hold {quote(name)} --lift" if kind == "run" else f"adjourn hold --label {quote(name)} --lift"
        super().__init__(
            f"run {run_id!r} is under a legal hold of {scope!r}, set by {by!r}: {reason!r:.200}. Nothing was removed; "
            f"whoever may lift it says: {lift}"
        )


class RunPruned(Conflict):
    """A run of this id was pruned: it is not there any more, and its id stays taken."""

    def __init__(self, run_id: str, archive: str = "") -> None:
        self.run_id, self.archive = run_id, archive
        said = f"its archive was put into {archive!r}" if archive else "its audit says when, and where its archive is"
        super().__init__(f"run {run_id!r} was here and was pruned; {said}. Its id stays taken: choose another")


class RequestReused(Conflict):
    """One request id, two different commands."""

    def __init__(self, request_id: str) -> None:
        super().__init__(f"request id {request_id!r} was used for a different command; use a new id")


class ProgramChanged(Conflict):
    """The agent or flow is not the one the run was started with. Nothing was consumed."""

    def __init__(self, name: str, changes: Sequence[str]) -> None:
        self.program, self.changes = name, tuple(changes)
        super().__init__(
            f"{name!r} changed since the run started: {'; '.join(changes)}. "
            f'Restore it, accept it for this run (adjourn accept RUN), pass on_change="warn" to go on anyway, or register an upgrader'
        )


class NotAllowed(AdjournError):
    """This person may not decide this."""

    status = 403


class Unauthorised(AdjournError):
    """A gated call was about to begin without decisions that stand behind it. Nothing was recorded, nothing ran."""

    status = 403

    def __init__(self, run_id: str, call: str, tool: str, why: str) -> None:
        self.run_id, self.call, self.tool, self.why = run_id, call, tool, why
        super().__init__(f"run {run_id!r}: {tool} ({call}) may not begin: {why}")


class Halted(Conflict):
    """The kill switch is on for this."""

    status = 423

    def __init__(self, scope: str, reason: str = "") -> None:
        super().__init__(
            f"halted: {scope!r}" + (f" ({reason})" if reason else "") + "; unhalt it first; denying is still possible"
        )


class AuditBroken(Conflict):
    """What was sealed is not in the store any more. Nothing was sealed on top of it."""


# Not there.


class NotFound(AdjournError, LookupError):
    """There is no such thing in the store."""

    status = 404


class UnknownRun(NotFound):
    """No run of exactly that id. `near` are ids that are like it; `pruned`, how a run of this id was pruned, if there was one."""

    def __init__(self, run_id: str, near: Sequence[str] = (), pruned: str = "") -> None:
        self.run_id, self.near, self.pruned = run_id, tuple(near), pruned
        said = f"no run {run_id!r:.200} in this store"
        if pruned:
            said += f": it was pruned {pruned}; its audit says when, and where its archive is"
        elif near:
            said += f"; did you mean {', '.join(map(repr, near))}?"
        super().__init__(said)


class UnknownInterrupt(NotFound):
    """No interrupt of that id; the pending ones are listed."""

    def __init__(self, interrupt_id: str, pending: Sequence[str]) -> None:
        listed = ", ".join(map(repr, pending)) or "none"
        super().__init__(f"no interrupt {interrupt_id!r}; pending: {listed}")


# Retry, or stop.


class StoreError(AdjournError):
    """The store failed. Whether the last write happened is unknown; reload before doing anything."""

    status = 503


class LeaseLost(AdjournError):
    """Another worker has this run (a newer epoch). Drop what you have; it wrote nothing of yours."""

    status = 409


class LeaseBusy(AdjournError):
    """Another live worker has this run. Not an acknowledgement: try again later."""

    status = 409


class ModelError(AdjournError):
    """A model call failed. `transient`: another attempt may succeed."""

    status = 502

    def __init__(
        self, message: str, *, transient: bool = False, retry_after: float | None = None, kind: str = "model"
    ) -> None:
        self.transient, self.retry_after, self.kind = transient, retry_after, kind
        super().__init__(message)


class RunFailed(AdjournError):
    """The run cannot continue by itself. Its checkpoint has everything done so far; resuming it retries the
    failed step.

    Args:
        message: what failed.
        checkpoint: the run as data.
        run_id: the run's id.
        resumable: whether a retry may help.
    """

    status = 500

    def __init__(
        self, message: str, checkpoint: "Checkpoint | None" = None, *, run_id: str = "", resumable: bool = True
    ) -> None:
        self.checkpoint, self.run_id, self.resumable = checkpoint, run_id, resumable
        super().__init__(message)


class InDoubt(AdjournError):
    """Raise it in a tool that cannot tell whether its effect happened. The call is then in doubt, not failed."""


class ToolFailed(AdjournError):
    """Raise it in a tool for an error the model should read, without a traceback in the logs."""


class Misused(AdjournError, RuntimeError):
    """The library was called in a way that cannot work; the message says how to call it."""


class PauseRequest(BaseException):
    """How a body stops to wait. A `BaseException`, so that `except Exception` cannot swallow it."""

    def __init__(self, **fields: Any) -> None:
        self.fields = fields
        super().__init__("a tool or chunk paused here")

    def __reduce__(self) -> tuple[Any, ...]:
        return _pause_request, (self.fields,)


def _pause_request(fields: dict[str, Any]) -> PauseRequest:
    return PauseRequest(**fields)


def can_resume(error: BaseException) -> bool:
    """Whether a retry may help: no for bad credentials or an invalid request, yes for timeouts and outages.

    Args:
        error: what was raised.
    """
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, RunFailed):
            return seen.resumable
        if isinstance(seen, ModelError):
            return seen.transient
        if isinstance(seen, Invalid | NotFound):
            return False
        seen = seen.__cause__
    return True


class NotTrusted(Conflict):
    """A worker with deciders does not go on with this run: something in it needs a signature and has none that counts."""

    def __init__(self, run_id: str, why: str) -> None:
        self.run_id = run_id
        super().__init__(f"run {run_id!r} does not go on here: {why}; cancel it, or fork it before that")
