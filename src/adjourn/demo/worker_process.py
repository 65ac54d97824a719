"""The worker of the demo: a process of its own, so that it can be killed.

    python -m adjourn.demo.worker_process DATABASE

It ends when its standard input does, so that it does not outlive the demo; a Ctrl-C is for the demo
itself.
"""

import asyncio
import os
import signal
import sys

from adjourn import Runtime
from adjourn.demo.intruder import intruder
from adjourn.demo.programs import PROGRAMS, RUNS

DECIDERS = "ADJOURN_DEMO_DECIDERS"
"""The public key of the process that the demo is started in: only its decisions count."""
ALL_PROGRAMS = (*PROGRAMS, intruder)


async def main(database: str) -> None:
    """Start the demo's runs, those that are not there, and advance them."""
    programs = {program.name: program for program in ALL_PROGRAMS}
    deciders = os.environ.get(DECIDERS)
    async with Runtime(
        f"sqlite:///{database}", ALL_PROGRAMS, grace=0.5, deciders=[deciders] if deciders else None
    ) as rt:
        rt.worker.announce()
        for run, (name, input) in RUNS.items():
            await rt.start(programs[name], input, run_id=run, by="demo")
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    asyncio.run(main(*sys.argv[1:]))
