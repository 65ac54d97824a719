"""Whatever a model yields is recorded as plain JSON, or fails its step by name."""

from collections.abc import AsyncIterator
from enum import StrEnum
from typing import Any

import pytest

from adjourn import Agent, RunFailed, tool
from adjourn.agent.recordable_reply import recordable
from adjourn.core.messages import Delta, ModelRequest, Opaque, Reply, Text, ToolCall
from adjourn.core.usage import Usage


class Odd(str):
    """A string that says something else of itself."""

    def __str__(self) -> str:
        return "another string"


class Name(StrEnum):
    WORK = "work"


@tool
async def work(word: str) -> str:
    """Work."""
    return f"worked {word}"


class Says:
    """A model that gives these replies."""

    name = "odd"

    def __init__(self, *replies: Any) -> None:
        self.replies = replies

    async def request(self, request: ModelRequest) -> AsyncIterator[Delta | Reply]:
        yield self.replies[request.index]


async def test_a_string_of_another_class_becomes_a_string_wherever_it_stands() -> None:
    asks = Reply(
        (ToolCall(id=Odd("c1"), tool=Name.WORK, args={Odd("word"): Odd("it")}, details={"k": Odd("v")}),),
        Usage(1, 1, 1),
        Odd("odd-1"),
        {"k": Odd("v")},
    )
    done = await Agent("a", model=Says(asks, Reply((Text(text=Odd("done")),))), tools=[work]).run("go")
    assert done.output == "done"
    said = done.checkpoint.to_json()
    assert "worked it" in said
    assert "odd-1" in said
    assert "another string" not in said


@pytest.mark.parametrize(
    ("reply", "where"),
    [
        (Reply((Text(text=b"bytes"),)), r"parts\[0\]\.text"),  # pyright: ignore[reportArgumentType]
        (Reply((Text(text="a"), ToolCall(id=None, tool="work"))), r"parts\[1\]\.id"),  # pyright: ignore[reportArgumentType]
        (Reply(("words",)), r"parts\[0\]"),  # pyright: ignore[reportArgumentType]
        (Reply((Opaque(details={"k": object()}),)), r"parts\[0\]\.details"),
        (Reply((), Usage(1, "many", 0)), "usage"),  # pyright: ignore[reportArgumentType]
        (Reply((), 3), "usage"),  # pyright: ignore[reportArgumentType]
        (Reply((), Usage(), None), "model"),  # pyright: ignore[reportArgumentType]
        (Reply((), Usage(), "m", {"k": {1, object()}}), "details"),
    ],
)
async def test_what_cannot_be_recorded_fails_its_step_by_name(reply: Reply, where: str) -> None:
    with pytest.raises(RunFailed, match=rf"odd gave a reply that cannot be recorded: .*{where}") as caught:
        await Agent("a", model=Says(reply)).run("go")
    assert caught.value.checkpoint is not None


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        (Usage(1, 2, 3, 1, 0.5), Usage(1, 2, 3, 1, 0.5)),
        (Usage(1, -5, -1, -3, -0.25), Usage(1, 0, 0, 0, 0.0)),
        (Usage(1, 2**63, 10**400, 2**64, 1e300), Usage(1, 10**12, 10**12, 10**12, 1e12)),
    ],
)
def test_what_a_provider_says_was_used_can_be_added_up_and_takes_nothing_back(said: Usage, kept: Usage) -> None:
    assert recordable(Reply((Text(text="hi"),), said), "m").usage == kept
