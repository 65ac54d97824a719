"""The worker of the demo: a process of its own, so that it can be killed.

    python -m adjourn.demo.worker_process DATABASE

It ends when its standard input does, so that it does not outlive the demo; a Ctrl-C is for the demo itself.
"""

import asyncio
import os
import signal
import sys

from adjourn import Runtime
from adjourn.demo import programs as demo_cast
from adjourn.demo.intruder import intruder

DECIDERS = "ADJOURN_DEMO_DECIDERS"
"""The public key of the demo's server: whose decisions count."""
CAST = (*demo_cast.CAST, intruder)


async def main(database: str) -> None:
    """Start the demo's runs, those that are not there, and advance them."""
    programs = {program.name: program for program in CAST}
    deciders = os.environ.get(DECIDERS)
    async with Runtime(f"sqlite:///{database}", CAST, grace=0.5, deciders=[deciders] if deciders else None) as rt:
        for run, (name, input) in demo_cast.RUNS.items():
            await rt.start(programs[name], input, run_id=run, by="demo")
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    asyncio.run(main(*sys.argv[1:]))
