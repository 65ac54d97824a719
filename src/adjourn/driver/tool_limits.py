"""The tickets of one run: which of its calls may begin now, where a tool has a limit across all
workers."""

import logging
from collections.abc import Callable, Collection, Mapping, Sequence

import msgspec

from adjourn.core.plan import Step
from adjourn.driver.process_identity import has_its_runs, life_of
from adjourn.errors import StoreError, UnknownRun
from adjourn.stores.protocol import Lease, Store
from adjourn.stores.tickets import AGAIN, Ticket, TicketAnswer, TicketRequest, ToolLimit

REAPED = 10
"""After asking so often in vain, a call looks whether tickets are held by runs that nobody works
on."""

log = logging.getLogger("adjourn.driver")


class ToolLimits:
    """The limits that a worker goes by, by tool; and who waits here for a ticket: those are rung when
    one is given back here. A ticket that another process gives back is found by asking again.

    `owed`: what a run that is not advanced here any longer could not give back, because the store
    did not answer. That run may wait for a slot, so whoever waits for a ticket gives it back.
    """

    def __init__(self, limits: Mapping[str, ToolLimit]) -> None:
        self.limits = dict(limits)
        self.bells: set[Callable[[], None]] = set()
        self.owed: dict[str, TicketRequest] = {}

    def ring(self) -> None:
        """A ticket is free."""
        for bell in list(self.bells):
            bell()


class Withheld(msgspec.Struct, frozen=True):
    """The calls that may not begin yet, and the seconds after which to ask again."""

    calls: frozenset[str] = frozenset()
    wait: float = 0.0


class RunTickets:
    """Takes tickets for the calls of one run, and gives them back. An undo, a question to the world
    and a nested agent need none: they end what was begun, or are no work of their own."""

    def __init__(
        self, store: Store, lease: Lease, limits: ToolLimits, bell: Callable[[], None]
    ) -> None:
        self._store, self._lease, self._limits, self._bell = store, lease, limits, bell
        self._held: dict[str, str] = {}
        self._is_stale = False
        self._asked = 0
        self._full: tuple[str, ...] = ()

    async def begin(self) -> None:
        """Give back what whoever had the run before still holds."""
        self._is_stale = True
        await self.give_back()

    async def admit(self, start: Sequence[Step], running: Collection[str]) -> Withheld:
        """Take tickets for what is about to start.

        Args:
            start: the steps that are to start.
            running: those that run; tickets of all others are given back.
        """
        wants: dict[str, str] = {}
        for step in start:
            if step.kind == "call" and step.call and step.call.tool in self._limits.limits:
                wants[step.id] = step.call.tool
        for call in list(self._held):
            if call not in running and call not in wants:
                self._drop(call)
        asked = {call: tool for call, tool in wants.items() if call not in self._held}
        if not asked:
            self._tell(())
            return Withheld()
        answer = await self._stand(asked)
        self._held |= {call: asked[call] for call in answer.granted}
        withheld = frozenset(call for call in asked if call not in answer.granted)
        self._tell(answer.full)
        if withheld:
            self._asked += 1
            if self._asked % REAPED == 0:
                await self._reap(frozenset(answer.full))
        return Withheld(withheld, answer.wait)

    async def _reap(self, full: frozenset[str]) -> None:
        """A ticket counts while the worker that took it has the run, and lives. Nobody else gives back
        those of a worker that died: its run may have ended, may wait for a slot that a call which
        waits for the ticket has, or may fit no worker any more."""
        try:
            for run, request in list(self._limits.owed.items()):
                await self._store.stand(request)
                self._limits.owed.pop(run, None)
            tools = await self._store.tickets()
            for tool in full.intersection(tools):
                for ticket in tools[tool].held:
                    if await self._is_over(ticket):
                        await self._store.stand(TicketRequest(ticket.run, ticket.epoch))
        except StoreError as e:
            log.warning("run %s: tickets could not be read: %s", self._lease.run, e)

    async def _is_over(self, ticket: Ticket) -> bool:
        try:
            row = await self._store.get(ticket.run)
        except UnknownRun:
            return True
        if row.epoch != ticket.epoch or not row.worker:
            return True
        return not has_its_runs(life_of(row.worker), row.lease_until, self._store.now())

    def _tell(self, full: tuple[str, ...]) -> None:
        """Once for each wait, and be rung while it lasts."""
        if full and full != self._full:
            names = ", ".join(sorted(set(full)))
            log.info("run %s waits: the limit of %s is reached", self._lease.run, names)
        self._full = full
        if full:
            self._limits.bells.add(self._bell)
        else:
            self._limits.bells.discard(self._bell)

    def ended(self, call: str) -> None:
        """The body of a call has ended."""
        if call in self._held:
            self._drop(call)

    def _drop(self, call: str) -> None:
        del self._held[call]
        self._is_stale = True

    async def give_back(self) -> None:
        """Give back the tickets of what has ended, if there are any."""
        if self._is_stale:
            self._is_stale = False
            answer = await self._stand({})
            if answer.freed:
                self._limits.ring()

    async def close(self) -> None:
        """The run is not advanced here any longer. A body that was left behind is not counted: nobody
        could say when it ends."""
        self._limits.bells.discard(self._bell)
        self._held.clear()
        self._is_stale = True
        await self.give_back()
        if self._is_stale:
            self._limits.owed[self._lease.run] = TicketRequest(self._lease.run, self._lease.epoch)

    async def _stand(self, asked: Mapping[str, str]) -> TicketAnswer:
        request = TicketRequest(
            self._lease.run,
            self._lease.epoch,
            self._lease.worker,
            tuple((tool, call) for call, tool in self._held.items()),
            tuple((tool, call) for call, tool in asked.items()),
            self._limits.limits,
        )
        try:
            return await self._store.stand(request)
        except StoreError as e:
            # nothing begins without a ticket, and what was not given back is, the next time
            log.warning("run %s: tickets could not be requested: %s", self._lease.run, e)
            self._is_stale = True
            return TicketAnswer(full=tuple(sorted(set(asked.values()))), wait=AGAIN)
