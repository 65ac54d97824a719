"""Who must agree, and who has: shown wherever an approval is."""

import asyncio
from typing import Any

import pytest
from tests.cli import shop
from tests.cli.conftest import AtTerminal, Run, begin

from adjourn import Agent, Policy, ask
from adjourn.testing import ScriptedModel, call

POLICY = Policy(
    [ask("refund", groups=("finance", "leads"), each=True), ask("refund", not_requester=True, reason="money")],
    default="allow",
)


def strict(policy: Policy = POLICY) -> Agent[Any]:
    model = ScriptedModel([call("refund", order_id="1", cents=1)], "Done.")
    return Agent("strict", model=model, tools=[shop.refund], policy=policy)


def everywhere(adjourn: Run, run: str) -> list[str]:
    """Every place that shows it, in a pipe."""
    return [adjourn(*words).out for words in (["inbox"], ["inbox", run], ["show", run])]


def test_the_seats_and_who_fills_them_are_shown_everywhere(adjourn: Run) -> None:
    [run] = asyncio.run(begin(strict()))
    for votes, line in (
        ([], "2 people: finance – · leads – · any approver except shop –"),
        (["--by", "ana", "--group", "finance"], "1 more person: finance ana · leads – · any approver except shop ana"),
    ):
        if votes:
            assert adjourn("approve", run, *votes).code == 0
        assert all(line in shown for shown in everywhere(adjourn, run)), everywhere(adjourn, run)
    [item] = adjourn("inbox", "--json").json
    one, two, three = item["slots"]
    assert (one["groups"], one["filled_by"]) == (["finance"], "ana")
    assert two["groups"] == ["leads"] and not two.get("filled_by")
    assert three["not_requester"] and three["filled_by"] == "ana" and item["requesters"] == ["shop"]
    assert adjourn("show", run, "--json").json["interrupts"][0]["slots"] == item["slots"]
    assert adjourn("inbox", run, "--json").json["slots"] == item["slots"]


def test_two_of_each_are_told_apart(adjourn: Run) -> None:
    runs = asyncio.run(begin(strict()))[0], asyncio.run(begin(strict()))[0]
    adjourn("inbox")
    assert adjourn("approve", runs[1], "--by", "bob", "--group", "leads").code == 0
    lines = [line.strip() for line in adjourn("inbox").out.splitlines() if "finance" in line]
    assert lines == [
        "2 people: finance – · leads – · any approver except shop –",
        "1 more person: finance – · leads bob · any approver except shop bob",
    ]


@pytest.mark.parametrize(
    ("policy", "line"),
    [
        (Policy([ask("refund")], default="allow"), ""),
        (Policy([ask("refund", approvers=2)], default="allow"), "2 people: any approver – · any approver –"),
        (Policy([ask("refund"), ask("*", reason="all")], default="allow"), ""),
        (Policy([ask("refund", approvers=2), ask("*")], default="allow"), "2 people: any approver – · any approver –"),
        (Policy([ask("refund", groups=("a",)), ask("*")], default="allow"), "1 person: a – · any approver –"),
        (
            Policy([ask("refund", groups=("a",)), ask("*", groups=("b",))], default="allow"),
            "at least 1 person: a – · b –",
        ),
        (Policy([ask("refund", groups=("a", "b"))], default="allow"), "1 person: a or b –"),
        (Policy([ask("refund", groups=("a",), not_requester=True)], default="allow"), "1 person: a except shop –"),
    ],
)
def test_who_may_is_said_in_words(policy: Policy, line: str, adjourn: Run) -> None:
    [run] = asyncio.run(begin(strict(policy)))
    for shown in everywhere(adjourn, run):
        assert (line in shown) if line else ("any approver" not in shown)


def test_a_prompt_shows_them_before_it_asks(terminal: AtTerminal, adjourn: Run) -> None:
    [run] = asyncio.run(begin(strict()))
    adjourn("inbox")
    adjourn("approve", run, "--by", "ana", "--group", "finance")
    pty = terminal("inbox", run)
    pty.see("1 more person: finance ana · leads –")
    pty.answer("ater  ?", "later")
    assert pty.end() == 3


def test_a_group_that_draws_on_the_terminal_is_shown_by_its_name(adjourn: Run) -> None:
    [run] = asyncio.run(begin(strict(Policy([ask("refund", groups=("a\x1b[2Jb",))], default="allow"))))
    for shown in everywhere(adjourn, run):
        assert "\x1b" not in shown and "⟨U+001B ESCAPE⟩" in shown
