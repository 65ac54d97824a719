"""The pattern's own example, and every control from another process than the one that works."""

import asyncio
import sys

import pytest
from tests.control.conftest import Begin, Office
from tests.control.process import Process
from tests.control.world import LIMIT, Ledger, act, call, does, says, script

from adjourn import Cancelled, Completed, Paused, Runtime
from adjourn.core.records import Broke, Intended, Returned


async def test_a_research_agent_that_repeats_itself_is_paused_read_and_told_to_summarise_and_stop(
    begin: Begin, address: str, ledger: Ledger
) -> None:
    replies = [does(call("look", name=f"source {n % 3}"), act(f"note {n}")) for n in range(6)]
    thought = says("", pieces=["Let me search ", "once more"], gate="never")
    worker = await begin("solo")
    await worker.do("start", agent="solo", run="r", input=script("r", *replies, thought, says("the summary")))
    await ledger.until("r", "model asked 6")
    async with Runtime(address) as desk:
        run = await desk.get("r")
        await asyncio.sleep(0.1)
        await run.pause(by="operator", reason="repeating itself", now=True)
        assert isinstance(outcome := await run.wait(LIMIT), Paused)
        assert outcome.status == "paused"
        await worker.kill()  # the snapshot is in the store, not in a process
        notes = [m for m in await run.messages() if type(m).__name__ == "ToolResult"]
        assert len(notes) == 12
        assert (await run.state()).text == "Let me search once more"
        before = ledger.lines("r")
        await run.resume(instruction="summarise and stop", by="operator")
        await begin("solo")
        assert isinstance(ended := await run.wait(LIMIT), Completed)
        assert ended.output == "the summary"
        records = [x for _, x in await desk.store.load("r")]
    assert ledger.lines("r") == [*before, "model asked 7"], "one more model call, and no tool"
    assert len(ledger.lines("r", "acted")) == len(set(ledger.lines("r", "acted"))) == 6
    last = ledger.requests("r")[-1]
    assert last[-3]["interrupted"] and last[-1]["text"] == "summarise and stop"
    assert [x.text for x in records if isinstance(x, Broke)] == ["Let me search once more"]
    assert ended.usage.requests == 8


async def test_every_control_reaches_a_worker_in_another_process(office: Office) -> None:
    """The worker and the controller are two processes, and this one is neither."""
    worker, ledger = office.worker, office.ledger
    control = await Process.begin(office.db, ledger)

    async def on(run: str, what: str, **options: object) -> object:
        return await control.do("run", run=run, what=what, **options)

    play = script(
        "every", does(act("a"), call("pay", name="p"), call("pay", name="q"), call("wonder", question="?"), gate="1"),
        does(act("b"), gate="2"), says("", pieces=["hm"], gate="never"), does(act("c")), says("", gate="never"),
    )  # fmt: skip
    await worker.do("start", agent="solo", run="every", input=play)
    await ledger.until("every", "model asked 0")
    assert await on("every", "pause", by="ann") is None
    ledger.open("every", "1")
    assert (await control.do("wait", run="every"))["status"] == "paused"
    assert ledger.lines("every", "act") == []
    await on("every", "resume", by="ann")
    await ledger.until("every", "acted a")
    waiting = (await control.do("wait", run="every"))["interrupts"]
    while len(waiting) < 3:
        waiting = (await control.do("wait", run="every"))["interrupts"]
    first, second, question = waiting
    await control.do("runtime", what="halt", args=["tool:pay"], reason="incident", by="ann")
    assert (await control.do("runtime", what="approve", args=[first], by="ann"))["error"] == "Halted"
    await control.do("runtime", what="deny", args=[second], by="ann", note="no")
    await control.do("runtime", what="unhalt", args=["tool:pay"], by="ann")
    assert isinstance(await control.do("runtime", what="approve", args=[first], by="ann"), int)
    await ledger.until("every", "acted p")
    assert isinstance(await control.do("runtime", what="answer", args=[question, "yes"], by="ann"), int)
    await ledger.until("every", "model asked 1")
    await on("every", "say", text="also Norway", by="ann")
    ledger.open("every", "2")
    await ledger.until("every", "model asked 2")
    await asyncio.sleep(0.1)
    await on("every", "pause", by="ann", now=True)
    assert (await control.do("wait", run="every"))["status"] == "paused"
    copy = await control.do("fork", run="every", run_id="every-fork", by="ann", answers="keep")
    assert copy == "every-fork"
    await on("every", "resume", by="ann", instruction="go on")
    await ledger.until("every", "model asked 4")
    preview = await on("every", "cancel_preview")
    await on("every", "cancel", by="ann", reason="enough")
    assert (await control.do("wait", run="every"))["status"] == "cancelled"
    assert [w.split()[1] for w in ledger.lines("every", "undone")] == ["c", "b", "p", "a"]
    assert [x["call_id"] for x in preview["undo"]] == ["4.0", "2.0", "1.1", "1.0"]  # type: ignore[index]
    await ledger.until("every-fork", "acted c")
    assert ledger.lines("every-fork", "acted") == ["acted c"], "what was recorded before the fork is not done again"
    await on("every-fork", "cancel", by="ann")
    assert (await control.do("wait", run="every-fork"))["status"] == "cancelled"
    heard = [m["text"] for m in ledger.requests("every")[2] if m["type"] == "user"]
    assert heard[-1] == "also Norway"
    assert await control.do("runtime", what="verify", args=[]) == []
    await control.kill()


@pytest.mark.crash
async def test_the_command_line_halts_the_bare_file_and_a_worker_that_comes_later_starts_nothing(
    begin: Begin, db: str, address: str, ledger: Ledger
) -> None:
    async def adjourn(*words: str) -> str:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "adjourn", *words, "--db", db, "--by", "ann", stdout=asyncio.subprocess.PIPE
        )
        out, _ = await process.communicate()
        assert process.returncode == 0
        return out.decode()

    first = await begin("solo")
    await first.do("start", agent="solo", run="r", input=script("r", does(call("pay", name="a")), says("done")))
    [item] = (await first.do("wait", run="r"))["interrupts"]
    await first.kill()
    assert "incident 7" in await adjourn("halt", "*", "--reason", "incident 7")
    await begin("solo")
    async with Runtime(address) as desk:
        run = await desk.get("r")
        await run.say("are you there?", by="bob")
        async with asyncio.timeout(LIMIT):
            while not any(type(x).__name__ == "Claimed" and x.epoch == 2 for _, x in await desk.store.load("r")):  # type: ignore[attr-defined] # pyright: ignore
                await asyncio.sleep(0.02)
        await asyncio.sleep(0.2)
        assert ledger.lines("r") == ["model asked 0"]
        await adjourn("unhalt", "*")
        await desk.approve(item, by="bob")
        assert isinstance(await run.wait(LIMIT), Completed)
    assert ledger.lines("r", "acted") == ["acted a"]


async def test_a_cancel_and_a_finish_and_an_approval_at_once_have_one_winner_and_the_losers_are_told(
    office: Office,
) -> None:
    async def race(n: int) -> str:
        name = f"race{n}"
        run = await office.desk.get(name)
        assert isinstance(outcome := await run.wait(LIMIT), Paused)
        item = outcome.interrupts[0].id

        async def cancel() -> None:
            await asyncio.sleep(0.1 * n)  # before, while and after the worker hears of the decision
            await run.cancel(by="ann")

        told = await asyncio.gather(
            office.desk.approve(item, by="bob"), office.desk.deny(item, by="carl"), cancel(), return_exceptions=True
        )
        ended = await run.wait(LIMIT)
        assert isinstance(ended, Completed | Cancelled)
        assert len([x for x in told[:2] if isinstance(x, int)]) <= 1
        for loser in (x for x in told if isinstance(x, Exception)):
            assert type(loser).__name__ in ("AlreadyDecided", "Refused", "InterruptClosed") and str(loser)
        records = await office.records(name)
        assert len([x for x in records if type(x).__name__ in ("RunCompleted", "RunCancelled")]) == 1
        ran = len([x for x in records if isinstance(x, Returned) and x.call == "1.0" and x.ran])
        assert len(office.ledger.lines(name, "acted")) == ran
        assert len([x for x in records if isinstance(x, Intended) and x.call == "1.0"]) <= 1
        if isinstance(ended, Cancelled):
            assert len(office.ledger.lines(name, "undone")) == ran
        return ended.status

    for n in range(16):
        await office.start("solo", script(f"race{n}", does(call("pay", name="a")), says("done")))
    assert set(await asyncio.gather(*(race(n) for n in range(16)))) == {"completed", "cancelled"}
