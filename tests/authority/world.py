"""A clerk who pays when people agree, an office where runs wait for them, and a ledger outside of every store."""

import asyncio
import contextlib
import shutil
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, NamedTuple

from tests.places import new_folder

from adjourn import AdjournError, Agent, Flow, Interrupt, Policy, Run, RunFailed, Runtime, Tool, ToolContext, ask, tool
from adjourn.core.journal_authority import violations
from adjourn.core.policy_rule import Rule
from adjourn.core.records import AnyRecord
from adjourn.stores.memory import MemoryStore
from adjourn.stores.protocol import Store
from adjourn.stores.sqlite import SQLiteStore
from adjourn.testing import FakeClock, env
from adjourn.testing.scripted import ScriptedModel, call

LIMIT = 60.0
"""Seconds after which a test that waits for something has failed."""
WORDS = 9
"""So often a model that has nothing more to do may be asked."""
GATES = ("approval", "in_doubt")
"""What lets a call run."""


class Person(NamedTuple):
    """Somebody who decides, with the groups they are in."""

    name: str
    groups: tuple[str, ...] = ()


DIRECTORS = ("directors",)
DAN, DORA, DIRK = Person("dan", DIRECTORS), Person("dora", DIRECTORS), Person("dirk", DIRECTORS)
STARTER = Person("eve", DIRECTORS)
"""Who starts every run. She is a director as well, so that only the rule about requesters keeps her out."""


def gated(pattern: str = "pay", **how: Any) -> Rule:
    """Two directors must agree, and not whoever asked."""
    said: dict[str, Any] = {"groups": DIRECTORS, "approvers": 2, "not_requester": True, **how}
    return ask(pattern, **said)


class Ledger:
    """What was really paid, by run: nobody's journal can change it."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, int]] = []

    def write(self, run: str, cents: int) -> None:
        self.lines.append((run, cents))

    def times(self, run: str, cents: int) -> int:
        """How often this run has paid this."""
        return self.lines.count((run, cents))

    def __len__(self) -> int:
        return len(self.lines)


Body = Callable[[ToolContext, int], Any]


def paying(ledger: Ledger) -> Body:
    """A body that pays."""

    async def pay(ctx: ToolContext, cents: int) -> str:
        ledger.write(ctx.run_id, cents)
        return f"paid {cents}"

    return pay


def pay_tool(body: Body, name: str = "pay", description: str = "Pay somebody.", **options: Any) -> Tool:
    """The tool `pay`, with this body."""

    async def pay(ctx: ToolContext, cents: int) -> Any:
        return await body(ctx, cents)

    return tool(name=name, description=description, **options)(pay)


@tool(effect="read")
async def wonder(ctx: ToolContext, question: str) -> Any:
    """Ask a person."""
    ctx.pause_for("question", {"question": question})


def pays(many: int, name: str = "pay") -> list[Any]:
    """A reply that wants so many payments at once, each of something else."""
    return [call(name, cents=cents) for cents in range(5, 5 + many)]


def clerk(pay: Tool, replies: Sequence[Any], *rules: Rule, name: str = "clerk", **options: Any) -> Agent:
    """An agent with `pay` and `wonder`, under these rules."""
    policy = Policy(rules or [gated()], default="allow")
    return Agent(name, model=ScriptedModel(*replies, *["done"] * WORDS), tools=[pay, wonder], policy=policy, **options)


class Tally:
    """How many bodies have begun; and somebody waits for so many."""

    def __init__(self) -> None:
        self._number, self._grown = 0, asyncio.Condition()

    async def add(self) -> None:
        async with self._grown:
            self._number += 1
            self._grown.notify_all()

    async def reaches(self, number: int) -> None:
        async with asyncio.timeout(LIMIT), self._grown:
            await self._grown.wait_for(lambda: self._number >= number)


class Office:
    """A store, a clock that only tests move, a runtime, and the ledger."""

    def __init__(self, store: Store, clock: FakeClock, **options: Any) -> None:
        """`options`: what every runtime of this office is opened with."""
        self.store, self.clock, self._options = store, clock, options
        self.ledger, self.begun = Ledger(), Tally()
        self._stack = AsyncExitStack()
        self._runtime: Runtime | None = None

    @property
    def is_open(self) -> bool:
        return self._runtime is not None

    @property
    def rt(self) -> Runtime:
        assert self._runtime is not None
        return self._runtime

    async def open(self, *programs: Agent[Any] | Flow, **options: Any) -> None:
        """A runtime with these programs on the same store; the one before is closed."""
        await self.close()
        how: dict[str, Any] = {"grace": 0.0, "on_change": "warn", **self._options, **options}
        opened = await self._stack.enter_async_context(env(programs, store=self.store, clock=self.clock, **how))
        self._runtime = opened.runtime

    async def close(self) -> None:
        await self._stack.aclose()
        self._runtime = None

    async def start(self, program: Agent[Any] | Flow, by: str = STARTER.name, **options: Any) -> Run[Any]:
        """A run that has come to where it waits for somebody."""
        run = await self.rt.start(program, "go", by=by, **options)
        await self.rest(run)
        return run

    async def rest(self, *runs: Run[Any]) -> None:
        """Until nothing happens in these runs without a person."""
        for run in runs:
            with contextlib.suppress(RunFailed):
                await run.wait(LIMIT)

    async def pass_time(self, seconds: float, *runs: Run[Any]) -> None:
        """Let time pass, and whatever that brings about."""
        self.clock.advance(seconds)
        await asyncio.sleep(0)
        await self.rest(*runs)

    async def items(self, run: Run[Any], *kinds: str) -> list[Interrupt]:
        """What waits for a person, of these kinds."""
        return [item for item in await self.rt.inbox(run=run.id) if not kinds or item.kind in kinds]

    async def agree(self, item: Interrupt, who: Person, **how: Any) -> AdjournError | None:
        """Somebody says yes to what would run; the refusal, if there is one."""
        try:
            if item.kind == "in_doubt":
                await self.rt.answer(item.id, {"choice": "run"}, by=who.name, groups=who.groups, **how)
            else:
                await self.rt.approve(item.id, by=who.name, groups=who.groups, **how)
        except AdjournError as refusal:
            return refusal
        return None

    async def all_agree(self, run: Run[Any], *people: Person, **how: Any) -> None:
        """Each of them says yes to everything that waits now; nobody is refused."""
        for item in await self.items(run, *GATES):
            for who in people:
                refusal = await self.agree(item, who, **how)
                assert refusal is None, f"{who.name} about {item.id}: {refusal}"
        await self.rest(run)

    async def answer(self, run: Run[Any], value: Any = "yes", by: str = "quinn") -> None:
        """Somebody answers every question of the run."""
        for item in await self.items(run, "question"):
            await self.rt.answer(item.id, value, by=by)
        await self.rest(run)

    async def records(self, run: Run[Any]) -> list[AnyRecord]:
        return [record for _, record in await self.store.load(run.id)]

    async def check(self) -> None:
        """No journal of the store has an intent that nobody stands behind, and every chain is whole."""
        for row in await self.rt.runs(limit=1000):
            records = [record for _, record in await self.store.load(row.id)]
            assert list(violations(records)) == []
        assert await self.rt.verify() == []


STORES = ("memory", "sqlite")


@asynccontextmanager
async def a_store(kind: str, now: Callable[[], float]) -> AsyncGenerator[Store]:
    """An empty store of this kind. SQLite's file is in memory if the machine can."""
    folder = new_folder()
    store = MemoryStore(now=now) if kind == "memory" else SQLiteStore(str(folder / "runs.db"), now=now)
    try:
        yield store
    finally:
        await store.close()
        shutil.rmtree(folder, ignore_errors=True)


@asynccontextmanager
async def an_office(kind: str, **options: Any) -> AsyncGenerator[Office]:
    """An office whose runtime has no program yet, and only warns of one that has changed."""
    clock = FakeClock()
    async with a_store(kind, clock.now) as store:
        office = Office(store, clock, **options)
        try:
            await office.open()
            yield office
        finally:
            await office.close()


class Scene:
    """Runs at their gate: nothing more is paid until the right people agree."""

    def __init__(
        self,
        office: Office,
        *runs: Run[Any],
        due: int,
        gates: int = 0,
        rounds: int = 1,
        right: Sequence[Person] = (DAN, DORA),
        then: Callable[[], Awaitable[None]] | None = None,
        **how: Any,
    ) -> None:
        """`due`: so many payments follow when the `right` people have agreed and, if there is one, `then` has happened.
        `gates`: so many interrupts wait for them, if not one for each payment. `rounds`: so often they are asked.
        `how` they agree: what `Runtime.approve` takes."""
        self.office, self.runs, self.due, self.gates, self.right = office, runs, due, gates or due, tuple(right)
        self.how, self._then, self._rounds = how, then, rounds

    @property
    def run(self) -> Run[Any]:
        """The first, where there is one."""
        return self.runs[0]

    async def items(self) -> list[Interrupt]:
        """Every gate of every run."""
        return [item for run in self.runs for item in await self.office.items(run, *GATES)]

    async def rest(self) -> None:
        await self.office.rest(*self.runs)

    async def agree(self) -> None:
        """The right people agree to what waits, so often as it takes and no more. Who has agreed already is refused, which
        changes nothing."""
        for _ in range(self._rounds):
            for item in await self.items():
                for who in self.right:
                    await self.office.agree(item, who, **self.how)
            await self.rest()
        if self._then is not None:
            await self._then()
            await self.rest()


async def nobody_else_runs_it(scene: Scene, *tries: Callable[[Scene], Awaitable[None]]) -> None:
    """Whoever tries, nothing is paid. Then the right people agree, and it is paid exactly once, whoever agrees once more."""
    office, paid = scene.office, len(scene.office.ledger)
    gates = await scene.items()
    assert len(gates) == scene.gates, "the path does not end at its gates"
    for attempt in tries:
        await attempt(scene)
        await scene.rest()
        assert len(office.ledger) == paid, f"paid without the right people: {office.ledger.lines[paid:]}"
    await scene.agree()
    assert len(office.ledger) == paid + scene.due, f"the right people agreed: {office.ledger.lines[paid:]}"
    for item in gates:
        for who in (DIRK, *scene.right):
            assert await office.agree(item, who) is not None, f"{who.name} agreed once more"
    await scene.rest()
    assert len(office.ledger) == paid + scene.due, "paid once more"
    assert [await run.status() for run in scene.runs] == ["completed"] * len(scene.runs)
    await office.check()
