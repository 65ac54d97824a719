"""Wakes: rows that say which run is due, for whoever drives runs from outside. That one is due is
written by `Sheet.wake_if_due`."""

from collections.abc import Sequence

from msgspec.structs import replace

from adjourn.stores.outbox import Wake
from adjourn.stores.rules.reads_and_writes import ReadRequest
from adjourn.stores.rules.sheet import Sheet
from adjourn.stores.rules.transaction import StoreRule

WANT, STOP = "want wakes", "want no wakes"
"""What the audit says of it."""


def wanting(wanted: bool, by: str, origin: str) -> StoreRule:
    """See `Store.waking`."""
    ask = ReadRequest(waking=True, asleep="all" if wanted else "", halts=True, audit=("",))
    return StoreRule(ask, lambda sheet: want(sheet, wanted, by, origin))


def want(sheet: Sheet, wanted: bool, by: str, origin: str) -> bool:
    """See `Store.waking`."""
    if wanted != sheet.is_waking():
        sheet.audited("", {"verb": WANT if wanted else STOP, "by": by, "from": origin})
        sheet.set_waking(wanted)
        for row in sheet.asleep() if wanted else ():
            sheet.wake(row)
    return wanted


def acknowledging(done: Sequence[Wake]) -> StoreRule:
    """The first half of `Store.wakes`. Should it be lost with the power, somebody is told twice."""

    def work(sheet: Sheet) -> None:
        for wake in done:
            sheet.drop_wake(wake.n)

    return StoreRule(ReadRequest(), work, light=True)


def taking(limit: int, hold: float) -> StoreRule:
    """The second half of `Store.wakes`."""
    return StoreRule(ReadRequest(wakes=limit), lambda sheet: take(sheet, hold), light=True)


def take(sheet: Sheet, hold: float) -> list[Wake]:
    """Take those that are due, for so many seconds."""
    taken = [replace(wake, not_before=sheet.now + hold) for wake in sheet.due_wakes()]
    for wake in taken:
        sheet.put_wake(wake)
    return taken
