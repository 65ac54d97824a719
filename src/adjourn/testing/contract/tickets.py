"""`stand` and `tickets`: how many calls of a tool are at work, counted across workers."""

import asyncio

from adjourn.stores.protocol import Store
from adjourn.stores.tickets import AGAIN, TicketAnswer, TicketRequest, ToolLimit
from adjourn.testing.contract.fixtures import ContractFixtures
from adjourn.testing.fake_clock import FakeClock

TWO = {"refund": ToolLimit(most=2)}


def wants(run: str, *calls: str, epoch: int = 1) -> TicketRequest:
    """A run that wants to call the tool."""
    return TicketRequest(
        run, epoch, f"w-{run}", wants=tuple(("refund", call) for call in calls), limits=TWO
    )


class Limiting(ContractFixtures):
    """No more calls have a ticket than the limit says, whoever asks at the same time."""

    async def test_of_many_that_ask_at_the_same_time_as_many_get_a_ticket_as_there_are(
        self, store: Store
    ) -> None:
        answers = await asyncio.gather(*(store.stand(wants(f"r{n}", "1.0")) for n in range(8)))
        granted = [answer for answer in answers if answer.granted]
        waiting = [answer for answer in answers if not answer.granted]
        assert [answer.granted for answer in granted] == [("1.0",), ("1.0",)]
        assert waiting == [TicketAnswer(full=("refund",), wait=AGAIN)] * 6
        found = (await store.tickets())["refund"]
        assert (len(found.held), len(found.waiting)) == (2, 6)
        assert found.limit == TWO["refund"]

    async def test_a_ticket_that_is_given_back_goes_to_the_one_that_waits_longest(
        self, store: Store, clock: FakeClock
    ) -> None:
        await store.stand(wants("r0", "1.0", "1.1"))
        for run in ("r1", "r2"):
            clock.advance(1)
            assert not (await store.stand(wants(run, "1.0"))).granted
        back = TicketRequest("r0", 1, running=(("refund", "1.0"),))
        assert (await store.stand(back)).freed == 1
        assert not (await store.stand(wants("r2", "1.0"))).granted
        assert (await store.stand(wants("r1", "1.0"))).granted == ("1.0",)

    async def test_what_a_dead_worker_had_is_given_back_by_the_one_that_has_its_run(
        self, store: Store
    ) -> None:
        await store.stand(wants("r0", "1.0", "1.1"))
        assert (await store.stand(TicketRequest("r0", 2))).freed == 2
        assert await store.tickets() == {}
        assert (await store.stand(wants("r1", "1.0"))).granted == ("1.0",)

    async def test_a_store_in_which_nobody_asks_has_no_tickets(self, store: Store) -> None:
        assert await store.tickets() == {}
        assert await store.stand(TicketRequest("r0", 1)) == TicketAnswer()
