"""Refused: the world moved on since the caller looked, or the caller may not do this."""

from collections.abc import Sequence

from adjourn.errors.error import AdjournError, bare


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
    """The run's status does not allow this command.

    Args:
        run_id, verb: the run and the command.
        status: the run's status.
        why: the reason, if it is not the status.
        advice: what to do next.
    """

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
    """The run cannot be forked at that record. `nearest` is the nearest one at which it can.

    Args:
        at_seq, nearest: both records.
        why: the reason.
    """

    consequence = "no run was created"
    at_seq: int
    nearest: int

    def __init__(self, at_seq: int, nearest: int, why: str) -> None:
        super().__init__(
            f"cannot fork at record {at_seq}: {why}",
            advice=f"fork at record {nearest}",
            at_seq=at_seq,
            nearest=nearest,
        )


class SessionMoved(Conflict):
    """Another run of the session started meanwhile: this one would have continued an earlier turn.
    Nothing was started.

    Args:
        session: the session.
    """

    consequence = "no run was started"
    advice = "start it again to continue that run"
    session: str

    def __init__(self, session: str) -> None:
        super().__init__(
            f"another run of session {bare(session)} was started meanwhile", session=session
        )


class BrokenHistory(Conflict):
    """A run continues another run's conversation, and that journal is not the one it started from.
    Nothing was sent.

    Args:
        run_id, before: the run, and the run that it continues.
        seq: the record at which it continues.
    """

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
    or decided.

    Args:
        interrupt_id: the interrupt.
        by: who decided.
        how: what they decided.
    """

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
    decision.

    Args:
        interrupt_id: the interrupt.
        why: the reason.
        consequence: what that means.
        expired: for the body that asked: no answer came in time.
    """

    consequence = "nothing was recorded"
    interrupt_id: str
    why: str
    expired: bool

    def __init__(
        self, interrupt_id: str, why: str, consequence: str = "", *, expired: bool = False
    ) -> None:
        super().__init__(
            f"interrupt {bare(interrupt_id)} is closed: {why}",
            consequence=consequence,
            interrupt_id=interrupt_id,
            why=why,
        )
        self.expired = expired


class StaleDecision(Conflict):
    """The decision was about something else than what would run now. `seen` and `now` are the
    digests of both.

    Args:
        interrupt_id: the interrupt.
        seen, now: both digests.
    """

    consequence = "nothing was run"
    advice = "review it again"
    interrupt_id: str
    seen: str
    now: str

    def __init__(self, interrupt_id: str, seen: str, now: str) -> None:
        what = f"interrupt {bare(interrupt_id)} has changed since you saw it ({seen[:16]}, now {now[:16]})"
        super().__init__(what, interrupt_id=interrupt_id, seen=seen, now=now)


class AlreadyResumed(Conflict):
    """This checkpoint was resumed before, or its run has moved on. Nothing was done.

    Args:
        run_id: the run.
        seq, at: the last record of the checkpoint and of the run.
        status: the run's status.
    """

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
    """A run with this id exists and was started with another input or agent. With `taken`, whatever it
    was started with: it is another run than the one that was to start.

    Args:
        run_id: the id.
        taken: whether the input does not matter.
    """

    consequence = "no run was started"
    advice = "use another run_id"
    run_id: str
    taken: bool

    def __init__(self, run_id: str, *, taken: bool = False) -> None:
        why = ": its id is taken" if taken else " with a different input or agent"
        super().__init__(f"run {bare(run_id)} already exists{why}", run_id=run_id)
        self.taken = taken


class RunErased(Conflict):
    """The run was erased: what it was about is gone. `said` is who erased it, and why.

    Args:
        run_id: the run.
        said: who erased it, and why.
    """

    consequence = "its content is no longer stored"
    run_id: str
    said: str

    def __init__(self, run_id: str, said: str = "erased") -> None:
        super().__init__(f"run {bare(run_id)} was {said}", run_id=run_id, said=said)


class RunHeld(Conflict):
    """The run is under a legal hold: nothing of it is removed. `scope` is the hold's, `by` who set
    it.

    Args:
        run_id: the run.
        scope, by, reason: the hold.
    """

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
    """A run with this id was pruned: it is no longer there, and its id stays taken.

    Args:
        run_id: the run.
        archive: the file of its archive, if there is one.
    """

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
    """One request id, two different commands.

    Args:
        request_id: the id.
    """

    consequence = "nothing was recorded"
    advice = "use a new request id"
    request_id: str

    def __init__(self, request_id: str) -> None:
        super().__init__(
            f"request id {bare(request_id)} was used for a different command", request_id=request_id
        )


class ProgramChanged(Conflict):
    """The agent or flow is not the one the run was started with. Nothing was used up.

    Args:
        agent: its name.
        changes: what differs, one sentence each.
    """

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


class Halted(Conflict):
    """The kill switch is on for this.

    Args:
        scope, reason: the halt.
    """

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
    none that counts.

    Args:
        run_id: the run.
        why: the reason.
    """

    consequence = "nothing was run"
    advice = "cancel it, or fork it before that record"
    run_id: str
    why: str

    def __init__(self, run_id: str, why: str) -> None:
        super().__init__(f"run {bare(run_id)} is not continued here: {why}", run_id=run_id, why=why)


class NotAllowed(AdjournError):
    """This person is not allowed to do this."""

    status = 403


class Unauthorised(AdjournError):
    """A gated call was about to start without decisions that allow it. Nothing was recorded,
    nothing ran.

    Args:
        run_id: the run.
        call, tool: the call, and the tool that it would run.
        why: the reason.
    """

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
