"""Pauses: nothing beside them is lost, their joins complete, live and after a load in another process."""

import asyncio
import itertools
from typing import Any

import pytest
from tests.flow.process import elsewhere
from tests.flow.world import by_payload, deep, execution, only, records, reloaded, started

from adjourn import (
    Flow,
    FlowContext,
    InterruptClosed,
    RunFailed,
    pause_for,
)
from adjourn.core.records import Decided, Intended, Suspended
from adjourn.testing import FakeClock


async def ask(ctx: FlowContext) -> None:
    ctx.pause_for("question", {"about": ctx.input})


async def keep(ctx: FlowContext) -> None:
    ctx.state.setdefault("kept", []).append(ctx.input)


async def double(ctx: FlowContext) -> int:
    return ctx.input * 2


# The innermost chunk of for_each in batch in a sub-flow


RESULT = {"reviewed": ["<A>", "<B>", "<C>"], "total": 6}
ANSWERS = [["item", "a", "A"], ["item", "bb", "B"], ["item", "ccc", "C"]]


@pytest.mark.parametrize("reload", [False, True])
async def test_for_each_in_batch_in_a_sub_flow_pauses_in_its_innermost_chunk(reload: bool) -> None:
    flow = deep()
    one = await started(flow, "a bb ccc")
    for item, answer, waiting in [("bb", "B", 3), ("a", "A", 2), ("ccc", "C", 1)]:
        assert len(one.pending_interrupts) == waiting  # who waits lends its place
        if reload:
            one = reloaded(flow, one)
        await one.continue_with(by_payload(one, "item")[item], answer)
    assert await one.close() == {"result": RESULT}


async def test_for_each_in_batch_in_a_sub_flow_goes_on_in_other_processes() -> None:
    first = elsewhere("deep", start="a bb ccc")
    paths = {payload["item"]: path for _, path, payload in first["pending"]}
    assert paths == {f: f"inner#0/fan#0.reviewed/each#0[{n}]" for n, f in enumerate(["a", "bb", "ccc"])}
    second = elsewhere("deep", load=first["saved"], answers=ANSWERS[1:2])
    assert [payload["item"] for _, _, payload in second["pending"]] == ["a", "ccc"]
    third = elsewhere("deep", load=second["saved"], answers=[ANSWERS[2], ANSWERS[0]], close=True)
    assert third["state"] == {"result": RESULT}


# What runs beside a pause


async def test_a_branch_that_finishes_while_another_waits_keeps_its_output_and_everything_after_it() -> None:
    flow = Flow("f")
    go = asyncio.Event()

    async def slow(ctx: FlowContext) -> int:
        await go.wait()
        return ctx.input + 1

    async def quick(ctx: FlowContext) -> None:
        asyncio.get_running_loop().call_soon(go.set)
        ctx.pause_for("q", interrupt_id="first")

    async def second(ctx: FlowContext) -> None:
        ctx.state["between"] = ctx.input
        ctx.pause_for("q", interrupt_id="second")

    slowly = flow.branch().to(slow).to(double).to(second).to(keep)
    flow.batch(("quick", quick), ("slow", slowly)).to(keep)
    one = await started(flow, 1)
    assert set(one.pending_interrupts) == {"first", "second"}
    assert one.state == {"between": 4}
    for loaded in (one, reloaded(flow, one)):
        await loaded.continue_with("second", "s")
        await loaded.continue_with("first", "f")
        assert await loaded.close() == {"between": 4, "kept": ["s", {"quick": "f", "slow": None}]}


async def test_an_independent_chain_runs_to_its_end_while_another_waits() -> None:
    flow = Flow("f")
    flow.to(ask).to(keep)
    flow.to(double).to(double).to(keep)
    one = await started(flow, 1)
    assert one.state == {"kept": [4]}
    await one.continue_with(only(one), "x")
    assert await one.close() == {"kept": [4, "x"]}


@pytest.mark.parametrize("reload", [False, True])
@pytest.mark.parametrize("concurrency", [0, 1, 2])
async def test_a_pause_inside_for_each_joins_correctly(reload: bool, concurrency: int) -> None:
    flow = Flow("f")

    async def some(ctx: FlowContext) -> int:
        if ctx.input % 2:
            ctx.pause_for("q", {"item": ctx.input})
        return ctx.input * 10

    flow.for_each(concurrency).to(some).end_for_each().to(keep)
    one = await started(flow, [0, 1, 2, 3])
    while one.pending_interrupts:
        item, id = max(by_payload(one, "item").items())
        one = reloaded(flow, one) if reload else one
        await one.continue_with(id, f"answer {item}")
    assert await one.close() == {"kept": [[0, "answer 1", 20, "answer 3"]]}


@pytest.mark.parametrize("reload", [False, True])
async def test_self_re_entry_carries_the_chunks_own_input_after_a_sibling_has_finished(reload: bool) -> None:
    flow = Flow("f")

    async def gate(ctx: FlowContext) -> str:
        answer = ctx.pause_for("q", interrupt_id="gate", resume_to="self")
        return f"{ctx.input}: {answer}"

    flow.batch(("gate", flow.branch().to(double).to(gate)), ("other", flow.branch().to(double).to(double))).to(keep)
    one = await started(flow, 3)
    one = reloaded(flow, one) if reload else one
    await one.continue_with("gate", "yes")
    assert await one.close() == {"kept": [{"gate": "6: yes", "other": 12}]}


async def test_all_orders_of_four_answers_give_the_same() -> None:
    flow = Flow("f")
    flow.for_each().to(ask).to(double).end_for_each().to(keep)
    first = await started(flow, [0, 1, 2, 3])
    ids = by_payload(first, "about")
    for order in itertools.permutations(range(4)):
        one = reloaded(flow, first)
        for n in order:
            await one.continue_with(ids[n], n + 1)
        assert await one.close() == {"kept": [[2, 4, 6, 8]]}


# Where the answer goes


async def test_code_behind_the_pause_does_not_run() -> None:
    ran: list[str] = []
    flow = Flow("f")

    async def work(ctx: FlowContext) -> str:
        try:
            pause_for("q")
        except Exception:
            ran.append("except")
        finally:
            ran.append("finally")
        ran.append("behind")  # type: ignore[unreachable]
        return "mine"

    flow.to(work).to(keep)
    one = await started(flow)
    await one.continue_with(only(one), "theirs")
    assert await one.close() == {"kept": ["theirs"]}
    assert ran == ["finally"]


async def test_a_pause_that_is_swallowed_counts_all_the_same() -> None:
    flow = Flow("f")

    async def work(ctx: FlowContext) -> str:
        try:
            ctx.pause_for("q")
        except BaseException:
            return "swallowed"

    flow.to(work).to(keep)
    one = await started(flow)
    await one.continue_with(only(one), "answer")
    assert await one.close() == {"kept": ["answer"]}


async def test_a_sync_chunk_pauses_as_well() -> None:
    flow = Flow("f")

    def work(ctx: FlowContext) -> str:
        first = pause_for("q", resume_to="self")
        second = ctx.pause_for("q", resume_to="self")
        return f"{first} {second} {ctx.input}"

    flow.to(work).to(keep)
    one = await started(flow, "in")
    await one.continue_with(only(one), "a")
    one = reloaded(flow, one)
    await one.continue_with(only(one), "b")
    assert await one.close() == {"kept": ["a b in"]}


async def test_a_gate_may_ask_again_and_again_with_resume_value() -> None:
    flow = Flow("f")

    async def gate(ctx: FlowContext) -> Any:
        if ctx.is_resume and ctx.resume.value != "again":
            return {"answer": ctx.resume.value}
        return ctx.pause_for("review", {"draft": ctx.input}, resume_to="self")

    flow.to(gate).to(keep)
    one = await started(flow, "draft")
    for answer in ("again", "again", "fine"):
        one = reloaded(flow, one)
        await one.continue_with(only(one), answer)
    assert await one.close() == {"kept": [{"answer": "fine"}]}


async def test_a_gate_that_only_looks_whether_it_is_resumed_is_a_body_of_its_own() -> None:
    flow = Flow("f")

    async def gate(ctx: FlowContext) -> str:
        if ctx.is_resume:
            return "resumed"
        return ctx.pause_for("q", resume_to="self")

    flow.to(gate).to(keep)
    one = await started(flow)
    await one.continue_with(only(one), 1)
    assert await one.close() == {"kept": ["resumed"]}


async def test_a_body_that_forgets_its_pause_is_refused_not_guessed() -> None:
    flow = Flow("f")
    runs = 0

    async def gate(ctx: FlowContext) -> str:
        nonlocal runs
        runs += 1
        return ctx.pause_for("q", resume_to="self") if runs == 1 else "forgot"

    flow.to(gate)
    one = await started(flow)
    with pytest.raises(RunFailed, match=r"left recorded work unused \(\?0\)"):
        await one.continue_with(only(one), 1)


async def test_steps_and_several_pauses_in_one_chunk() -> None:
    flow = Flow("f")
    done: list[str] = []

    async def work(ctx: FlowContext) -> list[Any]:
        key = await ctx.step("key", lambda: ctx.idempotency_key)
        await ctx.step("one", done.append, "one")
        a = ctx.pause_for("q", {"n": 1}, resume_to="self")
        await ctx.step("two", done.append, "two")
        b = ctx.pause_for("q", {"n": 2}, resume_to="self", interrupt_id="named")
        return [a, b, key == ctx.idempotency_key]

    flow.to(work).to(keep)
    one = await started(flow)
    await one.continue_with(only(one), "a")
    one = reloaded(flow, one)
    await one.continue_with("named", "b")
    assert await one.close() == {"kept": [["a", "b", True]]}
    assert done == ["one", "two"]


@pytest.mark.parametrize("wrong", ["sideways", {"events": "x"}, {"event": "@close"}, {}])
async def test_a_resume_to_that_does_not_exist(wrong: Any) -> None:
    flow = Flow("f")

    async def work(ctx: FlowContext) -> None:
        ctx.pause_for("q", resume_to=wrong)

    flow.to(work)
    with pytest.raises(RunFailed, match="resume_to must be|an event must be a name"):
        await started(flow)


# Time


async def test_a_question_that_expires_goes_on_with_none(clock: FakeClock) -> None:
    flow = Flow("f")

    async def ask(ctx: FlowContext) -> None:
        ctx.pause_for("q", expires_in=60)

    flow.to(ask).to(keep)
    one = await execution(flow, clock).start()
    id = only(one)
    clock.advance(61)
    with pytest.raises(InterruptClosed, match="expired"):
        await one.continue_with(id, "late")
    assert await one.close() == {"kept": [None]}


async def test_a_body_that_runs_again_is_told_that_nobody_answered(clock: FakeClock) -> None:
    flow = Flow("f")

    async def ask(ctx: FlowContext) -> str:
        try:
            return ctx.pause_for("q", expires_in=60, resume_to="self")
        except InterruptClosed as e:
            return e.why

    flow.to(ask).to(keep)
    one = await execution(flow, clock).start()
    clock.advance(61)
    assert await one.close() == {"kept": ["nobody answered in time: the question expired"]}


async def test_an_event_that_expires_ends_its_chain_without_the_event(clock: FakeClock) -> None:
    flow = Flow("f")

    async def ask(ctx: FlowContext) -> None:
        ctx.pause_for("q", expires_in=60, resume_event="answered")

    flow.batch(("ask", ask), ("other", flow.branch())).to(keep)
    flow.when("answered").to(keep)
    one = await execution(flow, clock).start(1)
    clock.advance(61)
    assert await one.close() == {"kept": [{"ask": None, "other": 1}]}


async def test_expiry_may_cancel_the_run(clock: FakeClock) -> None:
    flow = Flow("f")
    undone: list[str] = []

    async def ask(ctx: FlowContext) -> None:
        ctx.pause_for("q", expires_in=60, on_expiry="cancel")

    @flow.chunk(undo=lambda ctx, args, result: undone.append(result))
    async def pay(ctx: FlowContext) -> str:
        return "paid"

    flow.to(pay).to(ask)
    one = await execution(flow, clock).start()
    clock.advance(61)
    await one.resume()
    assert (one.status, undone) == ("cancelled", ["paid"])


async def test_a_chunk_sleeps_durably_and_close_waits_for_it(clock: FakeClock) -> None:
    flow = Flow("f")

    async def nap(ctx: FlowContext) -> str:
        await ctx.sleep(3600)
        return "rested"

    flow.to(nap).to(keep)
    one = await execution(flow, clock).start()
    assert (one.status, one.pending_interrupts) == ("waiting", {})
    one = execution(flow, clock).load(one.save().to_json())
    closing = asyncio.create_task(one.close())
    await asyncio.sleep(0)
    clock.advance(3599)
    await asyncio.sleep(0)
    assert not closing.done()
    clock.advance(1)
    assert await closing == {"kept": ["rested"]}


async def test_the_journal_says_what_was_asked_and_answered() -> None:
    flow = Flow("f")
    flow.to(ask).to(keep)
    one = await started(flow, "x")
    await one.continue_with(only(one), "y", by="ann")
    await one.close()
    kinds = [type(r).__name__ for r in records(one, Intended, Suspended, Decided)]
    assert kinds == ["Intended", "Suspended", "Decided", "Intended"]
