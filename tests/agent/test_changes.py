"""A run goes on under the definition it was started with, or is refused by name; words and places are not part of it."""

import warnings
from collections.abc import Callable
from typing import Annotated, Any

import pytest
from pydantic import Field
from tests.agent.words import last

from adjourn import (
    Agent,
    Decision,
    Paused,
    Policy,
    ProgramChanged,
    Resource,
    Tool,
    ToolContext,
    allow,
    ask,
    deny,
    gt,
    is_paused,
    tool,
)
from adjourn.core.records import Intended
from adjourn.testing import ScriptedModel, call


async def _refund(order: str, cents: int) -> str:
    """Refund an order."""
    return f"refunded {cents}"


async def _lookup(order: str) -> str:
    """Look an order up."""
    return "found"


POLICY = Policy([ask("refund*", when={"cents": gt(100)}), allow("*")])


def make(**changes: Any) -> Agent:
    options: dict[str, Any] = {
        "name": "refunds",
        "tools": [tool(name="refund")(_refund), tool(name="lookup", effect="read")(_lookup)],
        "policy": POLICY,
        "model": ScriptedModel([call("refund", order="1", cents=500)], last),
    }
    options |= changes
    return Agent(options.pop("name"), **options)


async def paused() -> Paused:
    outcome = await make().run("go")
    assert is_paused(outcome)
    return outcome


async def renamed(reference: str, cents: int) -> str:
    """Refund an order."""
    return ""


async def typed(order: str, cents: float) -> str:
    """Refund an order."""
    return ""


async def optional(order: str, cents: int = 5) -> str:
    """Refund an order."""
    return ""


async def bounded(order: str, cents: Annotated[int, Field(le=1000)]) -> str:
    """Refund an order."""
    return ""


async def take_back(ctx: ToolContext, args: dict[str, Any], result: Any) -> None: ...


LOOKUP = tool(name="lookup", effect="read")(_lookup)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"name": "payouts"}, "the run is of 'refunds', not of 'payouts'"),
        ({"tools": [LOOKUP]}, "tool 'refund' is gone"),
        ({"tools": [LOOKUP, tool(name="repay")(_refund)]}, "tool 'refund' is gone; new: 'repay' (renamed?)"),
        ({"tools": [LOOKUP, tool(name="refund")(renamed)]}, "tool 'refund' has another schema"),
        ({"tools": [LOOKUP, tool(name="refund")(typed)]}, "tool 'refund' has another schema"),
        ({"tools": [LOOKUP, tool(name="refund")(optional)]}, "tool 'refund' has another schema"),
        ({"tools": [LOOKUP, tool(name="refund")(bounded)]}, "tool 'refund' has another schema"),
        ({"policy": None}, "the policy's «ask refund* when cents > 100» is gone"),
        ({"policy": Policy([ask("refund*", when={"cents": gt(1000)}), allow("*")])}, "«ask refund* when cents > 100» is gone"),
        ({"policy": Policy([*POLICY.rules, allow("refund")])}, "the policy's «allow refund» is new"),
        ({"policy": Policy(POLICY.rules, default="allow")}, "«default allow» is new"),
        ({"output_type": int}, "the output type is different"),
    ],
)  # fmt: skip
async def test_a_changed_definition_is_refused_naming_what_changed(changes: dict[str, Any], said: str) -> None:
    saved = (await paused()).checkpoint.to_json()
    with pytest.raises(ProgramChanged) as caught:
        await make(**changes).resume(saved, True)
    assert said in str(caught.value)
    assert 'on_change="warn"' in str(caught.value)
    assert (await make().resume(saved, True)).output == "refunded 500"


def documented() -> Callable[..., Any]:
    async def _refund(  # another line, another file, another place
        order: Annotated[str, Field(description="Which order.")],
        cents: int,
        ctx: ToolContext | None = None,
    ) -> str:
        """Give money back.

        Args:
            cents: How much, in cents.
        """
        return f"refunded {cents}"

    _refund.__annotations__.pop("ctx")
    return _refund


def injected() -> Callable[..., Any]:
    async def refund(cents: int, ctx: ToolContext, order: str, bank: Annotated[Any, Resource("bank")]) -> str:
        """Refund."""
        return f"refunded {cents}"

    return refund


async def another_body(order: str, cents: int) -> str:
    """Words only."""
    del order
    return f"refunded {cents}"


@pytest.mark.parametrize(
    "changes",
    [
        {"tools": [LOOKUP, tool(name="refund", description="Refund an order.")(another_body)]},
        {"tools": [tool(name="refund")(_refund), LOOKUP]},
        {"tools": [LOOKUP, tool(name="refund")(_refund), tool(name="more")(_lookup)]},
        {"policy": Policy([allow("*"), ask("refund*", when={"cents": gt(100)}), deny("wire*")])},
        {"instructions": "Other instructions."},
        {"settings": {"temperature": 1}},
        {"retries": 9},
    ],
)
async def test_words_order_and_what_only_tightens_change_nothing(changes: dict[str, Any]) -> None:
    saved = (await paused()).checkpoint.to_json()
    assert (await make(**changes).resume(saved, True)).output == "refunded 500"


@pytest.mark.parametrize(
    "changed",
    [
        tool(name="refund", description="Refund ANY order.")(_refund),
        tool(name="refund", undo=take_back)(_refund),
        tool(name="refund", timeout=5)(_refund),
    ],
    ids=["description", "undo", "timeout"],
)
async def test_what_was_shown_and_has_changed_is_asked_once_more_and_strands_nothing(changed: Tool) -> None:
    agent = make(tools=[LOOKUP, changed])
    again = await agent.resume((await paused()).checkpoint.to_json(), True)
    assert is_paused(again)
    assert not [r for r in again.checkpoint.records if isinstance(r, Intended)]
    assert (await agent.resume(again.checkpoint.to_json(), True)).output == "refunded 500"


async def test_an_injected_parameter_is_not_part_of_the_definition() -> None:
    saved = (await paused()).checkpoint.to_json()
    agent = make(tools=[LOOKUP, tool(name="refund", description="Refund an order.")(injected())])
    assert (await agent.resume(saved, True, resources={"bank": object()})).output == "refunded 500"


async def test_warn_goes_on_and_says_what_changed() -> None:
    saved = (await paused()).checkpoint.to_json()
    changed = make(policy=Policy([*POLICY.rules, allow("refund")]))
    with pytest.warns(UserWarning, match="«allow refund» is new"):
        assert (await changed.resume(saved, True, on_change="warn")).output == "refunded 500"
    with pytest.warns(UserWarning, match="«allow refund» is new"):
        lenient = make(policy=Policy([*POLICY.rules, allow("refund")]), on_change="warn")
        assert (await lenient.resume(saved, True)).output == "refunded 500"
    with pytest.raises(ProgramChanged):
        await lenient.resume(saved, True, on_change="refuse")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        await make(on_change="warn").resume(saved, True)


async def test_a_changed_tool_voids_the_approval_of_the_old_one() -> None:
    """Accepted with a warning, the call is asked about again: what was approved is not what would run."""
    saved = (await paused()).checkpoint.to_json()
    changed = make(tools=[LOOKUP, tool(name="refund")(optional)], on_change="warn")
    with pytest.warns(UserWarning, match="'refund' has another schema"):
        outcome = await changed.resume(saved, Decision.approve())
    assert is_paused(outcome)
    assert [i.call.tool for i in outcome.interrupts if i.call] == ["refund"]
    assert not [r for r in outcome.checkpoint.records if isinstance(r, Intended)]


async def test_a_tool_that_is_gone_is_told_to_the_model_when_the_run_goes_on_anyway() -> None:
    saved = (await paused()).checkpoint.to_json()
    with pytest.warns(UserWarning, match="'refund' is gone"):
        done = await make(tools=[LOOKUP], on_change="warn").resume(saved, True)
    assert done.output == "there is no tool 'refund'; the tools are: lookup"


def test_the_fingerprint_of_an_explicit_schema_is_its_shape() -> None:
    def shape(**schema: Any) -> Any:
        one = Tool("t", "words", {"type": "object", "properties": {"a": {"type": "string"}}, **schema}, print)
        return make(tools=[one]).fingerprint["tools"]

    assert shape() == shape(description="other words", title="T")
    assert shape() != shape(required=["a"])
