"""G34: an answer reaches only the question that was asked. A body that runs again and asks something else does not get it."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from tests.authority.world import STORES, Office, an_office, clerk, pay_tool, pays

from adjourn import Flow, FlowContext, Interrupt, Misused, Run, ToolContext, allow
from adjourn.core.records import Faulted, Returned

Asks = Callable[[ToolContext, int, int], Any]
"""What a body asks: of its context, the amount, and how often the body has run."""
NAMED: dict[str, dict[str, Any]] = {"by order": {}, "by name": {"named": True}}


def question(ctx: ToolContext, type: str, payload: Any, named: bool) -> Any:
    """Ask, and go on with the answer."""
    how: dict[str, Any] = {"interrupt_id": re.sub("[/#]", "-", f"{ctx.call_id} pay")} if named else {}
    return ctx.pause_for(type, payload, resume_to="self", **how)


async def paying_after(office: Office, asks: Asks, as_flow: bool) -> Run[Any]:
    """Two bodies that ask first and pay then, as calls of an agent or as chunks of a flow."""
    passes: dict[int, int] = {}

    async def pay(ctx: ToolContext, cents: int) -> str:
        passes[cents] = passes.get(cents, 0) + 1
        if asks(ctx, cents, passes[cents]) == "yes":
            office.ledger.write(ctx.run_id, cents)
        return "done"

    if not as_flow:
        return await office.start(clerk(pay_tool(pay), [pays(2)], allow("pay")))
    flow = Flow("errand")

    async def pay_five(ctx: FlowContext) -> str:
        return await pay(ctx, 5)

    async def pay_six(ctx: FlowContext) -> str:
        return await pay(ctx, 6)

    flow.to(flow.chunk(pay_five))
    flow.to(flow.chunk(pay_six))
    return await office.start(flow)


async def answer(office: Office, run: Run[Any]) -> list[Interrupt]:
    """Say yes to everything that is asked; what was asked."""
    asked = await office.items(run, "question")
    for item in asked:
        await office.rt.answer(f"{run.id}:{item.id}" if ":" not in item.id else item.id, "yes", by="ana")
    await office.rest(run)
    return asked


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("program", ["agent", "flow"])
@pytest.mark.parametrize("how", NAMED)
class TestG34:
    """With and without an id of its author's, in tools and in chunks, two of each."""

    async def test_g34_the_same_question_gets_its_answer(self, how: str, program: str, store: str) -> None:
        def asks(ctx: ToolContext, cents: int, nth: int) -> Any:
            return question(ctx, "pay?", {"cents": cents}, **{"named": False, **NAMED[how]})

        async with an_office(store) as office:
            run = await paying_after(office, asks, program == "flow")
            await answer(office, run)
            assert sorted(cents for _, cents in office.ledger.lines) == [5, 6]

    async def test_g34_another_amount_is_asked_anew(self, how: str, program: str, store: str) -> None:
        """500 was shown; on its second pass the body would pay 700."""

        def asks(ctx: ToolContext, cents: int, nth: int) -> Any:
            amount = cents * 100 if nth == 1 else cents * 140
            return question(ctx, "pay?", {"cents": amount}, **{"named": False, **NAMED[how]})

        async with an_office(store) as office:
            run = await paying_after(office, asks, program == "flow")
            first = await answer(office, run)
            assert len(office.ledger) == 0, "nobody has seen the other amount"
            second = await answer(office, run)
            assert sorted(item.payload["cents"] for item in (*first, *second)) == [500, 600, 700, 840]
            assert len(office.ledger) == 2

    @pytest.mark.parametrize("swallows", [False, True])
    async def test_g34_a_yes_passes_no_other_check(self, how: str, program: str, store: str, swallows: bool) -> None:
        """A fraud check stands where the question stood, on the second pass. A body that swallows that fails all the same."""

        def asks(ctx: ToolContext, cents: int, nth: int) -> Any:
            kind = "pay?" if nth == 1 else "is this fraud?"
            try:
                return question(ctx, kind, {"cents": cents}, **{"named": False, **NAMED[how]})
            except Misused:
                if swallows:
                    return "no"
                raise

        async with an_office(store) as office:
            run = await paying_after(office, asks, program == "flow")
            await answer(office, run)
            assert len(office.ledger) == 0
            told = [record.error for record in await office.records(run) if isinstance(record, Returned | Faulted)]
            assert len(told) == 2
            assert all("the person was asked 'pay?', but the body now asks 'is this fraud?'" in error for error in told)


async def test_g34_answers_do_not_change_places() -> None:
    """Two questions of one body, asked the other way round when it runs again."""
    heard: list[tuple[str, Any]] = []

    async with an_office("memory") as office:
        passes: list[int] = []

        async def pay(ctx: ToolContext, cents: int) -> str:
            passes.append(cents)
            kinds = ["pay?", "how much?"] if len(passes) < 3 else ["how much?", "pay?"]
            for kind in kinds:
                heard.append((kind, ctx.pause_for(kind, {"cents": cents}, resume_to="self")))
            office.ledger.write(ctx.run_id, cents)
            return "paid"

        run = await office.start(clerk(pay_tool(pay), [pays(1)], allow("pay")))
        for value in ("yes", 9):
            for item in await office.items(run, "question"):
                await office.rt.answer(item.id, value, by="ana")
            await office.rest(run)
        assert heard == [("pay?", "yes")], "on the third pass nothing is handed over"
        assert len(office.ledger) == 0
