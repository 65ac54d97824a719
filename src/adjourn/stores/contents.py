"""Everything that a store holds, to be put into another store: values, which each store reads and
writes in its own way."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import Protocol

import msgspec

from adjourn.stores.audit import AuditLine
from adjourn.stores.erasure import Hold
from adjourn.stores.fleet import Misfit
from adjourn.stores.guest_threads import GuestThread
from adjourn.stores.outbox import Endpoint, Notification
from adjourn.stores.protocol import Halt
from adjourn.stores.rules.interrupt_row import InterruptRow
from adjourn.stores.rules.reads_and_writes import Appended, Writes
from adjourn.stores.rules.transaction import Book
from adjourn.stores.run_row import RunRow
from adjourn.stores.seals import Seal

AT_ONCE = 4_000_000
"""Characters of records that are written at once."""


class OneRun(msgspec.Struct):
    """A run, whole. The bodies of `journal` are None where they were erased. `requests`: id, record
    and digest of each. What is encrypted stays so; `key` is its wrapped key."""

    row: RunRow
    journal: list[Appended]
    interrupts: list[InterruptRow]
    requests: list[tuple[str, int, str]]
    blobs: dict[str, bytes] = {}
    misfit: Misfit | None = None
    wake: float | None = None
    key: str = ""


class StoreRest(msgspec.Struct):
    """What belongs to no single run. `touched`: scopes, and since when they wait for a seal."""

    halts: list[Halt]
    holds: list[Hold]
    endpoints: list[Endpoint]
    letters: list[Notification]
    touched: dict[str, float]
    signed: bool
    waking: bool


class Contents(Protocol):
    """All of a store as of one moment. Not in it: workers, snapshots and live text."""

    def identity(self) -> tuple[str, int]:
        """The random id that was made with the store, and how many runs were erased so far."""
        ...

    def runs(self) -> Iterable[OneRun]:
        """Every run, in the order in which they began."""
        ...

    def lines(self) -> Iterable[AuditLine]:
        """Every line of the audit, scope by scope, in order."""
        ...

    def seals(self) -> Iterable[Seal]:
        """Every seal, in order."""
        ...

    def rest(self) -> StoreRest:
        """What belongs to no single run."""
        ...

    def threads(self) -> Iterable[GuestThread]:
        """Every thread of a guest, in the order of their ids."""
        ...


class Filling(Protocol):
    """A store that is empty, inside of one transaction."""

    @property
    def book(self) -> Book:
        """What rules write into, too."""
        ...

    def put_requests(self, requests: Sequence[tuple[str, str, int, str]]) -> None:
        """Remember requests: the run's id, and the request's id, record and digest."""
        ...

    def put_thread(self, thread: GuestThread) -> None:
        """Write a thread of a guest."""
        ...


class Copied(msgspec.Struct):
    """How much was copied."""

    runs: int = 0
    records: int = 0
    lines: int = 0
    seals: int = 0
    threads: int = 0


def put(contents: Contents, filling: Filling) -> Copied:
    """Write all of it into a store that is empty, inside of one transaction."""
    done, size, book = Copied(), 0, filling.book
    requests: list[tuple[str, str, int, str]] = []
    for run in contents.runs():
        for line in run.journal:
            size += len(line.body or "")
        size += sum(map(len, run.blobs.values()))
        _put_run(run, book)
        for request in run.requests:
            requests.append((run.row.id, *request))
        done.runs, done.records = done.runs + 1, done.records + len(run.journal)
        if size > AT_ONCE:
            book.flush()
            filling.put_requests(requests)
            requests, size = [], 0
    book.flush()
    filling.put_requests(requests)
    done.lines = _in_parts(contents.lines(), lambda lines: book.write(Writes(audit=lines)), book)
    for seal in contents.seals():
        book.write(Writes(seal=seal))
        book.flush()
        done.seals += 1
    for thread in contents.threads():
        filling.put_thread(thread)
        done.threads += 1
    rest = contents.rest()
    book.write(Writes(touched=rest.touched))
    book.write(Writes(put_halts=rest.halts, put_holds=rest.holds, put_endpoints=rest.endpoints))
    book.write(Writes(post=rest.letters, signed=rest.signed or None, waking=rest.waking or None))
    book.flush()
    if rest.waking:
        _wake(contents, book)
    return done


def _put_run(run: OneRun, book: Book) -> None:
    interrupts = {row.i: row for row in run.interrupts}
    writes = Writes(
        row=run.row, new=True, journal=run.journal, interrupts=interrupts, blobs=run.blobs
    )
    writes.key = run.key
    book.write(writes)
    if run.misfit is not None:
        book.flush()
        book.write(Writes(misfit=run.misfit))


def _in_parts(
    lines: Iterable[AuditLine], write: Callable[[list[AuditLine]], None], book: Book
) -> int:
    part, size, count = list[AuditLine](), 0, 0
    for line in lines:
        part.append(line)
        size, count = size + len(line.body), count + 1
        if size > AT_ONCE:
            write(part)
            book.flush()
            part, size = [], 0
    write(part)
    book.flush()
    return count


def _wake(contents: Contents, book: Book) -> None:
    wakes = {run.row.id: run.wake for run in contents.runs() if run.wake is not None}
    book.write(Writes(wakes=wakes))
    book.flush()


def differences(one: Contents, other: Contents) -> Iterator[str]:
    """Where two stores do not hold the same. Both are read once, side by side."""
    for mine, its in zip_longest(one.runs(), other.runs()):
        if mine is None or its is None or _plain(mine) != _plain(its):
            found = mine or its
            assert found is not None
            yield f"run {found.row.id!r} is not the same"
            return
    if not _are_same(one.lines(), other.lines()):
        yield "the audit is not the same"
    if not _are_same(one.seals(), other.seals()):
        yield "the seals are not the same"
    if not _are_same(one.threads(), other.threads()):
        yield "the threads of guests are not the same"
    if one.identity() != other.identity():
        yield "its id is not the same"
    if _numberless(one.rest()) != _numberless(other.rest()):
        yield "halts, holds, endpoints, notifications or settings are not the same"


def _are_same(these: Iterable[object], those: Iterable[object]) -> bool:
    return all(one == other for one, other in zip_longest(these, those))


def _numberless(rest: StoreRest) -> StoreRest:
    letters = [msgspec.structs.replace(letter, n=0) for letter in rest.letters]
    return msgspec.structs.replace(rest, letters=letters)


def _plain(run: OneRun) -> OneRun:
    """Without what each store numbers for itself."""
    row = msgspec.structs.replace(run.row, n=0, lease_until=0.0)
    return msgspec.structs.replace(
        run,
        row=row,
        interrupts=sorted(run.interrupts, key=lambda x: x.i),
        requests=sorted(run.requests),
    )
