"""The audit in words: who did what to which call, what was changed, why, and what was refused."""

import contextlib
import csv
import io
from typing import Any

import pytest

from adjourn import AdjournError, Agent, AlreadyDecided, InDoubt, Policy, Runtime, ask, tool
from adjourn.stores.audit import AuditFilter
from adjourn.stores.rules import commit, engine_wakes, erasure, holds, prune, restore, signatures
from adjourn.testing import ScriptedModel, call
from adjourn.views.audit_entry import csv_of
from adjourn.views.audit_words import ACTS

VERBS = ("HOLD", "LIFT", "WANT", "STOP", "REQUIRE")


@tool(describe="refund {cents} of order {order_id}")
def refund(order_id: str, cents: int) -> str:
    """Pay money back."""
    return "re_88213"


@tool
def mail(to: str, text: str = "") -> str:
    """Send a mail."""
    return "sent"


@tool
def lost(order_id: str) -> str:
    """Pay money back, and do not know whether it came."""
    raise InDoubt("the line went dead")


def clerk(*calls: Any) -> Agent[Any]:
    return Agent("clerk", model=ScriptedModel(list(calls), "done"), tools=[refund, mail], policy=Policy([ask("*")]))


async def told(rt: Runtime, **wanted: Any) -> list[str]:
    return [str(entry.told) for entry in await rt.audit(wanted=AuditFilter(**wanted))]


async def asked(rt: Runtime, agent: Agent[Any], title: str) -> Any:
    run = await rt.start(agent, title, by="shop")
    await run.wait(30)
    [item] = await rt.inbox(run=run.id)
    return item


async def test_decisions_are_sentences_with_the_call_the_change_and_the_note() -> None:
    agent = clerk(call("refund", order_id="4417", cents=48250))
    async with Runtime("memory://", [agent]) as rt:
        item = await asked(rt, agent, "Order 4417 arrived broken")
        await rt.approve(item, edit={"order_id": "4417", "cents": 39900}, note="shipping is not refunded", by="ana")
        with pytest.raises(AlreadyDecided):
            await rt.deny(item, note="too late", by="gus")
        late, approved, started = await told(rt)
    assert approved == ("ana approved refund 48250 of order 4417: cents 48250 → 39900, “shipping is not refunded”")
    assert late.startswith("gus tried to deny refund 48250 of order 4417: “too late” (refused: ")
    assert started == "shop started “Order 4417 arrived broken”"


async def test_what_was_chosen_about_a_call_in_doubt_is_said() -> None:
    agent = Agent("clerk", model=ScriptedModel([call("lost", order_id="4417")], "done"), tools=[lost])
    async with Runtime("memory://", [agent]) as rt:
        item = await asked(rt, agent, "Order 4417 arrived broken")
        await rt.answer(item, {"choice": "run"}, by="ana")
        answered, _ = await told(rt)
    assert answered == "ana answered whether it happened: lost order_id 4417 → run"


async def test_a_tool_without_words_of_its_own_is_named_with_its_arguments() -> None:
    agent = clerk(call("mail", to="bo@example.com", text="hello there"))
    async with Runtime("memory://", [agent]) as rt:
        await rt.deny(await asked(rt, agent, "write"), note="not now", by="ana")
        await rt.halt("tool:mail", by="cleo", reason="wrong list")
        assert sorted(await told(rt, tool="mail")) == [
            "ana denied mail to bo@example.com: “not now”", "cleo halted tool mail: “wrong list”",
        ]  # fmt: skip


async def test_a_sentence_says_whether_its_object_begins_with_the_name_of_a_tool() -> None:
    agent = Agent("lost", model=ScriptedModel([call("lost", order_id="4417")], "done"), tools=[lost])
    both = clerk(call("mail", to="bo"), call("refund", order_id="4417", cents=1))
    async with Runtime("memory://", [agent, both]) as rt:
        await rt.answer(await asked(rt, agent, "which"), {"choice": "run"}, by="ana")
        run = await rt.start(both, "refund", by="shop")
        await run.wait(30)
        for item in await rt.inbox(run=run.id):
            await rt.approve(item, by="ana")
        begins = {entry.told.what: entry.told.tool for entry in await rt.audit(wanted=AuditFilter(by="ana"))}
    assert begins == {
        "mail to bo": "mail", "refund 1 of order 4417": "", "whether it happened: lost order_id 4417 → run": "",
    }  # fmt: skip


async def test_a_table_has_no_formulas_and_a_heading() -> None:
    agent = clerk(call("mail", to="bo"))
    async with Runtime("memory://", [agent]) as rt:
        await rt.deny(await asked(rt, agent, "write"), note='=1+1, "quoted"', by="+ana")
        rows = list(csv.DictReader(io.StringIO(csv_of(await rt.audit()))))
    assert rows[0]["note"] == '\'=1+1, "quoted"' and rows[0]["by"] == "'+ana"
    assert rows[0]["told"].startswith("'+ana denied mail to bo")
    assert len(rows[0]["head"]) == 64 and rows[1]["verb"] == "start"


def test_every_verb_that_a_rule_of_the_stores_writes_has_words() -> None:
    found = {
        getattr(rules, name) for rules in (engine_wakes, holds, signatures) for name in VERBS if hasattr(rules, name)
    }
    found |= {erasure.ERASE, prune.PRUNE, restore.RESTORE, commit.UPGRADE, "revoke"}
    assert found <= set(ACTS)
    assert {"hold", "lift hold", "want wakes", "require seals"} <= found


@pytest.mark.parametrize("until", [1e12, 1e18, 1.7e308, 253402300799.0])
async def test_an_item_that_is_snoozed_beyond_the_calendar_leaves_the_audit_readable(until: float) -> None:
    agent = clerk(call("refund", order_id="4417", cents=48250))
    async with Runtime("memory://", [agent]) as rt:
        item = await asked(rt, agent, "Order 4417 arrived broken")
        with contextlib.suppress(AdjournError):
            await rt.snooze(item, until, by="ana")
        assert [line for line in await told(rt) if "snooze" in line]
