"""Answers: wrong ids, second answers, the same request again, and what cannot be recorded. The question stays open."""

import asyncio

import pytest
from tests.flow.world import ask, execution, keep, only, records, started

from adjourn import (
    AlreadyDecided,
    Flow,
    FlowContext,
    InvalidAnswer,
    NotJSON,
    Refused,
    RequestReused,
    RunFailed,
    UnknownInterrupt,
)
from adjourn.core.records import Decided


async def test_a_wrong_id_lists_the_pending_ones() -> None:
    flow = Flow("f")
    flow.for_each().to(ask).end_for_each()
    one = await started(flow, [1, 2])
    ids = list(one.pending_interrupts)
    with pytest.raises(
        UnknownInterrupt,
        match=f"nope not found; open interrupts: {ids[0]}, {ids[1]}".replace("?", r"\?").replace("[", r"\["),
    ):
        await one.continue_with("nope", 1)
    assert list(one.pending_interrupts) == ids
    await one.continue_with(ids[0].partition(":")[2], 1)  # the id without the run's is enough
    assert list(one.pending_interrupts) == ids[1:]


async def test_a_second_answer_is_told_whose_was_first() -> None:
    flow = Flow("f")
    flow.for_each().to(ask).end_for_each().to(keep)
    one = await started(flow, [1, 2])
    first, second = one.pending_interrupts
    await one.continue_with(first, "ann's", by="ann")
    with pytest.raises(AlreadyDecided, match="^ann has already decided"):
        await one.continue_with(first, "bob's", by="bob")
    await one.continue_with(second, "x")
    assert await one.close() == {"kept": [["ann's", "x"]]}


async def test_of_five_answers_at_the_same_time_one_wins() -> None:
    flow = Flow("f")
    flow.to(ask).to(keep)
    one = await started(flow)
    id = only(one)
    results = await asyncio.gather(*(one.continue_with(id, n, by=f"p{n}") for n in range(5)), return_exceptions=True)
    assert sorted(type(r).__name__ for r in results) == ["AlreadyDecided"] * 4 + ["Execution"]
    [winner] = [n for n, r in enumerate(results) if not isinstance(r, BaseException)]
    assert await one.close() == {"kept": [winner]}


async def test_the_same_request_again_is_the_same_answer_again() -> None:
    flow = Flow("f")
    flow.for_each().to(ask).end_for_each().to(keep)
    one = await started(flow, [1, 2])
    first, second = one.pending_interrupts
    await one.continue_with(first, "x", by="ann", request_id="r1")
    await one.continue_with(first, "x", by="ann", request_id="r1")
    with pytest.raises(RequestReused):
        await one.continue_with(first, "y", by="ann", request_id="r1")
    await one.continue_with(second, "z", request_id="r2")
    assert await one.close() == {"kept": [["x", "z"]]}
    await one.continue_with(first, "x", by="ann", request_id="r1")  # also when all is over
    assert len(records(one, Decided)) == 2


async def test_nothing_goes_on_after_the_end() -> None:
    flow = Flow("f")
    flow.to(ask)
    one = await started(flow)
    id = only(one)
    await one.continue_with(id, 1)
    await one.close()
    for verb in (
        lambda: one.continue_with(id, 1),
        lambda: one.emit("x"),
        lambda: one.say("x"),
        one.pause,
        one.resume,
        one.cancel,
    ):
        with pytest.raises(Refused, match="it is (closed|completed)"):
            await verb()
    assert await one.close() == {}


async def test_an_answer_that_is_no_json_names_the_path_and_the_question_stays_open() -> None:
    flow = Flow("f")
    flow.to(ask).to(keep)
    one = await started(flow)
    with pytest.raises(NotJSON, match="answer.lock: a value of type lock"):
        import threading

        await one.continue_with(only(one), {"lock": threading.Lock()})
    await one.continue_with(only(one), {"lock": None})
    assert await one.close() == {"kept": [{"lock": None}]}


async def test_a_payload_that_is_no_json_names_the_path_and_the_execution_stays_usable() -> None:
    flow = Flow("f")

    async def ask(ctx: FlowContext) -> None:
        ctx.pause_for("q", {"callback": print} if not ctx.notes else {"callback": "print"})

    flow.to(ask).to(keep)
    one = execution(flow)
    with pytest.raises(RunFailed, match="payload.callback: a value of type builtin_function_or_method") as failed:
        await one.start()
    assert isinstance(failed.value.__cause__, NotJSON)
    await one.resume("write it as a text")
    await one.continue_with(only(one), "fine")
    assert await one.close() == {"kept": ["fine"]}


async def test_an_input_that_is_no_json_is_refused_and_the_execution_can_still_be_started() -> None:
    flow = Flow("f")
    flow.to(keep)
    one = execution(flow)
    with pytest.raises(NotJSON, match="input.f: a value of type function"):
        await one.start({"f": lambda: None})
    assert one.status == "created"
    await one.start("x")
    assert await one.close() == {"kept": ["x"]}


async def test_an_answer_that_does_not_fit_its_schema_is_refused() -> None:
    flow = Flow("f")

    async def ask(ctx: FlowContext) -> None:
        ctx.pause_for("q", answer_schema=int)

    flow.to(ask).to(keep)
    one = await started(flow)
    with pytest.raises(InvalidAnswer):
        await one.continue_with(only(one), "three")
    await one.continue_with(only(one), 3)
    assert await one.close() == {"kept": [3]}


async def test_a_given_id_is_used_once() -> None:
    flow = Flow("f")

    async def ask(ctx: FlowContext) -> None:
        ctx.pause_for("q", {"about": ctx.input}, interrupt_id="same")

    flow.for_each().to(ask).end_for_each()
    one = await started(flow, [1, 2])
    error = next(i for i in one.pending_interrupts.values() if i.kind == "error")
    assert "interrupt id 'same' is already used" in error.payload["error"]
    with pytest.raises(RunFailed, match="already used"):
        await one.continue_with("same", 1)
    with pytest.raises(AlreadyDecided):
        await one.continue_with("same", 2)


async def test_a_given_id_is_used_once_also_by_threads_at_the_same_time() -> None:
    flow = Flow("f")
    import threading

    together = threading.Barrier(2)

    def ask(ctx: FlowContext) -> None:
        together.wait(10)
        ctx.pause_for("q", interrupt_id="same")

    flow.for_each().to(ask).end_for_each()
    one = await started(flow, [1, 2])
    assert sorted(i.kind for i in one.pending_interrupts.values()) == ["error", "question"]
