"""The examples of the document that flows come from, nearly word for word, with the names they have here."""

import asyncio

import pytest
from tests.flow.process import elsewhere
from tests.flow.world import approval, execution, only

from adjourn import Flow, FlowContext, Refused


async def test_the_worked_example() -> None:
    flow = Flow(name="approval")

    async def ask(ctx: FlowContext) -> None:
        return ctx.pause_for(
            type="approval",
            payload={"question": f"Approve refund for ticket {ctx.input}?"},
            resume_to="next",
        )

    async def commit(ctx: FlowContext) -> None:
        ctx.state["decision"] = ctx.input

    flow.to(ask).to(commit)

    execution = flow.create_execution(auto_close=False)
    await execution.start("T-001")

    interrupt_id = next(iter(execution.pending_interrupts))
    assert execution.pending_interrupts[interrupt_id].payload == {"question": "Approve refund for ticket T-001?"}
    assert execution.pending_interrupts[interrupt_id].type == "approval"
    await execution.continue_with(interrupt_id, {"approved": True})

    snapshot = await execution.close()
    assert snapshot["decision"] == {"approved": True}
    assert execution.status == "completed"


async def test_the_worked_example_across_processes() -> None:
    first = elsewhere("approval", start="topic")
    assert [payload for _, _, payload in first["pending"]] == [{"question": "Approve refund for ticket topic?"}]

    restored = execution(approval())  # this is the second process
    restored.load(first["saved"])
    interrupt_id = next(iter(restored.pending_interrupts))
    await restored.continue_with(interrupt_id, {"approved": True})
    assert await restored.close() == {"decision": {"approved": True}}

    question = "Approve refund for ticket topic?"
    third = elsewhere("approval", load=first["saved"], answers=[["question", question, "no"]], close=True)
    assert third["state"] == {"decision": "no"}


@pytest.mark.parametrize("order", [["legal", "finance"], ["finance", "legal"]])
@pytest.mark.parametrize("reload", [False, True])
async def test_two_parallel_pauses_in_any_order(order: list[str], reload: bool) -> None:
    from tests.flow.world import gates, reloaded

    flow = gates()
    execution = await flow.start_execution("contract", auto_close=False)
    assert set(execution.pending_interrupts) == {"legal", "finance"}
    for who in order:
        if reload:
            execution = reloaded(flow, execution)
        await execution.continue_with(who, f"{who} agrees")
    snapshot = await execution.close()
    assert snapshot == {"signed": {"legal": "legal agrees", "finance": "finance agrees", "price": 8}}
    assert list(snapshot["signed"]) == ["legal", "finance", "price"]


async def test_two_parallel_pauses_across_processes() -> None:
    first = elsewhere("gates", start="contract")
    second = elsewhere("gates", load=first["saved"], answers=[["who", "finance", "yes"]])
    assert [id for id, _, _ in second["pending"]] == ["legal"]
    third = elsewhere("gates", load=second["saved"], answers=[["who", "legal", "no"]], close=True)
    assert third["state"] == {"signed": {"legal": "no", "finance": "yes", "price": 8}}
    assert third["status"] == "completed"


async def test_resume_to_self_with_is_resume_and_resume_value() -> None:
    flow = Flow("gate")

    async def gate(ctx: FlowContext) -> dict[str, object]:
        if ctx.is_resume:
            return {"decision": ctx.resume.value, "about": ctx.input}
        return ctx.pause_for(type="approval", payload={"question": "Approve?"}, resume_to="self")

    async def keep(ctx: FlowContext) -> None:
        ctx.state["gate"] = ctx.input

    flow.to(gate).to(keep)
    execution = await flow.start_execution("it", auto_close=False)
    await execution.continue_with(only(execution), "fine")
    assert await execution.close() == {"gate": {"decision": "fine", "about": "it"}}


@pytest.mark.parametrize("short", [True, False])
async def test_resume_to_an_event_emits_it_with_the_answer(short: bool) -> None:
    flow = Flow("event")

    async def ask(ctx: FlowContext) -> None:
        if short:
            ctx.pause_for(type="approval", resume_event="ApprovalGiven")
        ctx.pause_for(type="approval", resume_to={"event": "ApprovalGiven"})

    async def never(ctx: FlowContext) -> None:
        ctx.state["next"] = True

    async def given(ctx: FlowContext) -> None:
        ctx.state.setdefault("given", []).append(ctx.input)

    flow.to(ask).to(never)
    flow.when("ApprovalGiven").to(given)
    execution = await flow.start_execution(None, auto_close=False)
    await execution.continue_with(only(execution), {"ok": 1})
    assert await execution.close() == {"given": [{"ok": 1}]}


async def test_start_without_a_handle_raises_as_soon_as_pause_for_is_reached() -> None:
    ran: list[str] = []
    flow = Flow("handleless")

    async def ask(ctx: FlowContext) -> None:
        ran.append("ask")
        try:
            ctx.pause_for("approval")
        except Exception:
            ran.append("swallowed")
        ran.append("code after it")

    async def after(ctx: FlowContext) -> None:
        ran.append("chunk after it")

    flow.to(ask).to(after)
    with pytest.raises(RuntimeError, match=r"chunk ask called pause_for.*create_execution"):
        await flow.start("x")
    assert ran == ["ask"]


async def test_start_without_a_handle_lets_siblings_end_their_chunk_and_no_more() -> None:
    ran: list[str] = []
    flow = Flow("handleless")
    paused = asyncio.Event()

    async def ask(ctx: FlowContext) -> None:
        paused.set()
        ctx.pause_for("approval")

    async def busy(ctx: FlowContext) -> None:
        await paused.wait()
        await asyncio.sleep(0)
        ran.append("busy")

    async def after(ctx: FlowContext) -> None:
        ran.append("after")

    flow.to(ask)
    flow.to(busy).to(after)
    with pytest.raises(RuntimeError, match=r"flow.start\(\) cannot be answered"):
        await flow.start("x")
    assert ran == ["busy"]


async def test_start_without_a_handle_runs_to_the_end() -> None:
    flow = Flow("plain")

    def double(ctx: FlowContext) -> None:
        ctx.state["x"] = ctx.input * 2

    flow.to(double)
    assert await flow.start(21) == {"x": 42}


async def test_close_refuses_while_interrupts_wait_and_stays_open() -> None:
    execution = await approval().start_execution("T-1", auto_close=False)
    waiting = only(execution)
    with pytest.raises(Refused, match=waiting):
        await execution.close()
    assert execution.status == "waiting"
    await execution.continue_with(waiting, "yes")
    assert await execution.close() == {"decision": "yes"}


async def test_close_can_cancel_the_waits() -> None:
    execution = await approval().start_execution("T-1", auto_close=False)
    assert await execution.close(pending_interrupts="cancel") == {}
    assert execution.status == "completed"
    assert execution.pending_interrupts == {}
