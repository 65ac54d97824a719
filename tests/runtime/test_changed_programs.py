"""A run that no present worker fits: what is no change, where it is said, and how a person settles it for one run."""

import asyncio
import json
from pathlib import Path
from typing import Annotated, Any, cast

import pytest
from pydantic import BaseModel, Field
from tests.runtime.world import LIMIT
from typer.testing import CliRunner

from adjourn import Agent, NotAllowed, Policy, ProgramChanged, Refused, Runtime, ask, tool
from adjourn.cli.command_table import app
from adjourn.core.program_changes import changes
from adjourn.core.records import Accepted
from adjourn.testing import ScriptedModel, call


class Money(BaseModel):
    cents: int


class Tip(BaseModel):
    to: str = "all"


def shop(version: int, paid: list[Any]) -> Agent[Any]:
    """The same agent, deployed again and again."""

    @tool(name="refund")
    async def first(order: str) -> str:
        """Refund."""
        paid.append((1, order))
        return "refunded"

    @tool(name="refund")
    async def optional(order: str, currency: str = "EUR") -> str:
        """Refund, in a currency."""
        paid.append((2, order, currency))
        return "refunded"

    @tool(name="refund")
    async def required(order: str, reason: str) -> str:
        """Refund, for a reason."""
        paid.append((3, order, reason))
        return "refunded"

    @tool(name="refund")
    async def renamed(order_id: str) -> str:
        """Refund."""
        paid.append((4, order_id))
        return "refunded"

    tools = {1: first, 2: optional, 3: required, 4: renamed}
    model = ScriptedModel([call("refund", order="A1")], "done")
    return Agent("shop", model=model, tools=[tools[version]], policy=Policy([ask("refund")]))


def fingerprint(*tools: Any) -> dict[str, Any]:
    return Agent("a", model=ScriptedModel("x"), tools=list(tools)).fingerprint


def _first(of: Any) -> Any:
    return cast(Any, of[0] if isinstance(of, tuple) else of)


def _tool(effect: str = "unsafe", **parameters: Any) -> Any:
    """A tool of these parameters: a type, or a type and a default."""
    source = ", ".join(f"{name}=D[{name!r}]" if isinstance(of, tuple) else name for name, of in parameters.items())
    types: dict[str, Any] = {name: _first(of) for name, of in parameters.items()}
    space: dict[str, Any] = {"D": {name: of[1] for name, of in parameters.items() if isinstance(of, tuple)}}
    exec(f"async def work({source}): return ''", space)
    made = space["work"]
    made.__annotations__ = {**types, "return": str}
    made.__doc__ = "Work."
    return tool(effect=effect)(made)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("then", "now", "same"),
    [
        ({"a": str}, {"a": str, "b": (str, "x")}, True),
        ({"a": str}, {"a": str, "b": (int, 1), "c": (Money | None, None)}, True),
        ({"a": Money}, {"a": Money, "b": (Tip, Tip())}, True),
        ({"a": str, "b": (str, "x")}, {"a": str, "c": (str, "y"), "b": (str, "x")}, True),
        ({}, {"a": (str, "x")}, True),
        ({"a": str}, {"a": str, "b": str}, False),
        ({"a": str}, {"a": (str, "x")}, False),
        ({"a": (str, "x")}, {"a": str}, False),
        ({"a": str}, {"a": int}, False),
        ({"a": str, "b": (str, "x")}, {"a": str}, False),
        ({"a": (str, "x")}, {"a": (str, "y")}, False),
        ({"a": str}, {"a": Annotated[str, Field(max_length=3)], "b": (str, "x")}, False),
        ({"a": str}, {"b": (str, "x")}, False),
    ],
)
def test_more_arguments_that_may_be_left_out_are_no_change_and_all_else_is(
    then: dict[str, Any], now: dict[str, Any], same: bool
) -> None:
    old, new = fingerprint(_tool(**then)), fingerprint(_tool(**now))
    found = changes("a", old, new)
    assert (found == []) is same, found


def test_another_effect_is_a_change_whatever_the_arguments() -> None:
    old, new = fingerprint(_tool(a=str)), fingerprint(_tool("idempotent", a=str, b=(str, "x")))
    assert changes("a", old, new) == ["tool 'work' has another schema or effect"]


def test_a_run_from_before_arguments_were_told_apart_is_compared_as_a_whole() -> None:
    old = {name: part for name, part in fingerprint(_tool(a=str)).items() if name != "parameters"}
    assert changes("a", old, fingerprint(_tool(a=str))) == []
    assert changes("a", old, fingerprint(_tool(a=str, b=(str, "x")))) != []


@pytest.fixture
def db(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/runs.db"


async def _approved(db: str, paid: list[Any]) -> None:
    """A run of the first version, parked at its approval, which is then given; no worker is there."""
    agent = shop(1, paid)
    async with Runtime(db, [agent]) as rt:
        await (await rt.start(agent, "go", run_id="r1", by="olga")).wait(LIMIT)
        await (await rt.start(agent, "go", run_id="r2", by="olga")).wait(LIMIT)
    async with Runtime(db, work=False) as rt:
        for item in await rt.inbox():
            await rt.approve(item.id, by="ana")


async def test_an_optional_argument_more_lets_the_run_go_on_and_asks_again_about_what_changed(db: str) -> None:
    paid: list[Any] = []
    await _approved(db, paid)
    async with Runtime(db, [shop(2, paid)]) as rt:
        run = await rt.get("r1")
        outcome = await run.wait(LIMIT)
        assert outcome.status == "waiting", "what was agreed to had no currency"
        [item] = await rt.inbox(run="r1")
        assert item.call is not None and item.call.arguments == {"order": "A1", "currency": "EUR"}
        await rt.approve(item.id, by="ana")
        assert (await run.wait(LIMIT)).status == "completed"
        assert paid == [(2, "A1", "EUR")]


async def _refused(db: str, paid: list[Any]) -> None:
    async with Runtime(db, [shop(3, paid)]) as rt:
        for name in ("r1", "r2"):
            with pytest.raises(ProgramChanged, match="adjourn accept"):
                await (await rt.get(name)).wait(LIMIT)


def cli(db: str, *words: str) -> Any:
    result = CliRunner().invoke(app, [*words, "--db", db])
    assert result.exit_code == 0, result.output
    return result.output


async def test_a_run_that_no_worker_fits_says_so_wherever_people_look(db: str) -> None:
    paid: list[Any] = []
    await _approved(db, paid)
    await _refused(db, paid)
    why = "tool 'refund' has another schema or effect"
    for words in (("runs", "--json"), ("show", "r1", "--json"), ("doctor", "--json")):
        said = await asyncio.to_thread(CliRunner().invoke, app, [*words, "--db", db])
        assert why in said.output, words
    doctor = await asyncio.to_thread(CliRunner().invoke, app, ["doctor", "--db", db])
    assert "adjourn accept" in doctor.output and "all have workers" not in doctor.output


async def test_accepting_is_for_one_run_is_recorded_and_survives(db: str) -> None:
    paid: list[Any] = []
    await _approved(db, paid)
    await _refused(db, paid)
    told = await asyncio.to_thread(cli, db, "accept", "r1", "--by", "ana", "--json")
    assert json.loads(told) == {
        "run_id": "r1", "accepted": ["tool 'refund' has another schema or effect"], "by": "ana",
    }  # fmt: skip
    async with Runtime(db, [shop(3, paid)]) as rt:
        run = await rt.get("r1")
        outcome = await run.wait(LIMIT)
        assert outcome.status == "completed", "its call lacks what the tool needs now: the model is told so"
        assert paid == []
        with pytest.raises(ProgramChanged):
            await (await rt.get("r2")).wait(LIMIT)
        [line] = [x for x in await run.audit() if x.verb == "accept"]
        assert line.by == "ana" and line.more["changes"] == ["tool 'refund' has another schema or effect"]
        assert [x.by for _, x in await rt.store.load("r1") if isinstance(x, Accepted)] == ["ana"]
        assert await rt.verify() == []
        assert [m.run for m in await rt.store.misfits()] == ["r2"]


async def test_a_worker_that_had_refused_a_run_takes_it_once_it_is_accepted(db: str) -> None:
    paid: list[Any] = []
    await _approved(db, paid)
    async with Runtime(db, [shop(3, paid)]) as rt, Runtime(db, work=False) as elsewhere:
        run = await rt.get("r1")
        with pytest.raises(ProgramChanged):
            await run.wait(LIMIT)
        await (await elsewhere.get("r1")).accept(by="ana")
        rested = asyncio.Event()
        end = rt.store.subscribe("r1", rested.set)
        async with asyncio.timeout(LIMIT):
            while (await rt.store.get("r1")).status != "completed":
                await rested.wait()
                rested.clear()
        end()


async def test_what_was_accepted_is_that_version_and_no_later_one(db: str) -> None:
    paid: list[Any] = []
    await _approved(db, paid)
    async with Runtime(db, [shop(3, paid)]) as rt:
        with pytest.raises(ProgramChanged):
            await (await rt.get("r1")).wait(LIMIT)
    async with Runtime(db, work=False) as rt:
        await (await rt.get("r1")).accept(by="ana")
    async with Runtime(db, [shop(4, paid)]) as rt:
        with pytest.raises(ProgramChanged):
            await (await rt.get("r1")).wait(LIMIT)
        assert paid == []


async def test_a_run_cannot_accept_for_itself_nor_what_nobody_refused(db: str) -> None:
    paid: list[Any] = []
    await _approved(db, paid)
    async with Runtime(db, work=False) as rt:
        with pytest.raises(Refused, match="no worker has refused it"):
            await (await rt.get("r1")).accept(by="ana")
    await _refused(db, paid)
    async with Runtime(db, work=False) as rt:
        for who in ("shop", "@worker", "r1"):
            with pytest.raises(NotAllowed):
                await (await rt.get("r1")).accept(by=who)
