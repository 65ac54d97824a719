"""Lives with two of the same kind in them: two expiries, two forks, two suspended effects, two cancels, two workers.

A scenario plays a person who can be asked to do the same again after a crash. Its worker dies at one write of the store,
before or after it; time passes; another one comes, and in the end the world is as it is without a crash.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from itertools import count
from typing import Any, cast

from adjourn import Agent, Flow, FlowContext, Policy, Run, Runtime, ToolContext, ask, pause_for, tool
from adjourn.core.interrupt import Interrupt
from adjourn.errors import Conflict
from adjourn.stores.memory import MemoryStore
from adjourn.stores.protocol import Filter, Store
from adjourn.testing import FakeClock, ScriptedModel, call
from adjourn.testing.crash_points import CrashPoint, _Dying  # pyright: ignore[reportPrivateUsage]

LEASE = 2.0
HOUR = 3600.0
RESTS = ("waiting", "failed", "paused", "stuck", "completed", "cancelled", "stopped")
TURNS = 400
"""Turns of the loop without any change are a rest."""


class Death(Exception):
    """The worker of a life has died."""


class World:
    """What really happened, by key; and the agents and flows that do it."""

    def __init__(self) -> None:
        self.done: list[tuple[str, str]] = []
        self.undone: list[tuple[str, str]] = []
        world = self

        async def void(ctx: ToolContext, args: dict[str, Any], result: Any) -> None:
            world.undone.append((args["order"], ctx.idempotency_key))

        @tool(undo=void)
        async def charge(ctx: ToolContext, order: str) -> str:
            """Charge."""
            world.done.append((order, ctx.idempotency_key))
            return f"charged {order}"

        @tool(undo=void, effect="idempotent")
        async def hold(ctx: ToolContext, order: str) -> str:
            """Take a hold on the money, then ask whether to keep it."""
            await ctx.step("hold", lambda: world.done.append((order, ctx.idempotency_key)))
            return str(ctx.pause_for("keep", {"order": order}, resume_to="self"))

        @tool(effect="read")
        async def wonder() -> str:
            """Ask whether to go on."""
            pause_for("question", "go on?")

        async def is_charged(ctx: ToolContext, args: dict[str, Any]) -> bool:
            return any(key == ctx.idempotency_key for _, key in world.done)

        @tool(undo=void, effect="verifiable", verify=is_charged)
        async def wire(ctx: ToolContext, order: str) -> str:
            """Wire."""
            world.done.append((order, ctx.idempotency_key))
            return f"wired {order}"

        self.tools = [charge, hold, wonder, wire]

    def agent(self, *replies: Any, name: str = "clerk", **options: Any) -> Agent[Any]:
        return Agent(name, model=ScriptedModel(*replies), tools=self.tools, **options)

    def times(self, order: str) -> int:
        """How often the money of this order was really taken: by different keys."""
        return len({key for what, key in self.done if what == order})


class Life:
    """A store, a clock, and the runtimes that live on it until one of them dies."""

    def __init__(self, point: CrashPoint | None) -> None:
        self.clock = FakeClock()
        self.store = MemoryStore(now=self.clock.now)
        self.point = point
        self.dying = _Dying(self.store, point) if point else None
        self.world = World()

    def runtime(self, programs: list[Any], *, dies: bool) -> Runtime:
        store = cast(Store, self.dying) if dies and self.dying else self.store
        rt = Runtime(store, programs, lease=LEASE, grace=0.0)
        rt.clock = self.clock
        return rt

    @property
    def died(self) -> bool:
        return self.dying is not None and self.dying.died.is_set()

    async def settle(self, *runs: Run[Any]) -> None:
        """Until these rest; raises `Death` if their worker has died on the way."""
        for _ in range(TURNS):
            await asyncio.sleep(0)
            if self.died:
                raise Death
            rows = [await self.store.get(run.id) for run in runs]
            if all(row.shown(self.clock.now(), ()) in RESTS for row in rows):
                return
            self.clock.advance(0.01)
        raise AssertionError(f"they do still active: {[row.status for row in rows]}")  # pyright: ignore[reportPossiblyUnboundVariable]

    async def skip(self, seconds: float, *runs: Run[Any]) -> None:
        """Time passes, and whatever is due happens."""
        self.clock.advance(seconds)
        for _ in range(20):
            await asyncio.sleep(0)
        await self.settle(*runs)

    async def items(self, **filter: Any) -> list[Interrupt]:
        return await self.store.inbox(Filter(**filter))

    async def decide(self, rt: Runtime, run: Run[Any], kind: str = "", **answers: Any) -> None:
        """Answer everything (of one kind) that the run asks until it asks no more. Who is in doubt looks at the world."""
        for _ in range(20):
            await self.settle(run)
            items = await self.items(run=run.id, kind=kind)
            if not items:
                return
            for item in items:
                try:
                    await self._do(rt.answer(item.ref, self._answer(item, answers), by=answers.get("by", "ana")))
                except Conflict:
                    continue

    def _answer(self, item: Interrupt, answers: dict[str, Any]) -> Any:
        if item.kind == "in_doubt":
            assert item.call is not None
            order = item.call.arguments["order"]
            if any(what == order for what, _ in self.world.done):
                return {"choice": "happened", "result": f"charged {order}"}
            return {"choice": "not" if "not" in item.choices else "run"}
        return answers.get(item.type, answers.get(item.kind, True))

    async def _do(self, work: Awaitable[Any]) -> Any:
        """A command; `Death` if the process dies in it."""
        return await until_death(self, work)


async def until_death(life: Life, work: Awaitable[Any]) -> Any:
    task = asyncio.ensure_future(work)
    death = asyncio.ensure_future(life.dying.died.wait()) if life.dying else None
    try:
        await asyncio.wait({task, *([death] if death else [])}, return_when=asyncio.FIRST_COMPLETED)
        if life.died:
            raise Death
        return await task
    finally:
        for waiting in (task, *([death] if death else [])):
            waiting.cancel()
        await asyncio.gather(task, *([death] if death else []), return_exceptions=True)


Play = Callable[[Life, Runtime], Awaitable[dict[str, Any]]]


# Scenarios. Each may be played again from the start after a crash: starting, cancelling and forking are done once.


async def two_expiries_that_cancel(life: Life, rt: Runtime) -> dict[str, Any]:
    [agent] = rt.programs.values()
    run = await until_death(life, rt.start(cast(Any, agent), "go", run_id="r"))
    await life.decide(rt, run, "in_doubt")
    await life.skip(HOUR + 1, run)
    await life.decide(rt, run)
    return {"status": (await life.store.get("r")).status, "undone": sorted({what for what, _ in life.world.undone})}


def _expiring_cancel(world: World) -> list[Any]:
    policy = Policy([ask("charge", when={"order": "b"}, expires_in=HOUR, on_expiry="cancel"),
                     ask("charge", when={"order": "c"}, expires_in=HOUR, on_expiry="cancel")], default="allow")  # fmt: skip
    return [
        world.agent(
            [call("charge", order="a")], [call("charge", order="b"), call("charge", order="c")], "done", policy=policy
        )
    ]


async def two_expiries_that_escalate(life: Life, rt: Runtime) -> dict[str, Any]:
    [agent] = rt.programs.values()
    run = await until_death(life, rt.start(cast(Any, agent), "go", run_id="r"))
    await life.settle(run)
    if not any(item.escalated for item in await life.items(run="r")) and not life.world.done:
        await life.skip(HOUR + 1, run)
    await life.decide(rt, run)
    return {"status": (await life.store.get("r")).status, "times": [life.world.times(order) for order in "bc"]}


def _escalating(world: World) -> list[Any]:
    policy = Policy([ask("charge", expires_in=HOUR, on_expiry="escalate")], default="allow")
    return [world.agent([call("charge", order="b"), call("charge", order="c")], "done", policy=policy)]


async def two_forks_that_are_cancelled(life: Life, rt: Runtime) -> dict[str, Any]:
    [agent] = rt.programs.values()
    run = await until_death(life, rt.start(cast(Any, agent), "go", run_id="r"))
    await life.settle(run)
    forks: list[Run[Any]] = []
    for name in ("f1", "f2"):
        try:
            forks.append(await until_death(life, rt.get(name)))
        except Exception as e:
            if isinstance(e, Death):
                raise
            forks.append(await until_death(life, run.fork(run_id=name, by="ben")))
    await life.settle(*forks)
    for fork in forks:
        await until_death(life, fork.cancel(by="ben"))
    await life.settle(*forks)
    for fork in forks:
        await life.decide(rt, fork)
    await life.decide(rt, run, question="yes")
    rows = [(await life.store.get(name)).status for name in ("r", "f1", "f2")]
    return {"statuses": rows, "times": life.world.times("a"), "undone": life.world.undone}


def _forking(world: World) -> list[Any]:
    # What a person says about a call in doubt is an answer, and no fork inherits one: so the world is asked instead.
    return [world.agent([call("wire", order="a")], [call("wonder")], "done")]


async def two_suspended_effects_that_are_cancelled(life: Life, rt: Runtime) -> dict[str, Any]:
    [agent] = rt.programs.values()
    run = await until_death(life, rt.start(cast(Any, agent), "go", run_id="r"))
    await life.settle(run)
    for by in ("ana", "ben"):
        await until_death(life, run.cancel(by=by))
    await life.settle(run)
    await life.decide(rt, run)
    order = list(dict.fromkeys(what for what, _ in life.world.undone))
    keys = {what: len({key for of, key in life.world.undone if of == what}) for what in "ab"}
    return {"status": (await life.store.get("r")).status, "undone": order, "keys": keys}


def _suspending(world: World) -> list[Any]:
    return [world.agent([call("hold", order="a"), call("hold", order="b")], "done")]


async def two_events_at_once(life: Life, rt: Runtime) -> dict[str, Any]:
    [flow] = rt.programs.values()
    run = await until_death(life, rt.start(cast(Any, flow), "go", run_id="r"))
    for event in ("paid", "packed"):
        await until_death(life, run.emit(event, event, by="provider", request_id=event))
    await life.settle(run)
    await life.decide(rt, run)
    return {
        "status": (await life.store.get("r")).status,
        "times": [life.world.times(order) for order in ("paid", "packed")],
    }


def _waiting(world: World) -> list[Any]:
    flow = Flow("shop")

    @flow.chunk(effect="idempotent")
    async def wait(ctx: FlowContext) -> None:
        ctx.state["took"] = [await ctx.wait_for("paid"), await ctx.wait_for("packed")]

    @flow.chunk(effect="idempotent")
    async def book(ctx: FlowContext) -> None:
        world.done.append((ctx.input, ctx.idempotency_key))

    flow.to(wait)
    flow.when("paid").to(book)
    flow.when("packed").to(book)
    return [flow]


async def two_queued_in_one_that_has_ended(life: Life, rt: Runtime) -> dict[str, Any]:
    [agent] = rt.programs.values()
    run = await until_death(life, rt.start(cast(Any, agent), "go", run_id="r"))
    await life.decide(rt, run)
    heard = [getattr(message, "text", "") or "" for message in await Run(rt, "r").messages()]
    return {
        "status": (await life.store.get("r")).status,
        "times": [life.world.times(order) for order in "ab"],
        "heard": sum(text.count("The queued call charge ran") for text in heard),
    }


def _queueing(world: World) -> list[Any]:
    policy = Policy([ask("charge", queue=True)], default="allow")
    low = world.agent([call("charge", order="a"), call("charge", order="b")], "asked", name="low", policy=policy)
    model = ScriptedModel([call("low", input="x")], "asked too", "heard", "heard", "heard")
    return [Agent("top", model=model, tools=[low.as_tool()])]


PAIRS: dict[str, tuple[Play, Callable[[World], list[Any]]]] = {
    "two expiries that cancel": (two_expiries_that_cancel, _expiring_cancel),
    "two expiries that escalate": (two_expiries_that_escalate, _escalating),
    "two forks": (two_forks_that_are_cancelled, _forking),
    "two suspended effects, two cancels": (two_suspended_effects_that_are_cancelled, _suspending),
    "two events": (two_events_at_once, _waiting),
    "two queued results": (two_queued_in_one_that_has_ended, _queueing),
}


def points() -> Iterator[CrashPoint]:
    """Every write of a life, before and after it, until a life ends before the next."""
    for after in (False, True):
        for at in count():
            point = CrashPoint(at, after)
            yield point
            if not point.operation:
                break


async def lived(name: str, point: CrashPoint | None, *, workers: int = 1) -> tuple[dict[str, Any], Life]:
    """Play a scenario, dying at this point; what came of it, and the life. With two workers the second one is there before."""
    play, make = PAIRS[name]
    life = Life(point)
    programs = make(life.world)
    beside = [life.runtime(programs, dies=False) for _ in range(workers - 1)]
    for rt in beside:
        await rt.__aenter__()
    try:
        try:
            async with life.runtime(programs, dies=True) as rt:
                return await play(life, rt), life
        except Death:
            life.dying = None
        life.clock.advance(2 * LEASE)
        async with life.runtime(programs, dies=False) as rt:
            return await play(life, rt), life
    finally:
        for rt in beside:
            await rt.__aexit__()
