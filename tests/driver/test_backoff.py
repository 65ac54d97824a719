"""A word that comes while a model call waits to be tried again is read once."""

import asyncio
from collections.abc import Sequence

from tests.bodies.cases import LIMIT, Place

from adjourn import Agent, Completed, ModelError
from adjourn.core.messages import Message, UserMessage
from adjourn.core.records import Faulted, Replied
from adjourn.testing import FakeClock, ScriptedModel


async def test_a_message_that_comes_during_the_back_off_is_read_once_and_costs_no_call() -> None:
    read: list[int] = []

    def reply(messages: Sequence[Message]) -> str:
        read.append(sum(1 for m in messages if isinstance(m, UserMessage) and m.text == "one more thing"))
        return "done"

    clock = FakeClock()
    place = Place(clock=clock)
    agent = Agent("patient", model=ScriptedModel(ModelError("busy", transient=True), reply, reply))
    async with place.runtime(agent) as rt:
        run = await rt.start(agent, "go", run_id="r")
        await place.until(Faulted)
        await run.say("one more thing")
        for _ in range(50):
            await asyncio.sleep(0)
        clock.advance(5.0)
        outcome = await run.wait(LIMIT)
    assert isinstance(outcome, Completed)
    assert read == [1]
    assert len(place.all(Replied)) == 1
