"""A run cannot decide for itself: not with a shell, not with Python, not in a process that it starts (G23)."""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from adjourn import Agent, Flow, FlowContext, InvalidDefinition, NotAllowed, Policy, Run, Runtime, ask, tool
from adjourn.driver.worker_mark import MARK
from adjourn.server import Users
from adjourn.testing import ScriptedModel, call
from adjourn.testing.scripted import Scripted

paid: list[int] = []
said: list[str] = []
place: dict[str, str] = {}


@tool(effect="unsafe")
async def pay(cents: int) -> str:
    """Pay."""
    paid.append(cents)
    return "paid"


@tool(effect="read")
async def shell(command: str) -> str:
    """Run a command."""
    process = await asyncio.create_subprocess_shell(
        command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    out, _ = await process.communicate()
    said.append(f"{process.returncode} {out.decode()}")
    return "done"


@tool(effect="read")
async def python() -> str:
    """Decide with a runtime of its own."""
    async with Runtime(place["db"]) as rt:
        [item] = await rt.inbox()
        for decide in (rt.approve(item.id, by="ana", groups=["leads"]), rt.deny(item.id, by="ana")):
            try:
                await decide
            except NotAllowed as refused:
                said.append(str(refused))
    return "done"


@tool(effect="read")
def thread() -> str:
    """The same, from a sync body."""
    try:
        asyncio.run(_approve())
    except NotAllowed as refused:
        said.append(str(refused))
    return "done"


async def _approve() -> None:
    async with Runtime(place["db"]) as rt:
        [item] = await rt.inbox()
        await rt.approve(item.id, by="bob", groups=["leads"])


@tool(effect="read", isolate=True)
def alone() -> dict[str, str]:
    """Its own environment, and a decision from there."""
    try:
        asyncio.run(_approve_at(os.environ["HOME"]))
    except NotAllowed as refused:
        return {**os.environ, "refused": str(refused)}
    return {"decided": "yes"}


async def _approve_at(folder: str) -> None:
    async with Runtime(f"sqlite:///{folder}/runs.db") as rt:
        [item] = await rt.inbox()
        await rt.approve(item.id, by="bob", groups=["leads"])


@pytest.fixture
def db(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    paid.clear()
    said.clear()
    place["db"] = f"sqlite:///{tmp_path}/runs.db"
    monkeypatch.setenv("HOME", str(tmp_path))
    return place["db"]


async def attempted(db: str, agent: Agent) -> None:
    """Let the agent ask for a payment, and then try, in the next turn, what it can."""
    async with Runtime(db, [agent]) as rt:
        run = await rt.start(agent, "go", run_id="r", by="eve")
        await run.wait(60)
        [item] = await rt.inbox()
        assert (item.kind, item.slots[0].filled_by) == ("approval", "")
        assert paid == []
        for name in ("ana", "bob"):
            await rt.approve(item.id, by=name, groups=["leads"])
        await run.wait(60)
    assert paid == [100]


def beside(*attempts: Scripted) -> Agent:
    """An agent that tries in the same reply in which it asks."""
    policy = Policy([ask("pay", groups=["leads"], approvers=2, not_requester=True)], default="allow")
    model = ScriptedModel([call("pay", cents=100), *attempts], "done")
    return Agent("clerk", model=model, tools=[pay, shell, python, thread, alone], policy=policy)


async def test_g23_a_tool_with_a_shell_cannot_use_the_command_line_to_decide(db: str, tmp_path: Path) -> None:
    command = " ".join((
        # without -q: a list that nobody reads to its end was not shown
        f"while ! {sys.executable} -m adjourn inbox --db {db} | grep pay; do :; done;",
        f"{sys.executable} -m adjourn approve r --by ana --group leads --db {db};",
        f"{sys.executable} -m adjourn deny r --by ana --db {db};",
    ))  # fmt: skip
    await attempted(db, beside(call("shell", command=command)))
    assert "a run cannot decide" in said[0]


@pytest.mark.parametrize("way", ["python", "thread"])
async def test_g23_a_body_that_opens_a_runtime_cannot_decide(db: str, way: str) -> None:
    async with Runtime(db, [beside()]) as rt:  # the question is there before the tool tries
        run = await rt.start(beside(), "go", run_id="first", by="eve")
        await run.wait(60)
        other = Agent("other", model=ScriptedModel([call(way)], "done"), tools=[python, thread])
        await (await rt.start(other, "go", run_id="second")).wait(60)
        assert said and all("a run cannot decide" in refused for refused in said)
        assert paid == []
        [item] = await rt.inbox()
        assert {seat.filled_by for seat in item.slots} == {""}


async def test_an_isolated_body_has_a_clean_environment_and_cannot_decide(
    db: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ADJOURN_SECRET", "s" * 32)
    monkeypatch.setenv("ADJOURN_KEY", "k" * 32)
    monkeypatch.setenv("PAYMENT_TOKEN", "t")
    async with Runtime(db, [beside()]) as rt:
        run = await rt.start(beside(), "go", run_id="first", by="eve")
        await run.wait(60)
        other = Agent("other", model=ScriptedModel([call("alone")], "done"), tools=[alone])
        second = await rt.start(other, "go", run_id="second")
        await second.wait(60)
        found = str((await second.messages())[2])
        assert "a run cannot decide" in found
        for name in ("ADJOURN_SECRET", "ADJOURN_KEY", "PAYMENT_TOKEN"):
            assert name not in found
        assert MARK in found
        assert paid == []


def test_what_an_isolated_body_needs_is_named() -> None:
    with pytest.raises(InvalidDefinition, match="names of environment variables"):
        tool(isolate=True, env="PAYMENT_TOKEN")(alone.run)
    with pytest.raises(InvalidDefinition, match="env= is for isolate=True"):
        tool(env=["PAYMENT_TOKEN"])(alone.run)
    assert tool(isolate=True, env=["PAYMENT_TOKEN"])(alone.run).env == ("PAYMENT_TOKEN",)


async def verbs(rt: Runtime, users: Users) -> list[tuple[str, Awaitable[Any] | Callable[[], Any]]]:
    """Everything that decides, or changes who may."""
    run, asks = Run[Any](rt, "first"), Run[Any](rt, "asks")
    [item] = await rt.inbox(run="first")
    [question] = await rt.inbox(run="asks")
    saved = await asks.checkpoint()
    return [
        ("approve", rt.approve(item.id, by="ana", groups=["leads"])),
        ("approve of the run", run.approve(item.local, by="ana", groups=["leads"])),
        ("deny", rt.deny(item.id, by="ana")),
        ("answer", rt.answer(question.id, "yes", by="ana")),
        ("emit", asks.emit("told", "yes", by="ana")),
        ("resume", rt.resume(saved, "yes", by="ana")),
        ("fork that keeps", run.fork(answers="keep", by="ana")),
        ("fork that answers", asks.fork(answers={question.id: "yes"}, by="ana")),
        ("unhalt", rt.unhalt("tool:other", by="ana")),
        ("add", lambda: users.add("mallory", "admin")),
        ("new key", lambda: users.new_key("ana")),
        ("key of a run", lambda: users.run_key("first")),
        ("role", lambda: users.set_role("carl", "admin")),
        ("groups", lambda: users.set_groups("carl", ["leads"])),
        ("remove", lambda: users.remove("ana")),
    ]


async def refused(rt: Runtime, users: Users) -> dict[str, str]:
    """What was said to each verb; "" where it was done."""
    told: dict[str, str] = {}
    for name, verb in await verbs(rt, users):
        try:
            await verb if isinstance(verb, Awaitable) else verb()
            told[name] = ""
        except NotAllowed as e:
            told[name] = str(e)
    return told


@pytest.mark.parametrize("where", ["body", "child process"])
async def test_g23_no_verb_that_decides_or_changes_who_may_works_from_inside(db: str, where: str) -> None:
    users, told = Users(), dict[str, str]()
    for name, role in (("ana", "approver"), ("carl", "viewer")):
        users.add(name, role)
    before = users.all()

    @tool(effect="read")
    async def holds_the_runtime() -> str:
        told.update(await refused(rt, users))
        return "done"

    async def asks(ctx: FlowContext) -> Any:
        return ctx.pause_for("sure?", resume_event="told")

    holder = Agent("other", model=ScriptedModel([call("holds_the_runtime")], "done"), tools=[holds_the_runtime])
    asker = Flow("asker")
    asker.to(asker.chunk(asks))
    async with Runtime(db, [beside(), holder, asker]) as rt:
        await rt.halt("tool:other", reason="x", by="ana")
        for program, run in ((beside(), "first"), (asker, "asks")):
            await (await rt.start(program, "go", run_id=run, by="eve")).wait(60)
        seen = [row.seq for row in await rt.runs()]
        if where == "body":
            await (await rt.start(holder, "go", run_id="second")).wait(60)
        else:
            os.environ[MARK] = "1"
            try:
                told.update(await refused(rt, users))
            finally:  # as this worker set it, and takes it away itself
                os.environ[MARK] = str(os.getpid())
        assert told and all("a run cannot" in said for said in told.values()), told
        assert [row.seq for row in await rt.runs() if row.id in ("first", "asks")] == seen
        assert len(await rt.halts()) == 1
    assert users.all() == before
    users.close()
