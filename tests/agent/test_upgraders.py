"""A changed definition is refused, or migrated by a registered upgrader."""

from collections.abc import Iterator
from typing import Any

import pytest

from adjourn import Agent, ProgramChanged, is_paused, pause_for, register_upgrader, tool
from adjourn.models import Result
from adjourn.testing.scripted import ScriptedModel, call


@tool
async def ask_boss(question: str) -> str:
    """Ask."""
    pause_for("approval", {"question": question})


@tool
async def ask_operator(question: str) -> str:
    """Ask."""
    pause_for("approval", {"question": question})


def agent(*tools: Any) -> Agent:
    return Agent("refunds", model=ScriptedModel([call("ask_boss", question="ok?")], "done"), tools=tools)


@pytest.fixture
def registered() -> Iterator[list[list[str]]]:
    seen: list[list[str]] = []

    def upgrade(records: list[dict[str, Any]], changes: list[str]) -> list[dict[str, Any]]:
        seen.append(changes)
        for record in records:
            if record.get("tool") == "ask_boss":
                record["tool"] = "ask_operator"
            for part in record.get("parts", []):
                if part.get("tool") == "ask_boss":
                    part["tool"] = "ask_operator"
        return records

    register_upgrader("refunds", upgrade)
    yield seen
    register_upgrader("refunds", None)


async def test_a_renamed_tool_is_followed_by_an_upgrader(registered: list[list[str]]) -> None:
    outcome = await agent(ask_boss).run("refund")
    assert is_paused(outcome)
    done = await agent(ask_operator).resume(outcome.checkpoint.to_json(), "yes")
    assert done.output == "done"
    assert "tool 'ask_boss' is gone" in registered[0][0]
    results = [m for m in done.checkpoint.messages if isinstance(m, Result)]
    assert [m.tool for m in results] == ["ask_operator"]


async def test_an_upgrader_that_fails_leaves_the_run_refused() -> None:
    outcome = await agent(ask_boss).run("refund")
    register_upgrader("refunds", lambda records, changes: [])
    try:
        with pytest.raises(ProgramChanged, match="its upgrader failed"):
            await agent(ask_operator).resume(outcome.checkpoint, "yes")
    finally:
        register_upgrader("refunds", None)


async def test_without_an_upgrader_it_is_refused_by_name() -> None:
    outcome = await agent(ask_boss).run("refund")
    with pytest.raises(ProgramChanged, match="ask_boss"):
        await agent(ask_operator).resume(outcome.checkpoint, "yes")
