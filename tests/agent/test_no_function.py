"""A tool is no plain function: wherever a function is asked for that is simply called, it is refused, and nothing runs."""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from adjourn import Agent, Flow, Policy, Tool, ask_human, deny, tool
from adjourn.cli.program_loader import programs_of, resources_of
from adjourn.errors import InvalidDefinition
from adjourn.hooks import after_tool, before_tool, check_input, check_output
from adjourn.runtime.upgraders import register_upgrader
from adjourn.schedules import Schedule
from adjourn.testing import ScriptedModel
from adjourn.toolsets import ToolsetContext

RAN: list[Any] = []


@pytest.fixture(autouse=True)
def nothing_ran() -> Any:
    RAN.clear()
    yield
    assert RAN == []


@tool(effect="unsafe", policy="deny")
def wipe(target: Any) -> Any:
    """Wipe it."""
    RAN.append(target)
    return []


@tool(effect="unsafe", policy="deny")
async def wipe_later(target: Any) -> Any:
    """Wipe it."""
    RAN.append(target)
    return []


def agent(**options: Any) -> Agent[Any]:
    return Agent("a", model=ScriptedModel("done"), policy=Policy([deny("*")]), **options)


def flow(*nodes: Any) -> Flow:
    made = Flow("f")
    made.to(*nodes)
    return made


def conditional(test: Any) -> Flow:
    made = Flow("f")
    made.if_(test)
    return made


PLACES: dict[str, Callable[[Any], Any]] = {
    "tools= without a list": lambda given: agent(tools=given),
    "instructions=": lambda given: agent(instructions=given),
    "history=": lambda given: agent(history=[given]),
    "when=": lambda given: deny("x", when=given),
    "before_tool": lambda given: before_tool(given, name="n"),
    "after_tool": lambda given: after_tool(given, name="n"),
    "check_input": lambda given: check_input(given, name="n"),
    "check_output": lambda given: check_output(given, name="n"),
    "a chunk": lambda given: flow(given),
    "a chunk by decoration": lambda given: Flow("f").chunk(given),
    "a condition": conditional,
    "an upgrader": lambda given: register_upgrader("a", given),
    "a schedule's input=": lambda given: Schedule("s", agent(), every=60, input=given),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("given", [wipe, wipe_later], ids=["sync", "async"])
def test_a_tool_is_refused_where_a_function_is_asked_for(place: str, given: Tool) -> None:
    with pytest.raises(InvalidDefinition):
        PLACES[place](given)


@pytest.mark.parametrize("load", [programs_of, resources_of])
def test_what_a_command_names_is_not_run_if_it_is_a_tool(
    load: Callable[[str], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)  # pyright: ignore[reportUnknownMemberType]
    (tmp_path / "of_tools.py").write_text(
        "from adjourn import tool\n\n\n@tool\ndef wipe() -> list[str]:\n    raise SystemError('it ran')\n"
    )
    with pytest.raises(InvalidDefinition, match="Tool"):
        load("of_tools:wipe")


def plain(target: str) -> list[str]:
    """A function that would be a tool in a list."""
    RAN.append(target)
    return []


def without_a_word(target):  # type: ignore[no-untyped-def]
    RAN.append(target)  # pyright: ignore[reportUnknownArgumentType]


@pytest.mark.parametrize("given", [plain, without_a_word, lambda target: RAN.append(target), ask_human])  # pyright: ignore
def test_a_function_finds_tools_only_if_its_parameter_says_so(given: Any) -> None:
    with pytest.raises(InvalidDefinition, match=r"tools= must be a list.*tools=\[") as refused:
        agent(tools=given)
    assert "ToolsetContext" in refused.value.advice


def test_an_agent_is_not_a_list_of_tools_either() -> None:
    with pytest.raises(InvalidDefinition, match="must be a list"):
        agent(tools=agent())


@pytest.mark.parametrize("given", ["wipe", {"wipe": wipe}, 3, None, b"wipe"])
def test_what_is_no_list_of_tools_is_refused_with_a_sentence(given: Any) -> None:
    with pytest.raises(InvalidDefinition, match=r"tools= must be a list|@tool is for functions"):
        agent(tools=given)


class Finder:
    def __call__(self, context: ToolsetContext) -> list[Tool]:
        return [wipe]


def find(context: "ToolsetContext") -> list[Tool]:
    return [wipe]


@pytest.mark.parametrize("given", [find, Finder()])
def test_a_finder_finds_alone_and_in_a_list(given: Any) -> None:
    assert len(agent(tools=given).toolsets) == 1
    both = agent(tools=[given, wipe])
    assert len(both.toolsets) == 1 and list(both.tools) == ["wipe"]


def test_a_function_of_the_moment_still_is_a_schedules_input() -> None:
    def year(moment: datetime) -> dict[str, int]:
        return {"at": moment.year}

    made = Schedule("s", agent(), every=60, input=year)
    assert made.input_at(datetime(2026, 1, 1).timestamp()) == {"at": 2026}
