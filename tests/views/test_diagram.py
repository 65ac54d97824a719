"""A flow as data and as a picture; a run's picture says what is done, running, waiting and failed."""

import asyncio
import json
import re
from typing import Any

import pytest
from tests.flow.world import deep, execution, only, started

from adjourn import Agent, Flow, FlowContext, InvalidDefinition, RunFailed
from adjourn.testing.scripted import ScriptedModel


async def ask(ctx: FlowContext) -> None:
    ctx.pause_for("q")


async def keep(ctx: FlowContext) -> None:
    ctx.state.setdefault("kept", []).append(ctx.input)


async def double(ctx: FlowContext) -> Any:
    return ctx.input * 2


def positive(ctx: FlowContext) -> bool:
    return ctx.input > 0


def child() -> Flow:
    flow = Flow("child")
    flow.to(double).to(ask)
    return flow


def everything() -> Flow:
    """One of each."""
    flow = Flow("everything")
    (flow.if_(positive).to(double).elif_(lambda ctx: False).else_().to(keep).end_if()
        .match().case('say "hi" <b>').to(keep).default().to(child()).end_match()
        .batch(("left", flow.branch().to(double)), ("right", Agent("writer", model=ScriptedModel("w"))), name="fan")
        .side(keep).collect("m", "x"))  # fmt: skip
    flow.to(lambda_list).for_each(concurrency=3).to(double).end_for_each().emit("done").collect("m", "y")
    flow.when("done", "other").to(keep)
    flow.when(all=["done", "other"]).to(keep)
    flow.collected("m").to(keep)
    return flow


async def lambda_list(ctx: FlowContext) -> list[int]:
    return [1, 2]


def never(ctx: FlowContext) -> bool:
    return False


def rebuilt(flow: Flow) -> Flow:
    chunks: dict[str, Any] = {"keep": keep, "double": double, "ask": ask, "positive": positive, "lambda_list": lambda_list,
              "test(start)": never, "writer": Agent("writer", model=ScriptedModel("w"))}  # fmt: skip
    return Flow.from_dict(json.loads(json.dumps(flow.to_dict())), chunks=chunks)


async def outcome(flow: Flow) -> Any:
    one = await started(flow, 3)
    await one.continue_with(only(one), "answer")
    return await one.close()


async def test_a_blueprint_is_structure_only_and_gives_the_same_flow_again() -> None:
    flow = everything()
    again = rebuilt(flow)
    assert again.to_dict() == flow.to_dict()
    assert again.fingerprint == flow.fingerprint
    assert again.to_mermaid() == flow.to_mermaid()
    assert sorted(map(str, (await outcome(again))["kept"])) == sorted(map(str, (await outcome(everything()))["kept"]))


async def test_a_run_of_the_one_goes_on_with_the_other() -> None:
    one = await started(everything(), 3)
    other = execution(rebuilt(everything())).load(one.save().to_json())
    await other.continue_with(only(other), "answer")
    await one.continue_with(only(one), "answer")
    assert await other.close() == await one.close()


def test_a_blueprint_takes_whole_flows_too_and_says_what_is_missing() -> None:
    flow = Flow("f")
    flow.to(keep).to(child())
    blueprint = flow.to_dict()
    assert Flow.from_dict(blueprint, chunks=[keep, child()]).to_dict() == blueprint
    assert Flow.from_dict(blueprint, chunks=[keep, flow.flows["child"].chunks["double"], ask]).to_dict() == blueprint
    with pytest.raises(InvalidDefinition, match="'f' needs chunks that were not given: 'keep'"):
        Flow.from_dict(blueprint)
    with pytest.raises(InvalidDefinition, match="'child' needs chunks that were not given: 'double'"):
        Flow.from_dict(blueprint, chunks=[keep, ask])


@pytest.mark.parametrize(
    "wrong", [{}, {"name": "f", "chains": [{"items": [{"is": "nothing"}]}]}, {"name": "f", "chains": [], "x": 1}]
)
def test_what_is_no_blueprint(wrong: Any) -> None:
    with pytest.raises(InvalidDefinition, match="not a blueprint"):
        Flow.from_dict(wrong)


def test_a_blueprint_is_checked_like_anything_else() -> None:
    with pytest.raises(InvalidDefinition, match="has no chain"):
        Flow.from_dict({"name": "f", "chains": []})
    wrong = {"name": "f", "chains": [{"items": [{"is": "agent", "name": "keep"}]}]}
    with pytest.raises(InvalidDefinition, match="needs an Agent named 'keep'"):
        Flow.from_dict(wrong, chunks=[keep])
    flow = Flow.from_dict({"name": "f", "chains": [{"items": [{"is": "chunk", "name": "keep"}]}]}, chunks=[keep])
    with pytest.raises(InvalidDefinition, match="made from a blueprint"):
        flow.to(keep)


def test_a_picture_has_every_place_and_only_text_that_mermaid_takes() -> None:
    text = everything().to_mermaid()
    lines = text.splitlines()
    assert lines[0] == "flowchart LR"
    node = re.compile(r'\s+n\d+([\[({])"[^"]*"[\])}](:::\w+)?')
    edge = re.compile(r"\s+n\d+ (-->|-\.->) n\d+")
    sub = re.compile(r'\s+(subgraph s\d+\["[^"]*"\]|end)')
    style = re.compile(r"    classDef \w+ [\w#:,]+")
    assert [x for x in lines[1:] if not any(p.fullmatch(x) for p in (node, edge, sub, style))] == []
    nodes = re.findall(r'n\d+.("[^"]*")', text)
    for name in ("double", "keep", "agent writer", "each, 3 at a time", "emit done", "collect m.x", "when done or other",
                 "when done and other", "collected m", "positive", "else", "end of child"):  # fmt: skip
        assert f'"{name}"' in nodes
    assert "'say #quot;hi#quot; #lt;b#gt;'" in text
    used = set(re.findall(r"\bn\d+\b", text))
    assert used == {f"n{n}" for n in range(len(used))}


def marked(picture: str) -> dict[str, str]:
    return dict(re.findall(r'"([^"]*)"[\])}]:::(\w+)', picture))


async def test_a_runs_picture_says_what_is_done_running_and_waiting() -> None:
    flow, inside, go = Flow("f"), asyncio.Event(), asyncio.Event()

    async def slow(ctx: FlowContext) -> None:
        inside.set()
        await go.wait()

    flow.to(double).to(slow).to(keep)
    flow.to(ask).to(keep)
    one = execution(flow)
    assert marked(one.picture()) == {}
    running = asyncio.create_task(one.start(1))
    await inside.wait()
    await asyncio.sleep(0)
    assert marked(one.picture()) == {"double": "done", "slow": "running", "ask": "waiting"}
    go.set()
    await running
    await one.continue_with(only(one), 1)
    await one.close()
    assert marked(one.picture()) == {"double": "done", "slow": "done", "keep": "done", "ask": "done"}
    assert marked(flow.to_mermaid()) == {}


async def test_a_place_is_not_its_name_and_many_tokens_are_counted() -> None:
    one = await started(deep(), "a bb ccc")
    marks = marked(one.picture())
    assert marks == {"split": "done", "review (3 waiting)": "waiting", "total": "done"}
    first = next(iter(one.pending_interrupts))
    await one.continue_with(first, "A")
    marks = marked(one.picture())
    assert marks["review (1 done, 2 waiting)"] == "waiting"
    assert marks["stamp"] == "done"

    flow = Flow("twice")
    flow.to(double).to(ask).to(double)
    two = await started(flow, 1)
    assert re.findall(r'"double"\](:::\w+)?', two.picture()) == [":::done", ""]


async def test_a_picture_shows_what_failed_and_an_agent_that_waits() -> None:
    from adjourn import tool
    from adjourn.testing.scripted import call

    @tool(policy="ask")
    async def pay() -> str:
        """Pay."""
        return "paid"

    async def broken(ctx: FlowContext) -> None:
        raise ValueError

    flow = Flow("f")
    flow.to(broken)
    flow.to(Agent("payer", model=ScriptedModel([call("pay")], "done"), tools=[pay]))
    one = await started(flow, "x")
    assert marked(one.picture()) == {"broken": "failed", "agent payer": "waiting"}
    with pytest.raises(RunFailed):
        await one.continue_with(next(i.id for i in one.pending_interrupts.values() if i.kind == "approval"), False)
    assert marked(one.picture()) == {"broken": "failed", "agent payer": "done"}
