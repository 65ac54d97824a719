"""Cancel: what is in flight is settled, what was done is undone in reverse, and what stays is listed."""

# pyright: reportPossiblyUnboundVariable=false

import asyncio
import os
import time
from pathlib import Path
from typing import Any

import pytest
from tests.control.conftest import Begin, Office
from tests.control.lives import stage
from tests.control.world import LIMIT, Ledger, act, call, does, says, script

from adjourn import Cancelled, Completed, Paused, Run, RunFailed, Runtime
from adjourn.core.done_calls import LEFT
from adjourn.core.records import CancelAsked, Doubted, Intended, Late
from adjourn.views.run_view import Residue


async def cancelled(run: Run[Any]) -> Cancelled:
    assert isinstance(outcome := await run.wait(LIMIT), Cancelled)
    return outcome


def undos(ledger: Ledger, run: str) -> list[str]:
    return [line.split()[1] for line in ledger.lines(run, "undone")]


async def test_g14_a_cancel_undoes_in_reverse_order_of_completion_and_lists_what_stays(office: Office) -> None:
    play = script(
        "reverse", does(act("a", gate="a"), act("b"), call("mark", name="m"), call("look", name="l")), does(act("c")),
        says("", gate="never"),
    )  # fmt: skip
    run = await office.start("solo", play)
    await office.ledger.until("reverse", "acted b")
    office.ledger.open("reverse", "a")
    await office.ledger.until("reverse", "model asked 2")
    preview = await run.cancel_preview()
    asked = time.monotonic()
    await run.cancel(by="ann", reason="no longer wanted")
    outcome = await cancelled(run)
    cut = office.ledger.at("reverse", "model cut 2") - asked
    print(f"cancel: the model call in another process was cut after {cut * 1000:.0f} ms")
    assert cut < 1.0
    assert undos(office.ledger, "reverse") == ["c", "a", "b"]
    assert outcome.undone == ["2.0", "1.0", "1.1"]
    assert [(x["tool"], x["why"]) for x in outcome.residue] == [("mark", "it has no undo")]
    assert [x.call_id for x in preview.undo] == outcome.undone
    assert preview.residue == tuple(map(Residue.of, outcome.residue))
    assert preview.in_flight == ()


async def test_cancelling_twice_is_the_same_as_once(office: Office) -> None:
    run = await office.start("solo", script("cancel-twice", does(act("a")), says("", gate="never")))
    await office.ledger.until("cancel-twice", "model asked 1")
    await asyncio.gather(*(run.cancel(by=f"p{n}") for n in range(5)))
    first = await cancelled(run)
    await run.cancel(by="late")
    assert (await cancelled(run)).checkpoint.seq == first.checkpoint.seq
    records = await office.records("cancel-twice")
    assert len([x for x in records if isinstance(x, CancelAsked)]) == 1
    assert office.ledger.lines("cancel-twice", "undo", "undone")[1:] == ["undone a"]
    assert [x.verb for x in await run.audit()].count("cancel") == 6


async def test_a_call_in_flight_gets_its_time_and_is_undone_with_its_result(office: Office) -> None:
    run = await office.start("solo", script("flight", does(act("a", gate="a")), says("done")))
    await office.ledger.until("flight", "act a")
    preview = await run.cancel_preview()
    assert [x.call_id for x in preview.in_flight] == ["1.0"]
    await run.cancel(by="ann")
    office.ledger.open("flight", "a")
    outcome = await cancelled(run)
    assert outcome.undone == ["1.0"]
    assert office.ledger.lines("flight", "act", "acted", "undone") == ["act a", "acted a", "undone a"]


async def test_a_sync_tool_that_listens_stops_and_is_undone(office: Office) -> None:
    run = await office.start("solo", script("polite", does(call("polite", name="a")), says("done")))
    await office.ledger.until("polite", "act a")
    await run.cancel(by="ann")
    outcome = await cancelled(run)
    assert outcome.undone == ["1.0"]
    assert office.ledger.lines("polite", "act", "stopped", "undone") == ["act a", "stopped a", "undone a"]


async def test_a_sync_tool_that_does_not_listen_is_residue_after_the_grace_period(office: Office) -> None:
    run = await office.start("solo", script("stubborn", does(call("stubborn", name="a")), says("done")))
    await office.ledger.until("stubborn", "act a")
    await run.cancel(by="ann")
    outcome = await cancelled(run)
    assert [(x["tool"], x["why"]) for x in outcome.residue] == [("stubborn", LEFT)]
    assert await office.desk.inbox(run="stubborn") == []
    office.ledger.open("stubborn", "a")
    async with asyncio.timeout(LIMIT):
        while not any(isinstance(x, Late) for x in await office.records("stubborn")):
            await asyncio.sleep(0.005)
    [item] = (await cancelled(run)).residue
    assert item["late"] == {"value": "at last"}


async def test_an_async_tool_that_hangs_is_cut_after_the_grace_period_and_listed_as_in_doubt(office: Office) -> None:
    run = await office.start("solo", script("hangs", does(call("mark", name="a", gate="never")), says("done")))
    await office.ledger.until("hangs", "act a")
    await run.cancel(by="ann")
    outcome = await cancelled(run)
    assert [(x["call_id"], x["why"]) for x in outcome.residue] == [("1.0", "in doubt")]
    assert [x.why for x in await office.records("hangs") if isinstance(x, Doubted)] != []


async def test_an_async_tool_that_does_not_let_itself_be_cancelled_is_residue_too(office: Office) -> None:
    run = await office.start("solo", script("deaf", does(call("deaf", name="a")), says("done")))
    await office.ledger.until("deaf", "act a")
    await run.cancel(by="ann")
    outcome = await cancelled(run)
    assert [(x["tool"], x["why"]) for x in outcome.residue] == [("deaf", LEFT)]
    assert office.ledger.lines("deaf", "ignored")
    office.ledger.open("deaf", "a")


async def test_an_isolated_tool_that_sleeps_for_ten_minutes_is_ended(office: Office) -> None:
    sleep = call("sleeper", name="a", folder=str(office.ledger.folder), seconds=600)
    run = await office.start("solo", script("sleeps", does(sleep), says("done")))
    async with asyncio.timeout(LIMIT):
        while not (found := office.ledger.lines("sleeps", "sleeping")):
            await asyncio.sleep(0.01)
    pid = int(found[0].split()[1])
    assert Path(f"/proc/{pid}").exists()
    await run.cancel(by="ann")
    assert isinstance(outcome := await run.wait(LIMIT), Paused)
    assert outcome.interrupts[0].kind == "in_doubt"
    await gone(pid)
    await office.desk.answer(outcome.interrupts[0].id, "not", by="bob")
    outcome = await cancelled(run)
    assert (outcome.undone, outcome.residue) == ([], [])


async def gone(pid: int) -> None:
    """Wait until there is no such process, or only its corpse."""
    async with asyncio.timeout(LIMIT):
        while True:
            try:
                if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                    return
            except (FileNotFoundError, ProcessLookupError):
                return
            await asyncio.sleep(0.01)


async def test_an_isolated_tool_does_not_outlive_a_worker_that_is_killed(begin: Begin, ledger: Ledger) -> None:
    worker = await begin("solo")
    sleep = call("sleeper", name="a", folder=str(ledger.folder), seconds=600)
    await worker.do("start", agent="solo", run="r", input=script("r", does(sleep), says("done")))
    async with asyncio.timeout(LIMIT):
        while not (found := ledger.lines("r", "sleeping")):
            await asyncio.sleep(0.01)
    await worker.kill()
    await gone(int(found[0].split()[1]))


async def test_an_isolated_tool_that_ends_gives_its_result(office: Office) -> None:
    sleep = call("sleeper", name="a", folder=str(office.ledger.folder), seconds=0)
    run = await office.start("solo", script("naps", does(sleep), says("done")))
    assert isinstance(await run.wait(LIMIT), Completed)
    assert office.ledger.requests("naps")[-1][-1]["content"] == "slept"


async def test_what_a_call_in_flight_registered_is_run_in_reverse_at_once(office: Office) -> None:
    play = script("locks", does(act("a")), does(call("hold", names=["x", "y", "z"], gate="never")), says("done"))
    run = await office.start("solo", play)
    await office.ledger.until("locks", "holding")
    await run.cancel(by="ann")
    outcome = await cancelled(run)
    done = office.ledger.lines("locks", "release", "undone", "held")
    assert done == ["release z", "release y", "release x", "undone a"]
    assert outcome.undone == ["2.0", "1.0"]


async def test_a_compensation_that_was_left_is_listed_although_the_others_worked(office: Office) -> None:
    office.ledger.plan("left", "y", "fail")
    play = script("left", does(call("hold", names=["x", "y", "z"], gate="never")), says("done"))
    run = await office.start("solo", play)
    await office.ledger.until("left", "holding")
    await run.cancel(by="ann")
    assert isinstance(outcome := await run.wait(LIMIT), Paused)
    assert outcome.interrupts[0].kind == "undo"
    await office.desk.answer(outcome.interrupts[0].id, "leave", by="bob")
    ended = await cancelled(run)
    assert office.ledger.lines("left", "release") == ["release z", "release x"]
    assert (ended.undone, [x["why"] for x in ended.residue]) == ([], ["left: its undo failed"])


async def test_a_call_cut_off_with_both_a_compensation_and_an_undo_is_still_in_doubt(office: Office) -> None:
    run = await office.start("solo", script("both", does(call("hold_and_act", name="x", gate="never")), says("done")))
    await office.ledger.until("both", "holding")
    await run.cancel(by="ann")
    assert isinstance(outcome := await run.wait(LIMIT), Paused)
    assert office.ledger.lines("both", "release", "undone") == ["release x"]
    [item] = outcome.interrupts
    assert item.kind == "in_doubt"
    await office.desk.answer(item.id, "happened", by="bob")
    assert (await cancelled(run)).undone == ["1.0"]
    assert office.ledger.lines("both", "release", "undone") == ["release x", "undone x"]


async def test_a_call_that_has_ended_does_not_run_what_it_registered(office: Office) -> None:
    run = await office.start("solo", script("over", does(call("hold", names=["x"])), says("", gate="never")))
    await office.ledger.until("over", "model asked 1")
    await run.cancel(by="ann")
    outcome = await cancelled(run)
    assert office.ledger.lines("over", "release") == []
    assert [x["tool"] for x in outcome.residue] == ["hold"]


async def test_compensations_at_module_level_are_run_by_another_process_after_a_crash(
    begin: Begin, address: str, ledger: Ledger
) -> None:
    lost = await begin("solo")
    await lost.do("start", agent="solo", run="r", input=script("r", does(call("hold", names=["x", "y"], gate="never"))))
    await ledger.until("r", "holding")
    await lost.kill()
    async with Runtime(address) as desk:
        run = await desk.get("r")
        await run.cancel(by="ann")
        await begin("solo")
        assert isinstance(await run.wait(LIMIT), Cancelled)
    assert ledger.lines("r", "release") == ["release y", "release x"]


async def test_a_compensation_that_cannot_be_found_waits_for_a_person(folder: Path) -> None:
    async with stage(folder) as on:
        run = await on.start(script("r", does(call("hold_inside", gate="never")), says("done")))
        await on.until(lambda: "holding" in on.ledger.lines("r"))
        await on.die()
        from adjourn.bodies import compensations

        compensations._registered.clear()  # as in another process
        rt = await on.live()
        run = await rt.get("r")
        await on.rest(run, "waiting")
        await run.cancel(by="ann")
        assert await on.rest(run) == "stuck"
        [question] = (await run.state()).interrupts
        assert question.kind == "undo"
        assert "run it by hand" in question.payload["error"]
        assert "released inside" not in on.ledger.lines("r")
        await rt.answer(question.id, "done", by="bob")
        assert await on.rest(run) == "cancelled"
        assert (await on.outcome(run)).undone == ["1.0"]


async def test_a_compensation_inside_a_function_is_run_in_the_same_process(office: Office) -> None:
    run = await office.start("solo", script("inside", does(call("hold_inside", gate="never")), says("done")))
    await office.ledger.until("inside", "holding")
    await run.cancel(by="ann")
    assert (await cancelled(run)).undone == ["1.0"]
    assert "released inside" in office.ledger.lines("inside")


async def test_a_body_that_runs_again_registers_its_compensations_once(folder: Path) -> None:
    async with stage(folder) as on:
        run = await on.start(script("r", does(call("hold", names=["x", "x"], gate="g")), says("done")))
        await on.until(lambda: "holding" in on.ledger.lines("r"))
        await on.die()
        rt = await on.live()
        run = await rt.get("r")
        await on.rest(run, "waiting")
        [question] = (await run.state()).interrupts
        await rt.answer(question.id, "run", by="ann")
        await on.until(lambda: on.ledger.lines("r").count("holding") == 2)
        await run.cancel(by="ann")
        await on.rest(run, "cancelled")
        assert on.ledger.lines("r", "release") == ["release x", "release x"]  # two locks, not four


DOUBTS: list[tuple[str, str, str, list[str], list[str], list[str]]] = [
    # tool, what verify says, what a person says, verified, undone, left
    ("act", "", "happened", [], ["a"], []),
    ("act", "", "not", [], [], []),
    ("act", "", "leave", [], [], ["a"]),
    ("mark", "", "", [], [], ["a"]),
    ("put", "", "happened", [], ["a"], []),
    ("put", "", "not", [], [], []),
    ("send", "", "", ["verify a"], [], []),
    ("send", "unknown", "happened", ["verify a"], ["a"], []),
    ("send", "unknown", "not", ["verify a"], [], []),
    ("send", "unknown", "leave", ["verify a"], [], ["a"]),
]


@pytest.mark.parametrize(("tool", "verify", "answer", "verified", "undone", "left"), DOUBTS)
@pytest.mark.parametrize("when", ["before the takeover", "after it was asked"])
async def test_a_call_in_doubt_is_verified_or_asked_about_if_it_has_an_undo_or_listed(
    folder: Path, tool: str, verify: str, answer: str, verified: list[str], undone: list[str], left: list[str], when: str
) -> None:  # fmt: skip
    async with stage(folder) as on:
        run = await on.start(script("r", does(call(tool, name="a", gate="never")), says("done")))
        on.ledger.plan("r", "verify-a", verify or "look")
        await on.until(lambda: "act a" in on.ledger.lines("r"))
        await on.die()
        if when == "before the takeover" or tool in ("put",) or (tool, verify) == ("send", ""):
            await on.store.deliver("r", CancelAsked(by="ann"))  # these two would not ask, but run again
            rt = await on.live()
            run = await rt.get("r")
        else:
            rt = await on.live()
            run = await rt.get("r")
            assert await on.rest(run) == "waiting"
            assert [i.kind for i in (await run.state()).interrupts] == ["in_doubt"]
            preview = await run.cancel_preview()
            assert [x.call_id for x in preview.in_flight] == (["1.0"] if answer else [])
            assert (preview.undo, [x.arguments["name"] for x in preview.residue]) == ((), left if not answer else [])
            await run.cancel(by="ann")
        if answer:
            assert await on.rest(run, "stuck", "cancelled") == "stuck"
            [question] = (await run.state()).interrupts
            assert question.kind == "in_doubt"
            assert question.id in [i.id for i in await rt.inbox()]
            await rt.answer(question.id, answer, by="bob")
        assert await on.rest(run, "stuck", "cancelled") == "cancelled"
        outcome = await on.outcome(run)
        assert on.ledger.lines("r", "verify") == verified
        assert undos(on.ledger, "r") == undone
        assert outcome.undone == ["1.0" for _ in undone]
        assert [x["arguments"]["name"] for x in outcome.residue] == left
        assert all("in doubt" in x["why"] for x in outcome.residue)


async def test_giving_up_on_a_call_in_doubt_undoes_it_without_asking_again(folder: Path) -> None:
    async with stage(folder) as on:
        run = await on.start(script("r", does(act("a", gate="never")), says("done")))
        await on.until(lambda: "act a" in on.ledger.lines("r"))
        await on.die()
        rt = await on.live()
        run = await rt.get("r")
        await on.rest(run, "waiting")
        [question] = (await run.state()).interrupts
        await rt.answer(question.id, "cancel", by="ann")
        assert await on.rest(run) in ("cancelled",)
        assert undos(on.ledger, "r") == ["a"]


async def test_a_call_that_a_person_says_did_not_happen_is_not_undone_by_a_cancel_before_it_runs_again(
    folder: Path,
) -> None:
    async with stage(folder) as on:
        run = await on.start(script("r", does(act("a", gate="never")), says("done")))
        await on.until(lambda: "act a" in on.ledger.lines("r"))
        await on.die()
        rt = await on.live()
        run = await rt.get("r")
        await on.rest(run, "waiting")
        [question] = (await run.state()).interrupts
        await run.pause(by="ann")
        await rt.answer(question.id, "run", by="ann")
        await run.cancel(by="ann")
        assert await on.rest(run) == "cancelled"
        assert undos(on.ledger, "r") == []
        outcome = await on.outcome(run)
        assert (outcome.undone, outcome.residue) == ([], [])


async def test_a_half_done_call_that_waits_for_an_answer_is_undone(office: Office) -> None:
    run = await office.start("solo", script("half", does(act("b"), call("half", name="a")), says("done")))
    assert isinstance(await run.wait(LIMIT), Paused)
    await run.cancel(by="ann")
    outcome = await cancelled(run)
    assert outcome.undone == ["1.1", "1.0"]
    assert undos(office.ledger, "half") == ["a", "b"]


async def test_an_error_of_a_tool_undoes_nothing(office: Office) -> None:
    run = await office.start("solo", script("error", does(act("a"), call("act", nothing=1)), says("went on")))
    assert isinstance(outcome := await run.wait(LIMIT), Completed)
    assert outcome.output == "went on"
    assert office.ledger.lines("error", "undo") == []


async def test_a_run_that_failed_is_undone_if_a_person_gives_up_on_it(office: Office) -> None:
    run = await office.start("solo", script("failed", does(act("a")), says("", error="no such model")))
    with pytest.raises(RunFailed, match="no such model"):
        await run.wait(LIMIT)
    assert office.ledger.lines("failed", "undo") == []
    [item] = await office.desk.inbox(run="failed")
    assert (item.kind, sorted(item.choices)) == ("error", ["cancel", "retry"])
    await office.desk.answer(item.id, "cancel", by="ann")
    assert (await cancelled(run)).undone == ["1.0"]
    assert undos(office.ledger, "failed") == ["a"]


async def test_a_preview_changes_nothing_and_says_what_then_happens(office: Office) -> None:
    play = script("preview", does(act("a"), call("mark", name="m"), call("half", name="h"), call("pay", name="p")))
    run = await office.start("solo", play)
    await run.wait(LIMIT)
    before = await office.records("preview")
    preview = await run.cancel_preview()
    assert await office.records("preview") == before
    await run.cancel(by="ann")
    outcome = await cancelled(run)
    assert [x.call_id for x in preview.undo] == outcome.undone == ["1.2", "1.0"]
    assert preview.residue == tuple(map(Residue.of, outcome.residue))
    assert preview.undo[1].result == {"did": "a"}


async def test_a_failing_undo_is_tried_again_and_then_waits_for_a_person(office: Office) -> None:
    office.ledger.plan("asks-undo", "b", "fail")
    run = await office.start(
        "solo", script("asks-undo", does(act("a")), does(act("b")), does(act("c")), says("", gate="x"))
    )
    await office.ledger.until("asks-undo", "model asked 3")
    await run.cancel(by="ann")
    assert isinstance(outcome := await run.wait(LIMIT), Paused)
    assert outcome.status == "stuck"
    assert await run.status() == "stuck"
    [question] = outcome.interrupts
    assert (question.kind, sorted(question.choices)) == ("undo", ["done", "leave", "retry"])
    assert question.payload == {"error": "RuntimeError: the target refuses", "undo": "act", "attempts": 3}
    assert [i.id for i in await office.desk.inbox(run="asks-undo")] == [question.id]
    assert undos(office.ledger, "asks-undo") == ["c"]
    office.ledger.plan("asks-undo", "b", "ok")
    await office.desk.answer(question.id, "retry", by="bob")
    outcome = await cancelled(run)
    assert undos(office.ledger, "asks-undo") == ["c", "b", "a"]
    assert outcome.undone == ["3.0", "2.0", "1.0"]
    lines = [line.split()[1:] for line in office.ledger.lines("asks-undo", "undo")]
    assert len({key for name, key in lines if name == "b"}) == 1
    assert len([name for name, _ in lines if name == "b"]) == 4
    attempts = [
        x.attempt for x in await office.records("asks-undo") if isinstance(x, Intended) and x.call == "2.0!undo"
    ]
    assert attempts == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("answer", "undone", "left"), [("done", True, []), ("leave", False, ["left: its undo failed"])]
)
async def test_a_person_may_say_that_an_undo_is_done_or_leave_it(
    office: Office, answer: str, undone: bool, left: list[str]
) -> None:
    name = f"choice-{answer}"
    office.ledger.plan(name, "b", "fail")
    run = await office.start("solo", script(name, does(act("a"), act("b")), says("", gate="x")))
    await office.ledger.until(name, "model asked 1")
    await run.cancel(by="ann")
    assert isinstance(outcome := await run.wait(LIMIT), Paused)
    await office.desk.answer(outcome.interrupts[0].id, answer, by="bob")
    ended = await cancelled(run)
    assert undos(office.ledger, name) == ["a"]
    assert ended.undone == (["1.1", "1.0"] if undone else ["1.0"])
    assert [x["why"] for x in ended.residue] == left


async def test_an_undo_that_kills_its_worker_every_time_waits_for_a_person_in_the_end(folder: Path) -> None:
    async with stage(folder) as on:
        on.ledger.plan("r", "a", "crash")
        run = await on.start(script("r", does(act("a")), says("", gate="never")))
        await on.until(lambda: "model asked 1" in on.ledger.lines("r"))
        await run.cancel(by="ann")
        for deaths in range(1, 6):
            await on.until(lambda n=deaths: on.ledger.lines("r").count("crashing a") == n)
            await on.die()
            rt = await on.live()
        run = await rt.get("r")
        assert await on.rest(run) == "stuck"
        [question] = (await run.state()).interrupts
        assert question.kind == "undo"
        await rt.answer(question.id, "leave", by="ann")
        assert await on.rest(run) == "cancelled"
        assert len({line for line in on.ledger.lines("r", "undo")}) == 1


async def test_an_undo_that_pauses_or_cancels_itself_or_gives_back_an_object_does_not_break_the_cancel(
    folder: Path,
) -> None:
    from tests.control.world import Play

    from adjourn import Agent, pause_for, tool

    class Once:
        tried = 0

    async def pauses(ctx: Any, args: Any, result: Any) -> None:
        pause_for("question", "may I?")

    async def cancels(ctx: Any, args: Any, result: Any) -> None:
        Once.tried += 1
        if Once.tried == 1:
            raise asyncio.CancelledError

    async def strange(ctx: Any, args: Any, result: Any) -> object:
        return object()

    def made(name: str, undo: Any) -> Any:
        async def body() -> str:
            return "done"

        return tool(name=name, undo=undo)(body)

    ledger = Ledger(folder / "ledger")
    tools = [made("one", strange), made("two", cancels), made("three", pauses)]
    agent = Agent("odd", model=Play(ledger), tools=tools)
    async with stage(folder, agent) as on:
        run = await on.start(script("r", does(call("one"), call("two"), call("three")), says("", gate="never")))
        await on.until(lambda: "model asked 1" in on.ledger.lines("r"))
        await run.cancel(by="ann")
        assert await on.rest(run) == "stuck"
        questions = (await run.state()).interrupts
        assert [q.payload["undo"] for q in questions] == ["three"]
        assert on.rt is not None
        await on.rt.answer(questions[0].id, "done", by="ann")
        assert await on.rest(run) == "cancelled"
        assert (await on.outcome(run)).undone == ["1.2", "1.1", "1.0"]
        assert Once.tried == 2


def test_the_ledger_shares_its_clock_with_other_processes() -> None:
    assert time.get_clock_info("monotonic").monotonic and os.name == "posix"
