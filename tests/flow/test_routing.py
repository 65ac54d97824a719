"""Where values go: chains, batches, loops, choices, events, meeting points, sides, sub-flows, agents."""

import asyncio
from typing import Any

import pytest
from tests.flow.world import execution, only, records, reloaded, started

from adjourn import Agent, Flow, FlowContext, InvalidAnswer, RunFailed
from adjourn.core.messages import UserMessage
from adjourn.core.records import Intended
from adjourn.testing.scripted import ScriptedModel, call


async def add_one(ctx: FlowContext) -> int:
    return ctx.input + 1


def double(ctx: FlowContext) -> int:
    return ctx.input * 2


async def keep(ctx: FlowContext) -> None:
    ctx.state.setdefault("kept", []).append(ctx.input)


def said(message: Any) -> Any:
    """What a message to the model says."""
    return message.text if isinstance(message, UserMessage) else message.content


async def kept(flow: Flow, value: Any = None) -> Any:
    """What came to `keep`, live; a flow that was loaded from its checkpoint before it ended gives the same."""
    state = await flow.start(value)
    assert execution(flow).load((await started(flow, value)).save()).state == state
    return state.get("kept", [])


async def test_what_a_chunk_returns_is_the_next_ones_input_sync_or_async() -> None:
    flow = Flow("f")
    flow.to(add_one).to(double, add_one).to(keep)
    assert await kept(flow, 1) == [5]


async def test_a_chunk_may_be_named_decorated_or_plain() -> None:
    flow = Flow("f")

    @flow.chunk
    async def first(ctx: FlowContext) -> str:
        return ctx.input + "1"

    @flow.chunk(name="second", effect="read")
    def other(ctx: FlowContext) -> str:
        return ctx.input + "2"

    flow.to(first).to("second").to(first).to(keep)
    assert await kept(flow, "0") == ["0121"]
    assert await first.run(type("Context", (), {"input": "x"})()) == "x1"


async def test_each_to_begins_a_chain_of_its_own() -> None:
    flow = Flow("f")
    flow.to(add_one).to(keep)
    flow.to(double).to(keep)
    assert sorted(await kept(flow, 10)) == [11, 20]


async def test_a_batch_runs_at_the_same_time_and_gives_a_dict_in_the_order_written() -> None:
    flow = Flow("f")
    together = asyncio.Barrier(2)

    async def left(ctx: FlowContext) -> str:
        await together.wait()
        return "l"

    async def right(ctx: FlowContext) -> str:
        await together.wait()
        return "r"

    flow.batch(("b", right), ("a", left)).to(keep)
    async with asyncio.timeout(10):
        state = await flow.start(None)
    assert list(state["kept"][0].items()) == [("b", "r"), ("a", "l")]


async def test_a_batch_of_whole_chains() -> None:
    flow = Flow("f")
    long = flow.branch().to(add_one).to(double)
    flow.batch(("long", long), ("none", flow.branch()), ("short", add_one)).to(keep)
    assert await kept(flow, 3) == [{"long": 8, "none": 3, "short": 4}]


@pytest.mark.parametrize("concurrency", [0, 1, 2, 7])
async def test_for_each_gives_a_list_in_order_and_never_runs_more_at_once(concurrency: int) -> None:
    flow = Flow("f")
    running, most = 0, 0

    async def slow(ctx: FlowContext) -> int:
        nonlocal running, most
        running += 1
        most = max(most, running)
        for _ in range(5 - ctx.input):
            await asyncio.sleep(0)
        running -= 1
        return ctx.input * 10

    flow.for_each(concurrency).to(slow).end_for_each().to(keep)
    assert (await flow.start([0, 1, 2, 3, 4]))["kept"] == [[0, 10, 20, 30, 40]]
    assert most == min(concurrency or 5, 5)


async def test_for_each_over_nothing_gives_nothing() -> None:
    flow = Flow("f")
    flow.for_each(concurrency=3).to(add_one).end_for_each().to(keep)
    assert await kept(flow, []) == [[]]


async def test_for_each_in_for_each_in_batch() -> None:
    flow = Flow("f")
    rows = (
        flow.branch()
        .for_each(name="rows")
        .for_each(concurrency=1, name="cells")
        .to(double)
        .end_for_each()
        .end_for_each()
    )
    flow.batch(("rows", rows), ("same", flow.branch())).to(keep)
    assert await kept(flow, [[1, 2], [], [3]]) == [{"rows": [[2, 4], [], [6]], "same": [[1, 2], [], [3]]}]


async def test_a_long_loop_without_a_chunk_needs_no_deep_stack() -> None:
    flow = Flow("f")
    flow.for_each(concurrency=1).match().case("rare").to(add_one).end_match().end_for_each().to(keep)
    assert await kept(flow, ["x"] * 5_000) == [["x"] * 5_000]


async def test_for_each_over_something_else_fails_and_says_so() -> None:
    flow = Flow("f")
    flow.for_each(name="orders").to(add_one).end_for_each()
    with pytest.raises(RunFailed, match="for_each 'orders' needs a list, it got dict"):
        await flow.start({"a": 1})


@pytest.mark.parametrize(("value", "went"), [(5, "small"), (50, "medium"), (500, "large"), (5_000, "huge")])
async def test_if_takes_the_first_that_holds(value: int, went: str) -> None:
    flow = Flow("f")

    def small(ctx: FlowContext) -> bool:
        return ctx.input < 10

    async def medium(ctx: FlowContext) -> bool:
        return ctx.input < 100

    def say(word: str) -> Any:
        async def said(ctx: FlowContext) -> list[Any]:
            return [word, ctx.input]

        return flow.chunk(name=f"say {word}")(said)

    (flow.if_(small).to(say("small")).elif_(medium).to(say("medium")).elif_(lambda ctx: ctx.input < 1_000)
        .to(say("large")).else_().to(say("huge")).end_if().to(keep))  # fmt: skip
    assert await kept(flow, value) == [[went, value]]


async def test_without_else_the_input_goes_on() -> None:
    flow = Flow("f")
    flow.to(add_one).if_(lambda ctx: False).to(double).end_if().to(keep)
    assert await kept(flow, 1) == [2]


async def test_choices_inside_choices_inside_a_loop() -> None:
    flow = Flow("f")
    (flow.for_each()
        .if_(lambda ctx: ctx.input % 2 == 0)
            .if_(lambda ctx: ctx.input > 2).to(double).else_().to(add_one).end_if().to(add_one)
        .else_()
            .match().case(1).to(double).default().to(add_one).end_match()
        .end_if()
     .end_for_each().to(keep))  # fmt: skip
    assert await kept(flow, [1, 2, 3, 4]) == [[2, 4, 4, 9]]


async def test_a_condition_must_say_true_or_false() -> None:
    flow = Flow("f")
    flow.if_(lambda ctx: ctx.input).to(add_one).end_if()
    with pytest.raises(RunFailed, match=r"the condition 'test\(start\)' gave int, not True or False"):
        await flow.start(1)


@pytest.mark.parametrize("reload", [False, True])
@pytest.mark.parametrize("answer", [True, False])
async def test_a_condition_may_ask_a_person_for_true_or_false(answer: bool, reload: bool) -> None:
    flow = Flow("f")

    async def approved(ctx: FlowContext) -> None:
        ctx.pause_for("approval", {"question": "Approve?"})

    flow.if_(approved).to(add_one).else_().to(double).end_if().to(keep)
    one = await started(flow, 5)
    one = reloaded(flow, one) if reload else one
    with pytest.raises(InvalidAnswer, match="boolean"):
        await one.continue_with(only(one), "yes")
    await one.continue_with(only(one), answer)
    assert await one.close() == {"kept": [6 if answer else 10]}


async def test_a_condition_may_make_true_or_false_of_any_answer() -> None:
    flow, other = Flow("f"), Flow("g")

    async def approved(ctx: FlowContext) -> bool:
        return ctx.pause_for("approval", resume_to="self", answer_schema=str) == "yes"

    async def guessed(ctx: FlowContext) -> None:
        ctx.pause_for("approval", answer_schema=str)

    flow.if_(approved).to(add_one).end_if().to(keep)
    one = await started(flow, 5)
    await one.continue_with(only(one), "yes")
    assert await one.close() == {"kept": [6]}
    other.if_(guessed).to(add_one).end_if()
    with pytest.raises(RunFailed, match="a condition is answered with True or False"):
        await started(other, 5)


async def test_a_match_may_ask_a_person_which_case_it_is() -> None:
    flow = Flow("f")

    async def which(ctx: FlowContext) -> None:
        ctx.pause_for("which", {"cases": ["one more", "double"]})

    flow.match(which).case("one more").to(add_one).case("double").to(double).end_match().to(keep)
    one = await started(flow, 5)
    await one.continue_with(only(one), "double")
    assert await one.close() == {"kept": [10]}


@pytest.mark.parametrize(
    ("value", "got"), [(1, "one"), (True, "true"), ("1", "text"), (1.0, "other"), (None, "none"), ([1], "list")]
)
async def test_match_goes_by_value_and_type(value: Any, got: str) -> None:
    flow = Flow("f")

    def word(name: str) -> Any:
        async def answer(ctx: FlowContext) -> str:
            assert ctx.input == value
            return name

        return flow.chunk(name=name)(answer)

    (flow.match().case(1).to(word("one")).case(True).to(word("true")).case("1").to(word("text")).case(None)
        .to(word("none")).case([1]).to(word("list")).default().to(word("other")).end_match().to(keep))  # fmt: skip
    assert await kept(flow, value) == [got]


async def test_match_by_a_key_passes_the_input_on() -> None:
    flow = Flow("f")

    async def kind(ctx: FlowContext) -> str:
        return ctx.input["kind"]

    async def charge(ctx: FlowContext) -> int:
        return ctx.input["cents"]

    flow.match(kind).case("refund").to(charge).end_match().to(keep)
    assert await kept(flow, {"kind": "refund", "cents": 5}) == [5]
    assert await kept(flow, {"kind": "gift", "cents": 5}) == [{"kind": "gift", "cents": 5}]


async def test_going_on_twice_from_one_place_begins_a_side_branch() -> None:
    flow = Flow("f")
    place = flow.to(add_one)
    place.to(double).to(keep)
    place.to(add_one).to(keep)
    place.to(keep)
    assert sorted(await kept(flow, 1)) == [2, 3, 4]


async def test_a_side_branch_holds_nothing_up_and_leaves_the_value_alone() -> None:
    flow = Flow("f")

    async def ask(ctx: FlowContext) -> None:
        ctx.pause_for("side", interrupt_id="side")

    flow.to(add_one).side(flow.branch().to(ask).to(keep)).to(double).to(keep)
    execution = await started(flow, 1)
    assert execution.state == {"kept": [4]}
    await execution.continue_with("side", "later")
    assert await execution.close() == {"kept": [4, "later"]}


async def test_a_side_branch_inside_a_loop_runs_for_each_element() -> None:
    flow = Flow("f")
    flow.for_each().side(keep).to(double).end_for_each().to(keep)
    assert sorted(map(str, (await flow.start([1, 2]))["kept"])) == ["1", "2", "[2, 4]"]


async def test_a_meeting_point_goes_on_when_every_key_is_there() -> None:
    flow = Flow("f")

    async def ask(ctx: FlowContext) -> None:
        ctx.pause_for("late", interrupt_id="late")

    flow.to(add_one).collect("m", "b")
    flow.to(ask).collect("m", "a")
    place = flow.to(double)
    place.collect("m", "d").to(keep)
    place.to(add_one).collect("m", "c")  # a side branch of a chain that always runs
    flow.collected("m").to(keep)
    execution = await started(flow, 1)
    assert execution.state == {"kept": [2]}
    execution = await reloaded(flow, execution).continue_with("late", "x")
    assert await execution.close() == {"kept": [2, {"a": "x", "b": 2, "c": 3, "d": 2}]}


async def test_meeting_points_behind_meeting_points() -> None:
    flow = Flow("f")
    flow.batch(("x", flow.branch().to(add_one).collect("m", "x")), ("y", flow.branch().collect("m", "y")))
    flow.to(double).collect("n", "z")
    flow.collected("m").collect("n", "m")
    flow.collected("n").to(keep)
    assert await kept(flow, 1) == [{"m": {"x": 2, "y": 1}, "z": 2}]


async def test_a_sub_flow_has_a_state_of_its_own_and_gives_the_value_of_its_first_chain() -> None:
    child = Flow("child")
    child.to(add_one).to(keep).to(lambda_(9))
    child.to(double).to(keep)

    parent = Flow("parent")
    parent.to(keep).to(lambda_(1)).to(child).to(keep)
    state = await parent.start("p")
    assert state == {"kept": ["p", 9]}


def lambda_(value: Any) -> Any:
    async def constant(ctx: FlowContext) -> Any:
        return value

    constant.__name__ = f"constant_{value}"
    return constant


async def test_a_sub_flow_ends_when_all_its_chains_have_those_of_its_events_too() -> None:
    order: list[str] = []
    child = Flow("child")

    async def first(ctx: FlowContext) -> str:
        ctx.emit("more", "m")
        return "first"

    async def second(ctx: FlowContext) -> None:
        await asyncio.sleep(0)
        order.append("second")

    child.to(first)
    child.when("more").to(second)
    parent = Flow("parent")

    async def after(ctx: FlowContext) -> None:
        order.append(f"after {ctx.input}")

    parent.to(child).to(after)
    await parent.start(None)
    assert order == ["second", "after first"]


async def test_a_sub_flow_may_be_used_in_many_places_and_chunks_may_share_a_name() -> None:
    def named(flow: Flow, suffix: str) -> Any:
        async def work(ctx: FlowContext) -> str:
            return ctx.input + suffix

        return flow.chunk(work)

    child = Flow("child")
    child.to(named(child, "-child"))
    parent = Flow("parent")
    parent.to(named(parent, "-parent")).to(child).to(child).to(keep)
    assert await kept(parent, "x") == ["x-parent-child-child"]


async def test_a_thousand_sub_flows_leave_nothing_behind() -> None:
    child = Flow("child")
    child.to(add_one)
    parent = Flow("parent")
    parent.for_each(concurrency=10).to(child).end_for_each().to(keep)
    execution = await started(parent, list(range(200)))
    flow = execution._now().flow
    assert flow is not None
    assert list(flow.scopes) == [""]
    assert execution.state["kept"] == [list(range(1, 201))]


async def test_an_agent_is_a_chunk() -> None:
    agent = Agent("writer", model=ScriptedModel(lambda messages: f"about {said(messages[0])}"))
    flow = Flow("f")
    flow.to(add_one).to(agent).to(keep)
    assert await kept(flow, 1) == ["about 2"]


async def test_agents_in_a_loop_with_their_own_tools_and_interrupts() -> None:
    from adjourn import tool

    @tool(policy="ask")
    async def publish(text: str) -> str:
        """Publish a text."""
        return f"published {text}"

    agent = Agent(
        "writer", tools=[publish],
        model=ScriptedModel(lambda m: [call("publish", text=said(m[0]))], lambda m: said(m[-1])),
    )  # fmt: skip
    flow = Flow("f")
    flow.for_each(concurrency=2).to(agent).end_for_each().to(keep)
    one = await started(flow, ["a", "b", "c"])
    while one.pending_interrupts:
        assert len(one.pending_interrupts) <= 2
        interrupt = next(iter(one.pending_interrupts.values()))
        assert interrupt.call is not None
        assert interrupt.path.startswith("each#0[")
        one = reloaded(flow, one)
        await one.continue_with(interrupt.id, interrupt.call.arguments["text"] != "b")
    [first, second, third] = (await one.close())["kept"][0]
    assert (first, third) == ("published a", "published c")
    assert "denied" in second


async def test_a_read_chunk_needs_no_intent_and_others_do() -> None:
    flow = Flow("f")
    flow.to(flow.chunk(effect="read")(add_one)).to(double)
    one = await started(flow, 1)
    assert [r.tool for r in records(one, Intended) if isinstance(r, Intended)] == ["double"]


async def test_what_a_chunk_does_to_its_input_is_its_own_affair() -> None:
    flow = Flow("f")

    async def spoil(ctx: FlowContext) -> None:
        ctx.input["list"].append("spoilt")

    flow.batch(a=spoil, b=keep)
    assert await kept(flow, {"list": []}) == [{"list": []}]


async def test_a_flow_may_grow_between_two_executions() -> None:
    flow = Flow("f")
    flow.to(add_one).to(keep)
    assert await kept(flow, 1) == [2]
    flow.to(double).to(keep)
    assert sorted(await kept(flow, 5)) == [6, 10]


async def test_interrupts_inside_a_sub_flow_of_a_sub_flow_have_their_path() -> None:
    inmost, middle, outer = Flow("inmost"), Flow("middle"), Flow("outer")

    async def ask(ctx: FlowContext) -> None:
        ctx.pause_for("q")

    inmost.to(ask)
    middle.for_each().to(inmost).end_for_each()
    outer.batch(("left", middle), ("right", add_one)).to(keep)
    execution = await started(outer, [7])  # the right branch fails: a list and a number
    kinds = {i.kind: i.path for i in execution.pending_interrupts.values()}
    assert kinds == {"question": "batch#0.left/middle#0/each#0[0]/inmost#0", "error": "batch#0.right"}


async def test_the_value_of_a_flow_without_changes_is_an_empty_state() -> None:
    flow = Flow("f")
    flow.to(add_one)
    one = await started(flow, 1)
    assert (one.state, await one.close()) == ({}, {})


async def test_only_interrupts_of_the_execution_are_listed() -> None:
    flow = Flow("f")

    async def nap(ctx: FlowContext) -> None:
        await ctx.sleep(3600)

    async def ask(ctx: FlowContext) -> None:
        ctx.pause_for("q", interrupt_id="q")

    flow.to(nap)
    flow.to(ask)
    one = await started(flow)
    assert only(one) == "q"  # time is nothing that a person could answer
    await one.close(pending_interrupts="cancel")
