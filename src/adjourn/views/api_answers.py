"""What the API answers, where it is no view of a run: structs with every field, of which the
OpenAPI document is made."""

from typing import Any
from urllib.parse import urlsplit

import msgspec

from adjourn.core.interrupt import Interrupt
from adjourn.core.rebuilt_requests import SentRequest
from adjourn.core.records import AnyRecord
from adjourn.stores.outbox import HELD, Endpoint, EndpointKind, LetterState, Notification
from adjourn.stores.own_endpoint import own_endpoint
from adjourn.stores.protocol import Halt
from adjourn.stores.verification import Verification
from adjourn.views.again_preview import AgainPreview
from adjourn.views.audit_entry import AuditEntry
from adjourn.views.bulk_view import BulkItem, RefusedDecision
from adjourn.views.cancel_preview import CancelPreview
from adjourn.views.chain_view import ChainView
from adjourn.views.filled_view import filled
from adjourn.views.fleet_view import FleetView
from adjourn.views.fork_preview import ForkPreview
from adjourn.views.halt_scope import HaltScope
from adjourn.views.interrupt_view import InterruptSummary, InterruptView
from adjourn.views.item_note_view import DecidersView, ItemMarkView
from adjourn.views.numbers_view import NumbersView
from adjourn.views.own_endpoint_view import OwnEndpointView, PushKeyView
from adjourn.views.person_view import EndedSessions, NewKey, PersonView, SessionView
from adjourn.views.policy_view import PolicyView
from adjourn.views.run_comparison import RunComparison
from adjourn.views.run_view import RunGlance, RunSummary, RunView
from adjourn.views.seen_before import SeenBefore
from adjourn.views.standing_view import StandingView
from adjourn.views.timeline_view import TimelineView
from adjourn.views.words import Role


class Done(msgspec.Struct, frozen=True, kw_only=True):
    """It is recorded, as this record."""

    seq: int


class Ok(msgspec.Struct, frozen=True, kw_only=True):
    """It is done."""

    ok: bool


DONE = Ok(ok=True)


class RunRef(msgspec.Struct, frozen=True, kw_only=True):
    """A run that was started."""

    run_id: str


class ForkRef(msgspec.Struct, frozen=True, kw_only=True):
    """A fork, and after which record of the other run it was cut."""

    run_id: str
    at_seq: int


class ErasureView(msgspec.Struct, frozen=True, kw_only=True):
    """What was erased; `others` are later runs of the same session, `turns` the runs that were
    erased with it."""

    seq: int
    scrubbed: bool
    others: tuple[str, ...]
    turns: tuple[str, ...]


class AcceptedChanges(msgspec.Struct, frozen=True, kw_only=True):
    """What was accepted of a changed program."""

    accepted: tuple[str, ...]


class DroppedQuestions(msgspec.Struct, frozen=True, kw_only=True):
    """The refs of the questions that a message has dropped."""

    dropped: tuple[str, ...]


class AlikeErrors(msgspec.Struct, frozen=True, kw_only=True):
    """The refs of the open errors that are like one, and until when they were opened."""

    refs: tuple[str, ...]
    until: float


class RetriedError(msgspec.Struct, frozen=True, kw_only=True):
    """What came of one of several decisions."""

    ref: str
    run_id: str
    seq: int | None
    refused: RefusedDecision | None


class RecordView(msgspec.Struct, frozen=True, kw_only=True):
    """A line of a journal, as it is stored."""

    seq: int
    record: dict[str, Any]

    @classmethod
    def of(cls, seq: int, record: AnyRecord) -> "RecordView":
        """A record, by its number."""
        return cls(seq=seq, record=msgspec.to_builtins(record))


class RequestView(msgspec.Struct, frozen=True, kw_only=True):
    """What a model was sent; `request` is null in a list."""

    seq: int
    path: str
    agent: str
    what: str
    model: str
    messages: int
    digest: str
    proof: str
    request: dict[str, Any] | None

    @classmethod
    def of(cls, one: SentRequest, *, whole: bool) -> "RequestView":
        """A request; `whole`: with the messages and the terms."""
        if whole:
            fields: dict[str, Any] = one.whole()
        else:
            fields = {**one.gist(), "request": None}
        return cls(**fields)


class CheckpointText(msgspec.Struct, frozen=True, kw_only=True):
    """A checkpoint as its JSON text: it is signed, so it must arrive as it is."""

    checkpoint: str


class VerificationView(msgspec.Struct, frozen=True, kw_only=True):
    """Every place that is not as it was written, and how far the check can vouch for the rest."""

    broken: tuple[str, ...]
    says: str
    seal: int | None
    signed_by: str | None
    lines: int
    records: int

    @classmethod
    def of(cls, found: Verification) -> "VerificationView":
        """What was found."""
        seal = found.seal
        return filled(
            cls,
            found,
            broken=tuple(str(place) for place in found),
            says=str(found),
            seal=seal.k if seal else None,
            signed_by=seal.kid if seal and found.is_signed else None,
        )


class EndpointView(msgspec.Struct, frozen=True, kw_only=True):
    """Who is told of events; without the secret, and of an address that is itself one only its
    kind. `person`: the user to whom it belongs; empty: to no single one."""

    name: str
    kind: EndpointKind
    url: str
    person: str
    topics: tuple[str, ...]
    at: float

    @classmethod
    def of(cls, endpoint: Endpoint) -> "EndpointView":
        """An endpoint, without its secrets."""
        url, own = endpoint.url, own_endpoint(endpoint)
        if endpoint.kind != "webhook":
            parts, host = urlsplit(url), ""
            if own is None and parts.scheme == "https":  # of a chat, which is known
                host = parts.hostname
            url = f"{parts.scheme}://{host}…"
        return filled(cls, endpoint, url=url, person=own.person if own else "")


class NewEndpoint(msgspec.Struct, frozen=True, kw_only=True):
    """A webhook that was added, and its secret, which is shown once."""

    name: str
    secret: str


class TestedEndpoint(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a test message: whether it arrived, what the other side said, and after how many
    seconds."""

    name: str
    arrived: bool
    says: str
    took: float


class LetterView(msgspec.Struct, frozen=True, kw_only=True):
    """A notification that has not arrived. `is_held`: it waits for quiet hours to end, and
    nothing is wrong with it."""

    number: int
    id: str
    endpoint: str
    topic: str
    run_id: str | None
    at: float
    state: LetterState
    tries: int
    due_at: float
    error: str
    is_held: bool

    @classmethod
    def of(cls, letter: Notification) -> "LetterView":
        """A letter, without what it says."""
        return filled(
            cls, letter, number=letter.n, run_id=letter.run or None, is_held=letter.error == HELD
        )


class ProgramView(msgspec.Struct, frozen=True, kw_only=True):
    """What a server can start; `picture` is a flow's diagram."""

    name: str
    kind: str
    picture: str | None


class Me(msgspec.Struct, frozen=True, kw_only=True):
    """Who asks. `grants`: what they may do with some runs, beyond what the role allows everywhere.
    `rights`: what they may do at least with some runs. `tenant`: only its runs are there for them.
    `link`: they came by the link of this start of the server. `now`: the server's time. `store`:
    where the runs are, as `--db` takes it; empty for who may not control all runs, and for a store
    in memory."""

    name: str
    role: Role
    groups: tuple[str, ...]
    grants: tuple[str, ...]
    rights: tuple[str, ...]
    tenant: str
    csrf: str
    link: bool
    now: float
    store: str


class ActionView(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of an interrupt that a decision is about."""

    ref: str
    digest: str
    tool: str
    arguments: dict[str, Any] | None
    payload: Any

    @classmethod
    def of(cls, interrupt: Interrupt) -> "ActionView":
        """What a person decides about."""
        call = interrupt.call
        return cls(
            ref=interrupt.ref,
            digest=interrupt.digest,
            tool=call.tool if call else "",
            arguments=call.arguments if call else None,
            payload=interrupt.payload,
        )


class FeedSnapshot(msgspec.Struct, frozen=True, kw_only=True):
    """The first event of the stream about everything: the refs of all open interrupts, and the
    halts that are on."""

    open: tuple[str, ...]
    halts: tuple[Halt, ...]
    now: float


class FeedChange(msgspec.Struct, frozen=True, kw_only=True):
    """What has changed anywhere. `more`: not all runs that changed are in `runs`, so read again
    what you show. `open_interrupts`: how many there are."""

    opened: tuple[str, ...]
    closed: tuple[str, ...]
    halts: tuple[Halt, ...]
    runs: tuple[RunSummary, ...]
    more: bool
    open_interrupts: int
    now: float


class AuditExport(msgspec.Struct, frozen=True, kw_only=True):
    """The audit as a file. `complete`: every line that was wanted is in it."""

    text: str
    lines: int
    complete: bool


ANSWERS: tuple[type[msgspec.Struct], ...] = (
    RunSummary,
    RunGlance,
    RunView,
    TimelineView,
    InterruptSummary,
    InterruptView,
    AuditEntry,
    CancelPreview,
    AgainPreview,
    ForkPreview,
    Halt,
    HaltScope,
    FleetView,
    Done,
    Ok,
    RunRef,
    ForkRef,
    ErasureView,
    AcceptedChanges,
    DroppedQuestions,
    AlikeErrors,
    RetriedError,
    BulkItem,
    NumbersView,
    RunComparison,
    SeenBefore,
    PolicyView,
    ItemMarkView,
    DecidersView,
    RecordView,
    RequestView,
    CheckpointText,
    VerificationView,
    ChainView,
    AuditExport,
    EndpointView,
    NewEndpoint,
    TestedEndpoint,
    LetterView,
    OwnEndpointView,
    PushKeyView,
    ProgramView,
    Me,
    PersonView,
    NewKey,
    SessionView,
    EndedSessions,
    StandingView,
    ActionView,
    FeedSnapshot,
    FeedChange,
)
"""Everything that the API answers; a struct that another one contains comes with it."""


def schemas() -> dict[str, Any]:
    """The JSON Schema of each answer, by the name of its struct."""
    _, found = msgspec.json.schema_components(ANSWERS, ref_template="#/components/schemas/{name}")
    return found
