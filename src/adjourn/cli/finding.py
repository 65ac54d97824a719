"""From what a person typed to the interrupt they mean."""

import shlex
from dataclasses import dataclass
from typing import Any

from adjourn.cli.listing import recall
from adjourn.cli.visible import visible
from adjourn.cli.words import short_id
from adjourn.core.interrupt import Interrupt, view
from adjourn.core.records import Asked, Suspended
from adjourn.errors import Invalid, StaleDecision, UnknownInterrupt, UnknownRun
from adjourn.runtime.run import Run
from adjourn.runtime.runtime import Runtime

MOST = 1000


@dataclass(frozen=True, slots=True)
class Found:
    """An interrupt, and the digest of what the person was shown under its number ("" if it was not a number)."""

    interrupt: Interrupt
    seen: str = ""


async def run_at(rt: Runtime, text: str) -> Run[Any]:
    """The run of this id, or, at the terminal only, of the one id that begins with it."""
    try:
        return await rt.get(text)
    except UnknownRun:
        rows = await rt.runs(text=text, limit=MOST) if text else []
        near = [row.id for row in rows if row.id.startswith(text)]
        if len(near) != 1:
            raise UnknownRun(text, f"{len(near)} ids begin with it" if near else "") from None
        return await rt.get(near[0])


async def find(rt: Runtime, address: str, item: str) -> Found:
    """The interrupt of a number, `RUN:local`, `RUN/CALL`, an author's own id, or a run that has only one open.

    Raises `UnknownInterrupt`, `UnknownRun`, or `Invalid` where several could be meant.
    """
    if item.isascii() and item.isdigit() and (found := await _by_number(rt, address, int(item))):
        return found
    if ":" in item:
        run, _, local = item.partition(":")
        run_id = (await run_at(rt, run)).id
        return Found(await rt.interrupt(f"{run_id}:{local}"))
    if "/" in item:
        run, _, call = item.partition("/")
        return Found(await _only(rt, (await run_at(rt, run)).id, item, call))
    try:
        return Found(await rt.interrupt(item))
    except UnknownInterrupt as unknown:
        try:
            run_id = (await run_at(rt, item)).id
        except UnknownRun:
            raise unknown from None
        return Found(await _only(rt, run_id, item))


async def _by_number(rt: Runtime, address: str, number: int) -> Found | None:
    shown = recall(address)
    if shown is not None and number in shown:
        id, digest = shown[number]
        return Found(await rt.interrupt(id), digest)
    items = await rt.inbox(limit=MOST)
    if shown is None and number == len(items) == 1:
        return Found(items[0])
    if shown is None and 0 < number <= len(items):
        raise Invalid(f"which item is number {number}? No list was shown yet; look first: adjourn inbox")
    return None


async def _only(rt: Runtime, run_id: str, item: str, call: str = "") -> Interrupt:
    items = [i for i in await rt.inbox(run=run_id, limit=MOST) if not call or address_in_run(i) == call]
    if len(items) == 1:
        return items[0]
    if not items:  # one that is decided has its answer all the same: who was first, or what the same request got
        asked = [(n, x) for n, x in await rt.store.load(run_id) if isinstance(x, Asked | Suspended)]
        closed = [i for i in (view(run_id, n, x) for n, x in asked) if not call or address_in_run(i) == call]
        if closed:
            return closed[-1]
        raise UnknownInterrupt(item, [i.id for i in await rt.inbox(run=run_id, limit=20)])
    raise Invalid(f"{item!r} has {len(items)} open; name one: {', '.join(i.id for i in items)}")


def address_in_run(interrupt: Interrupt) -> str:
    """The call it is about, as written after RUN/; "" for an interrupt without a call."""
    if interrupt.call:
        return interrupt.call.call_id
    local = interrupt.id.removeprefix(f"{interrupt.run_id}:")
    call, found, _ = local.partition("?")
    stands_alone = ":" in call or call == "poison" or interrupt.kind == "limit"  # a model call, a run, a condition
    return call if found and not stands_alone else ""


def handle(interrupt: Interrupt) -> str:
    """What to type for it: short, and safe in a shell, which a generated id (it has a `?`) is not."""
    call = address_in_run(interrupt)
    return shlex.quote(f"{short_id(interrupt.run_id)}/{visible(call)}" if call else visible(interrupt.id))


def full_digest(interrupt: Interrupt, given: str) -> str:
    """The whole digest that a person copied, perhaps in part; raises `StaleDecision` if it names another action."""
    given = given.replace(" ", "").lower()
    now = interrupt.call.digest if interrupt.call else ""
    if not given:
        return ""
    if not now:
        raise Invalid(f"{interrupt.id!r} has no digest: nothing would run; leave --digest out")
    if len(given) < 16 and given != now:
        raise Invalid("--digest takes at least the 16 digits that `adjourn inbox` shows")
    if not now.startswith(given):
        raise StaleDecision(interrupt.id, given, now)
    return now
