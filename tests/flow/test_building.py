"""What cannot work is refused when it is built or first used, by name, with what to do."""

from collections.abc import Callable
from typing import Any

import pytest

from adjourn import Agent, Flow, FlowContext, InvalidDefinition, MaxSteps
from adjourn.testing.scripted import ScriptedModel


async def a(ctx: FlowContext) -> None: ...


async def b(ctx: FlowContext) -> None: ...


def refused(flow: Flow, match: str) -> None:
    with pytest.raises(InvalidDefinition, match=match):
        flow.create_execution()


def test_a_chunk_that_nothing_reaches() -> None:
    flow = Flow("f")

    @flow.chunk
    async def lost(ctx: FlowContext) -> None: ...

    flow.to(a)
    refused(flow, "no chain reaches 'lost'")
    flow.when("x").to(lost)
    flow.create_execution()


def test_a_branch_that_is_never_placed() -> None:
    flow = Flow("f")
    flow.to(a)
    flow.branch().to(b)
    refused(flow, "no chain reaches 'b'")


def test_a_chunk_of_a_sub_flow_does_not_hide_one_that_nothing_reaches() -> None:
    child, flow = Flow("child"), Flow("f")
    child.to(b)

    @flow.chunk(name="b")
    async def lost(ctx: FlowContext) -> None: ...

    flow.to(child)
    refused(flow, "no chain reaches 'b'")


def test_a_flow_without_a_chain() -> None:
    refused(Flow("f"), "'f' has no chain")


def test_a_sub_flow_that_never_begins() -> None:
    child, flow = Flow("child"), Flow("f")
    child.when("x").to(a)
    flow.to(child)
    refused(flow, "nothing in 'child' begins with the flow")


JOINS: dict[str, Callable[[Flow], object]] = {
    "in an event's chain": lambda f: (f.to(a).collect("m", "x"), f.when("e").to(b).collect("m", "y")),
    "in a loop": lambda f: f.for_each().to(a).collect("m", "x").end_for_each(),
    "in a choice": lambda f: f.if_(lambda ctx: True).to(a).collect("m", "x").end_if(),
    "in one case": lambda f: f.match().case(1).to(a).collect("m", "x").end_match(),
    "behind itself": lambda f: (f.to(a).collect("m", "x"), f.collected("m").to(b).collect("m", "y")),
}


@pytest.mark.parametrize("where", JOINS)
def test_a_join_that_can_never_complete(where: str) -> None:
    flow = Flow("f")
    JOINS[where](flow)
    if where != "behind itself":
        flow.collected("m").to(b)
    refused(flow, "'m' can never complete")


def test_a_join_that_two_points_wait_for_each_other_for() -> None:
    flow = Flow("f")
    flow.to(a).collect("m", "x")
    flow.collected("m").collect("n", "x")
    flow.collected("n").collect("m", "y")
    refused(flow, "'m', 'n' can never complete")


def test_a_join_where_nothing_is_collected() -> None:
    flow = Flow("f")
    flow.to(a)
    flow.collected("m").to(b)
    refused(flow, r"collected\('m'\) can never complete: nothing is collected there")


def test_a_join_that_nothing_goes_on_from() -> None:
    flow = Flow("f")
    flow.to(a).collect("m", "x")
    refused(flow, r"write flow.collected\('m'\)")


def test_a_join_with_the_same_key_twice() -> None:
    flow = Flow("f")
    flow.to(a).collect("m", "x")
    flow.to(b).collect("m", "x")
    flow.collected("m").to(a)
    refused(flow, "the key 'x' twice")


CIRCLES: dict[str, Callable[[Flow], object]] = {
    "itself": lambda f: f.when("e").emit("e"),
    "through another": lambda f: (f.when("e").emit("x"), f.when("x", "y").emit("e").to(a)),
    "inside a batch": lambda f: f.when("e").batch(("l", f.branch().emit("e")), ("r", a)),
    "inside a side": lambda f: f.when("e").side(f.branch().emit("e")).to(a),
    "inside a case": lambda f: f.when("e").match().case(1).emit("e").end_match(),
    "behind a loop over nothing": lambda f: f.when("e").for_each().to(a).end_for_each().emit("e"),
    "all of": lambda f: f.when(all=["e", "x"]).emit("x").emit("e"),
}


@pytest.mark.parametrize("how", CIRCLES)
def test_a_circle_without_a_chunk_in_between(how: str) -> None:
    flow = Flow("f")
    flow.to(a)
    CIRCLES[how](flow)
    refused(flow, "starts itself again without a chunk in between")


def test_a_circle_with_a_chunk_in_between_is_a_loop() -> None:
    flow = Flow("f")
    flow.to(a).emit("e")
    flow.when("e").to(b).emit("e")
    flow.when(all=["e", "x"]).emit("x")
    flow.create_execution()


Wrong = tuple[Callable[[Flow], object], str]

OPEN: list[Wrong] = [
    (lambda f: f.for_each(name="rows").to(a), "for_each 'rows' is not closed with end_for_each()"),
    (lambda f: f.to(a).if_(lambda ctx: True).to(b), "if_ 'if' is not closed with end_if()"),
    (lambda f: f.to(a).match().case(1).to(b), "match 'match' is not closed with end_match()"),
]


@pytest.mark.parametrize(("open", "what"), OPEN)
def test_what_is_opened_must_be_closed(open: Callable[[Flow], object], what: str) -> None:
    flow = Flow("f")
    open(flow)
    refused(flow, what)


NOTHING: Any = None
TWO: Callable[[Any, Any], None] = lambda ctx, x: None  # noqa: E731
ONE: Callable[[Any], Any] = lambda ctx: 1  # noqa: E731
OTHER: Callable[[Any], Any] = lambda ctx: 2  # noqa: E731
NONE: Any = lambda: None  # noqa: E731
NAMELESS: Any = a
TEXT: Any = "x"
ONLY: Any = ONE


async def generator(ctx: FlowContext) -> Any:
    yield 1


WRONG: dict[str, Wrong] = {
    "end_for_each without for_each": (lambda f: f.to(a).end_for_each(), "end_for_each belongs after for_each"),
    "elif_ outside": (lambda f: f.to(a).elif_(lambda ctx: True), "elif_ belongs after if_"),
    "case outside": (lambda f: f.to(a).case(1), "case belongs after match"),
    "end_if inside a loop": (
        lambda f: f.if_(lambda ctx: True).for_each().end_if(), "end_if belongs after if_; for_each 'each' is still open",
    ),
    "elif_ after else_": (lambda f: f.if_(lambda c: True).else_().elif_(lambda c: True), "nothing can follow"),
    "two else_": (lambda f: f.if_(lambda c: True).else_().else_(), "already"),
    "two cases alike": (lambda f: f.match().case(1).case(1), "two cases for 1"),
    "no case": (lambda f: f.match().end_match(), "has no case"),
    "closed twice": (lambda f: [loop := f.for_each().to(a), loop.end_for_each(), loop.end_for_each()], "already closed"),
    "an empty batch": (lambda f: f.batch(), "batch takes branches with names"),
    "a batch without names": (lambda f: f.batch(NAMELESS), "batch takes branches with names"),
    "a branch twice": (lambda f: f.batch(("x", a), ("x", b)), "names of their own"),
    "a slash in a branch": (lambda f: f.batch(("x/y", a)), "a branch's name"),
    "a branch that is open": (lambda f: f.batch(x=f.branch().for_each().to(a)), "everything in it closed"),
    "a chain as a branch": (lambda f: f.batch(x=f.to(a)), r"begun with the branch\(\)"),
    "another flow's branch": (lambda f: f.batch(x=Flow("g").branch().to(a)), "of flow 'f'"),
    "concurrency": (lambda f: f.for_each(concurrency=-1), "concurrency must be an integer"),
    "a chunk of two parameters": (lambda f: f.to(TWO), "takes one parameter"),
    "a name as the chunk": (lambda f: f.chunk(TEXT), "a chunk must be a function, got 'x'; to name one use @flow.chunk.name='x'"),
    "an undo of one parameter": (lambda f: f.chunk(undo=ONLY)(a), "'a': undo takes the context, the chunk's input and its"),
    "a verify of one parameter": (
        lambda f: f.chunk(effect="verifiable", verify=ONLY)(a), "verify takes the context and the chunk's input",
    ),
    "a generator": (lambda f: f.to(generator), r"an async generator; return its result, and stream items with ctx\.publish"),
    "a chunk of none": (lambda f: f.chunk(name="none")(NONE), "takes one parameter"),
    "a chunk that was called": (lambda f: f.to(a(NOTHING)), "'a' was called; pass the function itself"),
    "not a chunk": (lambda f: f.to(7), "a chunk must be a function"),
    "an unknown name": (lambda f: f.to("nobody"), "has no chunk 'nobody'"),
    "a name with a mark": (lambda f: f.chunk(name="a!b")(a), "without / # "),
    "two functions of one name": (lambda f: (f.to(a), f.chunk(name="a")(b)), "two chunks named 'a'; give one another"),
    "two lambdas": (lambda f: f.to(ONE).to(OTHER), r"two chunks named '<lambda>'.*flow\.chunk\(name="),
    "a condition of another's name": (lambda f: (f.to(a), f.if_(named("a"))), "two chunks named 'a'"),
    "an effect": (lambda f: f.chunk(effect="none")(a), "effect= must be read"),  # type: ignore[call-overload]
    "verifiable without verify": (lambda f: f.chunk(effect="verifiable")(a), "go together"),
    "an event": (lambda f: f.when("@close"), "an event must be a name"),
    "an event with a slash": (lambda f: f.to(a).emit("x/y"), "an event must be a name"),
    "when nothing": (lambda f: f.when(), "when takes"),
    "any and all": (lambda f: f.when("x", all=["y"]), "when takes"),
    "all of the same": (lambda f: f.when(all=["y", "y"]), "when takes"),
    "resources as one text": (lambda f: f.chunk(resources="db")(a), "a list of names"),
    "itself inside": (lambda f: f.to(f), "cannot contain itself"),
}  # fmt: skip


def named(name: str) -> Callable[[Any], bool]:
    def test(ctx: Any) -> bool:
        return True

    test.__name__ = name
    return test


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_said_where_it_is_written(what: str) -> None:
    write, match = WRONG[what]
    with pytest.raises(InvalidDefinition, match=match):
        write(Flow("f"))


def test_flows_that_contain_each_other() -> None:
    one, two = Flow("one"), Flow("two")
    one.to(two)
    with pytest.raises(InvalidDefinition, match="cannot contain itself"):
        two.to(one)


def test_two_flows_or_agents_of_one_name() -> None:
    flow = Flow("f")
    flow.to(Flow("child"))
    with pytest.raises(InvalidDefinition, match="two sub-flows named 'child'"):
        flow.to(Flow("child"))
    flow.to(Agent("writer", model=ScriptedModel()))
    with pytest.raises(InvalidDefinition, match="two agents named 'writer'"):
        flow.to(Agent("writer", model=ScriptedModel()))


def test_two_flows_of_one_name_at_different_depths() -> None:
    flow, middle, deep, other = Flow("f"), Flow("middle"), Flow("child"), Flow("child")
    deep.to(a)
    other.to(b)
    middle.to(deep)
    flow.to(middle).to(other)
    refused(flow, "two different flows in 'f' are named 'child'")


@pytest.mark.parametrize("name", ["", "a/b", "a:b", "a!", "a?", "x#1", 7])
def test_a_flows_name_may_be_part_of_an_id(name: Any) -> None:
    with pytest.raises(InvalidDefinition, match="a flow's name"):
        Flow(name)


def test_a_stop_is_a_condition() -> None:
    Flow("f", stop=MaxSteps(3))
    with pytest.raises(InvalidDefinition, match="stop= must be conditions"):
        Flow("f", stop=3)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
