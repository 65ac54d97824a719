"""A body is in flight until it has ended, not until somebody stops waiting for it."""

import asyncio
import logging
import time
from typing import Any

import pytest
from tests.again import in_time
from tests.bodies.cases import KINDS, LIMIT, NOTHING, Bank, Kind, Place, cancelled, idle, program

from adjourn import Agent, Flow, Tool, ToolContext
from adjourn.bodies import retries
from adjourn.core.done_calls import LEFT
from adjourn.core.records import Asked, CancelAsked, Doubted, Intended, Late, Returned, RunCancelled, Verified
from adjourn.testing import FakeClock, ScriptedModel, call

EFFECTS = ["unsafe", "idempotent", "verifiable"]


def paying(bank: Bank, kind: Kind, effect: str, **options: Any) -> Agent | Flow:
    """A payment in a thread: it is asked for when it begins, and lands when its gate opens."""

    def pay(ctx: ToolContext) -> str:
        bank.write("begins")
        bank.hold("bank")
        bank.write("paid")
        return "paid"

    def looks(ctx: ToolContext, args: Any) -> bool:
        bank.write("asked")
        return "paid" in bank.lines

    more = {"verify": looks} if effect == "verifiable" else {}
    return program(kind, pay, effect=effect, **more, **options)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("effect", EFFECTS)
async def test_a_thread_that_is_overdue_is_neither_verified_nor_repeated(kind: Kind, effect: str, bank: Bank) -> None:
    place = Place()
    one = paying(bank, kind, effect, timeout=0.02)
    async with place.runtime(one) as rt:
        run = await rt.start(one, "go", run_id="r")
        overdue = await place.until(Doubted)
        assert overdue.running
        assert "still running" in overdue.why
        assert await rt.inbox(run="r") == []
        assert (bank.count("begins"), bank.count("asked")) == (1, 0)
        bank.gate("bank").set()
        assert await place.ends(run) == ("value", "paid")
    assert bank.lines == ["begins", "paid"]
    assert len(place.all(Intended)) == 1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("effect", EFFECTS)
@pytest.mark.parametrize("undo", [False, True])
async def test_a_cancel_that_gives_up_lists_the_body_and_its_late_result(
    kind: Kind, effect: str, undo: bool, bank: Bank
) -> None:
    place = Place(grace=0.05)

    async def refund(ctx: ToolContext, args: Any, result: Any) -> None:
        bank.write("refunded")

    one = paying(bank, kind, effect, **({"undo": refund} if undo else {}))
    async with place.runtime(one) as rt:
        run = await rt.start(one, "go", run_id="r")
        await bank.until("begins")
        await run.cancel(by="ann")
        ended = await cancelled(run)
        assert [item["why"] for item in ended.residue] == [LEFT]
        assert (bank.count("asked"), bank.count("refunded")) == (0, 0)
        bank.gate("bank").set()
        late = await place.until(Late)
        assert (late.value, late.error) == ("paid", "")
        assert [type(x) for x in place.records()][-2:] == [RunCancelled, Late]
        [item] = (await cancelled(run)).residue
        assert item["late"] == {"value": "paid"}
    assert bank.count("paid") == 1


@pytest.mark.parametrize("kind", KINDS)
async def test_a_late_result_that_comes_before_the_end_is_undone(kind: Kind, bank: Bank) -> None:
    """While an undo beside it keeps the cancel from ending, the call that was left becomes known: it is taken back."""
    place = Place(grace=0.05)

    def refund(ctx: ToolContext, args: Any, result: Any) -> None:
        bank.write(f"refunded {result}")

    def hold(ctx: ToolContext, args: Any, result: Any) -> None:
        bank.write("holding")
        bank.hold("other")

    def pay(ctx: ToolContext) -> str:
        bank.write("begins")
        bank.hold("bank")
        return "paid"

    async def quick(ctx: ToolContext) -> str:
        return "quick"

    one = both(kind, pay, refund, quick, hold)
    async with place.runtime(one) as rt:
        run = await rt.start(one, "go", run_id="r")
        await bank.until("begins")
        await place.until(Returned)
        await run.cancel(by="ann")
        await bank.until("holding")
        assert any(x.left for x in place.all(Doubted))
        bank.gate("bank").set()
        await place.until(Returned, 2)
        bank.gate("other").set()
        ended = await cancelled(run)
        assert ended.residue == []
        assert bank.lines[-1] == "refunded paid"


@pytest.mark.parametrize("kind", KINDS)
async def test_two_bodies_that_do_not_end_are_both_listed_and_both_come_late(kind: Kind, bank: Bank) -> None:
    place = Place(grace=0.05)

    def first(ctx: ToolContext) -> str:
        bank.write("first begins")
        bank.hold("first")
        return "first"

    def second(ctx: ToolContext) -> str:
        bank.write("second begins")
        bank.hold("second")
        raise ValueError("second failed")

    def never(ctx: ToolContext, args: Any, result: Any) -> None:
        bank.write("undone")

    one = both(kind, first, never, second, never)
    async with place.runtime(one) as rt:
        run = await rt.start(one, "go", run_id="r")
        await bank.until("first begins", "second begins")
        await run.cancel(by="ann")
        assert [item["why"] for item in (await cancelled(run)).residue] == [LEFT, LEFT]
        bank.gate("second").set()
        await place.until(Late)
        bank.gate("first").set()
        await place.until(Late, 2)
        late = [item["late"] for item in (await cancelled(run)).residue]
    assert {"value": "first"} in late
    assert any("second failed" in str(item.get("error")) for item in late)
    assert bank.count("undone") == 0


@pytest.mark.parametrize("kind", KINDS)
async def test_two_threads_that_are_overdue_settle_their_own_calls(kind: Kind, bank: Bank) -> None:
    place = Place()

    def slow(name: str) -> Any:
        def body(ctx: ToolContext) -> str:
            bank.write(f"{name} begins")
            bank.hold(name)
            return name

        return body

    one = both(kind, slow("pay"), None, slow("quick"), None, timeout=0.02)
    async with place.runtime(one) as rt:
        run = await rt.start(one, "go", run_id="r")
        await place.until(Doubted, 2)
        bank.gate("quick").set()
        await place.until(Returned)
        bank.gate("pay").set()
        assert await place.rests(run) == "completed"
    assert sorted(x.value for x in place.all(Returned)) == ["pay", "quick"]
    assert sorted(bank.lines) == ["pay begins", "quick begins"]


def both(kind: Kind, pay: Any, refund: Any, quick: Any, hold: Any, **options: Any) -> Agent | Flow:
    """Two bodies beside each other."""
    if kind == "tool":
        tools = [
            Tool("pay", "Pay.", NOTHING, pay, undo=refund, **options),
            Tool("quick", "Quick.", NOTHING, quick, undo=hold, **options),
        ]
        return Agent("one", model=ScriptedModel([call("pay"), call("quick")], "done"), tools=tools)
    flow = Flow("one")
    flow.to(flow.chunk(name="pay", undo=refund, **options)(pay))
    flow.to(flow.chunk(name="quick", undo=hold, **options)(quick))
    return flow


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("effect", EFFECTS)
async def test_whoever_takes_the_run_again_waits_for_the_body_of_this_process(
    kind: Kind, effect: str, bank: Bank
) -> None:
    """The runtime is closed while the thread works on, and another one is opened in the same process."""
    place = Place(grace=0.05)
    one = paying(bank, kind, effect)
    async with place.runtime(one) as rt:
        await rt.start(one, "go", run_id="r")
        await bank.until("begins")
    async with place.runtime(one, lease=0.1) as rt:
        run = await rt.get("r")
        async with asyncio.timeout(LIMIT):
            while not rt.worker.drives("r"):
                await asyncio.sleep(0.005)
        bank.gate("bank").set()
        assert await place.ends(run) == ("value", "paid")
        assert not any(isinstance(x, Asked) for x in place.records()), "its own result is better than any answer"
    assert bank.lines == ["begins", "paid"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("effect", EFFECTS)
@pytest.mark.parametrize("before", [False, True])
async def test_a_body_of_this_process_ends_before_it_is_undone(
    kind: Kind, effect: str, before: bool, bank: Bank
) -> None:
    """Cancelled before its runtime was closed, or after another one was opened in the same process."""
    place = Place(grace=0.05)

    def refund(ctx: ToolContext, args: Any, result: Any) -> None:
        bank.write(f"refunded {result}")

    one = paying(bank, kind, effect, undo=refund)
    async with place.runtime(one) as rt:
        run = await rt.start(one, "go", run_id="r")
        await bank.until("begins")
        if before:
            await rt.store.deliver("r", CancelAsked(by="ann"))
    place.grace = LIMIT
    async with place.runtime(one, lease=0.1) as rt:
        run = await rt.get("r")
        if not before:
            await run.cancel(by="ann")
        async with asyncio.timeout(LIMIT):
            while not rt.worker.drives("r"):
                await asyncio.sleep(0.005)
        bank.gate("bank").set()
        ended = await cancelled(run)
        assert ended.residue == []
    assert bank.lines == ["begins", "paid", "refunded paid"]


@pytest.mark.parametrize("kind", KINDS)
async def test_a_body_of_this_process_that_does_not_end_is_left_by_a_cancel(kind: Kind, bank: Bank) -> None:
    place = Place(grace=0.05)

    def refund(ctx: ToolContext, args: Any, result: Any) -> None:
        bank.write("refunded")

    one = paying(bank, kind, "unsafe", undo=refund)
    async with place.runtime(one) as rt:
        await rt.start(one, "go", run_id="r")
        await bank.until("begins")
    async with place.runtime(one, lease=0.1) as rt:
        run = await rt.get("r")
        await run.cancel(by="ann")
        assert [item["why"] for item in (await cancelled(run)).residue] == [LEFT]
        assert bank.lines == ["begins"]
        bank.gate("bank").set()
        late = await place.until(Late)
        assert (late.value, late.error) == ("paid", "")


@pytest.mark.parametrize("kind", KINDS)
async def test_an_undo_in_a_thread_is_never_run_beside_itself(
    kind: Kind, bank: Bank, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retries, "BACKOFF", 0.001)
    place = Place()

    async def work(ctx: ToolContext) -> str:
        return "done"

    async def ask(ctx: ToolContext) -> None:
        ctx.pause_for("question", "go on?")

    def undo(ctx: ToolContext, args: Any, result: Any) -> str:
        bank.write("undoing")
        bank.hold("bank")
        return "undone"

    one = program(kind, work, ask, undo=undo, timeout=0.03)
    async with place.runtime(one) as rt:
        run = await rt.start(one, "go", run_id="r")
        await place.rests(run)
        await run.cancel(by="ann")
        assert await place.rests(run) == "stuck"  # three times it did not end in time
        bank.gate("bank").set()
        [asked] = await rt.inbox(run="r")
        await rt.answer(asked, "retry", by="ann")
        ended = await cancelled(run)
        assert len(ended.undone) == 1
    assert bank.count("undoing") <= 2  # the thread had ended when it was asked for again


# After a body was cut


class Settling:
    """A payment that the bank finishes by itself, some time after the request for it was cut."""

    def __init__(self, kind: Kind, bank: Bank, settle: float | None = None) -> None:
        self.bank, self.clock = bank, FakeClock()
        self.place = Place(clock=self.clock)
        options: dict[str, Any] = {"timeout": 0.02} if settle is None else {"timeout": 0.02, "settle": settle}
        self.program = program(kind, self.pay, effect="verifiable", verify=self.looks, **options)
        self.settles = 0.02 if settle is None else settle

    async def pay(self, ctx: ToolContext) -> str:
        self.bank.write("begins")
        await asyncio.sleep(60)
        return "never"

    async def looks(self, ctx: ToolContext, args: Any) -> Any:
        self.bank.write("asked")
        return ("happened", "paid") if "landed" in self.bank.lines else False


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("settle", [None, 7.0])
async def test_the_world_gets_time_before_it_is_asked_and_a_no_is_asked_twice(
    kind: Kind, settle: float | None, bank: Bank
) -> None:
    case = Settling(kind, bank, settle)
    async with case.place.runtime(case.program) as rt:
        run = await rt.start(case.program, "go", run_id="r")
        doubt = await case.place.until(Doubted)
        assert doubt.settle == case.settles
        await idle()
        assert bank.lines == ["begins"]
        case.clock.advance(case.settles)
        await bank.until("asked")
        await case.place.until(Verified)
        await idle()
        assert bank.lines == ["begins", "asked"], "one no is not enough"
        bank.write("landed")  # late, but before the second question
        case.clock.advance(case.settles)
        assert await case.place.ends(run) == ("value", "paid")
    assert bank.lines == ["begins", "asked", "landed", "asked"]


@pytest.mark.parametrize("kind", KINDS)
async def test_two_noes_run_it_again(kind: Kind, bank: Bank) -> None:
    case = Settling(kind, bank, 5.0)
    async with case.place.runtime(case.program) as rt:
        await rt.start(case.program, "go", run_id="r")
        for n in (1, 2):
            await case.place.until(Doubted)
            case.clock.advance(5.0)
            await case.place.until(Verified, n)
        await case.place.until(Intended, 2)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_cancel_gives_the_world_its_time_as_well(kind: Kind, bank: Bank) -> None:
    clock = FakeClock()
    place = Place(clock=clock, grace=1.0)

    async def pay(ctx: ToolContext) -> str:
        bank.write("begins")
        await asyncio.sleep(60)
        return "never"

    async def looks(ctx: ToolContext, args: Any) -> Any:
        bank.write("asked")
        return ("happened", "paid") if "landed" in bank.lines else False

    async def refund(ctx: ToolContext, args: Any, result: Any) -> None:
        bank.write(f"refunded {result}")

    one = program(kind, pay, effect="verifiable", verify=looks, undo=refund, settle=30.0)
    async with place.runtime(one) as rt:
        run = await rt.start(one, "go", run_id="r")
        await bank.until("begins")
        await run.cancel(by="ann")
        await idle()
        clock.advance(1.0)
        await place.until(Doubted)
        await idle()
        assert bank.lines == ["begins"]
        clock.advance(30.0)
        await place.until(Verified)
        bank.write("landed")
        clock.advance(30.0)
        ended = await cancelled(run)
    assert (ended.undone != [], ended.residue) == (True, [])
    assert bank.lines == ["begins", "asked", "landed", "asked", "refunded paid"]


# Closing


class Deaf:
    """Bodies that do not end when they are cut."""

    def __init__(self, bank: Bank) -> None:
        self.bank = bank

    async def ignores(self, ctx: ToolContext) -> str:
        self.bank.write("begins")
        while not self.bank.gate("end").is_set():
            try:
                await asyncio.sleep(0.01)
            except asyncio.CancelledError:
                self.bank.write("ignored")
        return "at last"

    async def steps_at_last(self, ctx: ToolContext) -> str:
        self.bank.write("begins")
        try:
            await asyncio.sleep(60)
        finally:
            await ctx.step("release", lambda: self.bank.write("released"))
        return "never"

    async def saves_at_last(self, ctx: ToolContext) -> str:
        self.bank.write("begins")
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            while not self.bank.gate("end").is_set():
                try:
                    await ctx.save("again")
                except Exception:
                    await asyncio.sleep(0.01)
            raise
        return "never"

    async def waits_at_last(self, ctx: ToolContext) -> str:
        self.bank.write("begins")
        try:
            await asyncio.sleep(60)
        finally:
            await self.bank.pass_through("end")
        return "never"

    def in_a_thread(self, ctx: ToolContext) -> str:
        self.bank.write("begins")
        self.bank.hold("end")
        return "at last"


STUBBORN = ["ignores", "steps_at_last", "saves_at_last", "waits_at_last", "in_a_thread"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", STUBBORN)
async def test_closing_ends_in_time_and_says_what_it_left(
    kind: Kind, name: str, bank: Bank, caplog: pytest.LogCaptureFixture
) -> None:
    place = Place(grace=0.2)
    one = program(kind, getattr(Deaf(bank), name), effect="idempotent")
    rt = await place.runtime(one).__aenter__()
    await rt.start(one, "go", run_id="r")
    await bank.until("begins")
    worker, began = rt.worker, time.monotonic()
    with caplog.at_level(logging.WARNING, "adjourn"):
        await rt.__aexit__(None, None, None)
    bank.open_all()
    in_time(time.monotonic() - began, 0.2 + 1.0)
    ends = name == "steps_at_last"
    assert ("work" in " ".join(worker.left)) != ends
    assert ("still running" in caplog.text) != ends
    if ends:
        assert bank.count("released") == 1


@pytest.mark.parametrize("name", STUBBORN)
async def test_a_run_without_a_store_ends_when_its_task_is_cancelled(name: str, bank: Bank) -> None:
    agent = program("tool", getattr(Deaf(bank), name), effect="idempotent")
    assert isinstance(agent, Agent)
    task = asyncio.ensure_future(agent.run("go"))
    await bank.until("begins")
    task.cancel()
    done, _ = await asyncio.wait({task}, timeout=2.0)
    bank.open_all()
    assert done
    assert task.cancelled()
