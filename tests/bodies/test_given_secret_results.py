"""A result that is a secret is sealed before it is recorded, also one that a person gives."""

from pathlib import Path
from typing import Annotated, Any, Literal

import pytest

from adjourn import Agent, Decision, InvalidAnswer, Runtime, is_paused, tool
from adjourn.core.records import Decided
from adjourn.core.secret_places import looks_sealed
from adjourn.errors import InDoubt
from adjourn.secrets import KeyRing, Secret
from adjourn.testing import ScriptedModel, call

GIVEN = "canary-given-Zq7Lw3Xv9"


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADJOURN_SECRET_KEYS", KeyRing.new_key())


class Vault:
    """What the tool made."""

    def __init__(self) -> None:
        self.made: list[str] = []

    def agent(self, policy: Literal["ask", "allow"], *, lost: bool = False) -> Agent[str]:
        @tool(policy=policy, effect="unsafe")
        async def new_key() -> Annotated[str, Secret("key")]:
            """Make a key."""
            self.made.append("made")
            if lost:
                raise InDoubt("the connection was lost")
            return "sk-1"

        return Agent("keys", model=ScriptedModel([call("new_key")], "Made."), tools=[new_key])


async def given(folder: Path, agent: Agent[str], answer: Any, *before: Any) -> list[Any]:
    """The records of a run in which a person answers like this, after what they answered `before`."""
    async with Runtime(f"sqlite:///{folder}/runs.db", [agent]) as rt:
        run = await rt.start(agent, "Make a key.", by="ana")
        for earlier in before:
            assert is_paused(asked := await run.wait(30))
            await rt.answer(asked.interrupts[0].id, earlier, by="erik")
        outcome = await run.wait(30)
        assert is_paused(outcome)
        [interrupt] = outcome.interrupts
        with pytest.raises(InvalidAnswer):
            await rt.answer(interrupt.id, wrong_of(answer), by="erik")
        await rt.answer(interrupt.id, answer, by="erik", request_id="one")
        await rt.answer(interrupt.id, answer, by="erik", request_id="one")
        assert (await run.wait(30)).output == "Made."
        records = [record for _, record in await rt.store.load(run.id)]
    for file in folder.iterdir():
        assert GIVEN.encode() not in file.read_bytes(), file.name
    return records


def wrong_of(answer: Any) -> Any:
    """The same answer with a result that is no string."""
    if isinstance(answer, Decision):
        return Decision.instead(7)
    return {**answer, "result": 7}


async def test_given_instead_of_the_tool(tmp_path: Path) -> None:
    vault = Vault()
    records = await given(tmp_path, vault.agent("ask"), Decision.instead(GIVEN))
    [decided] = [record for record in records if isinstance(record, Decided)]
    assert looks_sealed(decided.value["instead"]) and vault.made == []


@pytest.mark.parametrize("policy", ["ask", "allow"])
async def test_given_of_a_call_in_doubt(policy: Literal["ask", "allow"], tmp_path: Path) -> None:
    vault = Vault()
    answers = [Decision.approve()] if policy == "ask" else []
    records = await given(tmp_path, vault.agent(policy, lost=True), {"choice": "happened", "result": GIVEN}, *answers)
    told = [record for record in records if isinstance(record, Decided)][-1]
    assert looks_sealed(told.value["result"]) and vault.made == ["made"]
