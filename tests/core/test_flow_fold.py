"""A flow's part of the fold as a table: what each thing that happens lets begin, and with what the flow ends.

A row is a graph, what happens to it in order, and the flow's value, or "open" as long as something goes on. What happens is
`id=result` of a call, or a word for what is not a result; beside it stand the calls that begin then, as `id(input)`.
"""

import json
from typing import Any

import pytest

from adjourn.core.flow_events import Heard
from adjourn.core.flow_fold import FlowFold
from adjourn.core.graph import (
    AgentItem,
    AnyItem,
    BatchItem,
    ChunkItem,
    CollectItem,
    EachItem,
    EmitItem,
    FlowItem,
    Graph,
    GraphChain,
    IfItem,
    MatchItem,
    SideItem,
)
from adjourn.core.records import Emitted

A, B, C, D = (ChunkItem(name) for name in "abcd")
OPEN = "open"


def chain(*items: AnyItem, **begins: Any) -> GraphChain:
    return GraphChain(list(items), **begins)


def flow(*chains: GraphChain, **more: Any) -> Graph:
    return Graph("f", list(chains), **more)


def one(*items: AnyItem) -> Graph:
    return flow(chain(*items))


IF = IfItem("if", ["big", "odd"], [[A], [B]], [C])
MATCH = MatchItem("match", [1, "x"], [[A], [B]], [C])
BATCH = BatchItem("batch", {"l": [A], "r": [B]})
EACH = EachItem("each", [A])
NARROW = EachItem("each", [A], concurrency=1)
SUB = FlowItem("sub", flow(chain(A), chain(B)))

Row = tuple[Graph, Any, dict[str, list[str]], Any]
TABLE: dict[str, Row] = {
    "an empty chain gives its input": (one(), 1, {"": []}, 1),
    "chunks run in a row": (one(A, B), 1, {"": ["a#0(1)"], "a#0=2": ["b#0(2)"], "b#0=3": []}, 3),
    "the same again is counted": (one(A, A), 1, {"": ["a#0(1)"], "a#0=2": ["a#1(2)"], "a#1=3": []}, 3),
    "an agent is called as a chunk is": (one(AgentItem("ann")), 1, {"": ["ann#0(1)"], "ann#0=2": []}, 2),
    "a call keeps its id when its chunk is renamed": (flow(chain(A, B), renamed={"a": "z"}), 1, {"": ["a#0(1)"]}, OPEN),
    "the value is that of the first chain": (
        flow(chain(A), chain(B)), 1, {"": ["a#0(1)", "b#0(1)"], "a#0=2": [], "b#0=3": []}, 2,
    ),
    "the first condition that holds": (one(IF, D), 5, {
        "": ["big#0(5)"], "big#0=true": ["if#0/a#0(5)"], "if#0/a#0=6": ["d#0(6)"], "d#0=7": [],
    }, 7),
    "the second condition is asked if the first does not hold": (one(IF), 5, {
        "": ["big#0(5)"], "big#0=false": ["odd#0(5)"], "odd#0=true": ["if#0/b#0(5)"], "if#0/b#0=6": [],
    }, 6),
    "otherwise": (one(IF), 5, {
        "": ["big#0(5)"], "big#0=false": ["odd#0(5)"], "odd#0=false": ["if#0/c#0(5)"], "if#0/c#0=6": [],
    }, 6),
    "what is not True does not hold": (one(IF), 5, {"": ["big#0(5)"], "big#0=1": ["odd#0(5)"]}, OPEN),
    "a branch that is empty gives what came in": (one(IfItem("if", ["big"], [[]])), 5, {"": ["big#0(5)"], "big#0=true": []}, 5),
    "a branch in a branch": (one(IfItem("if", ["big"], [[IF, D]]), B), 5, {
        "": ["big#0(5)"], "big#0=true": ["if#0/big#0(5)"], "if#0/big#0=true": ["if#0/if#0/a#0(5)"],
        "if#0/if#0/a#0=6": ["if#0/d#0(6)"], "if#0/d#0=7": ["b#0(7)"],
    }, OPEN),
    "a value that matches": (one(MATCH), "x", {"": ['match#0/b#0("x")'], "match#0/b#0=6": []}, 6),
    "True is not 1": (one(MATCH), True, {"": ["match#0/c#0(true)"]}, OPEN),
    "nothing matches": (one(MATCH), 2, {"": ["match#0/c#0(2)"]}, OPEN),
    "a key is matched, and the input goes on": (one(MatchItem("match", [1], [[A]], [B], key="k")), {"n": 1}, {
        "": ['k#0({"n": 1})'], "k#0=1": ['match#0/a#0({"n": 1})'],
    }, OPEN),
    "a batch gives a dict in the order of its branches": (one(BATCH, D), 1, {
        "": ["batch#0.l/a#0(1)", "batch#0.r/b#0(1)"], "batch#0.r/b#0=3": [], "batch#0.l/a#0=2": ['d#0({"l": 2, "r": 3})'],
    }, OPEN),
    "a for_each gives a list in the order of its elements": (one(EACH), [7, 8], {
        "": ["each#0[0]/a#0(7)", "each#0[1]/a#0(8)"], "each#0[1]/a#0=2": [], "each#0[0]/a#0=1": [],
    }, [1, 2]),
    "a for_each of nothing": (one(EACH, B), [], {"": ["b#0([])"]}, OPEN),
    "a for_each of something that is no list": (one(EACH), 7, {"": []}, OPEN),
    "an element waits for its place": (one(NARROW), [7, 8, 9], {
        "": ["each#0[0]/a#0(7)"], "each#0[0]/a#0=1": ["each#0[1]/a#0(8)"], "each#0[1]/a#0=2": ["each#0[2]/a#0(9)"],
        "each#0[2]/a#0=3": [],
    }, [1, 2, 3]),
    "one that waits lends its place, once": (one(NARROW), [7, 8, 9], {
        "": ["each#0[0]/a#0(7)"], "waits each#0[0]/a#0": ["each#0[1]/a#0(8)"], "waits each#0[0]/a#0 ": [],
        "each#0[0]/a#0=1": [], "each#0[1]/a#0=2": ["each#0[2]/a#0(9)"], "each#0[2]/a#0=3": [],
    }, [1, 2, 3]),
    "one that waits in a sub-flow lends the place of the element around it": (
        one(EachItem("each", [FlowItem("sub", one(A))], concurrency=1)), [7, 8], {
            "": ["each#0[0]/sub#0/a#0(7)"], "waits each#0[0]/sub#0/a#0": ["each#0[1]/sub#0/a#0(8)"],
        }, OPEN,
    ),
    "a sub-flow gives the value of its first chain when all have ended": (one(SUB, C), 1, {
        "": ["sub#0/a#0(1)", "sub#0/b#0(1)"], "sub#0/a#0=2": [], "sub#0/b#0=3": ["c#0(2)"], "c#0=4": [],
    }, 4),
    "an event begins the chains that wait for any": (flow(chain(A), chain(B, any=["e", "x"])), 1, {
        "": ["a#0(1)"], "emit e=5": ["when1#0/b#0(5)"], "hear x=6": ["when1#1/b#0(6)"], "hear y=7": [],
    }, OPEN),
    "and those that wait for all, once all have come": (flow(chain(A), chain(B, all=["e", "x"])), 1, {
        "": ["a#0(1)"], "emit e=5": [], "emit e=6": [], "emit x=7": ['when1#0/b#0({"e": 5, "x": 7})'],
        "emit x=8": ['when1#1/b#0({"e": 6, "x": 8})'],
    }, OPEN),
    "an event that passes goes on at once": (flow(chain(EmitItem("e"), A), chain(B, any=["e"])), 1, {
        "": ["a#0(1)", "when1#0/b#0(1)"], "a#0=2": [], "when1#0/b#0=9": [],
    }, 2),
    "an event of a sub-flow stays in it, one from outside reaches every flow": (
        flow(chain(FlowItem("sub", flow(chain(A), chain(B, any=["e"])))), chain(C, any=["e"])), 1, {
            "": ["sub#0/a#0(1)"], "emit sub#0/e=5": ["sub#0/when1#0/b#0(5)"], "emit e=6": ["when1#0/c#0(6)"],
            "hear e=7": ["when1#1/c#0(7)", "sub#0/when1#1/b#0(7)"], "emit gone#0/e=8": [],
        }, OPEN,
    ),
    "a side is not waited for, except by its flow": (one(SideItem("side", [B]), A), 1, {
        "": ["a#0(1)", "side#0/b#0(1)"], "a#0=2": [], "side#0/b#0=9": [],
    }, 2),
    "a meeting begins when every key has come": (
        flow(chain(A, CollectItem("m", "y")), chain(B, CollectItem("m", "x")), chain(C, collected="m")), 1, {
            "": ["a#0(1)", "b#0(1)"], "a#0=2": [], "b#0=3": ['when2#0/c#0({"x": 3, "y": 2})'], "when2#0/c#0=4": [],
        }, 2,
    ),
    "a call whose answer went elsewhere ends its chain with nothing": (one(IF, D), 5, {
        "": ["big#0(5)"], "big#0=true": ["if#0/a#0(5)"], "ended if#0/a#0": [],
    }, None),
    "and its element": (one(EACH), [7, 8], {
        "": ["each#0[0]/a#0(7)", "each#0[1]/a#0(8)"], "ended each#0[0]/a#0": [], "each#0[1]/a#0=2": [],
    }, [None, 2]),
}  # fmt: skip


def happens(fold: FlowFold, what: str) -> None:
    word, _, rest = what.strip().partition(" ")
    name, _, value = (rest or word).partition("=")
    match word:
        case "waits":
            fold.waits(name)
        case "ended":
            fold.ended(name)
        case "emit":
            fold.emit(name, json.loads(value))
        case "hear":
            fold.hear(Emitted(event=name, value=json.loads(value)))
        case _:
            fold.given(name, json.loads(value))


def begun(fold: FlowFold) -> list[str]:
    return [f"{call.id}({json.dumps(call.value)})" for call in fold.spawned()]


def played(graph: Graph, value: Any, *happened: str) -> FlowFold:
    fold = FlowFold(graph)
    fold.begin(value)
    for what in happened:
        happens(fold, what)
    return fold


@pytest.mark.parametrize("row", TABLE)
def test_every_row(row: str) -> None:
    graph, value, script, end = TABLE[row]
    fold = FlowFold(graph)
    fold.begin(value)
    for what, calls in script.items():
        if what:
            happens(fold, what)
        assert (what, begun(fold)) == (what, calls)
    assert (fold.root.value if fold.root.open == 0 else OPEN) == end
    if end != OPEN:
        left = (fold.tokens, fold.joins, list(fold.scopes), fold.counts.keys() - {""}, fold.heard, fold.chains)
        assert left == ({}, {}, [""], set(), [], 0), "what has ended leaves nothing behind"


def test_every_kind_of_item_has_a_row() -> None:
    told = "".join(repr(graph) for graph, *_ in TABLE.values())
    assert not [kind.__name__ for kind in AnyItem.__args__ if f"{kind.__name__}(" not in told]


def test_what_a_for_each_cannot_take_is_said_and_holds_the_flow() -> None:
    assert played(one(EACH), 7).problems == ["for_each 'each' needs a list, it got int from what comes before"]


def test_a_call_of_a_renamed_chunk_is_of_the_tool_that_there_is() -> None:
    fold = played(flow(chain(A, B), renamed={"a": "z"}), 1)
    assert [(call.id, call.tool, call.kind, call.of) for call in fold.spawned()] == [("a#0", "z", "chunk", "f")]
    fold.given("a#0", 2)
    assert [call.tool for call in fold.spawned()] == ["b"]
    assert (fold.called, fold.steps) == ({"z"}, 1)


NEEDS: dict[str, tuple[Graph, tuple[str, ...], str, dict[str, Any] | None]] = {
    "a condition": (one(IF), (), "big#0", {"type": "boolean"}),
    "a chunk at the end": (one(A), (), "a#0", None),
    "before another chunk": (one(A, EACH, B), ("a#0=[1]",), "each#0[0]/a#0", None),
    "before a for_each": (one(A, EACH), (), "a#0", {"type": "array"}),
    "before a for_each, behind what passes anything": (
        one(A, EmitItem("e"), SideItem("s", []), CollectItem("m", "k"), EACH), (), "a#0", {"type": "array"},
    ),
    "at the end of a branch before a for_each": (
        one(IfItem("if", ["big"], [[A]]), EACH), ("big#0=true",), "if#0/a#0", {"type": "array"},
    ),
    "a call that there is not": (one(A), (), "b#0", None),
}  # fmt: skip


@pytest.mark.parametrize("row", NEEDS)
def test_what_a_call_must_give(row: str) -> None:
    graph, happened, call, schema = NEEDS[row]
    assert played(graph, 1, *happened).needs(call) == schema


HEARD: dict[str, tuple[tuple[str, ...], str, list[int]]] = {
    "an event that came while the chain goes on": (("emit e=5",), "a#0", [1]),
    "also one from outside": (("hear e=5", "emit x=6"), "a#0", [1, 2]),
    "not one from before the chain began": (("hear e=5",), "when1#0/b#0", []),
    "but one that came after it": (("hear e=5", "hear x=6"), "when1#0/b#0", [2]),
    "none is dropped while a chain goes on": (("emit e=5", "emit x=6", "when1#0/b#0=2"), "a#0", [1, 2]),
    "none for a call that there is not": (("hear e=5",), "c#0", []),
    "none once a wait has taken it": (("emit e=5", "emit x=6", "take 1"), "a#0", [2]),
    "none from before all chains had ended": (
        ("emit e=5", "a#0=1", "when1#0/b#0=2", "emit e=6", "emit x=7"), "when1#1/b#0", [3],
    ),
}  # fmt: skip


@pytest.mark.parametrize("row", HEARD)
def test_what_a_wait_can_still_take(row: str) -> None:
    happened, call, numbers = HEARD[row]
    fold = played(flow(chain(A), chain(B, any=["e"])), 1)
    for what in happened:
        if what.startswith("take "):
            fold.take(int(what[5:]))
        else:
            happens(fold, what)
    assert [heard.n for heard in fold.heard_by(call)] == numbers


def test_an_event_that_was_an_answer_is_counted_and_not_kept() -> None:
    fold = played(one(A), 1)
    assert fold.emit("e", 5, "a#0", taken=True) is None
    assert fold.emit("e", 6, "a#0") == Heard(2, "e", 6, None, "a#0")
    assert fold.events == 2
    assert [heard.n for heard in fold.heard] == [2]


def test_nothing_is_kept_that_comes_when_no_chain_goes_on() -> None:
    fold = played(flow(chain(A), chain(B, any=["e"])), 1, "hear y=1", "a#0=2")
    assert fold.heard == []
    assert fold.hear(Emitted(event="y")) is None


def test_what_a_chunk_changes_is_its_own_flow_s_and_of_an_unknown_call_the_root_s() -> None:
    fold = played(one(SUB), 1)
    fold.apply("sub#0/a#0", [["set", ["x"], 1]])
    fold.apply("gone#0", [["set", ["y"], 2]])
    fold.apply("gone#0", [])
    assert (fold.scope_of("sub#0/a#0").data, fold.data) == ({"x": 1}, {"y": 2})
