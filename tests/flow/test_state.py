"""A flow's state is JSON, and what chunks do to it is journaled as changes, also when it is done in place."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.flow.world import execution, only, records, reloaded, started

from adjourn import Flow, FlowContext, InvalidDefinition, NotJSON, RunFailed
from adjourn.core.codec import decode, encode
from adjourn.core.json_changes import apply, changes
from adjourn.core.records import Returned, Suspended

BEFORE = {
    "n": 1,
    "list": [1, 2, 3],
    "orders": [{"id": 1, "status": "new"}, {"id": 2, "status": "new"}],
    "d": {"a": {"b": [1]}},
}


def made_by(act: Callable[[Any], object]) -> tuple[list[Any], dict[str, Any]]:
    """The changes that are recorded for what a chunk does to the state, and the state after it."""

    async def main() -> tuple[list[Any], dict[str, Any]]:
        flow = Flow("f")

        async def begin(ctx: FlowContext) -> None:
            ctx.state.update(BEFORE)

        async def change(ctx: FlowContext) -> None:
            act(ctx.state)

        flow.to(begin).to(change)
        one = await started(flow)
        last = records(one, Returned)[-1]
        assert isinstance(last, Returned)
        assert reloaded(flow, one).state == one.state
        return last.changes, one.state

    return asyncio.run(main())


CHANGES: dict[str, tuple[Callable[[Any], object], list[Any]]] = {
    "nothing": (lambda s: None, []),
    "reading": (lambda s: (s["list"], s["d"]["a"], dict(s), s.get("x"), len(s), list(s)), []),
    "assignment": (lambda s: s.__setitem__("n", 2), [["set", ["n"], 2]]),
    "a new key": (lambda s: s.__setitem__("x", [1]), [["set", ["x"], [1]]]),
    "a deleted key": (lambda s: s.__delitem__("n"), [["del", ["n"]]]),
    "popping": (lambda s: s.pop("n"), [["del", ["n"]]]),
    "appending in place": (lambda s: s["list"].append(4), [["add", ["list"], [4]]]),
    "extending in place": (lambda s: s["list"].extend([4, 5]), [["add", ["list"], [4, 5]]]),
    "adding in place": (lambda s: _iadd(s), [["set", ["list"], [1, 2, 3, 4]]]),
    "an element in place": (lambda s: s["list"].__setitem__(1, 9), [["set", ["list", 1], 9]]),
    "removing in place": (lambda s: s["list"].remove(2), [["splice", ["list"], 1, [2], []]]),
    "inserting in place": (lambda s: s["list"].insert(0, 0), [["splice", ["list"], 0, [], [0]]]),
    "a dict in a list in place": (
        lambda s: s["orders"][1].__setitem__("status", "paid"), [["set", ["orders", 1, "status"], "paid"]],
    ),
    "deep in place": (lambda s: s["d"]["a"]["b"].append(2), [["add", ["d", "a", "b"], [2]]]),
    "a key deep in place": (lambda s: s["d"]["a"].__setitem__("c", 1), [["set", ["d", "a", "c"], 1]]),
    "a deep key deleted": (lambda s: s["d"]["a"].pop("b"), [["del", ["d", "a", "b"]]]),
    "one that only looks the same": (lambda s: s["list"].__setitem__(0, True), [["set", ["list", 0], True]]),
    "a float that only looks the same": (lambda s: s["list"].__setitem__(0, 1.0), [["set", ["list", 0], 1.0]]),
    "a default that is there": (lambda s: s.setdefault("list", []).append(4), [["add", ["list"], [4]]]),
    "a default that is not": (
        lambda s: s.setdefault("log", []).append("x"), [["default", ["log"], []], ["add", ["log"], ["x"]]],
    ),
    "what is done after the assignment": (lambda s: _later(s), [["set", ["x"], {"y": [1]}]]),
    "taken back": (lambda s: (s["list"].append(4), s["list"].pop()), []),
    "set and deleted": (lambda s: (s.__setitem__("n", 5), s.__delitem__("n")), [["del", ["n"]]]),
    "deleted and set": (lambda s: (s.__delitem__("n"), s.setdefault("n", 7)), [["set", ["n"], 7]]),
}  # fmt: skip


def _iadd(state: Any) -> None:
    state["list"] += [4]


def _later(state: Any) -> None:
    given: dict[str, Any] = {"y": []}
    state["x"] = given
    given["y"].append(1)


@pytest.mark.parametrize("what", CHANGES)
def test_only_the_changes_are_recorded(what: str) -> None:
    act, recorded = CHANGES[what]
    found, after = made_by(act)
    assert encode(found) == encode(recorded)
    expected = json.loads(json.dumps(BEFORE))
    act(expected)
    assert json.dumps(after, sort_keys=True) == json.dumps(expected, sort_keys=True)


def test_what_pydantic_turns_into_json_may_be_in_the_state() -> None:
    @dataclass
    class Point:
        x: int
        day: date

    found, after = made_by(lambda s: s.__setitem__("p", (Point(1, date(2030, 1, 2)),)))
    assert found == [["set", ["p"], [{"x": 1, "day": "2030-01-02"}]]]
    assert after["p"] == [{"x": 1, "day": "2030-01-02"}]


async def test_a_chunk_sees_what_it_has_changed_itself() -> None:
    flow = Flow("f")

    async def work(ctx: FlowContext) -> list[Any]:
        ctx.state["a"] = (1, 2)
        ctx.state["a"].append(3)
        del ctx.state["b"]
        assert "b" not in ctx.state
        with pytest.raises(KeyError):
            ctx.state["b"]
        with pytest.raises(KeyError):
            del ctx.state["b"]
        return [ctx.state["a"], repr(ctx.state), sorted(ctx.state)]

    async def begin(ctx: FlowContext) -> None:
        ctx.state["b"] = 1

    async def keep(ctx: FlowContext) -> None:
        ctx.state["seen"] = ctx.input

    flow.to(begin).to(work).to(keep)
    assert (await flow.start())["seen"] == [[1, 2, 3], "{'a': [1, 2, 3]}", ["a"]]


async def test_a_key_is_a_text() -> None:
    flow = Flow("f")

    async def work(ctx: FlowContext) -> None:
        ctx.state[1] = 1  # type: ignore[index] # pyright: ignore[reportArgumentType]

    flow.to(work)
    with pytest.raises(RunFailed, match="a key of the state must be a string") as failed:
        await flow.start()
    assert isinstance(failed.value.__cause__, InvalidDefinition)


def in_order(*parts: Callable[[Any], object]) -> Flow:
    """Chunks that look at the same state at the same time and end one after the other."""
    flow = Flow("f")
    turns = [asyncio.Event() for _ in parts]
    seen = asyncio.Barrier(len(parts))

    def chunk(n: int) -> Any:
        async def work(ctx: FlowContext) -> None:
            parts[n](ctx.state)
            await seen.wait()
            if n:
                await turns[n - 1].wait()
            turns[n].set()

        return flow.chunk(name=f"part{n}")(work)

    async def begin(ctx: FlowContext) -> None:
        ctx.state.update(BEFORE)

    flow.to(begin).batch(*((f"part{n}", chunk(n)) for n in range(len(parts))))
    return flow


async def after(*parts: Callable[[Any], object]) -> dict[str, Any]:
    one = await started(in_order(*parts))
    assert reloaded(one.flow, one).state == one.state
    return one.state


async def test_the_last_in_the_journal_wins() -> None:
    state = await after(lambda s: s.__setitem__("n", "first"), lambda s: s.__setitem__("n", "last"))
    assert state["n"] == "last"


async def test_changes_to_different_places_are_all_kept() -> None:
    state = await after(
        lambda s: s["orders"][0].__setitem__("status", "paid"),
        lambda s: s["orders"][1].__setitem__("status", "sent"),
        lambda s: s["list"].append("a"),
        lambda s: s["list"].append("b"),
        lambda s: s.setdefault("log", []).append("x"),
        lambda s: s.setdefault("log", []).append("y"),
    )
    assert [o["status"] for o in state["orders"]] == ["paid", "sent"]
    assert state["list"] == [1, 2, 3, "a", "b"]
    assert state["log"] == ["x", "y"]


async def test_a_list_that_is_assigned_is_not_mixed_with_another() -> None:
    state = await after(lambda s: s.__setitem__("list", [1, 2, 9]), lambda s: s.__setitem__("list", [8, 2, 3]))
    assert state["list"] == [8, 2, 3]


async def test_a_change_inside_what_another_has_replaced_is_lost_and_nothing_else() -> None:
    state = await after(
        lambda s: (s.__setitem__("d", 5), s.__setitem__("n", 2)),
        lambda s: (s["d"]["a"]["b"].append(2), s["list"].append(4)),
    )
    assert (state["d"], state["n"], state["list"]) == (5, 2, [1, 2, 3, 4])


async def test_what_was_changed_before_a_pause_stays_and_is_there_meanwhile() -> None:
    flow = Flow("f")

    async def ask(ctx: FlowContext) -> None:
        ctx.state["asked"] = ctx.input
        ctx.pause_for("q")

    flow.to(ask)
    one = await started(flow, "x")
    assert one.state == {"asked": "x"}
    [record] = records(one, Suspended)
    assert isinstance(record, Suspended)
    assert record.changes == [["set", ["asked"], "x"]]
    await one.continue_with(only(one), None)
    assert await one.close() == {"asked": "x"}


async def test_a_body_that_runs_again_changes_the_state_once() -> None:
    flow = Flow("f")

    async def ask(ctx: FlowContext) -> None:
        ctx.state.setdefault("runs", []).append(ctx.is_resume)
        ctx.pause_for("q", resume_to="self")

    flow.to(ask)
    one = await started(flow, "x")
    assert one.state == {}
    await one.continue_with(only(one), None)
    assert await one.close() == {"runs": [True]}


async def test_a_state_that_is_no_json_names_the_path_and_the_execution_stays_usable() -> None:
    flow = Flow("f")

    async def store(ctx: FlowContext) -> None:
        ctx.state["config"] = {"ok": 1}
        ctx.state["config"]["callback"] = len if not ctx.notes else "len"

    async def ask(ctx: FlowContext) -> None:
        ctx.pause_for("q", interrupt_id="q")

    flow.to(store)
    flow.to(ask)
    one = await started(flow)
    error = next(i for i in one.pending_interrupts.values() if i.kind == "error")
    assert "state.config.callback: a value of type builtin_function_or_method" in error.payload["error"]
    assert one.state == {}
    await one.say("a text, please")
    await one.continue_with(error.id, "retry")
    await one.continue_with("q", 1)
    assert await one.close() == {"config": {"ok": 1, "callback": "len"}}


async def test_an_assignment_that_is_no_json_is_refused_where_it_is_written() -> None:
    flow = Flow("f")

    async def store(ctx: FlowContext) -> None:
        with pytest.raises(NotJSON, match=r"state.x\[0\]: a value of type function"):
            ctx.state["x"] = [lambda: None]
        ctx.state["x"] = "fine"

    flow.to(store)
    assert await flow.start() == {"x": "fine"}


async def test_the_state_that_is_given_out_is_a_copy() -> None:
    flow = Flow("f")

    async def store(ctx: FlowContext) -> None:
        ctx.state["x"] = [1]

    flow.to(store)
    one = await started(flow)
    one.state["x"].append(2)
    assert one.state == {"x": [1]}


async def test_results_of_one_commit_are_recorded_as_they_were() -> None:
    """One adds to what the other has set, in one commit: the record of the first must not grow."""
    flow = Flow("f")
    flow.to(flow.chunk(name="begin")(_begin)).batch(
        *((f"b{n}", flow.chunk(name=f"add{n}")(_add)) for n in range(8)),
    )  # fmt: skip
    one = await started(flow)
    assert one.state == {"log": ["x"] * 8}
    assert execution(flow).load(one.save().to_json()).state == one.state


def _begin(ctx: FlowContext) -> None:
    ctx.state["log"] = []


async def _add(ctx: FlowContext) -> None:
    ctx.state["log"].append("x")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from([0.0, 1.0, 1.5]) | st.sampled_from(["", "a", "b"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=12,
)


@settings(max_examples=300)
@given(JSON, JSON)
def test_changes_turn_one_value_into_the_other(before: Any, after: Any) -> None:
    data = {"x": decode(encode(before))}
    apply(data, decode(encode(changes(before, after, ["x"]))))
    assert json.dumps(data["x"], sort_keys=True) == json.dumps(after, sort_keys=True)  # in JSON, names have no order
    assert changes(after, after, ["x"]) == []


QUEUE: dict[str, Callable[[list[Any]], object]] = {
    "taken from its beginning": lambda queue: queue.pop(0),
    "taken from its end": lambda queue: queue.pop(),
    "taken from its middle": lambda queue: queue.pop(len(queue) // 2),
    "put at its beginning": lambda queue: queue.insert(0, {"n": "new"}),
    "one replaced by two": lambda queue: queue.__setitem__(slice(3, 4), [{"n": "x"}, {"n": "y"}]),
    "grown": lambda queue: queue.append({"n": "new"}),
}


@pytest.mark.parametrize("act", QUEUE)
def test_a_change_of_a_list_costs_what_changed_however_long_it_is(act: str) -> None:
    sizes: list[int] = []
    for length in (10, 1000):
        before = [{"n": n} for n in range(length)]
        after: list[Any] = decode(encode(before))
        QUEUE[act](after)
        found = changes(before, after, ["queue"])
        sizes.append(len(encode(found)))
        data = {"queue": decode(encode(before))}
        apply(data, found)
        assert data["queue"] == after
    assert sizes[1] <= sizes[0] + 4  # a longer number


def test_two_chunks_that_take_from_one_list_both_take() -> None:
    """Each has seen the whole list; neither brings back what the other has taken."""
    before = [1, 2, 3, 4]
    data = {"queue": decode(encode(before))}
    for after in ([2, 3, 4], [1, 2, 3]):
        apply(data, changes(before, after, ["queue"]))
    assert data["queue"] == [2, 3]


def test_two_chunks_that_take_the_same_element_take_no_other() -> None:
    data = {"queue": [1, 2, 3, 4]}
    for _ in range(2):
        apply(data, changes([1, 2, 3, 4], [2, 3, 4], ["queue"]))
    assert data["queue"] == [2, 3, 4]
