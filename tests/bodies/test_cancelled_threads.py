"""A body in a thread that has registered what is to be done on a cancel: its compensations wait for it, not longer than the grace."""

# pyright: reportUnusedCoroutine=false

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from tests.bodies.cases import KINDS, LIMIT, Bank, Kind, Place, cancelled, idle, program
from tests.bodies.test_in_flight import both

from adjourn import LeaseLost, ToolContext
from adjourn.bodies import compensations
from adjourn.core.done_calls import LEFT
from adjourn.core.records import (
    CancelAsked,
    Doubted,
    Fact,
    Faulted,
    Intended,
    Late,
    Move,
    Returned,
    RunCancelled,
    Stepped,
)
from adjourn.driver.loop import STUBBORN
from adjourn.errors import ToolFailed
from adjourn.stores.protocol import Committed, Lease
from adjourn.testing import FakeClock

GRACE = 5.0


class Booking:
    """A body in a thread: it registers two compensations, waits for its gate, and then does what changes the world."""

    def __init__(self, kind: Kind, bank: Bank, then: Callable[[ToolContext], Any], *, undo: bool = False) -> None:
        self.bank, self.clock, self.then = bank, FakeClock(), then
        self.place = Place(clock=self.clock, grace=GRACE)
        self.program = program(kind, self.body, effect="unsafe", **({"undo": self.refund} if undo else {}))

    def void(self, what: str) -> None:
        self.bank.write(f"void {what}")

    def refund(self, ctx: ToolContext, args: Any, result: Any) -> None:
        self.bank.write(f"refund {result}")

    def body(self, ctx: ToolContext) -> Any:
        ctx.on_cancel(self.void, "a")
        ctx.on_cancel(self.void, "b")
        self.bank.write("begins")
        self.bank.hold("bank")
        try:
            return self.then(ctx)
        finally:
            self.bank.write("ends")


def pays(bank: Bank) -> Callable[[ToolContext], Any]:
    def then(ctx: ToolContext) -> str:
        bank.write("paid")
        return "paid"

    return then


def pays_in_a_step(bank: Bank) -> Callable[[ToolContext], Any]:
    def then(ctx: ToolContext) -> Any:
        return ctx.step("pay", pays(bank), ctx)

    return then


def fails(bank: Bank) -> Callable[[ToolContext], Any]:
    def then(ctx: ToolContext) -> Any:
        raise ToolFailed("the bank is closed")

    return then


def stops(bank: Bank) -> Callable[[ToolContext], Any]:
    def then(ctx: ToolContext) -> Any:
        ctx.sleep(3600)

    return then


VOIDED = ["void b", "void a"]
WORK = ["begins", "paid", "ends"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("undo", [False, True])
@pytest.mark.parametrize("then", [pays, pays_in_a_step])
async def test_what_a_thread_registered_is_run_once_it_has_ended_within_the_grace(
    kind: Kind, undo: bool, then: Any, bank: Bank
) -> None:
    case = Booking(kind, bank, then(bank), undo=undo)
    async with case.place.runtime(case.program) as rt:
        run = await rt.start(case.program, "go", run_id="r")
        await bank.until("begins")
        await run.cancel(by="ann")
        await idle()
        case.clock.advance(GRACE - 1)
        await idle()
        assert bank.lines == ["begins"], "a body is in flight until it has ended"
        bank.gate("bank").set()
        ended = await cancelled(run)
    assert bank.lines == [*WORK, *VOIDED, *(["refund paid"] if undo else [])]
    assert (len(ended.undone), ended.residue) == (1, [])
    assert [x.value for x in case.place.all(Returned) if "!" not in x.call] == ["paid"], "its result is recorded"
    assert not [key for key in compensations._registered if key.run == "r"]  # pyright: ignore[reportPrivateUsage]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("undo", [False, True])
@pytest.mark.parametrize("then", [fails, stops])
async def test_what_a_thread_registered_is_run_too_if_it_failed_or_stopped_within_the_grace(
    kind: Kind, undo: bool, then: Any, bank: Bank
) -> None:
    """An error says that nothing was done: nothing but what it has registered is taken back."""
    case = Booking(kind, bank, then(bank), undo=undo)
    async with case.place.runtime(case.program) as rt:
        run = await rt.start(case.program, "go", run_id="r")
        await bank.until("begins")
        await run.cancel(by="ann")
        await idle()
        assert bank.lines == ["begins"]
        bank.gate("bank").set()
        ended = await cancelled(run)
    may_have_done_something = then is stops or kind == "chunk"  # a chunk that fails is tried again
    refunded = ["refund None"] if undo and may_have_done_something else []
    assert bank.lines == ["begins", "ends", *VOIDED, *refunded]
    assert (len(ended.undone), ended.residue) == (1, [])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("undo", [False, True])
@pytest.mark.parametrize("ends", [False, True])
async def test_a_thread_that_outlives_the_grace_is_residue_and_never_plainly_undone(
    kind: Kind, undo: bool, ends: bool, bank: Bank
) -> None:
    case = Booking(kind, bank, pays(bank), undo=undo)
    async with case.place.runtime(case.program) as rt:
        run = await rt.start(case.program, "go", run_id="r")
        await bank.until("begins")
        await run.cancel(by="ann")
        await idle()
        case.clock.advance(GRACE - 1)
        await idle()
        assert bank.lines == ["begins"]
        case.clock.advance(1)
        ended = await cancelled(run)
        assert bank.lines == ["begins", *VOIDED]
        assert (ended.undone, [item["why"] for item in ended.residue]) == ([], [LEFT])
        if ends:
            bank.gate("bank").set()
            late = await case.place.until(Late)
            assert (late.value, late.error) == ("paid", "")
            [item] = (await cancelled(run)).residue
            assert item["late"] == {"value": "paid"}
            assert [type(x) for x in case.place.records()][-2:] == [RunCancelled, Late]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("verb", ["step", "save", "on_cancel"])
@pytest.mark.parametrize("goes_on", [False, True])
async def test_a_thread_that_was_left_records_nothing_more(kind: Kind, verb: str, goes_on: bool, bank: Bank) -> None:
    """Neither behind the run's end, nor while the run still undoes something else."""
    refused: list[BaseException] = []

    def never() -> None:
        bank.write("stepped")

    def pay(ctx: ToolContext) -> str:
        ctx.on_cancel(bank.write, "void")
        bank.write("begins")
        bank.hold("bank")
        verbs: dict[str, Callable[[], Any]] = {
            "step": lambda: ctx.step("next", never),
            "save": lambda: ctx.save("half"),
            "on_cancel": lambda: ctx.on_cancel(never),
        }
        try:
            verbs[verb]()
        except LeaseLost as error:
            refused.append(error)
            raise
        finally:
            bank.write("ends")
        return "paid"

    place, one = beside(kind, bank, pay, None)
    if not goes_on:
        bank.gate("other").set()
    async with place.runtime(one) as rt:
        run = await rt.start(one, "go", run_id="r")
        await bank.until("begins")
        await place.until(Returned)
        await run.cancel(by="ann")
        await idle()
        assert place.clock is not None
        place.clock.advance(GRACE)
        await (bank.until("holding") if goes_on else cancelled(run))
        before = len(place.all(Stepped))
        bank.gate("bank").set()
        await bank.until("ends")
        await idle()
        bank.gate("other").set()
        ended = await cancelled(run)
    assert len(refused) == 1
    assert bank.count("stepped") == 0 and len(place.all(Stepped)) == before
    assert LEFT in [item["why"] for item in ended.residue]
    assert bank.count("void") == 1


def beside(kind: Kind, bank: Bank, pay: Any, refund: Any) -> tuple[Place, Any]:
    """A body in a thread beside one that has ended, and whose undo holds the cancel up."""

    def hold(ctx: ToolContext, args: Any, result: Any) -> None:
        bank.write("holding")
        bank.hold("other")

    async def quick(ctx: ToolContext) -> str:
        return "quick"

    return Place(clock=FakeClock(), grace=GRACE), both(kind, pay, refund, quick, hold)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("undo", [False, True])
@pytest.mark.parametrize("how", ["paid", "failed"])
async def test_a_thread_that_ends_after_its_compensation_is_undone_again_or_listed(
    kind: Kind, undo: bool, how: str, bank: Bank
) -> None:
    """The run still undoes something else. Its own undo takes it back; without one a person has to look."""

    def refund(ctx: ToolContext, args: Any, result: Any) -> None:
        bank.write(f"refund {result}")

    def pay(ctx: ToolContext) -> str:
        ctx.on_cancel(bank.write, "void a")
        ctx.on_cancel(bank.write, "void b")
        bank.write("begins")
        bank.hold("bank")
        if how == "failed":
            raise ToolFailed("the bank is closed")
        return "paid"

    place, one = beside(kind, bank, pay, refund if undo else None)
    async with place.runtime(one) as rt:
        run = await rt.start(one, "go", run_id="r")
        await bank.until("begins")
        await place.until(Returned)
        await run.cancel(by="ann")
        await idle()
        assert place.clock is not None
        place.clock.advance(GRACE)
        await bank.until("holding", *VOIDED)
        bank.gate("bank").set()
        async with asyncio.timeout(LIMIT):
            while len([x for x in place.all(Returned) if "!" not in x.call]) + len(place.all(Faulted)) < 2:
                await asyncio.sleep(0.002)
        bank.gate("other").set()
        ended = await cancelled(run)
    assert [bank.count(line) for line in VOIDED] == [1, 1]
    assert bank.count("refund paid") == (1 if undo and how == "paid" else 0)
    if undo and how == "paid":
        assert (len(ended.undone), ended.residue) == (2, [])
    else:
        assert (len(ended.undone), [item["why"] for item in ended.residue]) == (1, [LEFT])


@pytest.mark.parametrize("kind", KINDS)
async def test_two_threads_are_waited_for_each_by_itself(kind: Kind, bank: Bank) -> None:
    def slow(name: str) -> Any:
        def body(ctx: ToolContext) -> str:
            ctx.on_cancel(bank.write, f"void {name}")
            bank.write(f"{name} begins")
            bank.hold(name)
            bank.write(f"{name} ends")
            return name

        return body

    place = Place(clock=FakeClock(), grace=GRACE)
    one = both(kind, slow("pay"), None, slow("quick"), None)
    async with place.runtime(one) as rt:
        run = await rt.start(one, "go", run_id="r")
        await bank.until("pay begins", "quick begins")
        await run.cancel(by="ann")
        await idle()
        bank.gate("pay").set()
        await place.until(Returned)
        await idle()
        assert bank.count("void quick") == 0
        assert place.clock is not None
        place.clock.advance(GRACE)
        ended = await cancelled(run)
        assert [item["why"] for item in ended.residue] == [LEFT]
        assert len(ended.undone) == 1
    lines = bank.lines
    assert [bank.count("void pay"), bank.count("void quick")] == [1, 1]
    assert lines.index("pay ends") < lines.index("void pay")


@pytest.mark.parametrize("kind", KINDS)
async def test_an_async_body_is_cut_at_once_as_ever(kind: Kind, bank: Bank) -> None:
    async def pay(ctx: ToolContext) -> str:
        await ctx.on_cancel(bank.write, "void a")
        await ctx.on_cancel(bank.write, "void b")
        bank.write("begins")
        await asyncio.sleep(60)
        return "never"

    place = Place(clock=FakeClock(), grace=GRACE)
    one = program(kind, pay, effect="unsafe")
    async with place.runtime(one) as rt:
        run = await rt.start(one, "go", run_id="r")
        await bank.until("begins")
        await run.cancel(by="ann")
        ended = await cancelled(run)  # nobody moved the clock
    assert bank.lines == ["begins", *VOIDED]
    assert (len(ended.undone), ended.residue) == (1, [])


@pytest.mark.parametrize("kind", KINDS)
async def test_whoever_takes_the_run_again_waits_for_the_thread_before_it_compensates(kind: Kind, bank: Bank) -> None:
    """Cancelled, closed while the thread works, and opened again in the same process."""
    case = Booking(kind, bank, pays(bank))
    place = Place(grace=0.05)
    async with place.runtime(case.program) as rt:
        await rt.start(case.program, "go", run_id="r")
        await bank.until("begins")
        await rt.store.deliver("r", CancelAsked(by="ann"))
    place.grace = LIMIT
    async with place.runtime(case.program, lease=0.1) as rt:
        run = await rt.get("r")
        async with asyncio.timeout(LIMIT):
            while not rt.worker.drives("r"):
                await asyncio.sleep(0.005)
        await idle()
        assert bank.lines == ["begins"]
        bank.gate("bank").set()
        ended = await cancelled(run)
    assert bank.lines == [*WORK, *VOIDED]
    assert (len(ended.undone), ended.residue) == (1, [])


@pytest.mark.parametrize("kind", KINDS)
async def test_two_results_that_land_while_the_cancel_is_written_down_are_late_and_not_lost(
    kind: Kind, bank: Bank
) -> None:
    def slow(name: str) -> Any:
        def body(ctx: ToolContext) -> str:
            bank.write(f"{name} begins")
            bank.hold(name)
            return name

        return body

    place = Place(clock=FakeClock(), grace=GRACE)
    one = both(kind, slow("pay"), None, slow("quick"), None)
    writing, commit = asyncio.Event(), place.store.commit
    landed: list[Any] = []

    async def slowly(lease: Lease, facts: Sequence[Fact], moves: Sequence[Move], *, seen: int) -> Committed:
        done = await commit(lease, facts, moves, seen=seen)
        if any(isinstance(move, RunCancelled) for move in moves):
            writing.set()
            while len(landed) < 2:  # both have posted what they came to
                await asyncio.sleep(0.001)
        return done

    place.store.commit = slowly  # type: ignore[method-assign]
    async with place.runtime(one) as rt:
        run = await rt.start(one, "go", run_id="r")
        await bank.until("pay begins", "quick begins")
        await run.cancel(by="ann")
        await idle()
        drive = rt.worker.advancer.running["r"]
        post = drive.post

        def posted(fact: Fact, durable: Any = None) -> None:
            post(fact, durable)
            if isinstance(fact, Returned):
                landed.append(fact)

        drive.post = posted  # type: ignore[method-assign]
        assert place.clock is not None
        place.clock.advance(GRACE)
        async with asyncio.timeout(LIMIT):
            await writing.wait()
        bank.gate("pay").set()
        bank.gate("quick").set()
        await place.until(Late, 2)
        late = [item["late"] for item in (await cancelled(run)).residue]
    assert sorted(item["value"] for item in late) == ["pay", "quick"]
    assert len(place.all(Doubted)) == 2 and len(place.all(Intended)) == 2


@pytest.mark.parametrize("kind", KINDS)
async def test_an_async_body_that_ignores_its_cut_is_residue_and_records_nothing_more(kind: Kind, bank: Bank) -> None:
    refused: list[BaseException] = []

    async def pay(ctx: ToolContext) -> str:
        await ctx.on_cancel(bank.write, "void a")
        await ctx.on_cancel(bank.write, "void b")
        bank.write("begins")
        while not bank.gate("bank").is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(0.002)
        try:
            await ctx.step("next", bank.write, "stepped")
        except LeaseLost as error:
            refused.append(error)
            raise
        finally:
            bank.write("ends")
        return "paid"

    place = Place(clock=FakeClock(), grace=GRACE)
    one = program(kind, pay, effect="unsafe")
    async with place.runtime(one) as rt:
        run = await rt.start(one, "go", run_id="r")
        await bank.until("begins")
        await run.cancel(by="ann")
        await idle()
        assert bank.lines == ["begins"]
        assert place.clock is not None
        place.clock.advance(STUBBORN)
        ended = await cancelled(run)
        bank.gate("bank").set()
        await bank.until("ends")
    assert bank.lines == ["begins", *VOIDED, "ends"]
    assert (len(refused), ended.undone, [item["why"] for item in ended.residue]) == (1, [], [LEFT])
