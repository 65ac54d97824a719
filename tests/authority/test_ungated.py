"""What nobody is asked about runs by itself: reads, allowed calls, chunks, and the undo of what people agreed to."""

from typing import Any

import pytest
from tests.authority.world import DAN, DORA, STORES, Office, an_office, clerk, gated, pay_tool, paying, pays

from adjourn import Flow, FlowContext, Run, ToolContext, allow, tool
from adjourn.core.records import Asked, Intended


async def intents(office: Office, run: Run[Any]) -> list[Intended]:
    return [record for record in await office.records(run) if isinstance(record, Intended)]


async def nobody_was_asked(office: Office, run: Run[Any]) -> None:
    """Nothing that began lives on an agreement, or needs one."""
    assert await run.status() == "completed"
    assert not [record for record in await office.records(run) if isinstance(record, Asked)]
    assert {(intent.gate, intent.grant) for intent in await intents(office, run)} <= {((), "")}
    await office.check()


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("effect", ["read", "idempotent", "unsafe"])
async def test_a_call_that_is_allowed_needs_nobody(effect: str, store: str) -> None:
    async with an_office(store) as office:
        pay = pay_tool(paying(office.ledger), effect=effect)
        run = await office.start(clerk(pay, [pays(2), pays(2)], allow("pay")), by="")
        assert len(office.ledger) == 4
        await nobody_was_asked(office, run)


@pytest.mark.parametrize("store", STORES)
async def test_a_chunk_needs_nobody(store: str) -> None:
    async with an_office(store) as office:
        flow = Flow("errand")

        async def pay(ctx: FlowContext) -> str:
            office.ledger.write("errand", 5)
            return "paid"

        flow.to(flow.chunk(pay))
        run = await office.start(flow, by="")
        assert len(office.ledger) == 1
        await nobody_was_asked(office, run)


@pytest.mark.parametrize("store", STORES)
async def test_what_people_agreed_to_is_undone_without_asking_them(store: str) -> None:
    async with an_office(store) as office:
        taken_back: list[int] = []

        async def take_back(ctx: ToolContext, args: dict[str, Any], result: Any) -> None:
            taken_back.append(args["cents"])

        pay = pay_tool(paying(office.ledger), undo=take_back)
        run = await office.start(clerk(pay, [pays(2), pays(2)]))
        await office.all_agree(run, DAN, DORA)
        await run.cancel(by="nora")
        await office.rest(run)
        assert (len(office.ledger), taken_back) == (2, [6, 5])
        undos = [intent for intent in await intents(office, run) if intent.why == "undo"]
        assert [(undo.gate, undo.grant) for undo in undos] == [((), "")] * 2
        await office.check()


@pytest.mark.parametrize("store", STORES)
async def test_a_read_that_is_gated_waits_like_anything_else(store: str) -> None:
    async with an_office(store) as office:

        @tool(name="pay", effect="read")
        async def look(ctx: ToolContext, cents: int) -> str:
            """Look at an account."""
            office.ledger.write(ctx.run_id, cents)
            return "much"

        run = await office.start(clerk(look, [pays(2)], gated()))
        assert len(office.ledger) == 0
        await office.all_agree(run, DAN, DORA)
        assert len(office.ledger) == 2
        assert all(intent.grant for intent in await intents(office, run))
        await office.check()
