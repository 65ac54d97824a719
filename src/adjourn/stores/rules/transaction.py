"""A rule as a value, and how a store carries it out: a rule touches no store, so no two stores can
differ.

A store does three things for every write: it reads what a `ReadRequest` names, lets the rule work
on a `Sheet` of that, and writes what the sheet then says. A rule that raises has written nothing.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Protocol

import msgspec

from adjourn.errors import KeyMissing, LeaseBusy
from adjourn.stores.rules.reads_and_writes import ReadRequest, ReadResult, Writes
from adjourn.stores.rules.sheet import Sheet


class StoreRule(msgspec.Struct, frozen=True, gc=False):
    """Something that may be done to a store: `work` makes of what `ask` names what is to be
    written, and a result.

    `light`: should it be lost with the power, nothing is lost that anybody was told of; so nobody
        waits for the disk.
    """

    ask: ReadRequest
    work: Callable[[Sheet], Any]
    light: bool = False


class Find(msgspec.Struct, frozen=True):
    """Runs that a worker could take: those of these programs that are due and that nobody holds,
    the oldest of the highest priority first; not those in `but`.

    `replaces` and `spares`: see `Store.claim`.
    """

    programs: tuple[str, ...]
    limit: int
    but: frozenset[str] = frozenset()
    replaces: tuple[str, ...] = ()
    spares: str = ""


class Each(msgspec.Struct, frozen=True):
    """One rule for each run that is found, all in one transaction. Those that a rule refuses, or
    has nothing to do for, are left out."""

    find: Find
    rule: Callable[[str], StoreRule]
    light: bool = False


class Whole(msgspec.Struct, frozen=True):
    """One rule for each run of a conversation, all in one transaction. If one is refused, all that
    is done is to record that."""

    run: str
    rule: Callable[[str], StoreRule]
    light: bool = False


class RecordedRefusal(msgspec.Struct, frozen=True):
    """A refusal that is itself recorded: the transaction commits, then the error is raised."""

    error: Exception


class Book(Protocol):
    """What a store supplies, inside a transaction."""

    def read(self, ask: ReadRequest) -> ReadResult:
        """What an `ReadRequest` names, with everything that was written before."""
        ...

    def find(self, find: Find) -> Sequence[str]:
        """The runs that a `Find` describes, with everything that was written before."""
        ...

    def conversation(self, run: str) -> Sequence[str]:
        """A run, those that it goes on with and those that go on with it, also by way of others;
        the newest first, none that was erased."""
        ...

    def write(self, writes: Writes) -> None:
        """All of it, now or with the next `flush`."""
        ...

    def flush(self) -> None:
        """Whatever was written is in the store, to be committed."""
        ...


def worked(book: Book, rule: StoreRule) -> tuple[Any, Writes]:
    """What a rule gives, and what it wants to be written. Nothing is written yet; if it raises,
    nothing will be."""
    sheet = Sheet(rule.ask, book.read(rule.ask))
    result = rule.work(sheet)
    sheet.wake_if_due()  # here, so that no rule can forget it
    return result, sheet.writes


def carried_out(book: Book, work: StoreRule | Each | Whole) -> Any:
    """Let a rule work, and write what it says. An `AdjournError` is the rule's: nothing was written
    then."""
    if isinstance(work, Whole):
        return _all_or_none(book, work)
    if isinstance(work, StoreRule):
        result, writes = worked(book, work)
        book.write(writes)
        return result
    done: list[Any] = []
    for run in book.find(work.find):
        with suppress(LeaseBusy, KeyMissing):
            result = carried_out(book, work.rule(run))
            if result is not None:
                done.append(result)
    return done


def _all_or_none(book: Book, work: Whole) -> list[Any] | RecordedRefusal:
    book.flush()
    done: list[tuple[Any, Writes]] = []
    refused: list[tuple[Any, Writes]] = []
    for run in book.conversation(work.run) or (work.run,):
        result, writes = worked(book, work.rule(run))
        done.append((result, writes))
        if isinstance(result, RecordedRefusal):
            refused.append((result, writes))
    for _, writes in refused or done:
        book.write(writes)
    if refused:
        return refused[0][0]
    return [result for result, _ in done]


def settled(book: Book) -> None:
    """The last thing before a transaction commits."""
    book.flush()
