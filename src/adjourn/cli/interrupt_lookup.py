"""From what a person typed to the run or the interrupt they mean. Only here may the beginning of a
run's id stand for it."""

from dataclasses import dataclass

from adjourn.cli.error_report import NotNamed
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
    """An interrupt, how the person was shown it last (None: they were not), and whether it is what
    they named: a run names whatever it asks now."""

    interrupt: Interrupt
    seen: ShownItem | None = None
    named: bool = True


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
    more = " and more" if len(fitting) > LISTED else ""
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
    interrupt, named = await _by_name(rt, item)
    shown = recall(address)
    return FoundInterrupt(interrupt, shown.of(interrupt.ref) if shown else None, named)


async def find_decidable(rt: Runtime, address: str, item: str, digest: str) -> FoundInterrupt:
    """The interrupt that a person decides: the one that they name, or were shown.

    A run, or its call, asks about something else once it was answered: the same words again must
    not decide about that. Raises what `find` raises, and `NotNamed`.

    Args:
        address: of the database.
        item: what was typed.
        digest: what was typed of the digest of what was seen; "" if it was not.
    """
    found = await find(rt, address, item)
    if not found.named and found.seen is None and not digest:
        raise NotNamed(item, found.interrupt)
    return found


async def _by_number(rt: Runtime, address: str, number: int) -> FoundInterrupt | None:
    shown = recall(address)
    if shown is not None and (seen := shown.numbered(number)):
        interrupt = await rt.interrupt(seen.ref)
        return FoundInterrupt(interrupt, shown.of(seen.ref), named=shown.read)
    if shown is not None and shown.items is not None:
        return None
    items = await rt.inbox(limit=MOST)
    if number == len(items) == 1:
        seen = shown.of(items[0].ref) if shown else None
        return FoundInterrupt(items[0], seen, named=False)
    if 0 < number <= len(items):
        raise Invalid(
            f"unknown item number {number}: no list was shown here yet",
            advice="list them first: adjourn inbox",
        )
    return None


async def _by_name(rt: Runtime, item: str) -> tuple[Interrupt, bool]:
    """The interrupt, and whether this is its own name."""
    try:
        return await rt.interrupt(item), True
    except (UnknownInterrupt, UnknownRun) as e:
        unknown = e
    if ref := split_ref(item):
        run, local = ref
        return await rt.interrupt(local, run_id=(await find_run(rt, run)).id), True
    if address := split_address(item):
        run, call = address
        return await _only(rt, (await find_run(rt, run)).id, item, call)
    try:
        row = await find_run(rt, item)
    except UnknownRun as no_run:
        raise (no_run if no_run.near else unknown) from None
    return await _only(rt, row.id, item)


async def _only(rt: Runtime, run_id: str, item: str, call: str = "") -> tuple[Interrupt, bool]:
    items = [i for i in await rt.inbox(run=run_id, limit=MOST) if not call or call_id_of(i) == call]
    if len(items) == 1:
        return items[0], False
    # one that is decided has its answer all the same: who was first, or what the same request got
    if not items:
        asked = [(n, x) for n, x in await rt.store.load(run_id) if isinstance(x, Asked | Suspended)]
        closed = [
            i for i in (view(run_id, n, x) for n, x in asked) if not call or call_id_of(i) == call
        ]
        if closed:
            return await rt.interrupt(closed[-1].ref), True
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
