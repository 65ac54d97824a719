"""Have I seen this before? Earlier decisions on the same tool, and what differs this time."""

import json
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from adjourn import Agent, Completed, Paused, Policy, Runtime, ask, tool
from adjourn.core.decision import Decision
from adjourn.core.interrupt import Interrupt
from adjourn.core.messages import Message, UserMessage
from adjourn.core.standing_decision import Standing
from adjourn.testing.scripted import Scripted, ScriptedModel, call
from adjourn.views import seen_before as module
from adjourn.views.seen_before import SeenBefore, seen_before
from adjourn.views.timeline import Timeline

LIMIT = 60.0
RECOMMENDS = ("should", "recommend", "advise", "safe", "suggest", "risk", "careful", "warn", "likely", "approve it")


@tool(effect="unsafe")
async def pay(supplier: str, amount: int, iban: str = "") -> str:
    """Pay an invoice."""
    if supplier == "Broken":
        raise ValueError("the bank refused")
    return f"paid {amount}"


def wanted(messages: Sequence[Message]) -> Scripted:
    """The payment that the input asks for."""
    first = messages[0]
    assert isinstance(first, UserMessage)
    return call("pay", **json.loads(str(first.text)))


def payer(name: str = "purchasing", **rule: Any) -> Agent[str]:
    return Agent(name, model=ScriptedModel(wanted, "done"), tools=[pay], policy=Policy([ask("pay", **rule)]))


ONE, TWO = payer(), payer("both", approvers=2)
SCRIPT = [call("pay", supplier="A", amount=amount) for amount in (1, 1, 9)]
OFTEN = Agent("often", model=ScriptedModel(*SCRIPT, "done"), tools=[pay], policy=Policy([ask("pay")]))
EVERY = Standing(where=("amount=1",))


@pytest.fixture(params=["memory", "sqlite"])
async def rt(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Runtime]:
    places = {"memory": "memory://", "sqlite": f"sqlite:///{tmp_path / 'runs.db'}"}
    async with Runtime(places[request.param], [ONE, TWO, OFTEN]) as runtime:
        yield runtime


async def asked(rt: Runtime, program: Agent[str] = ONE, **payment: Any) -> Interrupt:
    run = await rt.start(program, json.dumps(payment), by="cleo")
    outcome = await run.wait(LIMIT)
    assert isinstance(outcome, Paused)
    [item] = outcome.interrupts
    return item


async def ended(rt: Runtime, item: Interrupt) -> None:
    run = await rt.get(item.run_id)
    assert isinstance(await run.wait(LIMIT), Completed)


async def approved(rt: Runtime, by: str = "ben", edit: dict[str, Any] | None = None, **payment: Any) -> Interrupt:
    item = await asked(rt, **payment)
    await rt.approve(item, by=by, edit=edit)
    await ended(rt, item)
    return item


async def denied(rt: Runtime, note: str, by: str = "erik", **payment: Any) -> Interrupt:
    item = await asked(rt, **payment)
    await rt.deny(item, by=by, note=note)
    await ended(rt, item)
    return item


async def look(rt: Runtime, item: Interrupt) -> SeenBefore:
    async def timeline(run: str) -> Timeline:
        return Timeline.of(await rt.store.load(run))

    return await seen_before(rt.store, item, timeline)


def counts(seen: SeenBefore) -> tuple[int, int, int]:
    return seen.approved, seen.edited, seen.denied


async def test_it_says_who_decided_how_what_came_of_it_and_what_differs(rt: Runtime) -> None:
    old, new = "NO93 8601", "NO21 1503"
    refused = await denied(rt, "paid already", supplier="Nordvarme", amount=12400, iban=old)
    less = {"supplier": "Nordvarme", "amount": 11950, "iban": old}
    edited = await approved(rt, supplier="Nordvarme", amount=12950, iban=old, edit=less)
    plain = await approved(rt, by="dora", supplier="Nordvarme", amount=12100, iban=old)
    seen = await look(rt, await asked(rt, supplier="Nordvarme", amount=12400, iban=new))
    assert counts(seen) == (1, 1, 1)
    assert seen.told == "3 decisions on pay in 90 days: 1 approved, 1 edited, 1 denied"
    assert [one.ref for one in seen.nearest] == [plain.ref, edited.ref, refused.ref]
    assert [one.decision.by for one in seen.nearest] == [("dora",), ("ben",), ("erik",)]
    assert [one.outcome.state for one in seen.nearest if one.outcome] == ["ran", "ran", "not_run"]
    assert [(c.old, c.new) for c in seen.nearest[1].decision.changes] == [(12950, 11950)]
    assert [(c.name, c.old, c.new) for c in seen.nearest[1].differs] == [("amount", 11950, 12400), ("iban", old, new)]
    assert {one.name: one.told for one in seen.differs} == {
        "amount": "amount is 12400: with that it was denied, never approved",
        "iban": 'iban is "NO21 1503": it was "NO93 8601" in all 3',
    }


async def test_with_fewer_than_two_nothing_is_compared(rt: Runtime) -> None:
    await approved(rt, supplier="A", amount=1)
    seen = await look(rt, await asked(rt, supplier="B", amount=2))
    assert (counts(seen), seen.told, seen.nearest, seen.differs) == ((1, 0, 0), "", (), ())


async def test_those_with_the_most_in_common_are_shown_and_of_equals_the_newest(rt: Runtime) -> None:
    kept = [await approved(rt, supplier="Same", amount=7)]
    for amount in range(1, 5):
        kept.append(await approved(rt, supplier="Other", amount=amount))
    seen = await look(rt, await asked(rt, supplier="Same", amount=7))
    assert seen.approved == 5
    assert [one.ref for one in seen.nearest] == [kept[4].ref, kept[3].ref, kept[0].ref]
    assert seen.nearest[2].differs == seen.differs == ()


async def test_a_decision_that_is_not_made_yet_does_not_count_and_both_are_named_when_it_is(rt: Runtime) -> None:
    await approved(rt, supplier="A", amount=1)
    half = await asked(rt, TWO, supplier="A", amount=1)
    await rt.approve(half, by="ben")
    here = await asked(rt, supplier="A", amount=1)
    assert counts(await look(rt, here)) == (1, 0, 0)
    assert counts(await look(rt, half)) == (1, 0, 0), "its own votes are no earlier decision"
    await rt.approve(half, by="dora")
    await ended(rt, half)
    seen = await look(rt, here)
    assert counts(seen) == (2, 0, 0)
    assert seen.nearest[0].decision.by == ("ben", "dora")


async def test_a_decision_that_was_refused_is_not_counted(rt: Runtime) -> None:
    first = await approved(rt, supplier="A", amount=1)
    with pytest.raises(Exception, match="already"):
        await rt.approve(first, by="late")
    await approved(rt, supplier="A", amount=1)
    seen = await look(rt, await asked(rt, supplier="A", amount=1))
    assert counts(seen) == (2, 0, 0)
    assert counts(await look(rt, first)) == (1, 0, 0), "its own decision is none before it"


async def test_what_stood_counts_once_and_still_when_it_was_revoked(rt: Runtime) -> None:
    here = await asked(rt, supplier="A", amount=1)
    for decision in (Decision.deny("never", stands=EVERY), Decision.approve(stands=EVERY)):
        item = await asked(rt, OFTEN, supplier="A", amount=1)
        await rt.answer(item, decision, by="erik")
        run = await rt.get(item.run_id)
        assert isinstance(await run.wait(LIMIT), Paused)
        await rt.revoke(item.ref, by="erik")
    assert counts(await look(rt, here)) == (1, 0, 1), "neither lost nor counted with each use"
    assert [one.decision.by for one in (await look(rt, here)).nearest] == [("erik",), ("erik",)]


async def test_what_was_erased_is_not_shown(rt: Runtime) -> None:
    items = [await approved(rt, supplier=name, amount=1) for name in ("Gone", "Kept", "Kept")]
    run = await rt.get(items[0].run_id)
    await rt.store.erase(run.id, by="ana", reason="asked to")
    seen = await look(rt, await asked(rt, supplier="Gone", amount=1))
    assert counts(seen) == (2, 0, 0)
    assert [one.run_id for one in seen.nearest] == [items[2].run_id, items[1].run_id]
    assert [one.told for one in seen.differs] == ["supplier is Gone: it was Kept in all 2"]


async def test_a_failure_is_what_came_of_it(rt: Runtime) -> None:
    for _ in range(2):
        await approved(rt, supplier="Broken", amount=1)
    seen = await look(rt, await asked(rt, supplier="Broken", amount=1))
    assert [one.outcome.error for one in seen.nearest if one.outcome] == ["ValueError: the bank refused"] * 2


async def test_more_than_is_read_is_said_to_be_more(rt: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LINES", 2)
    for amount in range(3):
        await approved(rt, supplier="A", amount=amount)
    seen = await look(rt, await asked(rt, supplier="A", amount=9))
    assert (seen.complete, seen.told) == (False, "the last 2 decisions on pay: 2 approved")
    assert [one.told for one in seen.differs] == ["amount is 9: it was 1 to 2 in 2"]


async def test_arguments_that_are_new_or_left_out_are_told(rt: Runtime) -> None:
    for supplier in ("A", "B"):
        await approved(rt, supplier=supplier, amount=1, iban="x")
    seen = await look(rt, await asked(rt, supplier="C", amount=1))
    told = [one.told for one in seen.differs]
    assert told[0] == "supplier is C: it was B, A in 2"
    found = module.decisions_in(await rt.store.recent())
    added = module.novelties(found, {"supplier": "A", "amount": 1, "iban": "x", "memo": "m"})
    assert [one.told for one in added] == ["memo is new: it was not given in any of the 2"]
    left_out = module.novelties(found, {"supplier": "A", "amount": 1})
    assert [one.told for one in left_out] == ["iban is not given: it was x in all 2"]
    assert [one.told for one in module.novelties(found, {"supplier": "A", "amount": True, "iban": "x"})] == [
        "amount is true: it was 1 in all 2"
    ], "true is not 1"


async def test_it_never_recommends(rt: Runtime) -> None:
    await denied(rt, "no", supplier="A", amount=5)
    for supplier in ("A", "B", "C", "D", "E"):
        await approved(rt, supplier=supplier, amount=1, iban="x")
    seen = await look(rt, await asked(rt, supplier="Z", amount=5))
    words = " ".join([seen.told, *(one.told for one in seen.differs)]).lower()
    assert seen.differs and not [word for word in RECOMMENDS if word in words]
    assert {name for name in SeenBefore.__struct_fields__} == {
        "tool", "days", "approved", "edited", "denied", "instead", "complete", "told", "nearest", "differs",
    }  # fmt: skip


async def test_anything_else_than_an_approval_has_none(rt: Runtime) -> None:
    question = Interrupt("q", "r", "question", "question")
    assert await look(rt, question) is module.NOTHING
