"""A flow of a file, advanced by `adjourn worker` processes that are killed, while this process only decides."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from adjourn import Cancelled, Completed, Paused, Run, Runtime

LIMIT = 60.0

SOURCE = """
import os
from adjourn import Flow

def happened(text):
    with open(os.environ["LEDGER"], "a") as file:
        file.write(text + "\\n")

paying, flow = Flow("paying"), Flow("orders")

@paying.chunk(effect="read")
async def confirm(ctx):
    ctx.pause_for("confirm", {"item": ctx.input})

def unpay(ctx, item, result):
    happened(f"unpaid {item}")

@paying.chunk(effect="idempotent", undo=unpay)
def pay(ctx):
    happened(f"paid {ctx.input}")
    return f"paid {ctx.input}"

paying.to(confirm).to(pay)

@flow.chunk(effect="read")
async def wait(ctx):
    ctx.pause_for("delivery", resume_event="delivered")

@flow.chunk(effect="idempotent")
async def keep(ctx):
    ctx.state.setdefault("kept", []).append(ctx.input)
    ctx.state["notes"] = ctx.notes

each = flow.branch().for_each(concurrency=2).to(paying).end_for_each()
flow.batch(("money", each), ("goods", wait)).to(keep)
flow.when("delivered").to(keep)
"""


class Place:
    """A folder with the file, a database, and the workers that were started there."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.ledger, self.workers = folder, folder / "ledger", list[subprocess.Popen[bytes]]()
        self.address = f"sqlite:///{folder}/runs.db"
        (folder / "app.py").write_text(SOURCE)

    def worker(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "adjourn", "worker", "app.py:flow", "--db", self.address, "--lease", "0.5"]
        self.workers.append(
            subprocess.Popen(
                command, cwd=self.folder, env={**os.environ, "LEDGER": str(self.ledger)}, stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )
        )  # fmt: skip
        return self.workers[-1]

    def kill(self) -> None:
        """Every worker dies, without a word."""
        for one in self.workers:
            if one.poll() is None:
                os.kill(one.pid, signal.SIGKILL)
            one.wait()
        self.workers.clear()

    def flow(self) -> Any:
        """The flow, as this process needs it to start a run of it."""
        space: dict[str, Any] = {}
        exec(compile(SOURCE, "app.py", "exec"), space)
        return space["flow"]


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    made = Place(tmp_path)
    yield made
    made.kill()


async def rested(run: Run[Any]) -> None:
    """Wait until a worker has carried a run as far as it goes, as seen from outside."""
    async with asyncio.timeout(LIMIT):
        while await run.status() != "waiting":
            await asyncio.sleep(0.02)


async def begun(place: Place, run_id: str) -> None:
    """Start a run and leave: this process never advances it again."""
    async with Runtime(place.address) as rt:
        assert isinstance(await (await rt.start(place.flow(), ["a", "b", "c"], run_id=run_id)).wait(LIMIT), Paused)


async def test_workers_that_are_killed_between_the_answers_are_replaced(place: Place, monkeypatch: Any) -> None:
    monkeypatch.setenv("LEDGER", str(place.ledger))
    await begun(place, "r")
    async with Runtime(place.address) as desk:
        run = await desk.get("r")
        await run.say("be kind", by="ann")
        for left in (3, 2, 1):
            waiting = [i for i in await desk.inbox(run="r") if i.type == "confirm"]
            assert len(waiting) == left  # one that waits holds no place
            await desk.answer(waiting[-1].id, waiting[-1].payload["item"].upper(), by="ann")
            place.worker()
            await rested(run)
            place.kill()
        await run.emit("delivered", "at the door", by="till")
        place.worker()
        outcome = await run.wait(LIMIT)
        assert isinstance(outcome, Completed)
        money = [f"paid {item}" for item in "ABC"]
        assert outcome.output == {"kept": ["at the door", {"money": money, "goods": None}], "notes": ["be kind"]}
        assert sorted(set(place.ledger.read_text().split("\n"))) == ["", *money]
        assert await desk.verify() == []


async def test_a_cancel_is_carried_out_by_whatever_worker_comes_next(place: Place, monkeypatch: Any) -> None:
    monkeypatch.setenv("LEDGER", str(place.ledger))
    await begun(place, "r")
    async with Runtime(place.address) as desk:
        run = await desk.get("r")
        [first, *_] = [i for i in await desk.inbox(run="r") if i.type == "confirm"]
        await desk.answer(first.id, "A", by="ann")
        place.worker()
        await rested(run)
        assert len(await desk.inbox(run="r")) == 3
        place.kill()
        await run.cancel(by="ann", reason="enough")
        assert await run.status() == "cancelling"
        place.worker()
        outcome = await run.wait(LIMIT)
        assert isinstance(outcome, Cancelled)
        assert (len(outcome.undone), outcome.residue) == (1, [])
        assert place.ledger.read_text() == "paid A\nunpaid A\n"
