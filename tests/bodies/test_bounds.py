"""How often a call may be begun, and in which order what it did is taken back: of a tool and of a chunk alike."""

import asyncio
from typing import Any

import pytest
from tests.bodies.cases import KINDS, LIMIT, NOTHING, Bank, Kind, Place, program

from adjourn import Agent, Cancelled, Flow, InDoubt, Tool, ToolContext
from adjourn.core.doubt import AGAIN
from adjourn.core.records import Asked, Intended, Started, Suspended
from adjourn.core.state import State
from adjourn.driver.loop import Drive
from adjourn.testing import FakeClock, ScriptedModel, call

BOUNDED = ["idempotent", "verifiable"]


def options_of(effect: str, bank: Bank) -> dict[str, Any]:
    def never(ctx: ToolContext, args: Any) -> bool:
        bank.write("asked")
        return False

    return {"effect": effect, "verify": never} if effect == "verifiable" else {"effect": effect}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("effect", BOUNDED)
async def test_a_call_that_is_in_doubt_again_and_again_is_put_before_a_person(
    kind: Kind, effect: str, bank: Bank
) -> None:
    place = Place()

    async def work(ctx: ToolContext) -> str:
        bank.write("begins")
        raise InDoubt("no answer")

    one = program(kind, work, **options_of(effect, bank))
    async with place.runtime(one) as rt:
        run = await rt.start(one, "go", run_id="r")
        await place.rests(run)
        [asked] = await rt.inbox(run="r")
        assert asked.kind == "in_doubt"
        assert bank.count("begins") == AGAIN
        await rt.answer(asked, {"choice": "run"}, by="ann")  # a person may let it run once more, and is asked again
        await place.until(Asked, 2)
        assert bank.count("begins") == AGAIN + 1


class Deaths:
    """Workers that die while the body of a run is in flight, one after the other."""

    def __init__(self, one: Agent | Flow, clock: FakeClock, bank: Bank) -> None:
        self.one, self.clock, self.bank = one, clock, bank
        self.place = Place(clock=clock)

    async def start(self) -> None:
        one = self.one
        graph = one.to_dict() if isinstance(one, Flow) else None
        started = Started(
            run="r", kind=one.program.kind, program=one.name, fingerprint=one.fingerprint, input="go", graph=graph
        )
        await self.place.store.create(started)

    async def die(self, n: int) -> State:
        """The next worker takes the run, and is gone as soon as its body has begun, or as soon as the run rests."""
        before = self.bank.count("begins")
        row = await self.place.store.get("r")
        lease = await self.place.store.acquire("r", f"w{n}", 1e6, replaces=row.worker)
        assert lease is not None
        drive = Drive(
            self.place.store, self.one.program, lease, State().fold_all(lease.records), ttl=1e6, clock=self.clock
        )
        task = asyncio.ensure_future(drive.run())
        while not task.done() and self.bank.count("begins") == before:
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return State().fold_all(self.place.store.peek("r"))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("effect", BOUNDED)
async def test_a_body_that_kills_its_workers_is_not_begun_for_ever(kind: Kind, effect: str, bank: Bank) -> None:
    async def work(ctx: ToolContext) -> str:
        bank.write("begins")
        await asyncio.sleep(60)
        return "never"

    deaths = Deaths(program(kind, work, **options_of(effect, bank)), FakeClock(), bank)
    await deaths.start()
    asked: list[str] = []
    for n in range(AGAIN + 3):
        state = await deaths.die(n)
        asked = [o.record.kind for o in state.open.values()]
        if asked:
            break
    assert asked in (["in_doubt"], ["error"]), (
        "somebody is asked: about the call, or about a run that kills its workers"
    )
    assert bank.count("begins") <= AGAIN


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("late", "kinds"), [(59.0, []), (61.0, ["in_doubt"])])
async def test_a_key_that_the_target_has_forgotten_is_not_used_again(
    kind: Kind, late: float, kinds: list[str], bank: Bank
) -> None:
    async def work(ctx: ToolContext) -> str:
        bank.write("begins")
        await asyncio.sleep(60)
        return "never"

    clock = FakeClock()
    deaths = Deaths(program(kind, work, effect="idempotent", key_ttl=60.0), clock, bank)
    await deaths.start()
    await deaths.die(0)
    clock.advance(late)
    state = await deaths.die(1)
    assert [o.record.kind for o in state.open.values()] == kinds
    assert len(deaths.place.all(Intended)) == (1 if kinds else 2)


@pytest.mark.parametrize("resume_to", ["next", "self"])
@pytest.mark.parametrize("kind", KINDS)
async def test_what_waits_is_undone_latest_first_like_everything_else(kind: Kind, resume_to: str, bank: Bank) -> None:
    """Two bodies did their work and wait, for a result or to run again; then the run is cancelled."""
    place = Place()

    async def undo(ctx: ToolContext, args: Any, result: Any) -> None:
        bank.write(ctx.call_id.partition("!")[0])

    async def first(ctx: ToolContext) -> None:
        ctx.pause_for("question", "first?", resume_to=resume_to)

    async def second(ctx: ToolContext) -> None:
        while not place.all(Suspended):
            await asyncio.sleep(0)
        ctx.pause_for("question", "second?", resume_to=resume_to)

    one = pair(kind, first, second, undo)
    async with place.runtime(one) as rt:
        run = await rt.start(one, "go", run_id="r")
        await place.until(Suspended, 2)
        await place.rests(run)
        await run.cancel(by="ann")
        outcome = await run.wait(LIMIT)
    assert isinstance(outcome, Cancelled)
    order = [x.call for x in place.all(Suspended)]
    assert bank.lines == outcome.undone == order[::-1]


def pair(kind: Kind, first: Any, second: Any, undo: Any) -> Agent | Flow:
    if kind == "tool":
        tools = [Tool(run.__name__, "Work.", NOTHING, run, undo=undo) for run in (first, second)]
        return Agent("pair", model=ScriptedModel([call("first"), call("second")], "done"), tools=tools)
    flow = Flow("pair")
    for run in (first, second):
        flow.to(flow.chunk(name=run.__name__, undo=undo)(run))
    return flow
