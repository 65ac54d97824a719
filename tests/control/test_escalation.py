"""An approval that nobody decided in time: who is asked then, who is told, where it stands, and how long it waits."""

from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from tests.runtime.world import LIMIT

from adjourn import Agent, Decision, InterruptClosed, NotAllowed, Policy, Runtime, ask, testing, tool
from adjourn.core.journal_authority import violations
from adjourn.core.messages import ToolResult
from adjourn.core.records import Asked, Closed
from adjourn.stores.outbox import Endpoint
from adjourn.stores.protocol import Filter
from adjourn.stores.sqlite import SQLiteStore
from adjourn.testing import FakeClock, ScriptedModel, call

HOUR = timedelta(hours=1)


def clerk(paid: list[str], name: str = "clerk", **rule: Any) -> Agent[Any]:
    @tool
    async def refund(order: str) -> str:
        """Refund."""
        paid.append(order)
        return f"refunded {order}"

    options: dict[str, Any] = {
        "expires_in": HOUR, "on_expiry": "escalate", "groups": ["finance"], "escalate_to": ["leads"], **rule,
    }  # fmt: skip
    policy = Policy([ask("refund", **options)])
    return Agent(
        name,
        model=ScriptedModel([call("refund", order="1")], lambda m: str(cast(ToolResult, m[-1]).content)),
        tools=[refund],
        policy=policy,
    )


async def _only(env: testing.Env) -> Any:
    [item] = await env.runtime.inbox()
    return item


async def test_the_groups_it_is_escalated_to_may_decide_then_and_not_before() -> None:
    paid: list[str] = []
    agent = clerk(paid)
    async with testing.env([agent]) as env:
        run = await env.runtime.start(agent, "go", run_id="r", by="olga")
        await run.wait(LIMIT)
        first = await _only(env)
        assert not first.escalated
        assert await env.runtime.store.inbox(Filter(members=("leads",))) == []
        with pytest.raises(NotAllowed):
            await env.runtime.approve(first.id, by="lea", groups=("leads",))
        await env.skip(HOUR + timedelta(seconds=1))
        await run.wait(LIMIT)
        [again] = await env.runtime.store.inbox(Filter(members=("leads",)))
        assert again.escalated and again.groups == ("finance", "leads")
        with pytest.raises(InterruptClosed):
            await env.runtime.approve(first.id, by="fay", groups=("finance",))
        with pytest.raises(NotAllowed):
            await env.runtime.approve(again.id, by="eve", groups=("others",))
        await env.runtime.approve(again.id, by="lea", groups=("leads",))
        assert (await run.wait(LIMIT)).output == "refunded 1"
        assert paid == ["1"]
        records = [record for _, record in await env.runtime.store.load("r")]
        assert list(violations(records)) == []


async def test_it_has_a_deadline_of_its_own_and_is_then_denied() -> None:
    paid: list[str] = []
    agent = clerk(paid)
    async with testing.env([agent]) as env:
        run = await env.runtime.start(agent, "go", run_id="r")
        await run.wait(LIMIT)
        await env.skip(HOUR + timedelta(seconds=1))
        await run.wait(LIMIT)
        again = await _only(env)
        assert again.on_expiry == "deny"
        assert 3500 < again.expires_at - env.clock.now() <= 3600
        await env.skip(HOUR + timedelta(seconds=1))
        assert "expired" in (await run.wait(LIMIT)).output
        assert paid == []
        records = [record for _, record in await env.runtime.store.load("r")]
        assert [x.why for x in records if isinstance(x, Closed)] == ["void", "expired"]
        assert len([x for x in records if isinstance(x, Asked)]) == 2


async def test_who_agreed_before_it_was_escalated_has_agreed() -> None:
    paid: list[str] = []
    agent = clerk(paid, approvers=2)
    async with testing.env([agent]) as env:
        run = await env.runtime.start(agent, "go", run_id="r", by="olga")
        await run.wait(LIMIT)
        await env.runtime.approve((await _only(env)).id, by="fay", groups=("finance",))
        await env.skip(HOUR + timedelta(seconds=1))
        await run.wait(LIMIT)
        again = await _only(env)
        assert [seat.filled_by for seat in again.slots] == ["fay", ""]
        await env.runtime.approve(again.id, by="lea", groups=("leads",))
        assert (await run.wait(LIMIT)).status == "completed"
        assert paid == ["1"]
        assert list(violations([record for _, record in await env.runtime.store.load("r")])) == []


async def test_only_the_rule_that_is_over_is_widened() -> None:
    """Another rule that asks about the same call still wants its own people: its time is not over."""
    paid: list[str] = []
    agent = clerk(paid)
    later: dict[str, Any] = {"expires_in": 9 * HOUR, "on_expiry": "escalate", "escalate_to": ["leads"]}
    other = ask("refund", groups=["legal"], reason="law", **later)
    assert agent.policy is not None
    both = Agent(
        "both", model=agent.model, tools=list(agent.tools.values()), policy=Policy([*agent.policy.rules, other])
    )
    async with testing.env([both]) as env:
        run = await env.runtime.start(both, "go", run_id="r", by="olga")
        await run.wait(LIMIT)
        await env.skip(HOUR + timedelta(seconds=1))
        await run.wait(LIMIT)
        again = await _only(env)
        await env.runtime.approve(again.id, by="lea", groups=("leads",))
        assert (await run.wait(LIMIT)).status == "waiting"
        await env.runtime.approve(again.id, by="leo", groups=("legal",))
        assert (await run.wait(LIMIT)).status == "completed"
        assert list(violations([record for _, record in await env.runtime.store.load("r")])) == []


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_two_that_were_escalated_stand_first_page_by_page_and_are_told_of(kind: str, tmp_path: Path) -> None:
    paid: list[str] = []
    patient = clerk(paid, "patient", expires_in=timedelta(days=9), on_expiry="deny", escalate_to=())
    hasty = clerk(paid, "hasty")
    clock = FakeClock()
    store = SQLiteStore(str(tmp_path / "runs.db"), now=clock.now) if kind == "sqlite" else None
    async with (
        testing.env([patient, hasty], store=store, clock=clock) if store else testing.env([patient, hasty]) as env
    ):
        rt: Runtime = env.runtime
        await rt.store.endpoints(Endpoint("ops", "webhook", "https://ops.example/"), by="root")
        agents = {"a": patient, "b": hasty, "c": patient, "d": hasty, "e": patient}
        for name, agent in agents.items():
            await (await rt.start(agent, "go", run_id=name)).wait(LIMIT)
            await env.skip(1)
        await env.skip(HOUR)
        for name in "bd":
            await (await rt.get(name)).wait(LIMIT)
        pages: list[str] = []
        after = ""
        while page := await rt.inbox(limit=2, after=after):
            pages += [item.run_id for item in page]
            after = page[-1].ref
        assert pages == ["b", "d", "a", "c", "e"]
        letters = [letter for letter in await rt.store.letters() if letter.topic == "interrupt.opened"]
        assert sorted(letter.run for letter in letters if '"escalated":true' in letter.body) == ["b", "d"]
        assert await rt.verify() == []


async def test_the_call_it_was_agreed_to_for_may_be_edited_by_who_it_was_escalated_to() -> None:
    paid: list[str] = []
    agent = clerk(paid)
    async with testing.env([agent]) as env:
        run = await env.runtime.start(agent, "go", run_id="r", by="olga")
        await run.wait(LIMIT)
        await env.skip(HOUR + timedelta(seconds=1))
        await run.wait(LIMIT)
        edit = Decision.approve(edit={"order": "2"})
        await env.runtime.answer((await _only(env)).id, edit, by="lea", groups=("leads",))
        await run.wait(LIMIT)
        assert paid == ["2"]
