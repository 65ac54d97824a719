"""`adjourn again`: the same once more, left to the workers."""

import asyncio
from pathlib import Path
from typing import Any

from tests.cli import shop
from tests.cli.conftest import SECONDS, Run, advance, begin

from adjourn import Agent, InDoubt, Runtime, tool
from adjourn.testing import ScriptedModel, call

SHOP = str(Path(shop.__file__))


def test_it_begins_a_new_run_with_the_same_input(adjourn: Run, waiting: str) -> None:
    said = adjourn("again", waiting, f"{SHOP}:refunds", "--by", "ana")
    assert said.code == 0, said.err
    [new] = said.out.split()
    assert f"{waiting} has not ended" in said.err and f"adjourn watch {new}" in said.err
    shown = adjourn("show", new, "--json").json
    assert (shown["again_of"], shown["input"], shown["started_by"]) == (waiting, "Order 4417 arrived broken", "ana")
    assert f"again of {waiting}" in adjourn("show", new).out
    assert asyncio.run(advance(shop.refunds, run=new)).status == "waiting"


def test_what_stays_of_the_other_run_is_said_and_a_dry_run_starts_nothing(adjourn: Run) -> None:
    [old] = asyncio.run(begin(shop.sender))
    said = adjourn("again", old, f"{SHOP}:sender", "--input", "order 2", "--dry-run")
    assert said.code == 0 and said.out == 'Would start sender with "order 2"\n'
    assert 'ship "1": done, cannot be undone' in said.err and "Nothing was started." in said.err
    assert len(adjourn("runs", "--json").json) == 1


def test_the_same_id_starts_it_once_and_json_says_what_was_started(adjourn: Run, waiting: str) -> None:
    words = ("again", waiting, f"{SHOP}:refunds", "--input", '{"order": 1}', "--data", "--id", "two", "--json")
    first, again = adjourn(*words).json, adjourn(*words).json
    assert first == again
    assert (first["run_id"], first["again_of"], first["input"]) == ("two", waiting, {"order": 1})
    assert len(adjourn("runs", "--json").json) == 2


def test_without_its_program_it_says_which_one_is_missing(adjourn: Run, waiting: str) -> None:
    said = adjourn("again", waiting)
    assert said.code == 2 and "the agent or flow 'refunds' of run" in said.err
    assert "APP.PY:refunds" in said.err
    other = adjourn("again", waiting, f"{SHOP}:sender")
    assert other.code == 2 and "is a run of 'refunds', and this is 'sender'" in other.err
    assert adjourn("again", "gone", f"{SHOP}:sender").code == 2


def test_everything_that_was_done_and_not_undone_is_listed(adjourn: Run) -> None:
    """Also what could be undone: a refund that is paid a second time is paid twice."""
    [old] = asyncio.run(begin(shop.refunds))
    assert adjourn("approve", f"{old}:2.0?0", "--by", "ana").code == 0
    asyncio.run(advance(shop.refunds, run=old))
    said = adjourn("again", old, f"{SHOP}:refunds", "--dry-run")
    assert 'stays  refund "4417", 48250' in said.err and "not undone; a second run may do it again" in said.err
    assert [call["tool"] for call in adjourn("again", old, f"{SHOP}:refunds", "--dry-run", "--json").json["stays"]] == [
        "refund"
    ]
    taken = adjourn("again", old, f"{SHOP}:refunds", "--dry-run", "--id", old)
    assert taken.code == 1 and "run_exists" in taken.err


def test_what_is_in_doubt_may_be_done_a_second_time_and_what_was_undone_is_not(adjourn: Run) -> None:
    def lost(order_id: str) -> str:
        """Send it."""
        raise InDoubt("no answer")

    sender = Agent(
        "sender", model=ScriptedModel([call("lost", order_id="7")], "Done."), tools=[tool(effect="unsafe")(lost)]
    )
    [old] = asyncio.run(begin(sender))
    assert 'stays  lost "7": may have been done' in adjourn("again", old, f"{SHOP}:sender", "--dry-run").err
    model = ScriptedModel(*([call("refund", order_id="1", cents=cents)] for cents in (100, 50_000)), "Done.")
    [paid] = asyncio.run(begin(Agent("refunds", model=model, tools=[shop.refund], policy=shop.BIG)))
    assert 'stays  refund "1", 100' in adjourn("again", paid, f"{SHOP}:refunds", "--dry-run").err
    asyncio.run(cancel(paid, Agent("refunds", model=model, tools=[shop.refund], policy=shop.BIG)))
    said = adjourn("again", paid, f"{SHOP}:refunds", "--dry-run")
    assert said.code == 0 and "stays" not in said.err


async def cancel(run: str, agent: Agent[Any]) -> None:
    async with Runtime("sqlite:///adjourn.db", [agent]) as rt:
        handle = await rt.get(run)
        await handle.cancel(by="ana")
        await handle.wait(SECONDS)
