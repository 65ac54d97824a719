"""The reference scenarios: small agents whose tools write down, outside the store, what they did to the world."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from adjourn import Agent, Decision, Interrupt, Resource, ToolContext, tool
from adjourn.stores.protocol import Store
from adjourn.testing.scripted import ScriptedModel, call

UNSAFE, VERIFIABLE, IDEMPOTENT, READ, STEP, UNDO = "unsafe", "verifiable", "idempotent", "read", "step", "undo"


class World:
    """A file that only grows: one line per thing that really happened, `effect call key`."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def happen(self, effect: str, call: str, key: str = "-") -> None:
        file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(file, f"{effect} {call} {key}\n".encode())
        os.close(file)

    def lines(self) -> list[tuple[str, str, str]]:
        """What happened, in order: effect, call, key."""
        if not self.path.exists():
            return []
        found = [line.split(" ") for line in self.path.read_text().splitlines()]
        return [(effect, call, key) for effect, call, key in found]

    def happened(self, call: str) -> bool:
        """What a person finds who looks: whether the call had its effect."""
        return any(c == call for _, c, _ in self.lines())


Place = Annotated[World, Resource("world")]


@tool(effect="read")
async def look(ctx: ToolContext, x: str, world: Place) -> str:
    """Look something up."""
    world.happen(READ, ctx.call_id)
    return f"look {x}"


@tool(effect="idempotent")
async def put(ctx: ToolContext, x: str, world: Place) -> str:
    """Put something somewhere; the target knows the key."""
    world.happen(IDEMPOTENT, ctx.call_id, ctx.idempotency_key)
    return f"put {x}"


async def _sent(ctx: ToolContext, args: dict[str, Any]) -> Any:
    world: World = ctx.resources["world"]
    return ("happened", f"send {args['x']}") if world.happened(ctx.call_id) else False


@tool(effect="verifiable", verify=_sent)
async def send(ctx: ToolContext, x: str, world: Place) -> str:
    """Send something; whether it was sent can be found out."""
    world.happen(VERIFIABLE, ctx.call_id)
    return f"send {x}"


@tool
async def pay(ctx: ToolContext, x: str, world: Place) -> str:
    """Pay for something, once."""
    world.happen(UNSAFE, ctx.call_id)
    return f"pay {x}"


@tool
def pay_in_a_thread(ctx: ToolContext, x: str, world: Place) -> str:
    """Pay for something, once, in a function that is not async."""
    world.happen(UNSAFE, ctx.call_id)
    return f"pay_in_a_thread {x}"


@tool(policy="ask")
async def pay_if_approved(ctx: ToolContext, x: str, world: Place) -> str:
    """Pay for something, once, if a person agrees."""
    world.happen(UNSAFE, ctx.call_id)
    return f"pay_if_approved {x}"


async def _unbook(ctx: ToolContext, args: dict[str, Any], result: Any) -> None:
    ctx.resources["world"].happen(UNDO, ctx.call_id, ctx.idempotency_key)


@tool(undo=_unbook)
async def book(ctx: ToolContext, x: str, world: Place) -> str:
    """Book something; a booking can be cancelled."""
    world.happen(UNSAFE, ctx.call_id)
    return f"book {x}"


@tool(effect="idempotent")
async def prepare(ctx: ToolContext, x: str, world: Place) -> str:
    """Does one thing, asks a person, does another thing."""
    first = await ctx.step("first", _step, world, f"{ctx.call_id}/first")
    answer = ctx.pause_for("question", {"after": first}, resume_to="self", answer_schema=str)
    second = await ctx.step("second", _step, world, f"{ctx.call_id}/second")
    return f"{x} {first} {answer} {second}"


async def _step(world: World, name: str) -> str:
    world.happen(STEP, name)
    return name


@tool(effect="read")
async def wonder(ctx: ToolContext) -> str:
    """Asks whether to go on."""
    return ctx.pause_for("question", {"question": "go on?"}, answer_schema=str)


Person = Callable[[Interrupt, World], Any]
"""What a person answers; the rule is the same before and after a crash. `CANCEL` cancels the run instead."""

CANCEL = object()


def person(interrupt: Interrupt, world: World) -> Any:
    """Agrees to everything; looks at the world before saying anything about a call in doubt."""
    if interrupt.kind == "approval":
        return True
    if interrupt.kind == "question":
        return "yes"
    if interrupt.kind == "in_doubt":
        assert interrupt.call is not None
        happened = world.happened(interrupt.call.call_id)
        if not happened:
            return "run" if "run" in interrupt.choices else "not"
        return {"choice": "happened", "result": f"{interrupt.call.tool} {interrupt.call.arguments['x']}"}
    return "retry"


def denier(interrupt: Interrupt, world: World) -> Any:
    return Decision.deny("too much") if interrupt.kind == "approval" else person(interrupt, world)


def editor(interrupt: Interrupt, world: World) -> Any:
    return Decision.approve(edit={"x": "less"}) if interrupt.kind == "approval" else person(interrupt, world)


def canceller(interrupt: Interrupt, world: World) -> Any:
    return CANCEL if interrupt.kind == "question" else person(interrupt, world)


@dataclass(frozen=True)
class Scenario:
    """An agent's script and a person's rule."""

    name: str
    replies: tuple[Any, ...]
    person: Person = person

    def agent_on(self, store: Store) -> Agent:
        """The agent of a process that has this store."""
        return self.agent()

    def agent(self) -> Agent:
        tools = [look, put, send, pay, pay_in_a_thread, pay_if_approved, book, prepare, wonder]
        return Agent(self.name, model=ScriptedModel(*self.replies), tools=tools)


SCENARIOS = {
    s.name: s
    for s in (
        Scenario("plain", ([call("look", x="a")], [call("pay", x="b")], "done")),
        Scenario("approve", ([call("pay_if_approved", x="a")], "done")),
        Scenario("deny", ([call("pay_if_approved", x="a")], "done"), denier),
        Scenario("edit", ([call("pay_if_approved", x="a")], "done"), editor),
        Scenario(
            "parallel",
            ([call("pay", x="a"), call("pay_if_approved", x="b"), call("put", x="c"), call("pay_if_approved", x="d")], "done"),
        ),
        Scenario("self_resume", ([call("prepare", x="a")], "done")),
        Scenario("read", ([call("look", x="a")], [call("look", x="b")], "done")),
        Scenario("idempotent", ([call("put", x="a")], [call("put", x="b")], "done")),
        Scenario("verifiable", ([call("send", x="a")], [call("send", x="b")], "done")),
        Scenario("unsafe", ([call("pay", x="a")], [call("pay_in_a_thread", x="b")], "done")),
        Scenario("plain_and_approve", ([call("pay", x="a"), call("pay_if_approved", x="b")], "done")),
        Scenario("cancel", ([call("book", x="a"), call("book", x="b")], [call("book", x="c"), call("wonder")]), canceller),
    )
}  # fmt: skip
