"""Processes of guests for the console's test: `python -m tests.guests.console_rig`.

Everything is imported once. Each line of its input, `[framework, verb, folder]`, is done by a fork of this process, made before
any thread, event loop or database exists in it; a line of the output is the folder, and the result. Who still waits there, because
a test gave up, is in nobody's way.
"""

import asyncio
import gc
import json
import os
import signal
import sys
import traceback
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from agents import set_tracing_disabled
from tests.guests import test_resume_twice

from adjourn import Completed, Policy, Runtime, ask, is_paused
from adjourn.guests import adopt
from adjourn.testing import GuestScript, call, streamed
from adjourn.testing.guest_script import GuestReply

RUN = "run-1"
SAID = ("All ", "is ", "well.")


class Paced(GuestScript):
    """Goes on with its last words when somebody has heard the first of them."""

    def __init__(self, folder: Path) -> None:
        super().__init__([call("refund", order="A1", cents=500)], streamed(*SAID))
        self._heard = folder / "heard"

    async def spoken(self, reply: GuestReply) -> AsyncIterator[str]:
        for number, piece in enumerate(reply.pieces):
            if number == 1:
                await asyncio.to_thread(self._heard.read_bytes)  # a pipe: until somebody writes into it
            yield piece


class Books:
    """A shop whose books are a file."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "ledger"

    @property
    def refund(self) -> Any:
        async def refund(order: str, cents: int) -> str:
            """Pay money back."""
            with self._file.open("a") as file:
                file.write(f"{os.getpid()} {order} {cents}\n")
            return "refunded"

        return refund


def guest(framework: str, folder: Path) -> Any:
    test_resume_twice.script = lambda: Paced(folder)
    make, _ = test_resume_twice.ALONE[framework]
    return adopt(make(Books(folder)), policy=Policy([ask("refund")], default="allow"))  # pyright: ignore[reportArgumentType]


async def act(framework: str, verb: str, folder: Path) -> Any:
    agent = guest(framework, folder)
    async with Runtime(f"sqlite:///{folder}/adjourn.db", [agent]) as rt:
        if verb == "begin":
            run = await rt.start(agent, "refund A1", run_id=RUN)
        else:
            run = await rt.get(RUN)
        outcome = await run.wait(60)
        output: Any = outcome.output if isinstance(outcome, Completed) else None
        return {"paused": is_paused(outcome), "output": output, "pid": os.getpid()}


def main() -> None:
    set_tracing_disabled(True)
    gc.collect()
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody asks how a fork ended
    print(json.dumps(["", "ready"]), flush=True)
    for line in sys.stdin:
        framework, verb, folder = json.loads(line)
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            try:
                result: Any = asyncio.run(act(framework, verb, Path(folder)))
            except BaseException:
                result = traceback.format_exc()
            os.write(1, json.dumps([folder, result]).encode() + b"\n")
            os._exit(0)


if __name__ == "__main__":
    main()
