"""`retry`: one failed step again, or all that failed in the same way."""

import asyncio
import shlex

from tests.cli import shop
from tests.cli.conftest import AtTerminal, Run, begin


def failed(count: int) -> list[str]:
    """So many runs of `failing`, each failed."""
    return [asyncio.run(begin(shop.failing))[0] for _ in range(count)]


def test_one_failed_step_is_tried_again(adjourn: Run) -> None:
    one, two = failed(2)
    said = adjourn("retry", f"{one}:model:?0", "--by", "ana")
    assert said.code == 0 and said.out.startswith("✓ Answered by ana")
    assert [i["run_id"] for i in adjourn("inbox", "--json").json] == [two]


def test_all_that_failed_alike_are_tried_again_and_an_approval_is_not(adjourn: Run, waiting: str) -> None:
    runs = failed(3)
    said = adjourn("retry", f"{runs[1]}:model:?0", "--all", "--by", "ana", "--note", "it is back", "--json")
    assert said.code == 0
    assert sorted(one["run_id"] for one in said.json) == sorted(runs)
    assert all(one["seq"] and one["refused"] is None for one in said.json)
    assert [i["run_id"] for i in adjourn("inbox", "--json").json] == [waiting]
    assert "it is back" in adjourn("audit", "show", runs[2]).out
    refused = adjourn("retry", f"{waiting}:2.0?0", "--all", "--by", "ana")
    assert refused.code == 2 and "must be decided alone" in refused.err
    assert adjourn("retry", f"{waiting}:2.0?0").code == 2, "nor is one approval a failure"


def test_the_second_of_two_people_is_told_who_was_first_and_twice_is_once(adjourn: Run) -> None:
    one, two = failed(2)
    first = adjourn("retry", f"{one}:model:?0", "--all", "--by", "ana")
    assert first.code == 0 and first.out.startswith("✓ Retried 2 by ana: ")
    assert adjourn("retry", f"{one}:model:?0", "--all", "--by", "ana").code == 0
    late = adjourn("retry", f"{two}:model:?0", "--all", "--by", "ben")
    assert late.code == 1 and late.out == "" and "ana has already decided" in late.err


def test_what_was_seen_must_still_be_there(adjourn: Run) -> None:
    [one] = failed(1)
    stale = adjourn("retry", one, "--all", "--digest", "0" * 16)
    assert stale.code == 1 and "stale_decision" in stale.err
    assert adjourn("retry", one, "--all", "--wait", "1").code == 2
    assert len(adjourn("inbox", "--json").json) == 1


def test_at_a_terminal_it_says_how_many_and_asks(adjourn: Run, terminal: AtTerminal) -> None:
    one, _ = failed(2)
    left = terminal("retry", one, "--all", "--by", "ana")
    left.answer("Retry 2 like this?", "no")
    assert left.end() == 2 and "nothing was retried" in left.plain.lower()
    assert len(adjourn("inbox", "--json").json) == 2
    meant = terminal("retry", one, "--all", "--by", "ana")
    meant.answer("Retry 2 like this?", "yes")
    assert meant.end() == 0 and "Retried 2 by ana" in meant.plain
    assert adjourn("inbox", "--json").json == []


def test_what_is_printed_about_a_failure_can_be_pasted(adjourn: Run) -> None:
    one, _ = failed(2)
    shown = adjourn("inbox", one)
    assert shown.code == 3
    [line] = [line for line in shown.err.splitlines() if line.startswith("All ")]
    _, *words = shlex.split(line)
    assert words[0] == "adjourn" and adjourn(*words[1:], "--by", "ana").code == 0
    assert adjourn("inbox", "--json").json == []
