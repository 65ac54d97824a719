"""Programs that the attacks were about, and what people do at them. By the public API alone."""

import contextlib
from typing import Any

import httpx
import pytest

from adjourn import (
    Agent,
    Flow,
    FlowContext,
    InDoubt,
    Interrupt,
    NotAllowed,
    Policy,
    Run,
    RunFailed,
    Runtime,
    ToolContext,
    ask,
    pause_for,
    tool,
)
from adjourn.server import Guard, Users, create_app
from adjourn.testing.scripted import ScriptedModel, call

LIMIT = 60.0
ORIGIN = "http://desk.example"
DIRECTORS = ("directors",)
TWO_DIRECTORS: dict[str, Any] = {"groups": DIRECTORS, "approvers": 2, "not_requester": True}


async def rest(*runs: Run[Any]) -> None:
    for run in runs:
        with contextlib.suppress(RunFailed):
            await run.wait(LIMIT)


async def items(rt: Runtime, run: Run[Any], kind: str = "") -> list[Interrupt]:
    return [item for item in await rt.inbox(run=run.id) if kind in ("", item.kind)]


async def one(rt: Runtime, run: Run[Any], kind: str = "") -> Interrupt:
    [item] = await items(rt, run, kind)
    return item


async def agree(rt: Runtime, run: Run[Any], *people: str, groups: tuple[str, ...] = DIRECTORS) -> None:
    """All of them approve what waits."""
    for item in await items(rt, run, "approval"):
        for by in people:
            await rt.approve(item.id, by=by, groups=groups)
    await rest(run)


def client(rt: Runtime, users: Users, name: str, role: str) -> httpx.AsyncClient:
    """Somebody at the API."""
    app = create_app(rt, guard=Guard([ORIGIN], users=users, rate=1e6, burst=1e6))
    headers = {"Authorization": f"Bearer {users.add(name, role)}"}
    return httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url=f"{ORIGIN}/api/v1/", headers=headers)


class Refunds:
    """An agent that asks an operator, and refunds whatever it was told to."""

    def __init__(self) -> None:
        self.paid: list[str] = []

        @tool(effect="read")
        async def ask_operator(question: str) -> Any:
            """Ask an operator."""
            pause_for("approval", {"question": question})

        @tool(effect="unsafe")
        async def refund(order: str) -> str:
            """Pay back."""
            self.paid.append(order)
            return "refunded"

        words = [call("ask_operator", question="refund?")], [call("refund", order="123")], "done", "done"
        self.agent = Agent("refunds", model=ScriptedModel(*words), tools=[ask_operator, refund])


def orders(shipped: list[str]) -> Flow:
    flow = Flow("orders")

    async def wait_for_payment(ctx: FlowContext) -> None:
        ctx.pause_for("payment", {"order": ctx.input}, resume_event="paid")

    async def ship(ctx: FlowContext) -> None:
        shipped.append(ctx.run_id)

    flow.to(flow.chunk(wait_for_payment))
    flow.when("paid").to(flow.chunk(ship))
    return flow


class Wire:
    """A wire that two directors agree to, and whose bank does not answer."""

    def __init__(self, **rule: Any) -> None:
        self.sent: list[str] = []

        @tool(effect="unsafe")
        async def wire(ctx: ToolContext, to: str) -> str:
            """Send money."""
            self.sent.append(to)
            if self.sent.count(to) == 1:
                raise InDoubt("the bank did not answer")
            return "sent"

        wanted = [call("wire", to="ann"), call("wire", to="bob")]
        policy = Policy([ask("wire", **{**TWO_DIRECTORS, **rule})], default="allow")
        self.agent = Agent("clerk", model=ScriptedModel(wanted, "done"), tools=[wire], policy=policy)

    async def in_doubt(self, rt: Runtime) -> Run[Any]:
        """Agreed to, sent once each, and nobody knows."""
        run = await rt.start(self.agent, "go", by="eve")
        await rest(run)
        await agree(rt, run, "dan", "dora")
        assert sorted(self.sent) == ["ann", "bob"]
        return run


async def choose(rt: Runtime, item: Interrupt, by: str, choice: dict[str, Any], groups: tuple[str, ...] = ()) -> bool:
    named: dict[str, Any] = {"groups": groups} if groups else {}
    try:
        await rt.answer(item.id, choice, by=by, **named)
    except NotAllowed:
        return False
    return True


class Approval:
    """A flow that commits when somebody has approved."""

    def __init__(self) -> None:
        self.committed: list[Any] = []
        self.flow = Flow("approval")

        async def ask_manager(ctx: FlowContext) -> None:
            ctx.pause_for("approval", {"question": "commit?"}, resume_event="approved")

        async def commit(ctx: FlowContext) -> None:
            self.committed.append(ctx.input)

        self.flow.to(self.flow.chunk(ask_manager))
        self.flow.when("approved").to(self.flow.chunk(commit))


class Payments:
    """Payments that need somebody else's yes."""

    def __init__(self, *words: Any, description: str = "Pay.", undo: Any = None, **rule: Any) -> None:
        self.paid: list[int] = []

        @tool(effect="unsafe", description=description, undo=undo)
        async def pay(cents: int) -> str:
            self.paid.append(cents)
            return "paid"

        @tool(effect="read")
        async def ask_operator(question: str) -> Any:
            """Ask an operator."""
            pause_for("question", {"question": question})

        model = ScriptedModel(*(words or ([call("pay", cents=5), call("pay", cents=6)],)), "done")
        self.policy = Policy([ask("pay", **(rule or {"not_requester": True}))], default="allow")
        self.agent = Agent("clerk", model=model, tools=[pay, ask_operator], policy=self.policy)

    async def refuses(self, rt: Runtime, run: Run[Any], by: str) -> None:
        for item in await items(rt, run, "approval"):
            with pytest.raises(NotAllowed):
                await rt.approve(item.id, by=by)
        await rest(run)
        assert self.paid == []


class Charges:
    """Charges that can be taken back, and then a question."""

    def __init__(self) -> None:
        self.world: list[str] = []

        async def void(ctx: ToolContext, args: dict[str, Any], result: Any) -> None:
            self.world.append(f"void {args['order']}")

        @tool(effect="unsafe", undo=void)
        async def charge(order: str) -> str:
            """Charge a card."""
            self.world.append(f"charge {order}")
            return "charged"

        @tool(effect="unsafe")
        async def wire(ctx: ToolContext, to: str) -> str:
            """Set money aside, and send it if somebody is sure."""
            await ctx.step("reserve", self.world.append, f"reserve {to}")
            ctx.pause_for("sure", {"to": to}, resume_to="self")
            self.world.append(f"wire {to}")
            return "sent"

        @tool(effect="read")
        async def ask_operator(question: str) -> Any:
            """Ask an operator."""
            pause_for("question", {"question": question})

        self.tools = [charge, wire, ask_operator]

    def agent(self, *words: Any) -> Agent:
        return Agent("clerk", model=ScriptedModel(*words, "done"), tools=self.tools)
