"""Plain parameters are described and read as pydantic would, to the byte, and pydantic is not loaded for them."""

import inspect
import json
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adjourn import ToolContext
from adjourn.bodies.argument_schema import argument_schema
from adjourn.bodies.plain_arguments import PlainArguments
from adjourn.bodies.signature import ArgumentError, Signature

VALUES: dict[type, st.SearchStrategy[Any]] = {
    str: st.text(max_size=5) | st.sampled_from(["", "5", "true", "é", "\ud800", "1.5"]),
    int: st.integers(-(2**70), 2**70) | st.sampled_from([0, 1]),
    bool: st.booleans(),
    float: st.floats(width=64) | st.sampled_from([0.0, -0.0, 1.0, 2.0]),
}
ANYTHING = st.one_of(*VALUES.values(), st.none(), st.lists(st.integers(0, 1), max_size=1))
NAMES = ["a", "json", "schema", "model_x", "p0", "class_"]


@st.composite
def signatures(draw: st.DrawFn) -> Signature:
    parameters: list[inspect.Parameter] = []
    lines: list[str] = []
    for name in draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=4, unique=True)):
        kind = draw(st.sampled_from(list(VALUES)))
        default = draw(VALUES[kind]) if draw(st.booleans()) else inspect.Parameter.empty
        parameters.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind))
        if draw(st.booleans()):
            lines.append(f'        {name}: what {name} is, "quoted" and é')

    def function(**_: Any) -> None: ...

    function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    function.__annotations__ = {p.name: p.annotation for p in parameters}
    function.__doc__ = "Do it.\n\n    Args:\n" + "\n".join(lines)
    return Signature.of(function, "work", ToolContext)


def by_pydantic(signature: Signature) -> Signature:
    """The same, which does not know that it is plain."""
    other = Signature(**{name: getattr(signature, name) for name in signature.__struct_fields__})
    vars(other)["_plain"] = None
    return other


def read(signature: Signature, args: dict[str, Any]) -> tuple[str, ...]:
    try:
        values, shown = signature.validate(args)
    except ArgumentError as e:
        return ("refused", str(e))
    return ("read", repr(values), json.dumps(shown))


@settings(max_examples=300, deadline=None)
@given(signatures())
def test_the_schema_is_the_same_to_the_byte(signature: Signature) -> None:
    plain = PlainArguments.of(signature.parameters, signature.hints)
    if plain is None:  # a default that is no JSON, or larger than any
        return
    made, known = plain.schema(signature.described), argument_schema(by_pydantic(signature)._model)  # pyright: ignore[reportPrivateUsage]
    assert json.dumps(made.told) == json.dumps(known.told)
    assert json.dumps(made.complete) == json.dumps(known.complete)
    assert made.sets is known.sets is None


@settings(max_examples=500, deadline=None)
@given(signatures(), st.data())
def test_arguments_are_read_or_refused_as_before(signature: Signature, data: st.DataObject) -> None:
    names = st.sampled_from([*signature.parameters, "other"])
    args: dict[str, Any] = data.draw(st.dictionaries(names, ANYTHING, max_size=5))
    for name, parameter in signature.parameters.items():
        if data.draw(st.booleans()):
            args[name] = data.draw(VALUES[parameter.annotation])
    assert read(signature, args) == read(by_pydantic(signature), args)


@pytest.mark.parametrize(
    ("annotation", "default"),
    [
        (str | None, None),
        (list[str], inspect.Parameter.empty),
        (int, "5"),
        (int, True),
        (float, 1),
        (str, None),
        (Any, 1),
    ],
)
def test_what_is_not_plain_goes_the_other_way(annotation: Any, default: Any) -> None:
    parameter = inspect.Parameter("x", inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
    assert PlainArguments.of({"x": parameter}, {"x": annotation}) is None


SCRIPT = """
import asyncio, sys
from adjourn import Agent, Policy, Runtime, allow, ask, tool
from adjourn.testing import ScriptedModel, call

@tool(effect="unsafe")
async def pay(order: str, cents: int, urgent: bool = False) -> str:
    '''Pay.'''
    return f"paid {order}"

@tool(effect="read")
async def look() -> str:
    '''Look.'''
    return "here"

agent = Agent("clerk", model=ScriptedModel([call("look")], [call("pay", order="a", cents=5)], "done"), tools=[pay, look],
              policy=Policy([allow("look"), ask("pay")]))

async def main():
    async with Runtime("memory://", [agent]) as rt:
        run = await rt.start(agent, "go")
        await run.wait(60)
        for item in await rt.inbox():
            await rt.approve(item, by="ann")
        print((await run.wait(60)).output, sorted(name for name in sys.modules if name.startswith("pydantic")))

asyncio.run(main())
"""


def test_a_run_of_an_agent_with_plain_tools_loads_no_pydantic() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False, timeout=60)
    assert done.stdout == "done []\n", done.stderr
