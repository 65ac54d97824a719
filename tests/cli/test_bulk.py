"""`adjourn bulk`: which runs comes first, nothing happens that nobody agreed to, and each outcome is printed."""

import asyncio

from tests.cli import shop
from tests.cli.conftest import Run, begin


def test_a_dry_run_lists_what_would_be_cancelled_and_changes_nothing(adjourn: Run) -> None:
    refund, question = asyncio.run(begin(shop.refunds, shop.asker))
    said = adjourn("bulk", "cancel", "--agent", "refunds", "--dry-run")
    assert said.code == 0 and refund in said.out and question not in said.out and "0 undone" in said.out
    assert "1 run. Nothing was changed." in said.err
    found = adjourn("bulk", "cancel", "--all", "--dry-run", "--json").json
    assert {one["run_id"] for one in found} == {refund, question} and all(one["dry_run"] for one in found)
    assert {run["status"] for run in adjourn("runs", "--json").json} == {"waiting"}


def test_each_outcome_is_printed_and_a_refusal_shows_in_the_exit_code(adjourn: Run) -> None:
    refund, question = asyncio.run(begin(shop.refunds, shop.asker))
    said = adjourn("bulk", "deny", "--status", "waiting", "--reason", "not now", "--yes")
    assert said.code == 1 and "1 of 2 denied" in said.err
    assert "no call of this run waits for an approval" in next(x for x in said.out.splitlines() if question in x)
    assert "refused" not in next(x for x in said.out.splitlines() if refund in x)
    said = adjourn("bulk", "cancel", "--search", "tool:refund", "--yes", "--by", "ana")
    assert said.code == 0 and "1 of 1 cancelled" in said.err
    assert "ana" in adjourn("audit", refund).out


def test_without_a_terminal_nothing_is_done_unasked(adjourn: Run) -> None:
    asyncio.run(begin(shop.refunds))
    said = adjourn("bulk", "cancel", "--agent", "refunds")
    assert said.code == 2 and "would cancel 1 run" in said.err and "--dry-run" in said.err
    assert adjourn("bulk", "cancel").code == 2
    assert adjourn("runs", "--json").json[0]["status"] == "waiting"
    assert adjourn("bulk", "pause", "--status", "failed", "--yes", "--json").json == []


def test_a_request_that_may_come_again_names_its_runs(adjourn: Run) -> None:
    first, other = asyncio.run(begin(shop.refunds, shop.asker))
    again = ("--yes", "--by", "ana", "--request-id", "q1")
    said = adjourn("bulk", "cancel", "--all", *again)
    assert said.code == 2 and "--dry-run" in said.err and "ids" in said.err
    assert adjourn("bulk", "cancel", "--all", "--dry-run", "--request-id", "q1").code == 0
    for _ in range(2):
        said = adjourn("bulk", "cancel", first, *again)
        assert said.code == 0 and "1 of 1 cancelled" in said.err
    assert "waiting" in {run["status"] for run in adjourn("runs", "--json").json if run["run_id"] == other}
    for both in (["--all"], ["--agent", "refunds"]):
        assert adjourn("bulk", "cancel", first, *both, "--yes").code == 2
