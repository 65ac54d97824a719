"""One reference run, with a command arriving at a chosen point: parallel calls, a gate, a nested agent, undos.

On a memory store the point is a callback of the event loop, hence every await; on SQLite it is a commit of the worker,
and the command comes through another connection, as from another process.
"""

# pyright: reportPossiblyUnboundVariable=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

from adjourn import Agent, Run, Runtime, ToolContext, tool
from adjourn.core.messages import Delta, ModelRequest, Reply, Text, TextDelta, ToolCall, ToolResult, UserMessage
from adjourn.core.records import (
    AnyRecord,
    CancelAsked,
    Command,
    Decided,
    Intended,
    PauseAsked,
    Replied,
    Resumed,
    Returned,
    RunCancelled,
    RunCompleted,
    Said,
)  # fmt: skip
from adjourn.core.state import State
from adjourn.core.status import RUNNABLE
from adjourn.core.usage import Usage
from adjourn.errors import AdjournError, Halted, Refused
from adjourn.stores.protocol import Filter, Store
from adjourn.testing import FakeClock

RUN = "r"
STEPS = 20_000
"""So many turns of the loop without an end are a livelock."""

COMMANDS = [
    "pause", "pause now", "cancel", "halt *", "halt agent:helper", "halt tool:act", "say",
    "cancel, then approve", "approve, then cancel", "pause, then cancel", "cancel, then pause",
]  # fmt: skip


class World:
    """What really happened, in order."""

    def __init__(self) -> None:
        self.happened: list[str] = []

    async def happen(self, what: str) -> None:
        await asyncio.sleep(0)
        self.happened.append(what)
        await asyncio.sleep(0)


class Thinker:
    """A model that looks at what has been done, and so says the same again after it was cut off."""

    def __init__(self, *turns: tuple[str, list[tuple[str, str]]]) -> None:
        self.turns = turns

    name = "thinker"

    async def request(self, request: ModelRequest) -> AsyncIterator[Delta | Reply]:
        done = Counter(m.tool for m in request.messages if isinstance(m, ToolResult))
        want = Counter[str]()
        for text, calls in self.turns:
            want.update(tool for tool, _ in calls)
            if not calls or any(done[tool] < n for tool, n in want.items()):
                break
        yield TextDelta(text[:2])
        await asyncio.sleep(0)
        yield TextDelta(text[2:])
        k = request.index
        parts = [
            ToolCall(id=f"{k}-{n}", tool=t, args={"input": x} if t == "helper" else {"x": x})
            for n, (t, x) in enumerate(calls)
        ]
        yield Reply((Text(text=text), *parts), Usage(1, 10, 5), "thinker")


def make_agent(world: World) -> Agent:
    async def unact(ctx: ToolContext, args: dict[str, Any], result: Any) -> None:
        await world.happen(f"undo {args['x']}")

    @tool(effect="read")
    async def look(x: str) -> str:
        """Look something up."""
        await world.happen(f"look {x}")
        return f"saw {x}"

    @tool(undo=unact)
    async def act(x: str) -> str:
        """Do something."""
        await world.happen(f"act {x}")
        return f"did {x}"

    @tool(undo=unact)
    async def act_again(x: str) -> str:
        """Do something else."""
        await world.happen(f"act {x}")
        return f"did {x}"

    @tool(policy="ask", undo=unact)
    async def pay(x: str) -> str:
        """Pay, if a person agrees."""
        await world.happen(f"act {x}")
        return f"paid {x}"

    helper = Agent("helper", model=Thinker(("acting", [("act", "h")]), ("helped", [])), tools=[act])
    turns = (
        ("first", [("look", "l"), ("act", "a"), ("pay", "p"), ("helper", "help me")]),
        ("second", [("act_again", "b")]),
        ("done", []),
    )
    return Agent("root", model=Thinker(*turns), tools=[look, act, act_again, pay, helper])  # type: ignore[list-item]


async def approve(store: Store) -> int:
    """Agree to the payment as it is shown now; if it is not there yet, to nothing."""
    shown = [item.call.digest for item in await store.inbox(Filter(run=RUN)) if item.call]
    return await store.deliver(RUN, Decided(i="1.2?0", verdict="approve", by="ann", digest="".join(shown)))


class Play:
    """One run, and a person who approves what is asked, resumes what is paused and lifts what is halted."""

    def __init__(self, store: Store, clock: FakeClock, command: str) -> None:
        self.store, self.clock, self.command = store, clock, command
        self.world = World()
        self.told: list[str] = []
        self.acknowledged: list[str] = []
        self.seen_at = 0
        self.rt = Runtime(store, [make_agent(self.world)], lease=3600.0)
        self.rt.clock = clock

    def commands(self) -> list[tuple[str, Callable[[Store], Coroutine[Any, Any, Any]]]]:
        """What arrives, one after the other, as calls of a store."""

        def deliver(command: Command) -> Callable[[Store], Coroutine[Any, Any, Any]]:
            return lambda store: store.deliver(RUN, command)

        known: dict[str, Callable[[Store], Coroutine[Any, Any, Any]]] = {
            "pause": deliver(PauseAsked(by="ann")),
            "pause now": deliver(PauseAsked(by="ann", now=True)),
            "cancel": deliver(CancelAsked(by="ann")),
            "say": deliver(Said(text="also Norway", by="ann")),
            "approve": approve,
        }
        found: list[tuple[str, Callable[[Store], Coroutine[Any, Any, Any]]]] = []
        for word in self.command.split(", then "):
            if word.startswith("halt "):
                found.append((word, lambda store, w=word: store.halt(w.removeprefix("halt "), by="ann", reason="x")))
            else:
                found.append((word, known[word]))
        return found

    async def strike(self, store: Store) -> None:
        """The commands arrive; each is acknowledged, or refused with a reason."""
        for word, work in self.commands():
            try:
                await work(store)
                self.acknowledged.append(word)
            except AdjournError as e:
                self.told.append(f"{word}: {e}")
        self.seen_at = (await store.get(RUN)).seq

    async def live(self) -> None:
        """Until the run has ended."""
        async with self.rt as rt:
            run = await rt.start(self.rt._programs[0], "go", run_id=RUN)
            for _ in range(STEPS):
                row = await self.store.get(RUN)
                if row.status in ("completed", "cancelled"):
                    break
                if row.status in RUNNABLE:
                    await self.breathe()
                else:
                    await self.person(rt, run)
            else:
                raise AssertionError(f"the run does not end: it is {row.status.value}")
            self.records: list[AnyRecord] = [x for _, x in await self.store.load(RUN)]
            self.messages = await run.messages()
            assert await rt.verify() == []

    async def breathe(self) -> None:
        """Let others work, and let time pass: what nobody tells the worker, its sweep finds."""
        await asyncio.sleep(0)
        self.clock.advance(0.01)

    async def person(self, rt: Runtime, run: Run[Any]) -> None:
        """Nothing happens without one."""
        row = await self.store.get(RUN)
        if row.status == "paused":
            self.check_quiet([x for _, x in await self.store.load(RUN)])
            try:
                await run.resume(by="bob")
            except Refused as e:  # a cancel came between the look and the word
                self.told.append(f"bob: {e}")
        elif row.blocked:
            await self.lift(rt)
        elif waiting := await rt.inbox(run=RUN):
            try:
                await rt.approve(waiting[0].id, by="bob")
            except Halted:
                await self.lift(rt)
            except AdjournError as e:
                self.told.append(f"bob: {e}")
                await self.breathe()
        else:
            await self.breathe()

    async def lift(self, rt: Runtime) -> None:
        self.check_quiet([x for _, x in await self.store.load(RUN)])
        for halt in await rt.halts():
            await rt.unhalt(halt.scope, by="bob")
        rt.worker.wake(RUN)
        await self.breathe()

    def check_quiet(self, records: list[AnyRecord]) -> None:
        """Nothing began since the command was acknowledged."""
        if not self.seen_at:
            return
        late = [x for x in records[self.seen_at :] if isinstance(x, Intended)]
        if self.command.startswith("halt tool:"):
            late = [x for x in late if x.tool == self.command.removeprefix("halt tool:")]
        elif self.command == "halt agent:helper":
            late = [x for x in late if "helper" in x.under]
        assert not late, f"began after {self.command!r} was acknowledged: {late}"

    def check(self) -> None:
        """Everything that must hold at the end."""
        [end] = [x for x in self.records if isinstance(x, RunCompleted | RunCancelled)]
        assert self.records[-1] is end
        results = Counter(x.call for x in self.records if isinstance(x, Returned))
        assert set(results.values()) <= {1}, results
        times = Counter(self.world.happened)
        effects = [w for w in self.world.happened if w.startswith("act ")]
        assert len(effects) == len(set(effects)), f"done twice: {self.world.happened}"
        if isinstance(end, RunCompleted):
            ended = State().fold_all(enumerate(self.records, 1)).ended
            assert isinstance(ended, RunCompleted) and ended.output == "done"
            assert sorted(effects) == ["act a", "act b", "act h", "act p"]
            assert not [w for w in self.world.happened if w.startswith("undo")]
            assert "cancel" not in self.acknowledged
        else:
            self.check_undone(end)
        if "cancel" in self.acknowledged:
            assert isinstance(end, RunCancelled)
        if "say" in self.acknowledged:
            heard = [m.text for m in self.messages if isinstance(m, UserMessage)]
            assert heard.count("also Norway") == 1
            [said] = [n for n, x in enumerate(self.records, 1) if isinstance(x, Said)]
            assert any(isinstance(x, Replied) and not x.path and x.upto >= said for x in self.records), "nobody read it"
        assert len(self.acknowledged) + len([t for t in self.told if not t.startswith("bob")]) == len(self.commands())
        assert times["look l"] >= (1 if isinstance(end, RunCompleted) else 0)

    def check_undone(self, end: RunCancelled) -> None:
        asked = next(n for n, x in enumerate(self.records) if isinstance(x, CancelAsked))
        late = [x for x in self.records[asked:] if isinstance(x, Intended) and x.why != "undo"]
        assert not late, f"began after the cancel was acknowledged: {late}"
        assert not [x for x in self.records[asked:] if isinstance(x, Resumed)]
        calls = {x.call: x for x in self.records if isinstance(x, Intended)}
        done = [x for x in self.records if isinstance(x, Returned) and x.call in calls and calls[x.call].undo]
        assert list(end.undone) == [x.call for x in reversed(done)]
        assert end.residue == ()
        undone = [w.removeprefix("undo ") for w in self.world.happened if w.startswith("undo")]
        acted = [w.removeprefix("act ") for w in self.world.happened if w.startswith("act ")]
        assert undone == [str(x.value).split()[1] for x in reversed(done)]
        assert sorted(undone) == sorted(acted)
