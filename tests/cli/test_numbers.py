"""`adjourn numbers`: what the runs of a time did, in a few lines and tables."""

import asyncio
from pathlib import Path

from tests.cli import shop
from tests.cli.conftest import Run, begin


def test_it_says_how_many_ran_how_they_ended_and_what_was_asked(adjourn: Run) -> None:
    asyncio.run(begin(shop.refunds, shop.sender, shop.failing))
    said = adjourn("numbers")
    assert said.code == 0, said.err
    assert "3 runs: 1 completed, 1 failed, 0 cancelled, 0 stopped, 1 open" in said.out
    for word in ("AGENT", "refunds", "sender", "failing", "TOOL", "get_order", "ship", "HALF WITHIN"):
        assert word in said.out
    assert "TIME" not in said.out and "PERSON" not in said.out
    assert "TIME" in adjourn("numbers", "--times", "--since", "24h").out
    found = adjourn("numbers", "--json").json
    assert (found["total"]["runs"], found["people"]) == (3, None)
    assert {one["name"]: one["calls"] for one in found["tools"]}["ship"] == 1


def test_times_of_people_need_an_admin_where_there_are_users(adjourn: Run, waiting: str) -> None:
    adjourn("approve", f"{waiting}:2.0?0", "--by", "ana")
    people = adjourn("numbers", "--people", "--json").json["people"]
    assert [one["name"] for one in people] == ["ana"]
    assert "PERSON" in adjourn("numbers", "--people").out
    key = adjourn("user", "add", "ben", "--role", "approver").out.strip()
    refused = adjourn("numbers", "--people")
    assert refused.code != 0 and "seeing the times of people needs a key" in refused.err
    assert key and adjourn("numbers").code == 0


def test_a_time_that_is_none_is_refused(adjourn: Run, waiting: str) -> None:
    assert Path("adjourn.db").exists()
    for since in ("soon", "2031-01-31", "4000d"):
        assert adjourn("numbers", "--since", since).code == 2, since


def test_times_that_make_no_sense_are_told_as_times(adjourn: Run, waiting: str) -> None:
    said = adjourn("numbers", "--since", "2090-01-31")
    assert said.code == 2 and "got 2090-01-3" in said.err and "UTC to 20" in said.err
