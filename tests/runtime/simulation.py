"""A run, its workers and its people on one event loop that moves only when told to: no thread, no timer, no chance."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextvars import ContextVar, copy_context
from functools import partial
from typing import Annotated, Any, TypeVar, cast

from adjourn import Agent, Policy, Resource, ToolContext, ask, pause_for, tool
from adjourn.core.messages import Delta, ModelRequest, Reply
from adjourn.core.records import AnyRecord, Started
from adjourn.core.state import State
from adjourn.driver.loop import Drive
from adjourn.errors import AdjournError, LeaseLost
from adjourn.runtime.runtime import Runtime
from adjourn.stores.memory import MemoryStore
from adjourn.stores.postgres import store as postgres
from adjourn.stores.postgres.batch_threads import Together
from adjourn.stores.protocol import Bell, Store
from adjourn.stores.rules.transaction import StoreRule
from adjourn.stores.sqlite import store as sqlite
from adjourn.stores.work_request import WorkRequest
from adjourn.testing.crash_points import READS, WRITES
from adjourn.testing.fake_clock import FakeClock
from adjourn.testing.oracle import check_rows
from adjourn.testing.scripted import ScriptedModel, call

T = TypeVar("T")
RUN = "r"
TTL = 60.0
QUIET = 20
"""Rounds of the event loop after which everything waits for its next turn."""


class Turns:
    """What happens in one process happens one turn at a time, and only when it is given one."""

    def __init__(self) -> None:
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def take(self) -> None:
        """Wait for a turn: a place where the process can die, freeze, or be overtaken."""
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        await turn

    def give(self, choice: int = 0) -> None:
        """One of those who wait goes on to its next turn: who has waited longest, or whoever is chosen."""
        waiting = [turn for turn in self._waiting if not turn.done()]
        self._waiting = deque(waiting)
        if waiting:
            turn = waiting[choice % len(waiting)]
            self._waiting.remove(turn)
            turn.set_result(None)


TURNS: ContextVar[Turns] = ContextVar("turns")


class Effects:
    """The world: what was done, in order, by which tool for which call under which key."""

    def __init__(self) -> None:
        self.done: list[tuple[str, str, str]] = []

    async def happen(self, tool: str, ctx: ToolContext) -> str:
        await TURNS.get().take()
        self.done.append((tool, ctx.call_id, ctx.idempotency_key))
        await TURNS.get().take()
        return f"{tool} {ctx.call_id}"

    def happened(self, call: str) -> bool:
        return any(c == call for _, c, _ in self.done)


There = Annotated[Effects, Resource("effects")]


@tool(effect="read")
async def look(ctx: ToolContext, effects: There) -> str:
    """Looks."""
    return await effects.happen("look", ctx)


@tool(effect="idempotent")
async def put(ctx: ToolContext, effects: There) -> str:
    """Does the same however often."""
    return await effects.happen("put", ctx)


async def _sent(ctx: ToolContext, args: dict[str, Any]) -> Any:
    await TURNS.get().take()
    return ("happened", f"send {ctx.call_id}") if ctx.resources["effects"].happened(ctx.call_id) else False


@tool(effect="verifiable", verify=_sent)
async def send(ctx: ToolContext, effects: There) -> str:
    """Can be looked for afterwards."""
    return await effects.happen("send", ctx)


@tool
async def pay(ctx: ToolContext, effects: There) -> str:
    """Must not happen twice."""
    return await effects.happen("pay", ctx)


@tool
async def pay_gated(ctx: ToolContext, effects: There, x: int = 0) -> str:
    """Must not happen without a person."""
    return await effects.happen("pay_gated", ctx)


async def _unbook(ctx: ToolContext, args: dict[str, Any], result: Any) -> None:
    await ctx.resources["effects"].happen("unbook", ctx)


@tool(undo=_unbook)
async def book(ctx: ToolContext, effects: There) -> str:
    """Can be taken back."""
    return await effects.happen("book", ctx)


@tool(effect="read")
async def wonder() -> str:
    """Asks a person."""
    pause_for("question", {"question": "well?"}, answer_schema={"type": "string"})


@tool(effect="idempotent")
async def stepwise(ctx: ToolContext, effects: There) -> str:
    """Does one thing, asks, sleeps, does another."""
    await ctx.step("one", effects.happen, "step one", ctx)
    answer = ctx.pause_for("question", resume_to="self", answer_schema={"type": "string"})
    await ctx.sleep(10)
    await ctx.step("two", effects.happen, "step two", ctx)
    return f"stepwise {answer}"


TOOLS = {t.name: t for t in (look, put, send, pay, pay_gated, book, wonder, stepwise)}
POLICY = Policy([ask("pay_gated", expires_in=100)], default="allow")


class SlowModel(ScriptedModel):
    """Follows the script as long as there is one, then says that it is done; takes a moment for either."""

    async def request(self, request: ModelRequest) -> AsyncIterator[Delta | Reply]:
        await TURNS.get().take()
        self.requests.append(request)
        calls = self.replies[request.index] if request.index < len(self.replies) else "done"
        one = ScriptedModel(*([""] * request.index), cast(Any, calls))
        async for item in one.request(request):
            yield item


def agent(script: list[list[str]]) -> Agent:
    replies: list[Any] = [[call(name) for name in reply] for reply in script]
    return Agent("simulated", model=SlowModel(*replies), tools=list(TOOLS.values()), policy=POLICY)


class Inline:
    """Stands in for a store's thread: the work is done on the spot."""

    def __init__(self, name: str, transact: Callable[[list[WorkRequest]], None], done: Callable[[], None]) -> None:
        self._transact, self._done = transact, done

    async def ask(self, work: Callable[[Any], Any] | StoreRule) -> Any:
        request = WorkRequest(work, asyncio.get_running_loop())
        self._transact([request])
        if request.error is not None:
            raise request.error
        return request.result

    async def close(self) -> None:
        self._done()


class AloneOnItsFile(sqlite.SQLiteStore):
    """Nobody else writes, so there is nothing to look for; and looking goes by real time."""

    async def _look(self) -> None:
        pass


class InlineCrew:
    """Stands in for the threads of a store: the work is done on the spot."""

    def __init__(self, size: int, lanes: int = 0, together: Together = lambda batch: []) -> None:
        self._together = together

    async def ask(self, work: Callable[[], Any]) -> Any:
        return work()

    async def ask_together(self, rule: StoreRule) -> Any:
        request = WorkRequest(rule, asyncio.get_running_loop())
        for _, work in self._together([request]):
            return work()
        if request.error is not None:
            raise request.error
        return request.result

    async def close(self) -> None:
        pass


class AloneOnItsDatabase(postgres.PostgresStore):
    """Nobody else writes, so there is nothing to look for; and looking goes by real time."""

    def subscribe(self, run: str, bell: Bell, *, words: bool = False) -> Callable[[], None]:
        return self._watch.bells.add(run, bell, words)


class Process:
    """A store as one process sees it: an operation takes a turn before and a turn after."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.turns = Turns()
        self.task: asyncio.Task[Any] | None = None
        self.writes = 0
        self.commits = 0
        """How many commits it has asked for; the last one may still wait for its turn."""

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._store, name)
        return partial(self._do, name, method) if name in WRITES | READS else method

    async def _do(self, name: str, method: Callable[..., Awaitable[Any]], *args: Any, **options: Any) -> Any:
        self.commits += name == "commit"
        await self.turns.take()
        result = await method(*args, **options)
        self.writes += name in ("commit", "renew")
        await self.turns.take()
        return result


class Simulation:
    """One run on one store. Every method runs the loop for as long as it needs, and no longer."""

    def __init__(self, script: list[list[str]], path: str | None) -> None:
        self.loop = asyncio.new_event_loop()
        self.clock, self.effects = FakeClock(), Effects()
        self.agent = agent(script)
        self.store: Store = _store(path, self.clock)
        self.people = Runtime(self.store)
        self.workers = 0
        self.owner = ""
        self.process: Process | None = None
        self.zombies: list[tuple[Process, int]] = []
        self.state: State | None = None
        self.do(self._open())

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(work)

    async def _open(self) -> None:
        await self.people.__aenter__()
        fingerprint = self.agent.fingerprint
        await self.store.create(
            Started(run=RUN, kind="agent", program=self.agent.name, fingerprint=fingerprint, input="go")
        )

    # Workers

    def step(self, choices: Sequence[int], commits: int = 0) -> None:
        """Give the worker (a new one, if there is none and there is something to do) turns, as many as there are choices.

        `commits`: stop when it is about to make so many.
        """

        async def stepped() -> None:
            if self.process is None:
                await self._take()
            enough = self.process.commits + commits if self.process else 0
            for choice in choices:
                if self.process is None or (commits and self.process.commits >= enough):
                    return
                await self._give(self.process, choice)
                assert self.process.task is not None
                if self.process.task.done():
                    task, self.process = self.process.task, None
                    if (error := task.exception()) is not None and not isinstance(error, LeaseLost):
                        raise error

        self.do(stepped())

    @staticmethod
    async def _give(process: Process, choice: int = 0) -> None:
        process.turns.give(choice)
        for _ in range(QUIET):
            await asyncio.sleep(0)

    async def _take(self) -> None:
        self.workers += 1
        lease = await self.store.acquire(RUN, f"w{self.workers}", TTL, replaces=self.owner)
        if lease is None:
            return
        self.owner, self.process = lease.worker, Process(self.store)
        state = State().fold_all(lease.records)
        drive = Drive(
            cast(Store, self.process), self.agent.program, lease, state, ttl=TTL, resources={"effects": self.effects},
            clock=self.clock,
        )  # fmt: skip
        context = copy_context()
        context.run(TURNS.set, self.process.turns)
        self.process.task = self.loop.create_task(drive.run(), context=context)

    def crash(self) -> bool:
        """The worker's process is gone from one moment to the next; whether there was one."""

        async def cancelled(task: asyncio.Task[Any]) -> None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

        process, self.process = self.process, None
        if process is None or process.task is None:
            return False
        self.do(cancelled(process.task))
        return True

    def steal(self) -> None:
        """The worker freezes; another one takes the run."""
        if self.process is not None:
            self.zombies.append((self.process, self.process.writes))
            self.process = None
            self.do(self._take())

    def thaw(self, turns: int) -> None:
        """Frozen workers go on, not knowing that they were replaced."""

        async def thawed() -> None:
            for _ in range(turns):
                for process, _ in self.zombies:
                    await self._give(process)
                    if process.task is not None and process.task.done():
                        assert isinstance(process.task.exception(), LeaseLost | None)

        self.do(thawed())

    def zombies_wrote_nothing(self) -> bool:
        return all(process.writes == writes for process, writes in self.zombies)

    # People

    def tell(self, work: Callable[[Runtime], Awaitable[T]]) -> T | AdjournError:
        """A person's command: its result, or the error that it was refused with."""

        async def told() -> T | AdjournError:
            try:
                return await work(self.people)
            except AdjournError as e:
                return e

        return self.do(told())

    def pass_time(self, seconds: float) -> None:
        async def passed() -> None:
            self.clock.advance(seconds)

        self.do(passed())

    # What is known

    def records(self) -> list[AnyRecord]:
        return [record for _, record in self.do(self.store.load(RUN))]

    def check(self) -> State:
        """The rows equal the fold."""
        self.state = self.do(check_rows(self.store, RUN))
        return self.state

    def close(self) -> None:
        async def closed() -> None:
            await self.people.__aexit__()
            tasks = [t for t in asyncio.all_tasks() if t is not asyncio.current_task()]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self.store.close()

        self.do(closed())
        self.loop.close()


def _store(path: str | None, clock: FakeClock) -> Store:
    if path is None:
        return MemoryStore(now=clock.now)
    if path.startswith("postgresql://"):
        return _postgres(path, clock)
    threaded = sqlite.BatchThread
    sqlite.BatchThread = Inline  # type: ignore[misc,assignment] # pyright: ignore
    try:
        return AloneOnItsFile(path, now=clock.now)
    finally:
        sqlite.BatchThread = threaded


def _postgres(address: str, clock: FakeClock) -> Store:
    threaded = postgres.Crew
    postgres.Crew = InlineCrew  # type: ignore[misc,assignment] # pyright: ignore
    try:
        return AloneOnItsDatabase(address, now=clock.now)
    finally:
        postgres.Crew = threaded
