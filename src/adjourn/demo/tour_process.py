"""One process of the tour: it opens a runtime on the database, advances one run until it rests, and ends.

    python -m adjourn.demo.tour_process DATABASE RUN [AGENT INPUT]

With AGENT and INPUT it starts the run. It exits as the command line does: 0 completed, 3 waiting, 4 cancelled.
"""

import asyncio
import sys

from adjourn import Runtime
from adjourn.demo.tour_agents import AGENTS

CODES = {"completed": 0, "waiting": 3, "paused": 3, "cancelled": 4}
PATIENCE = 30.0


async def main(database: str, run_id: str, agent: str = "", input: str = "") -> int:
    """Advance the run until it rests; the code to exit with."""
    async with Runtime(f"sqlite:///{database}", AGENTS.values()) as rt:
        run = await rt.start(AGENTS[agent], input, run_id=run_id, by="shop") if agent else await rt.get(run_id)
        outcome = await run.wait(PATIENCE)
        return CODES.get(outcome.status, 1)


if __name__ == "__main__":
    sys.exit(asyncio.run(main(*sys.argv[1:])))
