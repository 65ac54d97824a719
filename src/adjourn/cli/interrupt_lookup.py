"""From what a person typed to the run or the interrupt they mean. Only here may the beginning of a
run's id stand for it."""

from dataclasses import dataclass

from adjourn.cli.last_list import ShownItem, recall
from adjourn.core.ids import split_address, split_ref
from adjourn.core.interrupt import Interrupt, view
from adjourn.core.records import Asked, Suspended
from adjourn.errors import Invalid, StaleDecision, UnknownInterrupt, UnknownRun
from adjourn.runtime.runtime import Runtime
from adjourn.runtime.similar_ids import did_you_mean
from adjourn.stores.protocol import Filter
from adjourn.stores.run_row import RunRow
from adjourn.views.interrupt_view import call_id_of

MOST = 1000
LISTED = 10
"""Ids that are listed where several fit."""


@dataclass(frozen=True, slots=True)
class FoundInterrupt:
    """An interrupt, and how the person was shown it last; None if they were not."""

    interrupt: Interrupt
    seen: ShownItem | None = None


async def find_run(rt: Runtime, given: str) -> RunRow:
    """The run of this id, or the only one whose id begins so.

    Raises `UnknownRun`, naming ids that are like it, or `Invalid`, naming those that begin so.
    """
    try:
        return await rt.store.get(given)
    except UnknownRun as unknown:
        if given:
            fitting = await rt.store.runs(Filter(prefix=given, limit=LISTED + 1))
        else:
            fitting = []
        if not fitting:
            raise await did_you_mean(rt.store, unknown) from None
    if len(fitting) == 1:
        return fitting[0]
    if len(fitting) > LISTED:
        more = " and more"
    else:
        more = ""
    listed = ", ".join(repr(row.id) for row in fitting[:LISTED])
    raise Invalid(
        f"several runs have an id that begins with {given!r}", advice=f"name one: {listed}{more}"
    )


async def find(rt: Runtime, address: str, item: str) -> FoundInterrupt:
    """The interrupt of a number, a ref, `RUN/CALL`, an author's own id, or a run that has only one
    open.

    Of a run the beginning is enough, where only one fits. Raises `UnknownInterrupt`, `UnknownRun`,
    or `Invalid` where several could be meant.
    """
    if item.isascii() and item.isdigit() and (found := await _by_number(rt, address, int(item))):
        return found
    interrupt = await _by_name(rt, item)
    shown = recall(address)
    return FoundInterrupt(interrupt, shown.of(interrupt.ref) if shown else None)


async def _by_number(rt: Runtime, address: str, number: int) -> FoundInterrupt | None:
    shown = recall(address)
    if shown is not None and (seen := shown.numbered(number)):
        return FoundInterrupt(await rt.interrupt(seen.ref), shown.of(seen.ref))
    if shown is not None and shown.items is not None:
        return None
    items = await rt.inbox(limit=MOST)
    if number == len(items) == 1:
        return FoundInterrupt(items[0], shown.of(items[0].ref) if shown else None)
    if 0 < number <= len(items):
        raise Invalid(
            f"which item is number {number}? No list was shown yet",
            advice="look first: adjourn inbox",
        )
    return None


async def _by_name(rt: Runtime, item: str) -> Interrupt:
    try:
        return await rt.interrupt(item)
    except (UnknownInterrupt, UnknownRun) as e:
        unknown = e
    if ref := split_ref(item):
        run, local = ref
        return await rt.interrupt(local, run_id=(await find_run(rt, run)).id)
    if address := split_address(item):
        run, call = address
        return await _only(rt, (await find_run(rt, run)).id, item, call)
    try:
        row = await find_run(rt, item)
    except UnknownRun as no_run:
        raise (no_run if no_run.near else unknown) from None
    return await _only(rt, row.id, item)


async def _only(rt: Runtime, run_id: str, item: str, call: str = "") -> Interrupt:
    items = [i for i in await rt.inbox(run=run_id, limit=MOST) if not call or call_id_of(i) == call]
    if len(items) == 1:
        return items[0]
    # one that is decided has its answer all the same: who was first, or what the same request got
    if not items:
        asked = [(n, x) for n, x in await rt.store.load(run_id) if isinstance(x, Asked | Suspended)]
        closed = [
            i for i in (view(run_id, n, x) for n, x in asked) if not call or call_id_of(i) == call
        ]
        if closed:
            return await rt.interrupt(closed[-1].ref)
        raise UnknownInterrupt(item, [i.ref for i in await rt.inbox(run=run_id, limit=20)])
    raise Invalid(
        f"{item!r} has {len(items)} open", advice=f"name one: {', '.join(i.ref for i in items)}"
    )


def full_digest(interrupt: Interrupt, given: str) -> str:
    """The whole digest that a person copied, perhaps in part; raises `StaleDecision` if it names
    something else."""
    given, now = given.replace(" ", "").lower(), interrupt.digest
    if not given:
        return ""
    if len(given) < 16 and given != now:
        raise Invalid("--digest takes at least the 16 digits that `adjourn inbox` shows")
    if not now.startswith(given):
        raise StaleDecision(interrupt.ref, given, now)
    return now
