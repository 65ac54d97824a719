"""A call that the store does not let begin: a person is asked, once, and nothing spins."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from adjourn import Agent, Policy, RunFailed, Runtime, ask, tool
from adjourn.agent.conversations import Conversations
from adjourn.core.records import Asked, Intended, Returned
from adjourn.testing import ScriptedModel, call

ran: list[str] = []


@tool(effect="unsafe")
async def pay(cents: int) -> str:
    """Pay."""
    ran.append(f"pay {cents}")
    return "paid"


@tool(effect="unsafe")
async def note(text: str) -> str:
    """Note."""
    ran.append(f"note {text}")
    return "noted"


def clerk() -> Agent:
    model = ScriptedModel([call("note", text="a"), call("pay", cents=1), call("pay", cents=2)], "done")
    return Agent(
        "clerk", model=model, tools=[pay, note], policy=Policy([ask("pay", groups=["leads"])], default="allow")
    )


@pytest.fixture(params=["memory", "sqlite"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return "memory://" if request.param == "memory" else f"sqlite:///{tmp_path}/runs.db"


def never_asked(*judged: object) -> Intended:
    """A plan that names a question which nobody was ever asked."""
    [intended] = [x for x in judged if isinstance(x, Intended)]
    return replace(intended, grant="1.1?0")


async def test_g33_a_forged_intent_becomes_a_question_and_what_ran_beside_it_is_kept(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran.clear()
    monkeypatch.setattr(Conversations, "_agreed", never_asked)
    async with Runtime(address, [clerk()]) as rt:
        run = await rt.start(clerk(), "go", run_id="r", by="eve")
        with pytest.raises(RunFailed, match="cannot start: no person was asked"):
            await run.wait(60)
        records = [record for _, record in await rt.store.load("r")]
        assert ran == ["note a"]
        assert [x.call for x in records if isinstance(x, Returned)] == ["1.0"]
        assert [x.call for x in records if isinstance(x, Intended)] == ["1.0"]
        assert len([x for x in records if isinstance(x, Asked)]) == 2, "each is asked about once"
        monkeypatch.undo()
        await run.resume(by="ana")
        await run.wait(60)
        for item in await rt.inbox():
            await rt.approve(item.id, by="ana", groups=["leads"])
        assert (await run.wait(60)).status == "completed"
    assert sorted(ran) == ["note a", "pay 1", "pay 2"]
