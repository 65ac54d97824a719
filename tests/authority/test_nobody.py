"""Somebody without a name, or with one that only looks like another, is not somebody else."""

import asyncio
from typing import Any

import pytest
from tests.authority.world import DAN, STARTER, STORES, an_office, clerk, pay_tool, paying, pays

from adjourn import AdjournError, Flow, FlowContext, Invalid, ask
from adjourn.core.approval_votes import Vote, is_filled
from adjourn.core.person_name import person
from adjourn.core.record_parts import ApprovalSlot

NAMES = ("ana", "Ana", "ANA", "ana ", " ana", "ana\u200b", "a\u2060na", "\uff41\uff4e\uff41", "ana\u00a0", "an\u00ada")


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_compared_as_people_read_it(name: str) -> None:
    assert person(name) == "ana"


def test_names_of_several_words_keep_them_apart() -> None:
    assert person("Ana  Maria\u200b") == person("ana maria") != person("anamaria")


@pytest.mark.parametrize("nobody", ["", " ", "\u200b"])
@pytest.mark.parametrize(
    ("slot", "filled"),
    [
        (ApprovalSlot("r", (), 1, False), True),
        (ApprovalSlot("r", (), 1, True), False),
        (ApprovalSlot("r", (), 2, False), False),
        (ApprovalSlot("r", ("leads",), 2, False), False),
    ],
)
def test_nobody_fills_a_seat_that_is_for_anybody_and_no_other(nobody: str, slot: ApprovalSlot, filled: bool) -> None:
    requesters = frozenset({"eve"})
    votes = [Vote(nobody, ("leads",)), *([Vote("bob", ("leads",))] if slot.count == 2 else [])]
    assert is_filled([slot], votes, requesters) is filled


@pytest.mark.parametrize("rule", [{"not_requester": True}, {"approvers": 2}, {"approvers": 2, "not_requester": True}])
@pytest.mark.parametrize("store", STORES)
async def test_a_checkpoint_that_nobody_resumes_with_a_yes_runs_nothing(store: str, rule: dict[str, Any]) -> None:
    async with an_office(store) as office:
        run = await office.start(clerk(pay_tool(paying(office.ledger)), [pays(1)], ask("pay", **rule)))
        for _ in range(2):
            try:
                await office.rt.resume(await run.checkpoint(), approved=True)
            except AdjournError:
                pass
            await office.rest(run)
            assert len(office.ledger) == 0
        [item] = await office.items(run, "approval")
        await office.rt.approve(item, by="bob")
        await office.rest(run)
        assert len(office.ledger) == (0 if rule.get("approvers") else 1)


@pytest.mark.parametrize("groups", [None, "leads", 5, ["leads", 7], [""]])
async def test_groups_are_names_in_a_list(groups: Any) -> None:
    async with an_office("memory") as office:
        run = await office.start(clerk(pay_tool(paying(office.ledger)), [pays(1)], ask("pay")))
        [item] = await office.items(run, "approval")
        with pytest.raises(Invalid, match="names in a list"):
            await office.rt.approve(item, by="bob", groups=groups)


async def test_whoever_shapes_a_run_of_a_rule_for_somebody_else_says_who_they_are() -> None:
    async with an_office("memory") as office:
        run = await office.start(clerk(pay_tool(paying(office.ledger)), [pays(1)], ask("pay", not_requester=True)))
        for shape in (run.say("more"), run.emit("news", 1), run.fork(), run.fork(instruction="more")):
            with pytest.raises(Invalid, match="by="):
                await shape
        assert len(await office.rt.runs()) == 1


@pytest.mark.parametrize("store", STORES)
async def test_whoever_shaped_an_earlier_turn_shaped_the_next(store: str) -> None:
    async with an_office(store) as office:
        agent = clerk(pay_tool(paying(office.ledger)), ["hm", pays(1)], ask("pay", not_requester=True))
        before = await office.start(agent)
        saved = (await before.checkpoint()).to_json()
        run = await office.rt.start(agent, "again", by="ada", after=saved)
        await office.rest(run)
        [item] = await office.items(run, "approval")
        assert set(item.requesters) == {"ada", STARTER.name}
        assert await office.agree(item, STARTER) is not None
        assert await office.agree(item, DAN) is None
        await office.rest(run)
        assert len(office.ledger) == 1


async def test_an_event_that_nobody_sent_answers_no_question_that_comes_later() -> None:
    """As it would not have answered one that was open: that needs by=."""
    came = asyncio.Event()
    flow = Flow("errand")

    async def asks(ctx: FlowContext) -> None:
        await came.wait()
        ctx.pause_for("approval", {"question": "pay?"}, resume_event="agreed")

    flow.to(flow.chunk(asks))
    async with an_office("memory") as office:
        await office.open(flow)
        run = await office.rt.start(flow, "go", by="eve")
        await run.emit("agreed", True)
        came.set()
        await office.rest(run)
        [item] = await office.items(run, "question")
        with pytest.raises(Invalid, match="by="):
            await run.emit("agreed", True)
        await office.rt.answer(item, True, by="ana")
        await office.rest(run)
        assert await run.status() == "completed"
