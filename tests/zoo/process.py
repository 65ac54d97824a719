"""A worker with one animal of the zoo, until somebody kills it."""

import asyncio
import sys

from tests.control.world import Ledger
from tests.zoo.animals import Zoo

from adjourn import Runtime


async def main(address: str, folder: str, animal: str) -> None:
    zoo = Zoo(Ledger(folder))
    async with Runtime(address, zoo.programs(animal), lease=1.0) as rt:
        for name, program in list(rt.programs.items()):
            await rt.start(program, "go", run_id=name)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
