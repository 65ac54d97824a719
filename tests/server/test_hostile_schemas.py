"""Answers that take long to check, to questions over HTTP: whoever else uses the server does not wait for them."""

import asyncio
import time
from typing import Any

from tests.again import in_time
from tests.driver.test_loop_stays_free import HOSTILE
from tests.server.world import Client, at

from adjourn import Agent, Runtime, ToolContext, tool
from adjourn.server import serving
from adjourn.testing.scripted import ScriptedModel, call

SOON = 1.0
BOMBS = [(schema, answer) for schema, answer in HOSTILE if len(str(answer)) < 60_000]
"""Those that fit into the body of an answer."""


def asker(nth: int, schema: dict[str, Any]) -> Agent:
    @tool(effect="read")
    def question(ctx: ToolContext) -> Any:
        """Ask."""
        return ctx.pause_for("question", answer_schema=schema)

    return Agent(f"asker-{nth}", model=ScriptedModel([call("question")], "done"), tools=[question])


async def test_answers_that_are_hard_to_check_hold_up_nobody() -> None:
    agents = [asker(nth, schema) for nth, (schema, _) in enumerate(BOMBS)]
    async with Runtime("memory://", agents) as rt, serving(rt, port=0, token=True, rate=1e6) as up:
        for agent in agents:
            await (await rt.start(agent, "go", run_id=agent.name)).wait(60)
        codes: set[int] = set()

        async def answers(nth: int, value: Any) -> None:
            async with Client(up, up.token) as client:
                [item] = (await client.get("inbox", params={"run_id": f"asker-{nth}"})).json()["items"]
                for _ in range(3):
                    answer = await client.post(f"interrupts/{at(item['ref'])}/answer", json={"value": value})
                    codes.add(answer.status_code)

        async with Client(up, up.token) as other:
            hostile = asyncio.gather(*(answers(nth, value) for nth, (_, value) in enumerate(BOMBS)))
            longest, asked = 0.0, 0
            while not hostile.done():
                began = time.monotonic()
                assert (await other.get("me")).status_code == 200
                longest, asked = max(longest, time.monotonic() - began), asked + 1
            await hostile
        assert asked > 1
        in_time(longest, SOON)
        assert codes <= {409, 413, 422}, codes
        assert {item.kind for item in await rt.inbox()} == {"question"}
        assert len(await rt.inbox()) == len(agents), "nothing was answered"
