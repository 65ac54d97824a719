"""The lines of a journal.

*People's* records arrive through `Store.deliver`. A worker's are *facts* (they happened: they
always land if the epoch is right) or *moves* (conclusions drawn from a state: they land only if
nothing is unseen and nothing they name is halted). Call and interrupt ids are local to their run
and derived from it, so a crash derives the same ones again.
"""
# ruff: noqa: RUF012  msgspec copies a default; ruff does not see that an imported `Record` is a Struct

from typing import Any, Literal, final

from adjourn.core.interrupt_kind import AskedKind, ExpiryAction, SuspendedKind
from adjourn.core.messages import ReplyPart
from adjourn.core.record_parts import (
    NEVER,
    ApprovalSlot,
    BackgroundRequest,
    DecisionSeal,
    Record,
    RecordedWord,
    Ref,
    Sent,
    Summary,
)
from adjourn.core.usage import Usage

AGAIN_OF = "again_of"
"""The option of a run that says which run it repeats."""
CLIENT_TOOLS = "client_tools"
"""The option of a run with the tools that whoever started it carries out."""

MOST_URGENT = 1000
"""A priority is between this and its negative."""

# People (and timers, webhooks, other runs)


@final
class Started(Record, frozen=True, tag="started"):
    """The first record of every run. Of a conversation that continues: `after`, the run before it,
    or its messages themselves as `history`, which then count; `requesters`, who shaped the turns
    before it; `summary`, what stands for its beginning."""

    run: str
    kind: str
    program: str
    fingerprint: dict[str, Any] = {}
    input: Any = None
    by: str = ""
    session: str = ""
    labels: dict[str, str] = {}
    history: list[Any] = []
    graph: dict[str, Any] | None = None
    options: dict[str, Any] = {}
    forked_from: str = ""
    requesters: tuple[str, ...] = ()
    summary: Summary | None = None
    after: Ref | None = None

    @property
    def priority(self) -> int:
        """How urgent it is; 0 where its options say nothing that is a priority."""
        found = self.options.get("priority", 0)
        if isinstance(found, bool) or not isinstance(found, int):
            return 0
        return max(-MOST_URGENT, min(MOST_URGENT, found))

    @property
    def again_of(self) -> str:
        """The run that it repeats, from the beginning; "" if it repeats none."""
        return str(self.options.get(AGAIN_OF, ""))

    @property
    def before(self) -> Ref | None:
        """Where the conversation stands that it continues, unless it has that itself."""
        if self.history:
            return None
        return self.after


@final
class Decided(Record, frozen=True, tag="decided"):
    """A person's answer to the interrupt `i`. Also a worker's move: `value` then names the standing
    decision that it follows."""

    i: str
    verdict: RecordedWord
    value: Any = None
    edit: dict[str, Any] | None = None
    by: str = ""
    note: str = ""
    digest: str = ""
    scope: str = ""
    groups: tuple[str, ...] = ()
    seal: DecisionSeal | None = None


@final
class PauseAsked(Record, frozen=True, tag="pause_asked"):
    """A person wants it to stop at the next boundary, or `now`."""

    now: bool = False
    by: str = ""
    reason: str = ""


@final
class Resumed(Record, frozen=True, tag="resumed"):
    """A person continues a paused run, perhaps with an instruction."""

    instruction: str = ""
    by: str = ""


@final
class CancelAsked(Record, frozen=True, tag="cancel_asked"):
    """Undo and end. Also a worker's move: `by` is then `@expiry`, `@in_doubt` or `@error`."""

    by: str = ""
    reason: str = ""


@final
class Said(Record, frozen=True, tag="said"):
    """A message to the agent. `parts`: if it has files, its texts and the references to them, in
    order; `text` then describes them."""

    text: str
    by: str = ""
    abandon: bool = False
    parts: tuple[Any, ...] = ()


@final
class Emitted(Record, frozen=True, tag="emitted"):
    """An event from outside."""

    event: str
    value: Any = None
    by: str = ""
    decides: bool = True
    groups: tuple[str, ...] = ()
    seal: DecisionSeal | None = None


@final
class Accepted(Record, frozen=True, tag="accepted"):
    """A person lets the run continue with another definition than it started with: with exactly
    this one. `changes` says what they were shown."""

    fingerprint: dict[str, Any] = {}
    changes: tuple[str, ...] = ()
    by: str = ""


@final
class Revoked(Record, frozen=True, tag="revoked"):
    """A person revokes a standing decision, that on the interrupt `i`: no call begins on it now."""

    i: str
    by: str = ""
    note: str = ""


@final
class Forked(Record, frozen=True, tag="forked"):
    """Here a fork begins. What stands before it is another run's: its effects are inherited, its
    authority is over."""

    of: str
    at_seq: int
    by: str = ""
    answers: Literal["keep", "reopen"] = "reopen"
    instruction: str = ""
    requesters: tuple[str, ...] = ()
    seal: DecisionSeal | None = None


# Facts


@final
class Claimed(Record, frozen=True, tag="claimed"):
    """A worker took the run. Calls that were in flight under an older epoch are in doubt from here
    on. `lost`: it was taken from a worker that had died or fallen silent, not from one that had
    given it back."""

    epoch: int
    worker: str = ""
    lost: bool = False


@final
class Released(Record, frozen=True, tag="released"):
    """A worker handed the run back, with nothing in flight, and why. `usage`: of model calls that
    it cut off for that."""

    why: str = ""
    usage: Usage = Usage()


@final
class Replied(Record, frozen=True, tag="replied"):
    """A model's whole reply. `upto`: the last record its request contained. `invalid`: why it is
    not the output. `spoken`: the output is the text of its parts, and stands only there.
    `drawn`: by the number of a call, its arguments with what its tool drew for those that were left
        out (an id, a time).
    `request`: the digest of what it was sent; `sent`: what of that the records before it do not
        say."""

    path: str = ""
    upto: int = 0
    heard: tuple[str, ...] = ()
    parts: tuple[ReplyPart, ...] = ()
    usage: Usage = Usage()
    model: str = ""
    details: dict[str, Any] | None = None
    output: Any = None
    final: bool = False
    spoken: bool = False
    invalid: str = ""
    took: float = 0.0
    drawn: dict[str, Any] = {}
    request: str = ""
    sent: Sent | None = None


@final
class Broke(Record, frozen=True, tag="broke"):
    """A model call that was cut off, with what it had said. `request` and `sent`: as for
    `Replied`."""

    path: str = ""
    upto: int = 0
    heard: tuple[str, ...] = ()
    text: str = ""
    usage: Usage = Usage()
    took: float = 0.0
    request: str = ""
    sent: Sent | None = None


@final
class Submitted(Record, frozen=True, tag="submitted"):
    """A model call is about to be submitted, to be worked on in the background; a `Suspended` says
    the provider's id. `ended`: it is over without a reply; `left`: it could not be withdrawn, and
    why; that is tried `again` then."""

    path: str = ""
    of: BackgroundRequest | None = None
    ended: str = ""
    left: str = ""
    usage: Usage = Usage()
    again: float = NEVER


@final
class Summarised(Record, frozen=True, tag="summarised"):
    """A model's summary: from here on it stands for the first `covers` messages of the agent's
    conversation, in what its model is sent. `covers` 0: the call was cut off. `request` and `sent`:
    of the call that made it, as for `Replied`."""

    path: str = ""
    covers: int = 0
    text: str = ""
    usage: Usage = Usage()
    model: str = ""
    took: float = 0.0
    request: str = ""
    sent: Sent | None = None


@final
class Returned(Record, frozen=True, tag="returned"):
    """A call's one result. `ran` is False when its body never did (denied, invalid, expired).
    `agent`: who has the conversation from here on, if that changes."""

    call: str
    value: Any = None
    error: str = ""
    why: str = ""
    ran: bool = True
    changes: list[Any] = []
    emits: list[Any] = []
    took: float = 0.0
    agent: str = ""


@final
class Suspended(Record, frozen=True, tag="suspended"):
    """A body stopped to wait; opens the interrupt `i`."""

    call: str
    i: str
    kind: SuspendedKind = "question"
    type: str = "question"
    payload: Any = None
    key: str = ""
    resume_to: Literal["next", "self"] = "next"
    event: str = ""
    schema: dict[str, Any] | bool | None = None
    expires: float = 0.0
    on_expiry: ExpiryAction = "deny"
    changes: list[Any] = []
    emits: list[Any] = []


@final
class Stepped(Record, frozen=True, tag="stepped"):
    """`ctx.step` and `ctx.save`: a memo of the call, filled in by its body. `undo` is
    `ctx.on_cancel`."""

    call: str
    key: str
    value: Any = None


@final
class Yielded(Record, frozen=True, tag="yielded"):
    """A body stopped at `ctx.save` because a pause is wanted; it is due again."""

    call: str


@final
class Checked(Record, frozen=True, tag="checked"):
    """What hooks said before a call begins, a model reads what people said, or an output is given.
    `step`: what was asked about; `hooks`: who was asked, the last of whom said `reason`, if it was
    not let pass. `upto`: of an input, the last record that was read; of an output, its turn."""

    step: str
    tool: str = ""
    verdict: Literal["pass", "veto", "ask"] = "pass"
    hooks: tuple[str, ...] = ()
    reason: str = ""
    upto: int = 0
    took: float = 0.0


@final
class Faulted(Record, frozen=True, tag="faulted"):
    """An attempt that failed. Attempts are counted by the fold, never in memory."""

    step: str
    error: str
    kind: str = "error"
    transient: bool = False
    retry_at: float = 0.0


@final
class Doubted(Record, frozen=True, tag="doubted"):
    """A body that ended, and it is unknown whether its effect happened: a timeout, or it said so
    itself.

    `settle`: seconds that the world gets before it is asked. `running`: it has not ended, and is
    waited for. `left`: it has not ended, and a cancel does not wait any longer; or it ends with its
    next record, after the cancel. `effect`, `undo`: what it is, if this journal has no intent of it:
    it may have begun after the backup that the store was restored from."""

    call: str
    why: str = ""
    settle: float = 0.0
    running: bool = False
    left: bool = False
    effect: str = ""
    undo: bool = False


@final
class Verified(Record, frozen=True, tag="verified"):
    """What the world says about a call in doubt."""

    call: str
    answer: Literal["happened", "not", "unknown"]
    value: Any = None


@final
class Late(Record, frozen=True, tag="late"):
    """Behind the end: what a body came to that was still at work when the run was cancelled."""

    call: str
    value: Any = None
    error: str = ""


@final
class Disowned(Record, frozen=True, tag="disowned"):
    """The record at `seq`, by which `by` decided `i`, does not count: it is not signed by a key
    that this worker trusts."""

    seq: int
    i: str = ""
    by: str = ""
    why: str = ""


@final
class Restored(Record, frozen=True, tag="restored"):
    """The store was restored from a backup: what the run did after `since`, its last record before
    this one, is unknown here. Every call that may have begun is in doubt, and the run is paused
    until a person has looked. No worker of the time that was lost had an epoch as high as this
    one."""

    epoch: int
    since: float = 0.0
    by: str = ""
    reason: str = ""


@final
class Erased(Record, frozen=True, tag="erased"):
    """Behind the end, and the last: everything that was recorded before is gone. It says who wanted
    that, and why, and of the run itself only what a list needs: `status` is how it had ended, and
    `after` which turn it continued. Written by the store."""

    run: str
    kind: str
    program: str
    status: Literal["completed", "cancelled"]
    by: str = ""
    reason: str = ""
    after: Ref | None = None


# Moves


@final
class Intended(Record, frozen=True, tag="intended"):
    """This call is about to start, and consumes the approval that allowed it. `digest`: of a tool
    that needs approval, exactly what will run. `standing`: the interrupt whose standing decision is
    behind the approval. `secret_result`: the name under which its result is sealed."""

    call: str
    tool: str
    attempt: int = 1
    digest: str = ""
    effect: str = "unsafe"
    undo: bool = False
    under: tuple[str, ...] = ()
    agent: str = ""
    input: Any = None
    why: str = ""
    gate: tuple[ApprovalSlot, ...] = ()
    grant: str = ""
    standing: str = ""
    secret_result: str | None = None


@final
class Asked(Record, frozen=True, tag="asked"):
    """The program needs a person. Opens the interrupt `i`. `escalated_gate`: who may agree once it is
    `escalated`; empty: as before. `phrase`: no digest covers it. `secret_result`: as of `Intended`."""

    i: str
    kind: AskedKind
    call: str = ""
    step: str = ""
    tool: str = ""
    args: Any = None
    definition: str = ""
    describes: str = ""
    effect: str = ""
    undo: bool = False
    payload: Any = None
    digest: str = ""
    reason: str = ""
    rules: tuple[str, ...] = ()
    approvers: int = 1
    groups: tuple[str, ...] = ()
    not_requester: bool = False
    queue: bool = False
    valid_for: float = NEVER
    remind_every: float = NEVER
    schema: dict[str, Any] | bool | None = None
    expires: float = NEVER
    on_expiry: ExpiryAction = "deny"
    undoing: bool = False
    escalated: bool = False
    under: tuple[str, ...] = ()
    group_sets: tuple[tuple[str, ...], ...] = ()
    gate: tuple[ApprovalSlot, ...] = ()
    action: str = ""
    requesters: tuple[str, ...] = ()
    carries: tuple[str, ...] = ()
    escalate_to: tuple[str, ...] = ()
    escalated_gate: tuple[ApprovalSlot, ...] = ()
    phrase: str = ""
    secret_result: str | None = None


@final
class Closed(Record, frozen=True, tag="closed"):
    """An interrupt that no person decided: it expired, its event came, or it became void. `heard`:
    the number of that event among those of the run, if it had come before."""

    i: str
    why: Literal["expired", "event", "due", "void", "abandoned"]
    value: Any = None
    heard: int = 0


@final
class Reminded(Record, frozen=True, tag="reminded"):
    """An interrupt that is still open was brought to people's minds again."""

    i: str


@final
class Parked(Record, frozen=True, tag="parked"):
    """Nothing to do until `wake_at`, a person's word, or the lifting of a halt. Gives the lease
    back."""

    wake_at: float = NEVER
    blocked: tuple[str, ...] = ()


@final
class Upgraded(Record, frozen=True, tag="upgraded"):
    """The run continues with another version of its program, whose `fingerprint` this is, because
    an upgrader was registered for it. `now`: by the number of an earlier record, what some of its
    fields are read as from here on; it stays as it was written. `began`: the tool and the arguments
    of calls that had begun, where those are read differently now: their idempotency keys are still
    made of them. `changes`: what is different, in words."""

    fingerprint: dict[str, Any]
    changes: tuple[str, ...] = ()
    now: dict[str, dict[str, Any]] = {}
    began: dict[str, tuple[str, Any]] = {}


@final
class Chapter(Record, frozen=True, tag="chapter"):
    """A new chapter of the same run begins: readers may begin here. `state`: all that the records
    before this one mean, in this `format`; of a fork nothing, as it says what the original was.
    `why`: what for, and `by` whom, `@size` if it had become long."""

    state: dict[str, Any] = {}
    format: int = 0
    by: str = ""
    why: str = ""


@final
class RunCompleted(Record, frozen=True, tag="completed"):
    """The end. `stopped` is the limit that tripped, `by` the condition of success that did, if one
    did. `spoken`: the output is what the agent said last, and stands in its reply."""

    output: Any = None
    stopped: str = ""
    by: str = ""
    spoken: bool = False


@final
class RunCancelled(Record, frozen=True, tag="cancelled"):
    """The other end."""

    undone: tuple[str, ...] = ()
    residue: tuple[Any, ...] = ()


Command = (
    Decided | PauseAsked | Resumed | CancelAsked | Said | Emitted | Accepted | Revoked | Forked
)
Fact = (
    Claimed
    | Released
    | Replied
    | Broke
    | Summarised
    | Returned
    | Suspended
    | Stepped
    | Checked
    | Yielded
    | Faulted
    | Doubted
    | Verified
    | Late
    | Disowned
    | Restored
    | Submitted
)
Move = (
    Intended
    | Asked
    | Closed
    | Reminded
    | Parked
    | Upgraded
    | RunCompleted
    | RunCancelled
    | CancelAsked
    | Decided
)
AnyRecord = Started | Command | Fact | Move | Erased | Chapter
