"""One process's life: it takes up the run where the last one left it, acts for the person, and checks at the end.

Everything that is known about earlier deaths is in the folder: the database, the world, and a line per death.
"""

import json
from collections import Counter
from pathlib import Path
from typing import Any

from tests.crash.scenarios import CANCEL, IDEMPOTENT, READ, STEP, UNDO, UNSAFE, VERIFIABLE, Scenario, World

from adjourn import Cancelled, Completed, Runtime, is_paused
from adjourn.core.records import Decided, Intended, Returned, RunCancelled, RunCompleted, Stepped, Verified
from adjourn.errors import Conflict, UnknownRun
from adjourn.stores.postgres import PostgresStore
from adjourn.stores.sqlite import SQLiteStore
from adjourn.testing.oracle import check_rows

RUN = "r"
LIMIT = 20.0
ADDRESS = "address"
"""The file that says where the database is; without it, it is a file of the folder itself."""
BEGUN = "begun"
"""The file that says that a process has lived here, where the database does not show it."""

Opened = SQLiteStore | PostgresStore


def opened(folder: Path) -> Opened:
    """The store of the folder."""
    if (folder / ADDRESS).exists():
        return PostgresStore((folder / ADDRESS).read_text())
    return SQLiteStore(str(folder / "runs.db"))


def begins(folder: Path) -> bool:
    """Whether nobody has lived here before."""
    if not (folder / ADDRESS).exists():
        return not (folder / "runs.db").exists()
    first = not (folder / BEGUN).exists()
    (folder / BEGUN).touch()
    return first


async def live(folder: Path, scenario: Scenario) -> dict[str, Any]:
    """Run the scenario to its end, from wherever it is; what came of it."""
    world, first = World(folder / "world"), begins(folder)
    store = opened(folder)
    if not first:
        await remember_death(folder, store, world)
    async with Runtime(store, [agent := scenario.agent_on(store)], resources={"world": world}) as rt:
        run = await rt.start(agent, "go", run_id=RUN)
        while True:
            outcome = await run.wait(LIMIT)
            if not is_paused(outcome):
                break
            for interrupt in outcome.interrupts:
                answer = scenario.person(interrupt, world)
                try:
                    if answer is CANCEL:
                        if len(outcome.interrupts) == 1:  # first settle what is in doubt
                            await run.cancel(by="ann", reason="enough")
                        continue
                    await rt.answer(interrupt.id, answer, by="ann")
                except Conflict:
                    continue  # decided in an earlier life
        messages = [getattr(m, "content", None) for m in await run.messages()]
    await store.close()
    if isinstance(outcome, Completed):
        return {"status": outcome.status, "output": outcome.output, "results": messages}
    assert isinstance(outcome, Cancelled), outcome
    return {"status": outcome.status, "undone": outcome.undone, "residue": outcome.residue}


async def inspect(folder: Path) -> list[str]:
    """Everything that is wrong with what the processes left behind."""
    store = opened(folder)
    try:
        await check_rows(store, RUN)
        return [*map(str, await store.verify()), *await violations(folder, store, World(folder / "world"))]
    finally:
        await store.close()


async def remember_death(folder: Path, store: Opened, world: World) -> None:
    """What was on record when the last process died, and how much had happened by then."""
    try:
        recorded = recorded_in([record for _, record in await store.load(RUN)])
    except UnknownRun:
        recorded = []
    with (folder / "deaths").open("a") as file:
        file.write(json.dumps([len(world.lines()), recorded]) + "\n")


def recorded_in(records: list[Any]) -> list[str]:
    """The calls, steps and undos whose results are on record."""
    calls = [x.call for x in records if isinstance(x, Returned) or (isinstance(x, Verified) and x.answer == "happened")]
    return [*calls, *(f"{x.call}/{x.key.partition(':')[2]}" for x in records if isinstance(x, Stepped))]


async def violations(folder: Path, store: Opened, world: World) -> list[str]:
    """Every broken promise, in words."""
    records = [record for _, record in await store.load(RUN)]
    lines = world.lines()
    log = folder / "deaths"
    deaths = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    wrong: list[str] = []
    for happened, recorded in deaths:
        again = {c for _, c, _ in lines[happened:]} & set(recorded)
        if again:
            wrong.append(f"G1: on record, and yet done again: {sorted(again)}")
    intents = Counter(x.call for x in records if isinstance(x, Intended))
    allowed = Counter(x.i.partition("?")[0] for x in records if isinstance(x, Decided) and _runs_again(x))
    for (effect, call), times in Counter((e, c) for e, c, _ in lines).items():
        if effect in (UNSAFE, VERIFIABLE) and times > 1:
            wrong.append(f"G4: {effect} call {call} happened {times} times")
        if effect not in (READ, STEP) and times > intents[call]:
            wrong.append(f"G2: {effect} call {call} happened {times} times with {intents[call]} intents")
        if effect == UNSAFE and intents[call] > 1 + allowed[call]:
            wrong.append(f"G4: unsafe call {call} was intended {intents[call]} times without being asked")
        if times > 1 + len(deaths):
            wrong.append(f"G3: {effect} call {call} happened {times} times in {1 + len(deaths)} lives")
        keys = {k for e, c, k in lines if (e, c) == (effect, call)}
        if effect in (IDEMPOTENT, UNDO) and len(keys) != 1:
            wrong.append(f"{effect} call {call} had {len(keys)} keys")
    for call, times in Counter(x.call for x in records if isinstance(x, Returned)).items():
        if times > 1:
            wrong.append(f"call {call} has {times} results")
    ends = [x for x in records if isinstance(x, RunCompleted | RunCancelled)]
    if len(ends) != 1:
        wrong.append(f"G13: {len(ends)} ends")
    undone = list(dict.fromkeys(c.removesuffix("!undo") for e, c, _ in lines if e == UNDO))
    booked = list(dict.fromkeys(c for e, c, _ in lines if e == UNSAFE and isinstance(ends[0], RunCancelled)))
    if undone != [c for c in reversed(booked) if c in undone] or (booked and set(undone) != set(booked)):
        wrong.append(f"G14: booked {booked}, undone {undone}")
    return wrong


def _runs_again(x: Decided) -> bool:
    return x.value == {"choice": "run"}
