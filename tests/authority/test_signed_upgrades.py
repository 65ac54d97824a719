"""With deciders, an upgrade believes what was signed as it was signed, or leaves the run alone."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.authority.test_signed import ask_operator, journal, rest, waiting

from adjourn import Agent, Policy, ProgramChanged, Runtime, ask, register_upgrader, tool
from adjourn.core.journal_authority import violations
from adjourn.driver.decider_keys import SigningKey
from adjourn.stores.memory import MemoryStore
from adjourn.stores.protocol import Store
from adjourn.stores.sqlite import SQLiteStore
from adjourn.testing.oracle import every_transaction
from adjourn.testing.scripted import ScriptedModel, call

paid: list[int] = []


@pytest.fixture(autouse=True)
def checked() -> Iterator[None]:
    """Rows equal the fold in every transaction."""
    paid.clear()
    with every_transaction() as oracle:
        yield
    register_upgrader("clerk", None)
    assert not oracle.failures


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    made = MemoryStore() if request.param == "memory" else SQLiteStore(str(tmp_path / "a.db"))
    yield made
    await made.close()


def renamed(name: str, argument: str) -> Agent:
    """The clerk, whose tool and its argument have other names."""

    @tool(name=name)
    async def first(cents: int) -> str:
        """Pay money back."""
        paid.append(cents)
        return f"paid {cents}"

    @tool(name=name)
    async def second(amount: int) -> str:
        """Pay money back."""
        paid.append(amount)
        return f"paid {amount}"

    words = [[call(name, **{argument: 500})], [call("ask_operator", question="sure?")]]
    policy = Policy([ask(name)], default="allow")
    tools = [first if argument == "cents" else second, ask_operator]
    return Agent("clerk", model=ScriptedModel(*words, "done"), tools=tools, policy=policy)


def upgrade(records: list[dict[str, Any]], changes: list[str]) -> list[dict[str, Any]]:
    for named in [*records, *(part for record in records for part in record.get("parts", ()))]:
        if named.get("tool") == "refund":
            named["tool"] = "pay"
        for key in ("args", "edit"):
            if "cents" in (named.get(key) or {}):
                named[key] = {"amount": named[key]["cents"]}
    return records


@pytest.mark.parametrize("used", [False, True])
@pytest.mark.parametrize("edit", [None, {"cents": 7}])
async def test_an_upgrade_believes_signed_decisions_as_they_are_or_leaves_the_run_alone(
    store: Store, edit: dict[str, int] | None, used: bool
) -> None:
    """What was agreed to and not used is asked for again. What somebody has signed is never read as something else."""
    server, old = SigningKey.new(), renamed("refund", "cents")
    async with (
        Runtime(store, [old], deciders=[server.line("prod")]) as worker,
        Runtime(store, signing_key=server) as desk,
    ):
        run = await worker.start(old, "go", by="eve")
        item = await waiting(worker, run)
        if not used:
            await run.pause(by="ana")
        await desk.approve(item.id, by="ana", edit=edit)
        await rest(worker, run)
    register_upgrader("clerk", upgrade)
    async with (
        Runtime(store, [renamed("pay", "amount")], deciders=[server.line("prod")]) as worker,
        Runtime(store, signing_key=server) as desk,
    ):
        if used:
            [item] = await desk.inbox(run=run.id)
            await desk.answer(item.id, "yes", by="ana")
        else:
            await (await worker.get(run.id)).resume(by="ana")
        if edit:
            with pytest.raises(ProgramChanged, match="ana has signed these arguments"):
                await rest(worker, run)
            assert paid == ([7] if used else [])
            return
        outcome = await rest(worker, run)
        if not used:
            [item] = await desk.inbox(run=run.id)
            assert item.call and (item.call.tool, item.call.arguments) == ("pay", {"amount": 500})
            assert paid == []
            await desk.approve(item.id, by="ana")
            item = await waiting(worker, run)
            await desk.answer(item.id, "yes", by="ana")
            outcome = await rest(worker, run)
        assert outcome.status == "completed" and paid == [500]
        assert list(violations(await journal(store, run))) == []
        assert await worker.verify() == []
