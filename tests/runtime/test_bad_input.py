"""Who does something, and why, is a text: whoever gives anything else reads so, and nothing has changed."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from tests.runtime.world import LIMIT

from adjourn import Agent, Policy, Run, Runtime, ask, tool
from adjourn.errors import Invalid, InvalidDefinition
from adjourn.testing.scripted import ScriptedModel, call

Verb = Callable[[Runtime, Run[Any], Any], Awaitable[Any]]

WHO: dict[str, Verb] = {
    "start": lambda rt, _, x: rt.start(rt.programs["payer"], "go", by=x, run_id="another"),
    "start in a session": lambda rt, _, x: rt.start(
        rt.programs["payer"], "go", session=x, after=None, run_id="another"
    ),
    "pause": lambda _, run, x: run.pause(by=x),
    "say": lambda _, run, x: run.say("hello", by=x),
    "cancel": lambda _, run, x: run.cancel(by=x),
    "cancel for a reason": lambda _, run, x: run.cancel(by="ann", reason=x),
    "emit": lambda _, run, x: run.emit("e", by=x),
    "approve": lambda rt, run, x: rt.approve(f"{run.id}:1.0?0", by=x),
    "continue_as_new": lambda _, run, x: run.continue_as_new(by=x),
    "continue_as_new for a reason": lambda _, run, x: run.continue_as_new(by="ann", why=x),
    "erase": lambda rt, _, x: rt.erase("old", by=x, reason="r"),
    "erase for a reason": lambda rt, _, x: rt.erase("old", by="ann", reason=x),
    "hold": lambda _, run, x: run.hold(by=x, reason="r"),
    "hold for a reason": lambda _, run, x: run.hold(by="ann", reason=x),
    "lift a hold": lambda _, run, x: run.hold(by=x, lift=True),
    "prune": lambda rt, _, x: rt.prune(older=0, by=x),
    "prune for a reason": lambda rt, _, x: rt.prune(older=0, by="ann", reason=x),
    "halt": lambda rt, _, x: rt.halt("*", by=x, reason="r"),
    "halt for a reason": lambda rt, _, x: rt.halt("*", by="ann", reason=x),
    "unhalt": lambda rt, _, x: rt.unhalt("*", by=x),
    "fork": lambda _, run, x: run.fork(at=1, by=x),
}
WRONG: list[Any] = [5, ["ann"], {"name": "ann"}, b"ann", True, "a\0b", "a\ud800b"]


def payer() -> Agent[str]:
    @tool(effect="unsafe")
    async def pay(cents: int) -> str:
        """Pay."""
        return "paid"

    return Agent("payer", model=ScriptedModel(call("pay", cents=1), "done"), tools=[pay], policy=Policy([ask("pay")]))


def talker() -> Agent[str]:
    return Agent("talker", model=ScriptedModel("hello"))


@pytest.mark.parametrize("verb", WHO)
async def test_whoever_acts_and_why_is_a_text_and_nothing_else_is_written(verb: str, tmp_path: Path) -> None:
    async with Runtime(f"sqlite:///{tmp_path / 'a.db'}", [payer(), talker()]) as rt:
        await (await rt.start(rt.programs["talker"], "hi", run_id="old", by="ana")).wait(LIMIT)
        run = await rt.start(rt.programs["payer"], "go", run_id="r", by="ana")
        await run.wait(LIMIT)
        before = [await rt.store.get("old"), await rt.store.get("r"), await rt.store.hold(""), await rt.store.halt("")]
        for wrong in WRONG:
            with pytest.raises((Invalid, InvalidDefinition)) as found:
                await WHO[verb](rt, run, wrong)
            assert "TypeError" not in str(found.value)
        after = [await rt.store.get("old"), await rt.store.get("r"), await rt.store.hold(""), await rt.store.halt("")]
        assert after == before
        assert await rt.store.verify() == []
        assert (await run.wait(LIMIT)).status == "waiting", "it can still be read"


@pytest.mark.parametrize("wrong", [5, None, "", "run", "label:x", b"run:r"])
async def test_a_scope_is_said_to_be_none(wrong: Any, tmp_path: Path) -> None:
    async with Runtime(f"sqlite:///{tmp_path / 'a.db'}", [talker()]) as rt:
        for verb in (rt.hold, rt.halt):
            with pytest.raises(InvalidDefinition, match="scope"):
                await verb(wrong, by="ann", reason="r")


@pytest.mark.parametrize("wrong", ["", 5, b""])
async def test_an_archive_is_a_folder_or_left_out(wrong: Any, tmp_path: Path) -> None:
    async with Runtime(f"sqlite:///{tmp_path / 'a.db'}", [talker()]) as rt:
        await (await rt.start(rt.programs["talker"], "hi", run_id="old", by="ana")).wait(LIMIT)
        with pytest.raises(InvalidDefinition, match="archive= must be a folder"):
            await rt.prune(older=0, by="ann", archive=wrong)
        assert (await rt.store.get("old")).id == "old"
        with pytest.raises(InvalidDefinition, match="only runs that have ended"):
            await rt.prune(older=0, by="ann", status=5)  # pyright: ignore[reportArgumentType]
    with pytest.raises(InvalidDefinition, match="archive= must be a folder"):
        Runtime(f"sqlite:///{tmp_path / 'a.db'}", [talker()], retain="1d", archive=wrong)


async def test_what_is_no_run_and_no_time_is_said_to_be_none(tmp_path: Path) -> None:
    async with Runtime(f"sqlite:///{tmp_path / 'a.db'}", [talker()]) as rt:
        run = await rt.start(rt.programs["talker"], "hi", by="ana")
        with pytest.raises(Invalid, match="a run or its id"):
            await rt.advance(5)  # pyright: ignore[reportArgumentType]
        with pytest.raises(InvalidDefinition, match="timeout"):
            await run.wait("soon")  # pyright: ignore[reportArgumentType]
