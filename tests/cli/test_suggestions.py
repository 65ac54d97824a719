"""A filter for a name that nobody has says so; one that only fits nothing now is an empty list."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from tests.cli import shop
from tests.cli.conftest import Run
from typer.main import get_command

from adjourn import Runtime
from adjourn.cli.command_table import COMMANDS, app

SECONDS = 60.0
FREE = {"--text", "--search", "--older", "--since", "--until", "--topic"}
"""Filters that take no name of what is in the store: any text, a time, an event."""
NUMBERS = {("requests", "--at"), ("watch", "--after"), ("audit export", "--after"), ("schedule", "--next")}
"""Filters that take a number."""
KNOWN = {
    ("runs", "--status"): ("waitng", "waiting"),
    ("runs", "--agent"): ("refnuds", "refunds"),
    ("runs", "--session"): ("ana-talk", "anas-talk"),
    ("runs", "--label"): ("team=payment", "team=payments"),
    ("runs", "--after"): ("ordr-1", "order-1"),
    ("inbox", "--agent"): ("refnuds", "refunds"),
    ("inbox", "--kind"): ("aproval", "approval"),
    ("inbox", "--run"): ("ordr-1", "order-1"),
    ("audit show", "run"): ("ordr-1", "order-1"),
    ("audit show", "--by"): ("shpo", "shop"),
    ("audit show", "--verb"): ("aprove", "approve"),
    ("audit show", "--agent"): ("refnuds", "refunds"),
    ("audit show", "--tool"): ("refnud", "refund"),
    ("bulk", "--status"): ("waitng", "waiting"),
    ("bulk", "--agent"): ("refnuds", "refunds"),
}
"""Every filter by a name: one that nobody has, and the one that was meant."""


def commands() -> Iterator[tuple[str, Any]]:
    """Every command with its whole name."""
    table: Any = get_command(app)
    for name in COMMANDS:
        command = table.get_command(None, name)
        parts = getattr(command, "commands", None)
        if parts is None:
            yield name, command
        else:
            yield from ((f"{name} {part}", one) for part, one in parts.items())


def filters() -> set[tuple[str, str]]:
    """The options that say *only these* by a name."""
    found: set[tuple[str, str]] = set()
    for name, command in commands():
        for one in command.params:
            says = getattr(one, "help", None) or ""
            if says.startswith("Only ") and not getattr(one, "is_flag", False) and one.opts[0] not in FREE:
                found.add((name, one.opts[0]))
    return found - NUMBERS


@pytest.fixture
def _filled(adjourn: Run) -> None:
    async def fill() -> None:
        async with Runtime("sqlite:///adjourn.db", [shop.refunds]) as rt:
            run = await rt.start(
                shop.refunds, "go", run_id="order-1", session="anas-talk", labels={"team": "payments"}, by="shop"
            )
            await run.wait(SECONDS)

    asyncio.run(fill())
    ref = adjourn("inbox", "--json").json[0]["ref"]
    assert adjourn("approve", ref, "--by", "shop").code == 0


def typed(command: str, option: str, value: str) -> list[str]:
    words = command.split()
    if command == "bulk":
        words += ["pause", "--dry-run"]
    return [*words, *([option] if option.startswith("-") else []), value]


def test_every_filter_by_a_name_is_in_the_table() -> None:
    assert filters() == set(KNOWN)


@pytest.mark.usefixtures("_filled")
@pytest.mark.parametrize(("command", "option"), KNOWN)
@pytest.mark.parametrize("as_json", [False, True], ids=["text", "json"])
def test_a_name_that_nobody_has_is_told_with_the_one_that_was_meant(
    command: str, option: str, as_json: bool, adjourn: Run
) -> None:
    wrong, right = KNOWN[command, option]
    more = ["--json"] if as_json else []
    said = adjourn(*typed(command, option, wrong), *more)
    assert said.code == 2 and not said.out, said.err
    assert wrong in said.err and right in said.err, said.err
    assert adjourn(*typed(command, option, right), *more).code == 0


@pytest.mark.usefixtures("_filled")
def test_a_name_that_somebody_has_may_fit_nothing(adjourn: Run) -> None:
    for words in (
        ["audit", "--by", "shop", "--verb", "deny"],
        ["audit", "--tool", "refund", "--since", "2031-01-01"],
        ["runs", "--agent", "refunds", "--status", "failed"],
        ["runs", "--session", "anas-talk", "--status", "failed"],
        ["inbox", "--agent", "refunds", "--kind", "question"],
        ["bulk", "pause", "--agent", "refunds", "--status", "failed", "--dry-run"],
    ):
        said = adjourn(*words)
        assert said.code == 0, (words, said.err)


@pytest.mark.usefixtures("_filled")
def test_the_security_log_knows_its_own_people(adjourn: Run) -> None:
    assert adjourn("user", "add", "bea", "--role", "viewer").code == 0
    assert "add user" in adjourn("audit", "--security", "--verb", "add user", "--json").out
    wrong = adjourn("audit", "--security", "--by", "nobody-at-all")
    assert wrong.code == 2 and "line of the person 'nobody-at-all' not found" in wrong.err
    assert adjourn("audit", "--by", "shop").code == 0
    assert adjourn("audit", "--security", "--by", "shop").code == 2
