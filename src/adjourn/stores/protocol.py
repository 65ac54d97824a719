"""What a store promises. The docstrings are the contract; `adjourn.testing.StoreContract` checks
each of them."""

from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from adjourn.core.files import FileRef
from adjourn.core.interrupt import Interrupt
from adjourn.core.record_effects import Commands
from adjourn.core.records import AnyRecord, Fact, Move, Released, Started
from adjourn.core.signatures import Trust
from adjourn.core.status import Status
from adjourn.stores.audit import EVERY_LINE, AuditFilter, AuditLine, FoundLine
from adjourn.stores.audit_key import AuditKey
from adjourn.stores.erasure import Erasure, Hold, Pruning
from adjourn.stores.fleet import Fleet, Misfit, Pulse
from adjourn.stores.guest_threads import KeepsThreads
from adjourn.stores.outbox import Outbox
from adjourn.stores.run_index import RunIndex, RunSearch
from adjourn.stores.seals import MOST, Anchor, Seal
from adjourn.stores.snapshots import Snapshots

if TYPE_CHECKING:
    from adjourn.stores.channel import Channel, Ears
    from adjourn.stores.item_note import ItemMark, ItemNote
    from adjourn.stores.verification import Verification
from adjourn.stores.run_row import RunRow, Turn
from adjourn.stores.tickets import TicketOffice


class Lease(msgspec.Struct, frozen=True, gc=False):
    """The right to advance one run. Its authority is `epoch`; time only says when another may take
    it. `head` is the hash of the chain at `seq`, `now` the store's time when the run was taken.

    `trust` is the worker's: whose signatures it believes. A store asks it, too, before a call that
    needs an agreement.
    `size`: characters of the records that it carries. `erasures`: how many runs of the store had
        been erased when it was taken;
    whoever has read another run when there were fewer may know what is gone. `ready_at`: since when
    the run could be taken, 0 if that is not known; `lost`: it was taken from a worker that had died
    or fallen silent.
    """

    run: str
    worker: str
    epoch: int
    seq: int
    records: Sequence[tuple[int, AnyRecord]]
    halts: frozenset[str]
    trust: Trust | None = None
    head: bytes = b""
    size: int = 0
    now: float = 0.0
    erasures: int = 0
    ready_at: float = 0.0
    lost: bool = False


class Committed(msgspec.Struct, frozen=True, gc=False):
    """What a commit found. `clean` False: others had spoken, or a halt forbade an intent; the moves
    are void. `head` is the hash of the chain at `seq`, `now` the store's time inside the
    transaction; `size`: characters of the records after `seen`, those of others and these. `files`:
    references in these, whose bytes were written with them."""

    records: Sequence[tuple[int, AnyRecord]]
    seq: int
    clean: bool
    halts: frozenset[str]
    head: bytes = b""
    size: int = 0
    now: float = 0.0
    files: tuple[FileRef, ...] = ()


class Halt(msgspec.Struct, frozen=True, gc=False):
    """A halt that is on."""

    scope: str
    by: str
    reason: str
    at: float


class Filter(msgspec.Struct, frozen=True):
    """What a list shows. Empty fields do not filter. `status` is a stored one or one that people
    see (`RunStatus`): runs of which it is either. `after` is the last id of the page before (in an
    inbox also as `run:id`, which is unique where authors gave ids). `text` is a part of the title,
    the id or the program, in an inbox also of the tool or the type. `since` and `until` are times
    of the beginning; `changed` of the run's last record.

    For runs: `prefix`, how their ids begin; they are then in the order of their ids, and only those
    are looked at. `search`, what the index has of them (see `RunIndex`): they are then the newest
    first in any case.

    For inboxes: `kind`; `group`, to whom it is given; `members`, what somebody in these groups may
    decide; `brief`, without what only its record says (type, payload, call; it is then of no
    group); `interrupt`, its local id: it is then found whatever its state; `assigned`, to one of
    these ("": to nobody); `awake_for`, not what this person has snoozed.
    """

    status: str = ""
    program: str = ""
    session: str = ""
    label: tuple[str, str] | None = None
    run: str = ""
    kind: str = ""
    interrupt: str = ""
    text: str = ""
    since: float = 0.0
    until: float = 0.0
    changed: float = 0.0
    prefix: str = ""
    group: str = ""
    members: tuple[str, ...] | None = None
    brief: bool = False
    assigned: tuple[str, ...] = ()
    awake_for: str = ""
    after: str = ""
    limit: int = 50
    search: RunSearch | None = None


Bell = Callable[[], None]


LEFT = -1.0
"""Until when a worker lives that works no more and has left bodies at work."""


class Journals(Protocol):
    """Runs: their journals, who may append to them, and who is told that somebody did."""

    async def create(
        self,
        started: Started,
        records: Sequence[AnyRecord] = (),
        *,
        origin: str = "",
        blobs: Mapping[str, bytes] = ...,
    ) -> bool:
        """Begin a run (with the rest of an imported journal). False: it exists, same program and
        input, unchanged.

        Raises `RunExists` if the id is taken by another input or program. If it continues another
        run (`Started.after`), that one has ended (else `Refused`), is there (`UnknownRun`,
        `RunErased`), and its journal is the one that is meant (`BrokenHistory`). If it continues
        its session's last run (`options["after"]`), that is the last one of its program now, or
        there is none (else `SessionMoved`). A run that it forks or repeats was not erased or pruned.

        Args:
            started: its first record.
            records: those that follow, of an imported journal.
            origin: from where, for the audit.
            blobs: bytes of files that the records refer to, and do not carry.
        """
        ...

    async def get(self, run: str) -> RunRow:
        """The row of the run whose id is exactly `run`; raises `UnknownRun`."""
        ...

    async def load(self, run: str, after: int = 0) -> list[tuple[int, AnyRecord]]:
        """Committed records of `run` after number `after`, in order; raises `UnknownRun`."""
        ...

    async def erasures(self) -> int:
        """How many runs were erased so far: a process that has kept what was said in some must not use it
        once there are more."""
        ...

    async def turns(self, run: str, seq: int, limit: int = 100) -> list[Turn]:
        """A run's first `seq` records, then those of the run that it continues
        (`Started.after`), and so on: the newest first, at most `limit` of them. It ends where a run
        has its `history` itself, was erased, or is not there any more."""
        ...

    async def blobs(self, run: str, digests: Collection[str] | None = None) -> dict[str, bytes]:
        """The bytes of the files of `run`, by their SHA-256: of all that it has, or of these
        `digests`. They are there with the record that names them, and go with the run."""
        ...

    def subscribe(self, run: str, bell: Bell, *, words: bool = False) -> Callable[[], None]:
        """Ring `bell` in the caller's event loop after the run ("" = any run) may have changed, by
        whichever process.

        `words`: only for what others than the lease's holder append, and for halts.
        Rings may be spurious and are merged; the result ends the subscription. Nothing is lost
        between subscribing and the first ring if the caller looks once after subscribing.
        """
        ...

    def hear(self, told: Callable[[str], None]) -> Callable[[], None]:
        """Call `told` in the caller's loop when another process announces that a run may be due, with
        the run's id, or "" for any; the result ends it. It may never be called: it saves waiting for
        the next look, and is no promise."""
        ...

    async def acquire(
        self,
        run: str,
        worker: str,
        ttl: float,
        *,
        after: int = 0,
        head: bytes = b"",
        replaces: str = "",
        spares: str = "",
    ) -> Lease | None:
        """Take the run if it is due and free, or its worker has not beaten in time, or is
        `replaces`: epoch + 1, `Claimed` appended.

        It is a beat of `worker`. None: nothing to do there, or it is queued in its session
        (`options["queue"]`), has not begun, and one that was started before it has not ended.
        Raises `LeaseBusy` if another worker has it. Raises `StoreError` and changes nothing if
        `head` is another: the caller knows another history, because the store was restored or
        replaced under it, and must fold anew.

        Args:
            run: the run's id.
            worker: who takes it.
            ttl: its runs are not taken by others for so many seconds.
            after: the lease carries the records after this one.
            head: the hash of the chain there, if the caller knows it.
            replaces: a worker that is known to be gone.
            spares: a worker whose id begins so keeps its runs, however much time has passed, until
                it is named in `replaces`.
        """
        ...

    async def claim(
        self,
        programs: Sequence[str],
        worker: str,
        ttl: float,
        limit: int,
        *,
        after: Mapping[str, tuple[int, bytes]] = ...,
        but: Collection[str] = (),
        replaces: Sequence[str] = (),
        spares: str = "",
    ) -> list[Lease]:
        """`acquire` several runs in one transaction, by priority, then those that have waited longest:
        what is free and due, and what was lost with its worker. What others have is left out.

        Raises `StoreError`, and takes nothing, if a hash in `after` is another.

        Args:
            programs: only runs of these.
            worker: who takes them.
            ttl: as in `acquire`.
            limit: at most so many.
            after: of runs that the caller knows, the last record and the hash of the chain there
                (b"": it is not compared). Their leases carry the records after it, those of others
                none.
            but: not these runs.
            replaces: workers that are known to be gone; what they had is taken at once.
            spares: as in `acquire`.
        """
        ...

    async def workers(self) -> dict[str, float]:
        """The workers that may have runs, and until when each was heard of; `LEFT` if it has left
        bodies at work."""
        ...

    async def renew(self, lease: Lease, ttl: float) -> None:
        """Make sure that the run is still the `lease`'s, and a beat of its worker: others take none
        of its runs for `ttl` seconds. Raises `LeaseLost` on a newer epoch, never because time has
        passed.
        """
        ...

    async def release(self, lease: Lease, released: Released | None = None) -> None:
        """Give the `lease` back, with nothing running: `released` is appended. On a newer epoch,
        nothing happens.
        """
        ...

    def pulse(self) -> Pulse:
        """Where workers beat: a connection of its own, for a thread of its own."""
        ...

    def channel(self, ears: "Ears") -> "Channel":
        """This process's end of what carries live text to others, and theirs to `ears`. The
        caller closes it."""
        ...

    def snapshots(self) -> Snapshots:
        """Where states are kept that were written down, so that a cold start costs the end of a
        journal."""
        ...

    def run_index(self) -> RunIndex:
        """Where it is kept what runs are found by."""
        ...

    def commit(
        self, lease: Lease, facts: Sequence[Fact], moves: Sequence[Move], *, seen: int
    ) -> Coroutine[Any, Any, Committed]:
        """One transaction: append `facts`; append `moves` only if no one else has appended since
        `seen` and no halt names an intent among them. `Parked`, `RunCompleted` and `RunCancelled`
        give the lease back. The same records again, with the same `seen`, are found and not
        appended twice: so a worker that got an error may repeat a commit.

        Raises `LeaseLost`, and changes nothing, if the run has a newer epoch, whatever the clocks
        say, or fewer records than `seen` (the store was restored under its worker); `Unauthorised`
        for an intent that needs an agreement and has none (where the lease has `trust`: none that
        it believes).
        """
        ...

    async def deliver(
        self, run: str, command: Commands, *, request: str = "", origin: str = "", at: int = 0
    ) -> int:
        """Append a person's command if the run's status, the interrupt's row and the clock admit
        it; its seq. Of several `Together` all are appended, or none; the seq is the first one's (0: none).

        The same `request` again gives the same seq and appends nothing; with another command:
        `RequestReused`. With `at`, only if that is the run's last record; else `AlreadyResumed`.
        Raises `UnknownRun`, `Refused`, `UnknownInterrupt`, `AlreadyDecided`, `InterruptClosed`,
        `StaleDecision`, `NotAllowed`, `Halted`; `Invalid` for what cannot be recorded, or refers to
        a file that it does not give and the run does not have; `InvalidAnswer` for a decision of the wrong kind. Every attempt, also a refused one, is a
        line of the audit in the same transaction (`origin`: from where); if that cannot be written,
        nothing is.
        """
        ...

    async def chapter(
        self, run: str, *, by: str = "", why: str = "", request: str = "", origin: str = ""
    ) -> int:
        """Begin a new chapter of a run that no worker drives and in which no call runs; the number
        of its record. It says all that the records before it mean, as they are in this transaction.
        Raises `UnknownRun` and `Refused`; a refusal is a line of the audit, like the chapter.

        Args:
            run: the run's id.
            why: the reason.
            by, request, origin: who does it, by which request, and from where.
        """
        ...

    async def halt(
        self, scope: str, *, by: str = "", reason: str = "", lift: bool = False, origin: str = ""
    ) -> list[Halt]:
        """Set or lift a halt. Returns the halts that are on afterwards.

        Args:
            scope: what it covers; empty: only list them.
            reason: why.
            lift: lift it instead.
            by, origin: who does it, and from where, for the audit.
        """
        ...

    async def signed(self, required: bool | None = None, *, by: str = "", origin: str = "") -> bool:
        """Whether `deliver` takes only decisions that carry a seal.

        Args:
            required: set this first.
            by, origin: who does it, and from where, for the audit.
        """
        ...

    async def misfits(self, put: Misfit | None = None, *, runs: Sequence[str] = ()) -> list[Misfit]:
        """Why workers cannot advance runs that have not moved or ended since they said so.

        Args:
            put: keep this first, in the place of what was said before about its run.
            runs: only of these; none: of all.
        """
        ...

    async def erase(
        self, run: str, *, by: str = "", reason: str = "", whole: bool = False, origin: str = ""
    ) -> Erasure:
        """Remove everything that was in a run that has ended: records, questions, requests,
        notifications, title, labels, salt.

        A last record, `Erased`, says by whom and why, and so does the audit, whose lines stay.
        Twice is the same as once. `load` then gives that record alone; what is committed or
        delivered to the run, or created in its place, is refused with `RunErased`. Raises
        `UnknownRun`, `RunHeld`, and `Refused` for a run that has not ended; a refusal is a line of
        the audit.

        Args:
            run: the run's id.
            reason: why.
            whole: also all runs of its conversation, before and after it: all of them, or none.
            by, origin: who does it, and from where, for the audit.
        """
        ...

    async def prune(self, run: str, wanted: Pruning, *, origin: str = "") -> bool:
        """Remove a run that has ended: row, journal, questions, requests, notifications. False: the
        run does not exist.

        Its audit stays, with a line that says where its journal ended; so its id stays taken, and
        `create` raises `RunPruned`. Raises `RunHeld`, and `Refused` if it has not ended, or is not
        as `wanted` says; then nothing is changed.

        Args:
            run: the run's id.
            wanted: what the caller knows of it.
            origin: from where, for the audit.
        """
        ...

    async def ended(
        self,
        status: Status,
        before: float,
        *,
        after: tuple[float, str] | None = None,
        limit: int = 100,
    ) -> list[RunRow]:
        """Runs that have ended, the newest first.

        Args:
            status: how they ended.
            before: only those whose last record is no later.
            after: the time of the last record and the id of the last run of the page before.
            limit: at most so many.
        """
        ...

    async def followed(self, runs: Sequence[str]) -> dict[str, list[str]]:
        """Of these `runs`, those that others continue (`Started.after`), and by which."""
        ...

    async def weigh(self, runs: Sequence[str]) -> int:
        """How many bytes the records of these `runs` have."""
        ...

    async def hold(
        self, scope: str, *, by: str = "", reason: str = "", lift: bool = False, origin: str = ""
    ) -> list[Hold]:
        """Set or lift a legal hold. Returns those that are on. It is in the global audit, and in
        the run's.

        Raises `InvalidDefinition`, and `UnknownRun` for `run:ID`.

        Args:
            scope: a run (`run:ID`) or all runs with a label (`label:KEY=VALUE`); empty: only list
                them.
            reason: why.
            lift: lift it instead.
            by, origin: who does it, and from where, for the audit.
        """
        ...

    async def scrub(self, *, pruned: bool = False) -> bool:
        """What was erased is in no byte of the store's files any more. False: a process that reads
        holds a part of it; try again.

        If nothing was erased since it was done last, it does nothing. `pruned`: also if something
        was pruned since.
        """
        ...


class Lists(Protocol):
    """What is shown of many runs at once, and what there is to do."""

    async def due(self, programs: Sequence[str], limit: int = 100) -> list[RunRow]:
        """Up to `limit` runs of these `programs` that a worker could take now or when their owner
        is found dead: by priority, then the oldest."""
        ...

    async def inbox(self, filter: Filter) -> list[Interrupt]:
        """Open interrupts, as `filter` says, that a person can decide now, those that were
        escalated first, then oldest first; not those of cancelling runs unless undoing, nor those
        that have expired.
        """
        ...

    async def annotate(
        self, run: str, note: "ItemNote", *, request: str = "", origin: str = ""
    ) -> float:
        """Keep a note; the time that it is for: of a snooze, when the item is shown again; else 0.

        Every note, also a refused one, is a line of the run's audit in the same transaction; a
        comment is nowhere else. A snooze is for who asked for it, and ends 15 minutes before the
        item expires. Raises `UnknownRun`, `RunErased`, `UnknownInterrupt`, `Invalid`, and, for what
        is not open any more, `InterruptClosed` unless it is a comment.

        Args:
            run: the run's id.
            note: what is left, and by whom.
            request, origin: by which request, which leaves it once, and from where.
        """
        ...

    async def marks(self, items: Sequence[tuple[str, str]]) -> "dict[tuple[str, str], ItemMark]":
        """What is on these items now, by run and id inside the run, if there is anything.

        Args:
            items: the ids of runs, each with an interrupt's id inside that run.
        """
        ...

    async def runs(self, filter: Filter) -> list[RunRow]:
        """Runs, as `filter` says, newest first; with its `prefix`, in the order of their ids."""
        ...


class AuditLog(Protocol):
    """Who did what: lines that are chained and sealed, and a check of everything."""

    async def audit(
        self, scope: str | None = None, *, after: int = 0, limit: int = 100
    ) -> list[AuditLine]:
        """Lines of the audit, in order.

        Args:
            scope: of one run, of global commands (empty), of the security log (`"@security"`), or
                (None) of all runs and global commands by time.
            after: only those with a larger number.
            limit: at most so many.
        """
        ...

    async def recent(
        self,
        before: str = "",
        limit: int = 100,
        *,
        security: bool = False,
        wanted: AuditFilter = EVERY_LINE,
    ) -> list[FoundLine]:
        """Lines of the audit of all runs and of global commands, newest first: by time, then by
        scope and number; those of one run by their numbers.

        Args:
            before: the `place` of a line: only older ones.
            limit: at most so many.
            security: those of the security log instead.
            wanted: only lines that fulfil this.
        """
        ...

    async def note(self, lines: Sequence[Mapping[str, Any]]) -> None:
        """Append `lines` to the security log, all or none: `verb`, `by`, `from` and whatever else
        is to be known."""
        ...

    async def identity(self) -> str:
        """The random id that was made with the store."""
        ...

    async def seal(
        self, key: AuditKey | None = None, *, after: Seal | None = None, most: int = MOST
    ) -> Seal | None:
        """Write the next seal over up to `most` scopes that were touched since they were sealed
        last; None: nothing to do.

        Of several sealers each number is one's. A store whose last seal is signed is left to
        a process with a key; with a key, a last seal that is not signed is followed by one that is.
        Raises `AuditBroken`, and seals nothing, if the seal `after` (the last that the caller knows
        of) is not there any more.
        """
        ...

    async def seals(self, after: int = 0, limit: int = 100) -> list[Seal]:
        """Up to `limit` seals after number `after`, in order; with a negative `after`, so many of
        the last ones."""
        ...

    async def verify(
        self, keys: Sequence[AuditKey] = (), since: Anchor | None = None
    ) -> "Verification":
        """Check everything: a list of every place that is not as it was written, and how far the
        check can vouch for the rest.

        Each chain is checked by itself, the rows of each run against what the rules make of its
        journal, halts and endpoints against the audit, and all of it against the seals. With
        `keys`, seals must be signed by one of them from the first signature on; with `since`, the
        seal that it names must still be there.
        """
        ...


class Store(Journals, Lists, AuditLog, Outbox, Fleet, TicketOffice, KeepsThreads, Protocol):
    """All of it. Every method is one transaction; a method that raises has changed nothing,
    except that after `StoreError` the caller does not know and must reload."""

    @property
    def address(self) -> str:
        """Where it is, as `Runtime` takes it; "memory://" for one that nobody else can open."""
        ...

    def now(self) -> float:
        """The store's clock, in seconds since 1970; the only time that leases, deadlines and plans
        go by."""
        ...

    async def close(self) -> None:
        """Finish what was accepted and let go of threads, files and connections."""
        ...
