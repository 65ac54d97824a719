"""A server that is killed in the middle of a payment: `python -m tests.front_ends.dying_server FOLDER`.

The money has moved, and nobody has written down that it did. It prints one line of JSON when it is up.
"""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from adjourn import Agent, tool
from adjourn.driver.worker_mark import MARK
from adjourn.server import Serving, serve
from adjourn.testing import ScriptedModel, call


def payer(folder: Path, *, dies: bool) -> Agent[Any]:
    """Pays once, if a person agrees."""

    @tool(policy="ask", effect="unsafe")
    async def refund(order: str, cents: int) -> str:
        """Pay money back."""
        with (folder / "ledger").open("a", encoding="utf-8") as ledger:
            ledger.write(f"{order} {cents}\n")
        if dies:
            os.kill(os.getpid(), signal.SIGKILL)
        return f"paid {cents}"

    return Agent("payer", model=ScriptedModel([call("refund", order="A1", cents=500)], "Settled."), tools=[refund])


def told(up: Serving) -> None:
    print(json.dumps({"url": up.url, "token": up.token}), flush=True)


async def main() -> None:
    folder = Path(sys.argv[1])
    await serve(
        f"sqlite:///{folder / 'runs.db'}", [payer(folder, dies=True)], port=0, name="ana", token=True, ready=told
    )


async def begun(folder: Path) -> tuple[asyncio.subprocess.Process, dict[str, str]]:
    """The process, and where it is."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.front_ends.dying_server",
        str(folder),
        stdout=asyncio.subprocess.PIPE,
        env={name: value for name, value in os.environ.items() if name != MARK},  # a server is started by people
    )
    assert process.stdout is not None
    line = await process.stdout.readline()
    assert line, "the server did not come up"
    return process, json.loads(line)


if __name__ == "__main__":
    asyncio.run(main())
