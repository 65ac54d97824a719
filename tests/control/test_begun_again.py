"""A call that has begun, and whose approval does not hold any more: a person is asked again, about exactly what has begun."""

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from tests.control.world import LIMIT

from adjourn import Agent, Decision, Interrupt, InvalidAnswer, Paused, Policy, Run, Tool, ToolContext, ask
from adjourn.stores.memory import MemoryStore
from adjourn.stores.sqlite import SQLiteStore
from adjourn.testing import FakeClock, ScriptedModel, call, env
from adjourn.testing.env import Env

VALID = 10.0
POLICY = Policy([ask("pay", valid_for=VALID)])


@pytest.fixture(params=["memory", "sqlite"])
async def open_env(request: pytest.FixtureRequest, tmp_path: Any) -> AsyncIterator[Callable[..., Any]]:
    clock = FakeClock()
    store = (
        MemoryStore(now=clock.now)
        if request.param == "memory"
        else SQLiteStore(str(tmp_path / "runs.db"), now=clock.now)
    )

    def opened(agent: Agent[Any]) -> Any:
        return env([agent], store=store, clock=clock)

    yield opened
    await store.close()


async def asked_of(run: Run) -> Interrupt:
    """The one thing that it waits for."""
    outcome = await run.wait(LIMIT)
    assert isinstance(outcome, Paused), outcome
    [interrupt] = outcome.interrupts
    return interrupt


class Bank:
    """A tool that fails as often as told, or that stops in its middle to ask."""

    def __init__(self, fails: int = 0) -> None:
        self.fails, self.tried = fails, list[str]()
        self.reserved, self.charged, self.undone = list[str](), list[str](), list[Any]()

    async def pay(self, order: str) -> str:
        """Pay an order."""
        self.tried.append(order)
        if len(self.tried) <= self.fails:
            raise ConnectionError("the bank does not answer")
        return f"paid {order}"

    async def pay_in_two(self, ctx: ToolContext, order: str) -> str:
        """Pay an order in two steps."""
        await ctx.step("reserve", lambda: self.reserved.append(order))
        ctx.pause_for("check", {"order": order}, resume_to="self")
        self.charged.append(order)
        return f"paid {order}"

    def undo(self, ctx: ToolContext, args: Any, result: Any) -> None:
        self.undone.append(args)


def payer(tool: Tool) -> Agent[Any]:
    return Agent("payer", model=ScriptedModel([call("pay", order="A")], "done"), tools=[tool], policy=POLICY)


@pytest.mark.parametrize("fails", [1, 2])
async def test_an_attempt_that_is_due_after_the_approval_lapsed_asks_again(
    open_env: Callable[..., Any], fails: int
) -> None:
    bank = Bank(fails)
    agent = payer(Tool("pay", "Pay.", None, bank.pay, effect="idempotent", retries=3, backoff=2 * VALID))
    async with open_env(agent) as world:
        opened: Env = world
        run = await opened.runtime.start(agent, "pay")
        await opened.runtime.approve(await asked_of(run), by="ana")
        for attempt in range(1, fails + 1):
            while len(bank.tried) < attempt:
                await opened.skip(0.1)
            await opened.skip(5 * VALID)  # the back-off is over, and so is the approval
            again = await asked_of(run)
            assert again.kind == "approval" and bank.tried == ["A"] * attempt, "it is not tried unasked"
            with pytest.raises(InvalidAnswer, match="cannot be changed"):
                await opened.runtime.approve(again, by="ana", edit={"order": "B"})
            await opened.runtime.approve(again, by="ana")
        done = await run.wait(LIMIT)
        assert done.status == "completed" and bank.tried == ["A"] * (fails + 1)


@pytest.mark.parametrize("end", ["finished", "cancelled"])
async def test_what_has_begun_with_one_order_does_not_end_with_another(open_env: Callable[..., Any], end: str) -> None:
    bank = Bank()
    agent = payer(Tool("pay", "Pay.", None, bank.pay_in_two, effect="unsafe", undo=bank.undo))
    async with open_env(agent) as world:
        opened: Env = world
        run = await opened.runtime.start(agent, "pay")
        await opened.runtime.approve(await asked_of(run), by="ana", edit={"order": "C"})
        question = await asked_of(run)
        assert question.kind == "question" and bank.reserved == ["C"]
        await opened.skip(2 * VALID)
        await opened.runtime.answer(question, True, by="ana")
        again = await asked_of(run)
        assert again.kind == "approval" and again.call is not None and again.call.arguments == {"order": "C"}
        for edit in ({"order": "B"}, {"order": "C"}):
            with pytest.raises(InvalidAnswer, match="cannot be changed"):
                await opened.runtime.answer(again, Decision.approve(edit=edit), by="ana")
        if end == "cancelled":
            await run.cancel(by="ana")
            cancelled = await run.wait(LIMIT)
            assert cancelled.status == "cancelled" and bank.undone == [{"order": "C"}] and bank.charged == []
            return
        await opened.runtime.approve(again, by="ana")
        done = await run.wait(LIMIT)
        assert done.status == "completed" and (bank.reserved, bank.charged) == (["C"], ["C"])
