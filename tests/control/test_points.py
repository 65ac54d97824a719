"""G11 and G13: pause, cancel, halt, say and decide, arriving at every await and at every commit of a run."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.control.points import COMMANDS, Play

from adjourn.core.records import Fact, Move
from adjourn.stores.memory import MemoryStore
from adjourn.stores.protocol import Committed, Lease
from adjourn.stores.sqlite import SQLiteStore
from adjourn.testing import FakeClock


class Ticking(asyncio.SelectorEventLoop):
    """A loop that counts its callbacks, and does something before the one that is due."""

    def __init__(self) -> None:
        super().__init__()
        self.ticks = 0
        self.at = -1
        self.strike: Callable[[], None] = lambda: None
        self.after: Callable[[], None] | None = None

    def call_soon(self, callback: Any, *args: Any, context: Any = None) -> Any:  # type: ignore[override]
        return super().call_soon(self._tick, callback, args, context=context)

    def _tick(self, callback: Any, args: Any) -> None:
        self.ticks += 1
        if self.ticks == self.at:
            self.strike()
        elif self.after is not None:
            self.after()
        callback(*args)


def at_once(work: Any) -> None:
    """Run a coroutine that never waits: a memory store's methods do not."""
    try:
        work.send(None)
    except StopIteration:
        return
    raise AssertionError("it waited")


def at_tick(command: str, at: int) -> tuple[Play, int]:
    """The reference run with the command arriving before callback `at`; it, and how many callbacks there were."""
    loop = Ticking()
    clock = FakeClock()
    play = Play(MemoryStore(now=clock.now), clock, command)
    flying: set[str] = set()
    late: set[str] = set()

    def in_flight() -> set[str]:
        return {step for drive in play.rt.worker.advancer.running.values() for step in drive.in_flight}

    def watch() -> None:
        """After the acknowledgement no step begins, except an undo, until a person lets it go on."""
        if play.rt._worker is None or play.store._runs["r"].status in ("ready", "waiting", "completed"):  # type: ignore[attr-defined]
            return
        late.update(step for step in in_flight() - flying if "!" not in step)

    def strike() -> None:
        if play.rt._worker is None or "r" not in play.store._runs:  # type: ignore[attr-defined]
            return
        flying.update(in_flight())
        at_once(play.strike(play.store))
        if command in ("pause", "pause now", "cancel") and play.acknowledged:
            loop.after = watch

    loop.at, loop.strike = at, strike
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        runner.run(play.live())
    assert not late, f"{late} began after {command!r} was acknowledged"
    if play.acknowledged or play.told:
        play.check()
    return play, loop.ticks


TICKS = at_tick("say", -1)[1]
STRIDE = 11


@pytest.mark.parametrize("command", COMMANDS)
def test_g11_a_command_at_an_await_is_obeyed_and_the_run_ends_once(command: str) -> None:
    for at in range(COMMANDS.index(command) + 1, TICKS + 2, STRIDE):
        at_tick(command, at)


@pytest.mark.crash
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_at_every_await_is_obeyed_and_the_run_ends_once(command: str) -> None:
    told = 0
    for at in range(1, TICKS + 2):
        told += bool(at_tick(command, at)[0].told)
    print(f"{command}: {TICKS + 1} awaits, {told} times somebody was refused and told so")


class Struck(SQLiteStore):
    """A store on which a command arrives, through another connection, before or after the worker's n-th commit."""

    def __init__(self, path: str, clock: FakeClock, at: int) -> None:
        super().__init__(path, now=clock.now)
        self.other = SQLiteStore(path, now=clock.now)
        self.at, self.count, self.play = at, 0, None

    async def commit(self, lease: Lease, facts: Sequence[Fact], moves: Sequence[Move], *, seen: int) -> Committed:
        self.count += 1
        if self.count * 2 == self.at:
            await self.play.strike(self.other)  # type: ignore[attr-defined]
        done = await super().commit(lease, facts, moves, seen=seen)
        if self.count * 2 + 1 == self.at:
            await self.play.strike(self.other)  # type: ignore[attr-defined]
        return done


class Patient(Play):
    async def breathe(self) -> None:
        await asyncio.sleep(0.001)
        self.clock.advance(0.001)


async def at_commit(folder: Path, command: str, at: int) -> int:
    clock = FakeClock()
    store = Struck(str(folder / f"{command.replace(' ', '')}-{at}.db".replace("*", "all")), clock, at)
    play = store.play = Patient(store, clock, command)  # type: ignore[assignment]
    await play.live()
    if play.acknowledged or play.told:
        play.check()
    await store.other.close()
    await store.close()
    return store.count


@pytest.mark.parametrize("command", COMMANDS)
async def test_g13_a_command_at_a_commit_through_another_connection_is_obeyed(folder: Path, command: str) -> None:
    commits = await at_commit(folder, command, 0)
    for at in range(2 + COMMANDS.index(command) % 3, 2 * commits + 3, 3):
        await at_commit(folder, command, at)


@pytest.mark.crash
@pytest.mark.parametrize("command", COMMANDS)
async def test_a_command_at_every_commit_through_another_connection_is_obeyed(folder: Path, command: str) -> None:
    commits = await at_commit(folder, command, 0)
    for at in range(2, 2 * commits + 3):
        await at_commit(folder, command, at)
    print(f"{command}: before and after each of {commits} commits")
