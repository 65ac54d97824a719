"""Ways by which a value comes in, over Python and HTTP: each with a secret that only a body may see."""

import re
from collections.abc import Awaitable, Callable
from typing import Annotated, Any
from urllib.parse import quote

import pytest
from pydantic import BaseModel
from tests.server.world import Client

from adjourn import Agent, Flow, FlowContext, Runtime, pause_for, tool
from adjourn.core.messages import ToolResult, UserMessage
from adjourn.runtime.schedules import Schedule, Scheduler
from adjourn.secrets import Secret, seal, unseal
from adjourn.testing import ScriptedModel, call
from adjourn.toolsets import ToolsetContext

Way = Callable[["World", str], Awaitable[None]]
SEALED = re.compile(r"••• [0-9a-f]{8} \[[^\]]+\]")


class Login(BaseModel):
    user: str
    pin: Annotated[str, Secret("pin")]


class World:
    """A server, its agents and flows, and what their bodies saw."""

    def __init__(self) -> None:
        self.saw: set[str] = set()
        self.rt: Runtime
        self.client: Client
        self.runs: list[str] = []
        self.said: dict[str, str] = {}
        """What is kept or said besides what the server keeps and says."""
        self.servers: dict[str, tuple[Any, Agent[Any]]] = {}
        """Servers of tools by the version of the protocol, and agents that call them."""

        @tool
        async def pay(card: Annotated[str, Secret()]) -> str:
            """Pay."""
            self.saw.add(card)
            return f"paid with {card}"

        @tool(policy="ask")
        async def charge(card: Annotated[str, Secret()]) -> str:
            """Pay, if somebody agrees."""
            self.saw.add(card)
            return f"charged {card}"

        asks = [call("charge", card=seal("the first card"))]
        self.direct = Agent("direct", model=ScriptedModel(copies, "done"), tools=[pay])
        self.asking = Agent("asking", model=ScriptedModel(asks, copies, "done"), tools=[pay, charge])

        @tool
        async def login() -> str:
            """Ask for a login."""
            got = pause_for("login", "Who are you?", resume_to="self", answer_schema=Login)
            self.saw.add(got["pin"])
            return f"{got['user']} is in with {got['pin']}"

        hands_on = [call("ask_card")], copies, "done"
        self.bank = Agent("bank", model=ScriptedModel([call("login")], "done"), tools=[login])
        self.door = Agent("door", model=ScriptedModel(*hands_on), tools=[pay])
        self.pay = pay
        self.twice = Agent("twice", model=ScriptedModel(copies_to_charge, copies_to_charge, "done"), tools=[charge])

        self.charges, self.asks, self.hears = self._flows()

    @property
    def programs(self) -> list[Agent[Any] | Flow]:
        """All that is served."""
        agents = [self.direct, self.asking, self.twice, self.bank, self.door]
        agents += [agent for _, agent in self.servers.values()]
        return [*agents, self.charges, self.asks, self.hears]

    def _flows(self) -> tuple[Flow, Flow, Flow]:
        def take(ctx: FlowContext, given: str) -> None:
            self.saw.add(unseal(given))
            ctx.state["done"] = f"took {unseal(given)}"

        async def charge(ctx: FlowContext) -> None:
            take(ctx, ctx.input["card"])

        async def ask(ctx: FlowContext) -> None:
            got = ctx.pause_for("login", "Who are you?", resume_to="self", answer_schema=Login)
            self.saw.add(got["pin"])
            ctx.state["done"] = f"{got['user']} is in with {got['pin']}"

        async def hear(ctx: FlowContext) -> None:
            take(ctx, await ctx.wait_for("card"))

        made = [Flow(name) for name in ("charges", "asks", "hears")]
        for flow, chunk in zip(made, (charge, ask, hear), strict=True):
            flow.to(flow.chunk(chunk))
        return made[0], made[1], made[2]

    async def start(self, agent: Agent[Any] | Flow, input: Any) -> Any:
        run = await self.rt.start(agent, input, by="ana")
        self.runs.append(run.id)
        return run

    async def waiting(self, agent: Agent[Any] | Flow, input: Any = "go") -> tuple[Any, Any]:
        """A run that waits, and what for."""
        run = await self.start(agent, input)
        await self.client.until(run.id, "waiting")
        [asked] = (await run.state()).interrupts
        return run, asked

    async def decide(self, asked: Any, **more: Any) -> int:
        path = f"interrupts/{quote(asked.ref, safe='')}/approve"
        return (await self.client.post(path, json={"digest": asked.digest, **more})).status_code

    async def say(self, asked: Any, verb: str, **more: Any) -> int:
        path = f"interrupts/{quote(asked.ref, safe='')}/{verb}"
        return (await self.client.post(path, json={"digest": asked.digest, **more})).status_code

    async def end(self, run: Any) -> None:
        if run.id not in self.runs:
            self.runs.append(run.id)
        output: Any = (await run.wait(30)).output
        assert output == "done" or "•••" in output["done"], output


def found_in(messages: Any) -> str:
    """The last sealed value that people have said, or tools have given."""
    texts = [str(message) for message in messages if isinstance(message, UserMessage | ToolResult)]
    return SEALED.findall(" ".join(texts))[-1]


def copies(messages: Any) -> Any:
    return [call("pay", card=found_in(messages))]


def copies_to_charge(messages: Any) -> Any:
    return [call("charge", card=found_in(messages))]


async def by_input(world: World, secret: str) -> None:
    await world.end(await world.start(world.direct, f"pay with {seal(secret)}"))


async def by_saying(world: World, secret: str) -> None:
    run, asked = await world.waiting(world.asking)
    await run.say(f"use {seal(secret)}", by="ana")
    assert await world.decide(asked) == 200
    await world.end(run)


async def by_an_instruction(world: World, secret: str) -> None:
    run, asked = await world.waiting(world.asking)
    await run.pause(by="ana")
    assert await world.decide(asked) == 200
    await run.resume(f"use {seal(secret)}", by="ana")
    await world.end(run)


async def by_an_edit(world: World, secret: str) -> None:
    run, asked = await world.waiting(world.asking, f"later {seal('another card')}")
    assert await world.decide(asked, edit={"card": seal(secret)}) == 200
    await world.end(run)


async def by_a_standing_decision(world: World, secret: str) -> None:
    run, asked = await world.waiting(world.twice, f"pay with {seal(secret)}")
    assert await world.decide(asked, scope="run") == 200
    await world.end(run)


async def by_a_fork(world: World, secret: str) -> None:
    run = await world.start(world.direct, f"pay with {seal('a card')}")
    await run.wait(30)
    await world.end(await run.fork(1, input=f"pay with {seal(secret)}", by="ana"))


async def by_a_forks_instruction(world: World, secret: str) -> None:
    run = await world.start(world.direct, f"pay with {seal('a card')}")
    await run.wait(30)
    await world.end(await run.fork(1, instruction=f"pay with {seal(secret)}", by="ana"))


async def by_running_again(world: World, secret: str) -> None:
    run = await world.start(world.direct, f"pay with {seal('a card')}")
    await run.wait(30)
    await world.end(await run.again(input=f"pay with {seal(secret)}", by="ana"))


async def by_a_schedule(world: World, secret: str) -> None:
    often = Schedule("often", world.direct, f"pay with {seal(secret)}", every=3600, catch_up=3600)
    for run in await Scheduler(world.rt, [often]).tick():
        await world.end(await world.rt.get(run))


async def by_an_answer(world: World, secret: str) -> None:
    run, asked = await world.waiting(world.bank)
    assert await world.say(asked, "answer", value={"user": "ana", "pin": secret}) == 200
    await world.end(run)


async def by_a_result_in_the_place_of_a_call(world: World, secret: str) -> None:
    run, asked = await world.waiting(world.asking)
    assert await world.say(asked, "instead", result=f"use {seal(secret)}") == 200
    await world.end(run)


async def by_a_flows_input(world: World, secret: str) -> None:
    await world.end(await world.start(world.charges, {"card": seal(secret)}))


async def by_an_event(world: World, secret: str) -> None:
    run = await world.start(world.hears, None)
    await world.client.until(run.id, "waiting")
    said = await world.client.post(f"runs/{run.id}/emit", json={"event": "card", "value": seal(secret)})
    assert said.status_code == 200, said.text
    await world.end(run)


async def by_a_flows_question(world: World, secret: str) -> None:
    run, asked = await world.waiting(world.asks, None)
    assert await world.say(asked, "answer", value={"user": "ana", "pin": secret}) == 200
    await world.end(run)


async def by_a_checkpoint(world: World, secret: str) -> None:
    """Without a store: the checkpoint is all that is kept."""
    waiting = await world.bank.run("go")
    done = await world.bank.resume(waiting.checkpoint, answer={"user": "ana", "pin": secret})
    world.said["checkpoint of an answer"] = waiting.checkpoint.to_json() + done.checkpoint.to_json()
    assert done.output == "done"


async def by_an_execution(world: World, secret: str) -> None:
    execution = world.asks.create_execution(auto_close=False)
    await execution.start(None)
    [asked] = execution.pending_interrupts
    await execution.continue_with(asked, {"user": "ana", "pin": secret}, by="ana")
    world.said["an execution"] = execution.save().to_json()


async def by_a_model(world: World, secret: str) -> None:
    """A model that has the secret from elsewhere tells it to a tool that is found at run time."""

    def find(context: ToolsetContext) -> list[Any]:
        return [world.pay]

    late = Agent("tells", model=ScriptedModel([call("pay", card=secret)], "done"), tools=find)
    done = await late.run("go")
    world.said["checkpoint of a model"] = done.checkpoint.to_json()


REACH: dict[str, Way] = {
    "input": by_input,
    "say": by_saying,
    "instruction": by_an_instruction,
    "edit": by_an_edit,
    "standing decision": by_a_standing_decision,
    "fork": by_a_fork,
    "fork instruction": by_a_forks_instruction,
    "run again": by_running_again,
    "schedule": by_a_schedule,
    "answer": by_an_answer,
    "instead": by_a_result_in_the_place_of_a_call,
    "flow input": by_a_flows_input,
    "event": by_an_event,
    "flow answer": by_a_flows_question,
    "checkpoint": by_a_checkpoint,
    "execution": by_an_execution,
    "model": by_a_model,
}


async def an_edit_in_clear(world: World, secret: str) -> None:
    run, asked = await world.waiting(world.asking, f"later {seal('another card')}")
    assert await world.decide(asked, edit={"card": secret}) == 422
    assert await world.decide(asked, edit={"card": {"number": secret}}) == 422
    with pytest.raises(Exception, match="card"):
        await world.rt.approve(asked.ref, by="erik", edit={"card": secret})
    assert await world.decide(asked) == 200
    await world.end(run)


async def an_answer_that_does_not_fit(world: World, secret: str) -> None:
    run, asked = await world.waiting(world.bank)
    assert await world.say(asked, "answer", value={"user": 5, "pin": secret}) == 422
    assert await world.say(asked, "answer", value={"user": "ana", "pin": {"is": secret}}) == 422
    assert await world.say(asked, "answer", value={"user": "ana", "pin": "a pin of another"}) == 200
    await world.end(run)


REFUSED: dict[str, Way] = {"edit in clear": an_edit_in_clear, "answer that does not fit": an_answer_that_does_not_fit}


async def in_words_to_people(world: World, secret: str) -> None:
    """Notes, reasons and comments are for people: they stay as they were written, and reach no body."""
    note = f"see {seal(secret)}"
    run, asked = await world.waiting(world.asking, f"later {seal('another card')}")
    assert await world.say(asked, "comment") == 422
    path = f"interrupts/{quote(asked.ref, safe='')}/comment"
    assert (await world.client.post(path, json={"text": note})).status_code == 200
    await run.pause(by="ana", reason=note)
    assert await world.decide(asked, note=note) == 200
    await run.resume(by="ana")
    await world.end(run)
    stopped, _ = await world.waiting(world.asking)
    await stopped.cancel(by="ana", reason=note)
    await stopped.wait(30)


KEPT: dict[str, Way] = {"words to people": in_words_to_people}
