"""A run that is lived again and again, with one thing happening at one callback of its event loop each time.

The memory store never suspends, so whatever can come between two instructions of the driver comes at a callback.
Effects are counted here, outside of any store.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextvars import Context
from typing import Any

from adjourn import Agent, Policy, ToolContext, ask, tool
from adjourn.core.interrupt import Interrupt
from adjourn.core.messages import AssistantMessage, Delta, ModelRequest, Reply, Text, TextDelta, ToolCall, UserMessage
from adjourn.core.records import AnyRecord, Command, Intended, Resumed, Returned, RunCancelled, RunCompleted, Started
from adjourn.core.state import State
from adjourn.core.status import ENDED, Status
from adjourn.driver.loop import Drive
from adjourn.errors import AdjournError
from adjourn.runtime.checked_answers import answered
from adjourn.stores.memory import MemoryStore

RUN, TTL, NOW = "R", 1e6, 1_800_000_000.0


class CountingLoop(asyncio.SelectorEventLoop):
    """An event loop that counts its callbacks and does one more thing right before one of them."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0
        self.plans: dict[int, Callable[[], None]] = {}

    def call_soon(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        return super().call_soon(self._counted, callback, args, context=context)

    def _counted(self, callback: Callable[..., object], args: tuple[Any, ...]) -> None:
        n, self.count = self.count, self.count + 1
        if plan := self.plans.pop(n, None):
            plan()
        callback(*args)


def now_or_never(work: Coroutine[Any, Any, Any]) -> Any:
    """The result of a coroutine that never suspends: the memory store's."""
    try:
        work.send(None)
    except StopIteration as done:
        return done.value
    raise AssertionError("the memory store waited for something")


class World:
    """What really happened."""

    def __init__(self) -> None:
        self.store = MemoryStore(now=lambda: NOW)
        self.began: list[str] = []
        self.effects: list[str] = []
        self.undone: list[str] = []
        self.steps: list[str] = []
        self.consents: list[str] = []
        self.tools: dict[str, str] = {}
        self.agent = make_agent(self)

    @property
    def records(self) -> list[tuple[int, AnyRecord]]:
        return self.store.peek(RUN)

    @property
    def did(self) -> list[str]:
        """The effects, by tool; ids depend on how often a thought was interrupted."""
        return [self.tools[call] for call in self.effects]

    def begin(self, call: str, tool: str) -> None:
        """A body takes its first instruction."""
        self.tools[call] = tool
        assert not any(isinstance(r, Returned) and r.call == call for _, r in self.records), f"{call} ran again"
        self.began.append(call)

    def state(self) -> State:
        return State().fold_all(self.records)


class Planner:
    """A model whose next word depends on the conversation alone, so that it is the same in every process."""

    name = "planner"
    turns: tuple[list[tuple[str, dict[str, Any]]], ...] = (
        [("look", {}), ("book", {"n": 1}), ("pay", {"cents": 5})],
        [("mail", {}), ("book", {"n": 2})],
        [("order", {})],
    )

    async def request(self, request: ModelRequest) -> AsyncIterator[Delta | Reply]:
        turn = sum(1 for m in request.messages if isinstance(m, AssistantMessage) and not m.interrupted and not m.text)
        yield TextDelta("hm, ")
        await asyncio.sleep(0)
        if turn < len(self.turns):
            calls = (ToolCall(id=f"{turn}-{n}", tool=t, args=a) for n, (t, a) in enumerate(self.turns[turn]))
            yield Reply(tuple(calls))
            return
        heard = [m.text for m in request.messages if isinstance(m, UserMessage) and m.text.startswith("word")]
        yield Reply((Text(text=f"done; heard {heard}"),))


def make_agent(world: World) -> Agent:
    async def take_back(ctx: ToolContext, args: dict[str, Any], result: Any) -> None:
        await asyncio.sleep(0)
        world.undone.append(ctx.call_id.partition("!")[0])

    @tool(effect="read")
    async def look(ctx: ToolContext) -> str:
        """Look."""
        await asyncio.sleep(0)
        return "nice"

    @tool(undo=take_back)
    async def book(ctx: ToolContext, n: int) -> str:
        """Book."""
        world.begin(ctx.call_id, "book")
        await asyncio.sleep(0)
        world.effects.append(ctx.call_id)
        await asyncio.sleep(0)
        return f"booked {n}"

    @tool(undo=take_back)
    async def pay(ctx: ToolContext, cents: int) -> str:
        """Pay."""
        world.begin(ctx.call_id, "pay")
        world.effects.append(ctx.call_id)
        await asyncio.sleep(0)
        return f"paid {cents}"

    @tool(effect="idempotent")
    async def mail(ctx: ToolContext) -> str:
        """Mail."""
        world.begin(ctx.call_id, "mail")
        await asyncio.sleep(0)
        return "sent"

    @tool(undo=take_back)
    async def order(ctx: ToolContext) -> str:
        """Order in steps."""
        world.begin(ctx.call_id, "order")
        await ctx.step("cart", lambda: world.steps.append("cart"))
        answer = ctx.pause_for("question", "how many?", resume_to="self")
        await ctx.step("order", lambda: world.steps.append("order"))
        return f"ordered {answer}"

    policy = Policy([ask("pay")], default="allow")
    return Agent("lives", model=Planner(), tools=[look, book, pay, mail, order], policy=policy)


def person(world: World, interrupt: Interrupt) -> Any:
    """What a person who knows the world answers."""
    if interrupt.kind == "approval":
        return True
    if interrupt.kind == "question":
        return 7
    assert interrupt.kind == "in_doubt", interrupt
    assert interrupt.call is not None
    call = interrupt.call.call_id
    world.consents.append(call)
    if call in world.effects:
        return {"choice": "happened", "result": "it did"}
    return {"choice": "not" if "not" in interrupt.choices else "run"}


async def worker(world: World, name: str, replaces: str) -> Status:
    """Drive the run until it rests."""
    lease = await world.store.acquire(RUN, name, TTL, replaces=replaces)
    assert lease is not None
    state = State().fold_all(lease.records)
    await Drive(world.store, world.agent.program, lease, state, ttl=TTL).run()
    status = world.state().status
    assert status is not None
    return status


async def live(world: World) -> None:
    """From the start to an end, whoever dies or speaks in between."""
    for n in range(100):
        row = await world.store.get(RUN)
        if row.status in ENDED:
            return
        if row.status == Status.PAUSED:
            await world.store.deliver(RUN, Resumed())
        elif row.status in (Status.WAITING, Status.STUCK):
            for interrupt in world.state().interrupts:
                await world.store.deliver(RUN, await answered(interrupt, person(world, interrupt), by="ada"))
        else:
            task = asyncio.ensure_future(worker(world, f"w{n}", row.worker))
            task.set_name("worker")
            try:
                await task
            except asyncio.CancelledError:
                if asyncio.current_task().cancelling():  # pyright: ignore[reportOptionalMemberAccess]
                    raise
    raise AssertionError("it does not converge")


def die() -> None:
    """End every worker and everything it runs, in the middle of whatever they do."""
    for task in asyncio.all_tasks():
        if task.get_name() == "worker" or task.get_name().startswith("adjourn:"):
            task.cancel()


class Word:
    """A person's command, and what became of it."""

    def __init__(self, command: Command) -> None:
        self.command = command
        self.seq = 0
        self.refused: AdjournError | None = None

    def __call__(self, world: World) -> None:
        try:
            self.seq = now_or_never(world.store.deliver(RUN, self.command))
        except AdjournError as e:
            self.refused = e


def lived(*events: tuple[int, Callable[[World], None]]) -> tuple[World, int]:
    """A life with these events, each at its callback; the world afterwards, and how many callbacks there were."""
    world = World()
    started = Started(run=RUN, kind="agent", program="lives", fingerprint=world.agent.fingerprint, input="go")
    now_or_never(world.store.create(started))
    loop = CountingLoop()
    loop.plans = {at: lambda do=do: do(world) for at, do in events}
    try:
        loop.run_until_complete(live(world))
        return world, loop.count
    finally:
        loop.close()


def ends(world: World) -> list[AnyRecord]:
    return [r for _, r in world.records if isinstance(r, RunCompleted | RunCancelled)]


def output(world: World) -> str:
    """What a run that has completed gave, as whoever reads its journal sees it."""
    [end] = ends(world)
    assert isinstance(end, RunCompleted)
    ended = State().fold_all(world.records).ended
    assert isinstance(ended, RunCompleted)
    return str(ended.output)


def intents(world: World, after: int = 0) -> list[tuple[int, Intended]]:
    return [(seq, r) for seq, r in world.records if isinstance(r, Intended) and seq > after]
