"""Secret results and resources: a body has them, the next body can have them, and nothing else does."""

from typing import Annotated, Any

import pytest

from adjourn import Agent, Cancelled, Completed, InDoubt, InvalidDefinition, Policy, Resource, Tool, ask, testing, tool
from adjourn.core.messages import ToolResult
from adjourn.secrets import KeyRing, Secret
from adjourn.testing import ScriptedModel, call


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADJOURN_SECRET_KEYS", KeyRing.new_key())


def last_result(messages: Any) -> Any:
    return next(one.content for one in reversed(messages) if isinstance(one, ToolResult))


async def test_a_secret_result_goes_from_one_body_to_the_next_and_nowhere_else() -> None:
    used: list[str] = []

    @tool
    async def make_key() -> Annotated[str, Secret("key")]:
        """Make a key."""
        return "CANARY-0123456789"

    @tool
    async def use_key(key: Annotated[str, Secret("key")]) -> str:
        """Use it."""
        used.append(key)
        return f"used {key}"

    model = ScriptedModel(
        [call("make_key")],
        lambda messages: [call("use_key", key=last_result(messages))],
        lambda messages: str(last_result(messages)),
    )
    outcome = await Agent("a", model=model, tools=[make_key, use_key]).run("go")
    assert isinstance(outcome, Completed)
    assert (used, outcome.output) == (["CANARY-0123456789"], "used •••")
    assert "CANARY" not in outcome.checkpoint.to_json()


async def test_an_undo_gets_what_the_body_gave() -> None:
    undone: list[str] = []

    async def revoke(ctx: Any, args: dict[str, Any], result: str) -> None:
        undone.append(result)

    @tool(effect="unsafe", undo=revoke)
    async def make_key() -> Annotated[str, Secret()]:
        """Make a key."""
        return "CANARY-0123456789"

    @tool
    async def wait() -> str:
        """Wait."""
        return ""

    model = ScriptedModel([call("make_key")], [call("wait")], "done")
    agent = Agent("a", model=model, tools=[make_key, wait], policy=Policy([ask("wait")], default="allow"))
    async with testing.env([agent]) as env:
        run = await env.runtime.start(agent, "go")
        await env.settle()
        await run.cancel(by="ana")
        await env.settle()
        assert isinstance(await run.wait(), Cancelled)
        assert undone == ["CANARY-0123456789"]
        records = [record for _, record in await env.runtime.store.load(run.id)]
        assert "CANARY" not in str(records)


@pytest.mark.parametrize("answers", ["async", "sync"])
async def test_what_a_verify_finds_is_sealed(answers: str) -> None:
    def found(ctx: Any, args: dict[str, Any]) -> tuple[str, str]:
        return "happened", "CANARY-0123456789"

    async def found_later(ctx: Any, args: dict[str, Any]) -> tuple[str, str]:
        return found(ctx, args)

    @tool(effect="verifiable", verify=found_later if answers == "async" else found)
    async def make_key() -> Annotated[str, Secret()]:
        """Make a key."""
        raise InDoubt("who knows")

    outcome = await Agent("a", model=ScriptedModel([call("make_key")], "done"), tools=[make_key]).run("go")
    assert isinstance(outcome, Completed)
    assert "CANARY" not in outcome.checkpoint.to_json()
    assert "•••" in outcome.checkpoint.to_json()


async def test_a_secret_resource_is_in_no_result_and_in_no_error() -> None:
    @tool
    async def show(key: Annotated[str, Resource("key"), Secret()]) -> str:
        """Show."""
        return f"it is {key}"

    @tool
    async def fail(key: Annotated[str, Resource("key"), Secret()]) -> str:
        """Fail."""
        raise ValueError(f"bad key {key}")

    agent = Agent("a", model=ScriptedModel([call("show"), call("fail")], "done"), tools=[show, fail])
    outcome = await agent.run("go", resources={"key": "CANARY-0123456789"})
    text = outcome.checkpoint.to_json()
    assert "CANARY" not in text
    assert "it is •••" in text and "bad key •••" in text


def test_what_cannot_be_sealed_is_refused_where_it_is_defined(monkeypatch: pytest.MonkeyPatch) -> None:
    def number() -> Annotated[int, Secret()]:
        """A number."""
        return 1

    def key() -> Annotated[str, Secret()]:
        """A key."""
        return ""

    with pytest.raises(InvalidDefinition, match=r"must be Annotated\[str, Secret\(\)\]"):
        tool(number)
    with pytest.raises(InvalidDefinition, match="needs a schema from the signature"):
        Tool("key", "A key.", {"type": "object", "properties": {}}, key)
    monkeypatch.delenv("ADJOURN_SECRET_KEYS")
    with pytest.raises(InvalidDefinition, match="its result is a Secret, and there is no key"):
        tool(key)
