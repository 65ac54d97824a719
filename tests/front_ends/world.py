"""Agents that pay, with a ledger of what really happened; a server; and readers of what it streams."""

import asyncio
import json
import os
import shutil
from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import httpx
import pytest

from adjourn import Agent, Flow, Policy, Tool, ask, pause_for, tool
from adjourn.core.messages import Delta, ModelRequest, Reply, Text, TextDelta, Thinking, ThinkingDelta
from adjourn.models.model import Model
from adjourn.server import Serving, Users, serving
from adjourn.testing.scripted import ScriptedModel, call, streamed

HERE = Path(__file__).parent
LIMIT = 60.0
AG_UI, AI_SDK = "ag-ui", "ai-sdk"


def ledger_of(folder: Path) -> list[str]:
    """What was paid."""
    path = folder / "ledger"
    return path.read_text("utf-8").splitlines() if path.exists() else []


def tools_of(folder: Path, policy: Literal["ask", "allow"] = "ask") -> list[Tool]:
    """One that reads, and one that pays."""

    @tool(effect="read")
    async def get_order(order: str) -> dict[str, str]:
        """Look an order up."""
        return {"order": order, "state": "late"}

    @tool(policy=policy, effect="unsafe")
    async def refund(order: str, cents: int) -> str:
        """Pay money back."""
        with (folder / "ledger").open("a", encoding="utf-8") as ledger:
            ledger.write(f"{order} {cents}\n")
        return f"paid {cents}"

    return [get_order, refund]


class Gated:
    """A model that says the first piece of what it streams, and the rest when the gate is open."""

    name, reports_cost = "gated", True

    def __init__(self, model: ScriptedModel, gate: asyncio.Event) -> None:
        self._model, self._gate = model, gate

    async def request(self, request: ModelRequest) -> AsyncIterator[Delta | Reply]:
        pieces = 0
        async for item in self._model.request(request):
            if isinstance(item, TextDelta):
                pieces += 1
            if pieces > 1:
                await self._gate.wait()
            yield item


def cashier(folder: Path, gate: asyncio.Event | None = None) -> Agent[Any]:
    """Looks an order up, wants to pay two refunds, and says so, in pieces; in the second turn it thanks."""
    refunds = [call("refund", order="A1", cents=500), call("refund", order="B2", cents=700)]
    model = ScriptedModel(
        ["Let me look. ", call("get_order", order="A1"), *refunds],
        streamed("All ", "is ", "settled."),
        "You are welcome.",
    )
    return Agent("cashier", model=Gated(model, gate) if gate else model, tools=tools_of(folder))


def careful(folder: Path) -> Agent[Any]:
    """Two people must agree, and not whoever asked."""
    model = ScriptedModel([call("refund", order="A1", cents=500)], "done")
    policy = Policy([ask("refund", approvers=2, not_requester=True)])
    return Agent("careful", model=model, tools=tools_of(folder, "allow"), policy=policy)


@tool(effect="read")
async def ask_desk(question: str) -> Any:
    """Ask somebody at the desk."""
    pause_for("desk", {"question": question}, answer_schema={"type": "object", "required": ["ok"]})


class Thinker:
    """A model that thinks aloud before it speaks."""

    name = "thinker"

    async def request(self, request: Any) -> AsyncIterator[Any]:
        yield ThinkingDelta("hm, ")
        yield ThinkingDelta("yes")
        yield Reply(parts=(Thinking(text="hm, yes"), Text(text="Yes.")))


def others() -> list[Agent[Any]]:
    """An agent that asks, one that fails, one that thinks, one that talks slowly, one that is stuck in its first words."""
    model: Model = Thinker()
    stuck: Model = Gated(ScriptedModel(streamed("Well, ", "never"), "more"), asyncio.Event())
    return [
        Agent("desk", model=ScriptedModel([call("ask_desk", question="sure?")], "asked"), tools=[ask_desk]),
        Agent("failing", model=ScriptedModel(ValueError("no such model"), "better"), retries=1),
        Agent("thinker", model=model),
        Agent("stuck", model=stuck),
        Agent("talker", model=ScriptedModel(streamed(*(f"word{n} " for n in range(30))), "more", delay=0.02)),
    ]


class Place:
    """A server, what it has paid, and who may come."""

    def __init__(self, folder: Path, up: Serving, users: Users) -> None:
        self.folder, self.up, self.users = folder, up, users

    @property
    def ledger(self) -> list[str]:
        return ledger_of(self.folder)

    def key_of(self, name: str, role: str, **more: Any) -> str:
        """A new user, and the key."""
        return self.users.add(name, role, **more)

    def client(self, key: str = "") -> httpx.AsyncClient:
        """Somebody; without a key, the admin."""
        headers = {"Authorization": f"Bearer {key or self.up.token}"}
        return httpx.AsyncClient(base_url=self.up.url, headers=headers, timeout=LIMIT, trust_env=False)

    async def node(self, script: str, *args: str, key: str = "") -> Any:
        """What a script of this folder prints: one line of JSON."""
        process = await asyncio.create_subprocess_exec(
            needed("node"), str(HERE / script), self.up.url, key or self.up.token, *args,
            cwd=modules().parent, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        async with asyncio.timeout(LIMIT):
            out, err = await process.communicate()
        assert process.returncode == 0, (out.decode()[-4000:], err.decode()[-4000:])
        return json.loads(out.decode().splitlines()[-1])


@asynccontextmanager
async def place(
    folder: Path,
    address: str = "memory://",
    *,
    gate: asyncio.Event | None = None,
    more: Iterable[Agent[Any] | Flow] = (),
    **options: Any,
) -> AsyncGenerator[Place]:
    """While inside, all agents are served, and `more`; `gate`: the cashier waits for it in the middle of a text."""
    users = Users()
    programs = [cashier(folder, gate), careful(folder), *others(), *more]
    async with serving(address, programs, port=0, users=users, name="ana", token=True, rate=10_000, **options) as up:
        yield Place(folder, up, users)
    users.close()


def needed(program: str) -> str:
    """Where a program is; without it, nothing is tested here."""
    found = shutil.which(program)
    if found is None:
        missing(f"there is no {program} here")
    assert found is not None
    return found


def modules() -> Path:
    """The packages of npm."""
    found = HERE / "node_modules"
    if not (found / "@ag-ui" / "client").is_dir():
        missing("the clients are not installed: run `make mock`")
    return found


def missing(why: str) -> None:
    """Skipped where somebody develops; a failure where everything must be there."""
    if os.environ.get("CI"):
        pytest.fail(why, pytrace=False)
    pytest.skip(why)


def user(text: str, id: str = "m1") -> dict[str, Any]:
    """A message of a person, for AG-UI."""
    return {"id": id, "role": "user", "content": text}


def asks(thread: str = "t1", run: str = "r1", *messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A request of AG-UI."""
    return {"threadId": thread, "runId": run, "messages": list(messages or (user("refund both"),)), **more}


async def events_of(response: httpx.Response) -> list[dict[str, Any]]:
    """All events of a stream, once it has ended."""
    return [event async for event in streaming(response)]


async def streaming(response: httpx.Response) -> AsyncIterator[dict[str, Any]]:
    """The events of a stream; `position` is in those that have one."""
    async for line in response.aiter_lines():
        if line.startswith("data: ") and line != "data: [DONE]":
            yield json.loads(line.removeprefix("data: "))


async def post(client: httpx.AsyncClient, path: str, body: dict[str, Any], **options: Any) -> list[dict[str, Any]]:
    """The events that a request gets."""
    async with client.stream("POST", path, json=body, **options) as response:
        assert response.status_code == 200, await response.aread()
        return await events_of(response)


def interrupts(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the run waits for, by its last event."""
    assert events[-1]["outcome"]["type"] == "interrupt", events[-1]
    return events[-1]["outcome"]["interrupts"]


def approves(*found: dict[str, Any], approved: bool = True, **more: Any) -> list[dict[str, Any]]:
    """The answers that approve, or deny."""
    return [{"interruptId": i["id"], "status": "resolved", "payload": {"approved": approved, **more}} for i in found]
