"""Everything Adjourn raises. Each error says what happened, what that means and what to do next,
and owns its HTTP status.

The parts of an error are put together here and nowhere else: who shows one reads its fields.
"""

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

if TYPE_CHECKING:
    from adjourn.runtime.checkpoint import Checkpoint

_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


class AdjournError(Exception):
    """The root of everything raised here. Each can be pickled: a process pool gives it back as it
    was.

    `code` is its class's name in snake case. `what` happened, with which `consequence`, and what to
    do: `advice`. `facts` are plain data about it; each is an attribute as well.
    """

    status: ClassVar[int] = 500
    code: ClassVar[str] = "adjourn_error"
    what: str = ""
    consequence: str = ""
    advice: str = ""
    _facts: tuple[str, ...] = ()

    def __init__(
        self, what: str = "", *, consequence: str = "", advice: str = "", **facts: Any
    ) -> None:
        """Make an error.

        Args:
            what: what happened, without a full stop.
            consequence: what that means, for example "nothing was recorded".
            advice: what to do next.
            facts: plain data about it, by name.
        """
        self.what = what
        if consequence:
            self.consequence = consequence
        if advice:
            self.advice = advice
        self._facts = tuple(facts)
        self.__dict__.update(facts)
        super().__init__(*(part for part in (what,) if part != ""))

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.code = _WORD.sub("_", cls.__name__).lower()

    def __str__(self) -> str:
        parts = (str(self.what), self.consequence, self.advice)
        return "; ".join(part for part in parts if part) or super().__str__()

    @property
    def facts(self) -> dict[str, Any]:
        """Plain data about it, by name."""
        return {name: getattr(self, name) for name in self._facts}

    @property
    def fields(self) -> dict[str, Any]:
        """Its parts and its facts, as data."""
        parts = {"what": str(self.what), "consequence": self.consequence, "advice": self.advice}
        return {**self.facts, "code": self.code, **parts}

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (type(self), self.args), dict(self.__dict__)


def _again(kind: type[BaseException], args: tuple[Any, ...]) -> BaseException:
    """An error as it was, without its arguments: its fields are in its dict."""
    error = kind.__new__(kind, *args)
    error.args = args
    return error


def bare(id: str) -> str:
    """An id or a name as it stands in a sentence; in quotes if it could be taken for something else
    there."""
    if id and id.isprintable() and id == id.strip() and len(id) <= 200:
        return id
    return f"{id!r:.200}"


def counted(number: int, noun: str) -> str:
    """`1 answer`, `2 answers`."""
    if number == 1:
        return f"{number:,} {noun}"
    return f"{number:,} {noun}s"


# Fix: the caller's input is wrong; the same call will fail again.


class Invalid(AdjournError):
    """The input is wrong. Fix it; nothing was recorded."""

    status = 422


class NotJSON(Invalid, TypeError):
    """A value that cannot be JSON. `path` says where, for example `payload.callback`."""

    advice = "pass plain data, a pydantic model, a dataclass, a date or an enum"
    path: str

    def __init__(self, path: str, thing: str) -> None:
        super().__init__(f"{path}: {thing} cannot be stored as JSON", path=path)


class InvalidAnswer(Invalid):
    """An answer that does not fit its interrupt. Nothing was recorded; the question stays open."""


class AnswerRequired(Invalid):
    """The run is waiting for an answer and none was given. `interrupts` are the ids of what it is
    waiting for."""

    consequence = "nothing was recorded"
    advice = "pass answer= (one) or answers={id: value} (several)"
    interrupts: tuple[str, ...]

    def __init__(self, interrupts: Sequence[tuple[str, str]]) -> None:
        listed = ", ".join(f"{bare(id)} ({kind})" for id, kind in interrupts)
        super().__init__(
            f"the run is waiting for {counted(len(interrupts), 'answer')}: {listed}",
            interrupts=tuple(id for id, _ in interrupts),
        )


class InvalidDefinition(Invalid, ValueError):
    """An agent, tool, policy or condition that cannot work as written."""


class MissingResource(Invalid):
    """A tool needs a live object that was not passed. Nothing was used up."""

    consequence = "nothing was run"
    names: list[str]

    def __init__(self, names: Iterable[str], where: str, *, declare: str = "") -> None:
        missing = sorted(names)
        if len(missing) == 1:
            noun = "the resource"
        else:
            noun = "the resources"
        given = ", ".join(f'"{name}": …' for name in missing)
        super().__init__(
            f"{where} needs {noun} {', '.join(missing)}",
            advice=f"{declare}pass resources={{{given}}}",
            names=missing,
        )


CheckpointPart = Literal["json", "envelope", "digest", "signature", "records"]


class CheckpointInvalid(Invalid):
    """A checkpoint that is malformed, modified, unsigned or too large. `part` is what is wrong with
    it."""

    status = 400
    consequence = "it was not loaded"
    part: CheckpointPart

    def __init__(
        self,
        what: str,
        part: CheckpointPart = "envelope",
        *,
        consequence: str = "",
        advice: str = "",
    ) -> None:
        super().__init__(what, consequence=consequence, advice=advice, part=part)


class NoOutput(AdjournError):
    """`.output` of an outcome that has none."""

    status = 409
    run_id: str
    run_status: str

    def __init__(self, what: str, run_id: str, status: str, *, advice: str = "") -> None:
        super().__init__(what, advice=advice, run_id=run_id, run_status=status)


# Reload: the world moved on since the caller looked.


class Conflict(AdjournError):
    """What was asked no longer applies. Reload the run to see where it is."""

    status = 409


_VERBS = {"say to": "send a message to", "emit to": "send an event to"}
_BEING = {
    "cancelling": "being cancelled",
    "pausing": "being paused",
    "stuck": "stuck: its cancel needs a person",
}


class Refused(Conflict):
    """The run's status does not allow this command."""

    consequence = "nothing was changed"
    run_id: str
    verb: str
    run_status: str

    def __init__(
        self, run_id: str, verb: str, status: str, why: str = "", *, advice: str = ""
    ) -> None:
        reason = why or f"it is {_BEING.get(status, status)}"
        what = f"cannot {_VERBS.get(verb, verb)} run {bare(run_id)}: {reason}"
        super().__init__(what, advice=advice, run_id=run_id, verb=verb, run_status=status)


class ForkRefused(Conflict):
    """The run cannot be forked at that record. `nearest` is the nearest one at which it can."""

    consequence = "no run was created"
    at: int
    nearest: int

    def __init__(self, at: int, nearest: int, why: str) -> None:
        super().__init__(
            f"cannot fork at record {at}: {why}",
            advice=f"fork at record {nearest}",
            at=at,
            nearest=nearest,
        )


class SessionMoved(Conflict):
    """Another run of the session started meanwhile: this one would have continued an earlier turn.
    Nothing was started."""

    consequence = "no run was started"
    advice = "start it again to continue that run"
    session: str

    def __init__(self, session: str) -> None:
        super().__init__(
            f"another run of session {bare(session)} was started meanwhile", session=session
        )


class BrokenHistory(Conflict):
    """A run continues another run's conversation, and that journal is not the one it started from.
    Nothing was sent."""

    consequence = "nothing was sent to a model"
    advice = "check whether the database was modified: adjourn audit verify"
    run_id: str
    before: str
    seq: int

    def __init__(self, run_id: str, before: str, seq: int) -> None:
        what = (
            f"run {bare(run_id)} continues run {bare(before)} from record {seq}, but the "
            f"records there are different"
        )
        super().__init__(what, run_id=run_id, before=before, seq=seq)


class AlreadyDecided(Conflict):
    """Another person's decision was first. `how` is what they decided: approved, denied, answered
    or decided."""

    consequence = "your decision was not recorded"
    advice = "reload the run to see the decision"
    interrupt_id: str
    by: str
    how: str

    def __init__(self, interrupt_id: str, by: str, how: str = "decided") -> None:
        name = bare(interrupt_id)
        if by:
            what = f"{bare(by)} has already {how} interrupt {name}"
        else:
            what = f"interrupt {name} was already {how}"
        super().__init__(what, interrupt_id=interrupt_id, by=by, how=how)


class InterruptClosed(Conflict):
    """The interrupt expired, was resolved by an event, or its run ended. Not a person's
    decision."""

    consequence = "nothing was recorded"
    interrupt_id: str
    why: str

    def __init__(self, interrupt_id: str, why: str) -> None:
        super().__init__(
            f"interrupt {bare(interrupt_id)} is closed: {why}", interrupt_id=interrupt_id, why=why
        )


class StaleDecision(Conflict):
    """The decision was about something else than what would run now. `seen` and `now` are the
    digests of both."""

    consequence = "nothing was run"
    advice = "review it again"
    interrupt_id: str
    seen: str
    now: str

    def __init__(self, interrupt_id: str, seen: str, now: str) -> None:
        what = f"interrupt {bare(interrupt_id)} has changed since you saw it ({seen[:16]}, now {now[:16]})"
        super().__init__(what, interrupt_id=interrupt_id, seen=seen, now=now)


class AlreadyResumed(Conflict):
    """This checkpoint was resumed before, or its run has moved on. Nothing was done."""

    consequence = "nothing was done"
    advice = "take a new checkpoint, or use the run itself"
    run_id: str
    seq: int
    at: int
    run_status: str

    def __init__(self, run_id: str, seq: int, at: int, status: str) -> None:
        what = (
            f"run {bare(run_id)} has moved on: the checkpoint ends at record {seq}, the "
            f"run is at {at} and {status}"
        )
        if seq == at:
            what = (
                f"run {bare(run_id)} has another history: it ends at record {seq} like "
                f"the checkpoint, with other records"
            )
        super().__init__(what, run_id=run_id, seq=seq, at=at, run_status=status)


class RunExists(Conflict):
    """A run with this id exists and was started with another input or agent."""

    consequence = "no run was started"
    advice = "use another run_id"
    run_id: str

    def __init__(self, run_id: str) -> None:
        super().__init__(
            f"run {bare(run_id)} already exists with a different input or agent", run_id=run_id
        )


class RunErased(Conflict):
    """The run was erased: what it was about is gone. `said` is who erased it, and why."""

    consequence = "its content is no longer stored"
    run_id: str
    said: str

    def __init__(self, run_id: str, said: str = "erased") -> None:
        super().__init__(f"run {bare(run_id)} was {said}", run_id=run_id, said=said)


class RunHeld(Conflict):
    """The run is under a legal hold: nothing of it is removed. `scope` is the hold's, `by` who set
    it."""

    consequence = "nothing was removed"
    run_id: str
    scope: str
    by: str

    def __init__(self, run_id: str, scope: str, by: str, reason: str) -> None:
        from shlex import quote  # not at the top: `import adjourn` stays light

        kind, _, name = scope.partition(":")

        if kind == "run":
            lift = f"adjourn hold {quote(name)} --lift"
        else:
            lift = f"adjourn hold --label {quote(name)} --lift"
        what = f"run {bare(run_id)} is under a legal hold of {bare(scope)}, set by {bare(by)}: {reason:.200}"
        advice = f"a person who can lift the hold runs: {lift}"
        super().__init__(what, advice=advice, run_id=run_id, scope=scope, by=by)


class RunPruned(Conflict):
    """A run with this id was pruned: it is no longer there, and its id stays taken."""

    consequence = "its id stays taken"
    run_id: str
    archive: str

    def __init__(self, run_id: str, archive: str = "") -> None:
        if archive:
            said = f"its archive is in {archive!r}"
        else:
            said = "its audit says when, and where its archive is"
        super().__init__(
            f"run {bare(run_id)} was pruned",
            advice=f"use another run_id; {said}",
            run_id=run_id,
            archive=archive,
        )


class RequestReused(Conflict):
    """One request id, two different commands."""

    consequence = "nothing was recorded"
    advice = "use a new request id"
    request_id: str

    def __init__(self, request_id: str) -> None:
        super().__init__(
            f"request id {bare(request_id)} was used for a different command", request_id=request_id
        )


class ProgramChanged(Conflict):
    """The agent or flow is not the one the run was started with. Nothing was used up."""

    consequence = "no answer was used"
    agent: str
    changes: tuple[str, ...]

    def __init__(self, agent: str, changes: Sequence[str]) -> None:
        super().__init__(
            f"{bare(agent)} has changed since the run started: {'; '.join(changes)}",
            advice="restore it, accept it for this run (`adjourn accept RUN`), register an upgrader, or pass "
            'on_change="warn" to continue anyway',
            agent=agent,
            changes=tuple(changes),
        )


class NotAllowed(AdjournError):
    """This person is not allowed to do this."""

    status = 403


class Unauthorised(AdjournError):
    """A gated call was about to start without decisions that allow it. Nothing was recorded,
    nothing ran."""

    status = 403
    consequence = "nothing was run"
    run_id: str
    call: str
    tool: str
    why: str

    def __init__(self, run_id: str, call: str, tool: str, why: str) -> None:
        super().__init__(
            f"run {bare(run_id)}: {tool} ({call}) cannot start: {why}",
            run_id=run_id,
            call=call,
            tool=tool,
            why=why,
        )


class Halted(Conflict):
    """The kill switch is on for this."""

    status = 423
    consequence = "nothing was approved"
    advice = "lift the halt first; you can still deny"
    scope: str
    reason: str

    def __init__(self, scope: str, reason: str = "") -> None:
        kind, _, name = scope.partition(":")
        if name:
            what = f"{kind} {bare(name)} is halted"
        else:
            what = "everything is halted"
        super().__init__(f"{what}: {reason}" if reason else what, scope=scope, reason=reason)


class AuditBroken(Conflict):
    """What was sealed is no longer in the store. Nothing was sealed on top of it."""


class NotTrusted(Conflict):
    """A worker with deciders does not continue this run: something in it needs a signature and has
    none that counts."""

    consequence = "nothing was run"
    advice = "cancel it, or fork it before that record"
    run_id: str
    why: str

    def __init__(self, run_id: str, why: str) -> None:
        super().__init__(f"run {bare(run_id)} is not continued here: {why}", run_id=run_id, why=why)


# Not there.


class NotFound(AdjournError, LookupError):
    """It is not in the store."""

    status = 404


class UnknownRun(NotFound):
    """No run with exactly that id. `near` are similar ids; `pruned` is by whom a run with this id
    was pruned, if one was."""

    run_id: str
    near: tuple[str, ...]
    pruned: str

    def __init__(self, run_id: str, near: Sequence[str] = (), pruned: str = "") -> None:
        what, advice = f"run {bare(run_id)} not found", ""
        if pruned:
            what, advice = (
                f"{what}: it was pruned {pruned}",
                "its audit says when, and where its archive is",
            )
        elif near:
            advice = f"did you mean {', '.join(map(bare, near))}?"
        super().__init__(what, advice=advice, run_id=run_id, near=tuple(near), pruned=pruned)


class UnknownInterrupt(NotFound):
    """No interrupt with that id; the open ones are listed."""

    interrupt_id: str
    pending: tuple[str, ...]

    def __init__(self, interrupt_id: str, pending: Sequence[str]) -> None:
        listed = ", ".join(map(bare, pending)) or "none"
        what, advice = f"interrupt {bare(interrupt_id)} not found", f"open interrupts: {listed}"
        super().__init__(what, advice=advice, interrupt_id=interrupt_id, pending=tuple(pending))


# Retry, or stop.


class StoreError(AdjournError):
    """The store failed. Whether the last write was saved is unknown; reload before doing
    anything."""

    status = 503


class LeaseLost(AdjournError):
    """Another worker has this run (a newer epoch). Drop what you have; nothing of yours was
    written."""

    status = 409


class LeaseBusy(AdjournError):
    """Another live worker has this run. Not an acknowledgement: try again later."""

    status = 409


class ModelError(AdjournError):
    """A model call failed. `transient`: another attempt may succeed."""

    status = 502
    transient: bool
    retry_after: float | None
    kind: str

    def __init__(
        self,
        what: str,
        *,
        transient: bool = False,
        retry_after: float | None = None,
        kind: str = "model",
    ) -> None:
        super().__init__(what, kind=kind, transient=transient, retry_after=retry_after)


class RunFailed(AdjournError):
    """The run cannot continue by itself. Its checkpoint has everything done so far; resuming it
    retries the failed step.

    Args:
        what: what failed.
        checkpoint: the run as data.
        run_id: the run's id.
        resumable: whether a retry may help.
        consequence: what that means.
        advice: what to do next.
    """

    run_id: str
    resumable: bool

    def __init__(
        self,
        what: str,
        checkpoint: "Checkpoint | None" = None,
        *,
        run_id: str = "",
        resumable: bool = True,
        consequence: str = "",
        advice: str = "",
    ) -> None:
        self.checkpoint = checkpoint
        super().__init__(
            what, consequence=consequence, advice=advice, run_id=run_id, resumable=resumable
        )


class InDoubt(AdjournError):
    """Raise it in a tool that cannot tell whether its effect happened. The call is then in doubt,
    not failed."""


class ToolFailed(AdjournError):
    """Raise it in a tool for an error the model should read, without a traceback in the logs."""


class Misused(AdjournError, RuntimeError):
    """The library was called in a way that cannot work; the message says how to call it."""


class NoOneToAnswer(Misused):
    """A chunk called `pause_for` in a flow that was started with `flow.start()`."""

    advice = "use flow.create_execution(), flow.start_execution() or a Runtime"
    chunk: str

    def __init__(self, chunk: str) -> None:
        super().__init__(
            f"chunk {chunk} called pause_for, but flow.start() cannot be answered", chunk=chunk
        )


class PauseRequest(BaseException):
    """How a body stops to wait. A `BaseException`, so that `except Exception` cannot swallow it."""

    def __init__(self, **fields: Any) -> None:
        self.fields = fields
        super().__init__("a tool or chunk paused here")

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (type(self), self.args), dict(self.__dict__)


def can_resume(error: BaseException) -> bool:
    """Whether a retry may help: no for bad credentials or an invalid request, yes for timeouts and
    outages.

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
