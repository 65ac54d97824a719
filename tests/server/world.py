"""The agents of these tests, a client for each role, and what a browser would send."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import httpx

from adjourn import Agent, Flow, FlowContext, MaxSteps, Policy, ask, pause_for, tool
from adjourn.server import Serving, Users
from adjourn.testing.scripted import ScriptedModel, call, streamed

LIMIT = 60.0
ROLES = ("viewer", "operator", "approver", "admin")
GIVEN = "desk 7.a~b_c-d"
"""Everything that an id may contain which its author chose."""


@tool(policy="ask", effect="idempotent")
async def refund(order: str, cents: int) -> dict[str, Any]:
    """Pay money back."""
    return {"order": order, "cents": cents}


@tool(effect="read")
async def ask_desk(question: str) -> Any:
    """Ask somebody at the desk."""
    pause_for("desk", {"question": question}, interrupt_id=GIVEN, answer_schema={"type": "object", "required": ["ok"]})


async def release(ctx: Any, args: dict[str, Any], result: Any) -> None:
    """Take a deployment back."""


@tool(effect="idempotent", undo=release)
async def deploy(name: str) -> str:
    """Deploy something."""
    return f"deployed {name}"


@tool(effect="read")
async def broken() -> str:
    """Never used."""
    return ""


def refunds() -> Agent:
    return Agent("refunds", model=ScriptedModel([call("refund", order="A1", cents=500)], "refunded"), tools=[refund])


def desk() -> Agent:
    return Agent("desk", model=ScriptedModel([call("ask_desk", question="sure?")], "asked"), tools=[ask_desk])


def nested() -> Agent:
    model = ScriptedModel(["Let the clerk do it.", call("refunds", input="please")], "the clerk did it")
    return Agent("nested", model=model, tools=[refunds().as_tool()])


def deployer() -> Agent:
    model = ScriptedModel([call("deploy", name="web")], [call("ask_desk", question="go on?")], "deployed all")
    return Agent("deployer", model=model, tools=[deploy, ask_desk])


def talker() -> Agent:
    words = [f"word{n} " for n in range(40)]
    return Agent("talker", model=ScriptedModel(streamed(*words), "and the rest", "and more", delay=0.02))


def failing() -> Agent:
    return Agent("failing", model=ScriptedModel(ValueError("no such model"), "better"), retries=1)


def limited() -> Agent:
    model = ScriptedModel(*[[call("deploy", name=str(n))] for n in range(9)], "done")
    return Agent("limited", model=model, tools=[deploy], stop=MaxSteps(2).then("pause"))


def chatty() -> Agent:
    """Many records, quickly."""
    return Agent(
        "chatty",
        model=ScriptedModel(*[[call("deploy", name=str(n))] for n in range(60)], "done"),
        tools=[deploy],
        stop=MaxSteps(100),
    )


def careful() -> Agent:
    """Two people of the group must agree, and not whoever asked."""
    policy = Policy(
        [ask("deploy", reason="production", groups=("leads",), approvers=2, not_requester=True, expires_in=3600)]
    )
    return Agent(
        "careful", model=ScriptedModel([call("deploy", name="prod")], "deployed"), tools=[deploy], policy=policy
    )


def approval_flow() -> Flow:
    flow = Flow("approval")

    async def ask_manager(ctx: FlowContext) -> None:
        ctx.pause_for("approval", {"question": "really?"}, resume_to="next")

    async def wait_for_it(ctx: FlowContext) -> None:
        ctx.pause_for("event", None, resume_event="arrived")

    flow.to(flow.chunk(ask_manager)).to(flow.chunk(wait_for_it))
    return flow


MAKERS: dict[str, Callable[[], Agent[Any] | Flow]] = {
    "refunds": refunds, "desk": desk, "nested": nested, "deployer": deployer, "talker": talker, "failing": failing,
    "limited": limited, "chatty": chatty, "careful": careful, "approval": approval_flow,
}  # fmt: skip


def programs() -> list[Agent[Any] | Flow]:
    return [make() for make in MAKERS.values()]


def users_with_roles() -> tuple[Users, dict[str, str]]:
    """Users in memory, one of each role and two leads; and their keys."""
    users = Users()
    keys = {role: users.add(f"{role}-person", role) for role in ROLES}
    keys |= {name: users.add(name, "approver", ["leads"]) for name in ("lena", "lars")}
    return users, keys


class Time:
    """A clock that stands still until it is moved."""

    at = 1_000_000.0

    def __call__(self) -> float:
        return self.at


class Client(httpx.AsyncClient):
    """Somebody at the API."""

    def __init__(self, serving: Serving, key: str = "", **options: Any) -> None:
        self.serving = serving
        headers = {**({"Authorization": f"Bearer {key}"} if key else {}), **options.pop("headers", {})}
        super().__init__(
            base_url=f"{serving.url}/api/v1/", headers=headers, timeout=LIMIT, trust_env=False, verify=False, **options
        )

    async def start(self, program: str, **body: Any) -> str:
        answer = await self.post("runs", json={"agent": program, "input": "go", **body})
        assert answer.status_code == 200, answer.text
        return answer.json()["run_id"]

    async def until(self, run: str, *statuses: str) -> dict[str, Any]:
        """The run's row once it has one of these statuses."""
        async with asyncio.timeout(LIMIT):
            while True:
                row = (await self.get(f"runs/{run}/status")).json()
                if row["status"] in statuses:
                    return row
                await asyncio.sleep(0.01)

    async def waiting(self, program: str, **body: Any) -> dict[str, Any]:
        """Start a run and wait for its first interrupt."""
        run = await self.start(program, **body)
        await self.until(run, "waiting", "failed", "stuck")
        [item, *_] = (await self.get("inbox", params={"run_id": run})).json()["items"]
        return item

    async def decide(self, item: dict[str, Any], verb: str, **body: Any) -> httpx.Response:
        return await self.post(f"interrupts/{at(item['ref'])}/{verb}", json={"digest": item["digest"], **body})

    @asynccontextmanager
    async def events(self, path: str, last: str = "") -> AsyncGenerator["Events"]:
        headers = {"Last-Event-ID": last} if last else {}
        async with self.stream("GET", path, headers=headers) as response:
            assert response.status_code == 200, await response.aread()
            yield Events(response)


def at(id: str) -> str:
    """An id as one segment of a path."""
    return quote(id, safe="")


@dataclass
class Event:
    """One server-sent event."""

    kind: str = ""
    id: str = ""
    data: Any = None


@dataclass
class Events:
    """A stream as a browser reads it."""

    response: httpx.Response
    last: str = ""
    _lines: AsyncIterator[str] = field(init=False)

    def __post_init__(self) -> None:
        self._lines = self.response.aiter_lines()

    def __aiter__(self) -> AsyncIterator[Event]:
        return self._read()

    async def _read(self) -> AsyncIterator[Event]:
        event = Event()
        async for line in self._lines:
            name, _, value = line.partition(": ")
            if name == "event":
                event.kind = value
            elif name == "id":
                event.id = self.last = value
            elif name == "data":
                event.data = json.loads(value)
            elif not line and event.kind:
                yield event
                event = Event()

    async def until(self, wanted: Callable[[Event], bool]) -> list[Event]:
        """Everything up to the first event that fits, with it."""
        found: list[Event] = []
        async with asyncio.timeout(LIMIT):
            async for event in self:
                found.append(event)
                if wanted(event):
                    return found
        raise AssertionError(f"the stream ended after {found}")


async def eventually(look: Callable[[], Awaitable[bool]]) -> None:
    """Wait until it is so."""
    async with asyncio.timeout(LIMIT):
        while not await look():
            await asyncio.sleep(0.01)
