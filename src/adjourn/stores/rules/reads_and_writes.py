"""What a rule asks for, what was read, and what it wants to be written: plain values, which a store
can send anywhere."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal

import msgspec

from adjourn.core.status import Status
from adjourn.stores.audit import AuditLine
from adjourn.stores.erasure import Hold
from adjourn.stores.fleet import Misfit, WorkerCard
from adjourn.stores.outbox import Endpoint, Notification, Wake
from adjourn.stores.protocol import Halt
from adjourn.stores.rules.interrupt_row import InterruptRow
from adjourn.stores.run_row import RunRow
from adjourn.stores.seals import Covered, Seal

LAST = -1
"""The number by which the last record is asked for."""


class ReadRequest(msgspec.Struct, frozen=True, gc=False):
    """What a rule needs to see; it follows from the rule's arguments alone, before anything is
    read."""

    run: str = ""
    tail: int = -1
    """The records after this one; -1: none."""
    head_at: int = 0
    """The hash of the chain at this record."""
    before: tuple[str, int] | None = None
    """Another run, and the hash of its chain at a record."""
    copied: str = ""
    """Another run, with whose records this one begins."""
    last: tuple[str, str] | None = None
    """The last run of this session that is of this program."""
    later: bool = False
    """Every run that goes on with this one."""
    queue: bool = False
    """If it is queued in its session and has not begun: the first run that comes before it."""
    records: tuple[int, ...] = ()
    """These records; `LAST`: the last one."""
    opens: bool = False
    """All open interrupts."""
    named: tuple[str, ...] = ()
    """These interrupts, whatever their state."""
    otherwise_opens: bool = False
    """All open interrupts, if a named one is not there."""
    lives: tuple[str, ...] = ()
    """The interrupts on which these calls live."""
    all_interrupts: bool = False
    openings: bool = False
    """The records that opened the named interrupts, and those by which people have agreed to
    them."""
    request: str = ""
    owner: bool = False
    """Until when the worker lives that has the run."""
    audit: tuple[str, ...] = ()
    """The last lines of these audits. If the run is asked for and there is none: that of the global
    one, too."""
    halts: bool = False
    holds: bool = False
    endpoints: bool = False
    signed: bool = False
    erasures: bool = False
    """How many runs were erased."""
    letters: tuple[int, ...] = ()
    take: int = 0
    """So many letters that are due,"""
    but: tuple[str, ...] = ()
    """for all endpoints but these."""
    waking: bool = False
    """Whether wakes are wanted. Whoever asks for a run is told, too."""
    asleep: Literal["", "blocked", "all"] = ""
    """The runs that wait for halts to be lifted, if wakes are wanted; or all that are due, or at a
    time, as well."""
    wakes: int = 0
    """So many wakes that are due."""
    touched: int = 0
    """The id of the store, its last seal, and so many scopes that were touched since they were
    sealed;"""
    seal: int = 0
    """the seal of this number, too."""
    tickets: bool = False
    """What is kept of the tickets of tools."""

    @property
    def is_little(self) -> bool:
        """Whether it asks for no more than a run, the end of its journal and the halts: what most
        commits ask for."""
        return self == ReadRequest(self.run, self.tail, self.head_at, halts=True)


NOTHING: Any = MappingProxyType[Any, Any]({})


class Before(msgspec.Struct, frozen=True, gc=False):
    """The run that another goes on with, and the hash of its chain at the record that was named;
    b"" if it has none such."""

    row: RunRow
    head: bytes = b""


class ReadResult(msgspec.Struct, gc=False):
    """What was read, inside the transaction; `now` is the transaction's time. The rows are the
    rule's to change."""

    now: float
    row: RunRow | None = None
    tail: Sequence[tuple[int, str]] = ()
    head: bytes = b""
    before: Before | None = None
    copied: RunRow | None = None
    last: str = ""
    """Its id; "" if there is none."""
    later: Sequence[tuple[str, Status]] = ()
    """Their ids, the oldest first."""
    ahead: str = ""
    """Its id; "" if the run need not wait for another."""
    records: Mapping[int, str] = NOTHING
    interrupts: Mapping[str, InterruptRow] = NOTHING
    request: tuple[int, str] | None = None
    until: float = 0.0
    audit: Mapping[str, tuple[int, bytes]] = NOTHING
    halts: Sequence[Halt] = ()
    holds: Sequence[Hold] = ()
    endpoints: Sequence[Endpoint] = ()
    signed: bool = False
    erasures: int = 0
    letters: Mapping[int, Notification] = NOTHING
    due: Sequence[Notification] = ()
    waking: bool = False
    asleep: Sequence[RunRow] = ()
    wakes: Sequence[Wake] = ()
    store: str = ""
    touched: Sequence[Covered] = ()
    seals: Mapping[int, Seal] = NOTHING
    """By their numbers, the last one also by 0."""
    tickets: str = ""


class Appended(msgspec.Struct, frozen=True, gc=False):
    """A record that is to be written."""

    seq: int
    epoch: int
    body: str
    head: bytes


class Writes(msgspec.Struct, gc=False):
    """What is to be written, all or nothing. `row`: as it is after all of it; `new`: there is none
    yet.

    `wiped`: before anything is appended, every body and every hash of the journal goes but the last
        hash, and all that there
    is of the run elsewhere, and the row's own words are written anew. `gone`: these workers are
    forgotten unless a run still names them. `removed`: all of this run goes. `waking`: from now on
    wakes are wanted; or not, and then all that there are go.
    `wakes`: when these runs are due; each in the place of the one that the run may have, under a
        new number.
    """

    row: RunRow | None = None
    new: bool = False
    wiped: bool = False
    removed: RunRow | None = None
    journal: list[Appended] = []
    interrupts: dict[str, InterruptRow] = {}
    request: tuple[str, int, str] | None = None
    blobs: dict[str, bytes] = {}
    """The bytes of files that the run is to have."""
    key: str = ""
    """The wrapped key of a new run that is encrypted."""
    beats: dict[str, float] = {}
    gone: list[str] = []
    audit: list[AuditLine] = []
    touched: dict[str, float] = {}
    put_halts: list[Halt] = []
    drop_halts: list[str] = []
    put_holds: list[Hold] = []
    drop_holds: list[str] = []
    signed: bool | None = None
    misfit: Misfit | None = None
    card: WorkerCard | None = None
    drop_cards: list[str] = []
    put_endpoints: list[Endpoint] = []
    drop_endpoints: list[str] = []
    post: list[Notification] = []
    put_letters: list[Notification] = []
    drop_letters: list[int] = []
    waking: bool | None = None
    wakes: dict[str, float] = {}
    put_wakes: list[Wake] = []
    drop_wakes: list[int] = []
    seal: Seal | None = None
    untouch: str | None = None
    """Forget the touched scopes up to this name."""
    tickets: str | None = None
