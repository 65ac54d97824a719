"""A server, or a worker, in a process of its own: `python -m tests.browser.process serve|work DATABASE [PORT]`.

The server prints one line of JSON when it is up. Both end with their input.
"""

import asyncio
import json
import sys

from tests.browser.cast import CAST

from adjourn import Runtime


async def serve(database: str, port: str) -> None:
    from adjourn.server import serving  # a worker begins without it in half the time

    async with serving(f"sqlite:///{database}", CAST, port=int(port), name="ana", rate=1e6, work=False) as up:
        print(json.dumps({"url": up.url, "token": up.token, "link": up.link}), flush=True)
        await asyncio.to_thread(sys.stdin.read)


async def work(database: str) -> None:
    async with Runtime(f"sqlite:///{database}", CAST, grace=0.2):
        print("{}", flush=True)
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run({"serve": serve, "work": work}[sys.argv[1]](*sys.argv[2:]))
