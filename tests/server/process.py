"""A server in a process of its own: `python -m tests.server.process '{"address": …}'`.

It prints one line of JSON when it is up, and ends with its input, or by a signal.
"""

import asyncio
import json
import os
import sys
from typing import Any

from tests.server.world import MAKERS, ROLES, Client

from adjourn.driver.worker_mark import MARK
from adjourn.server import Serving, Users, serve
from adjourn.server.notifications import webhook as outlet


async def nowhere(host: str, port: int, allow: Any) -> list[str]:
    """No name of a test is asked of anybody."""
    raise OSError(f"{host!r} has no address")


def seeded(serving: Serving, seed: bool, keys: dict[str, str]) -> None:
    async def told() -> None:
        run = ""
        async with Client(serving, serving.token) as client:
            for name in MAKERS if seed else ():
                for _ in range(2):
                    run = await client.start(name)
        keys["admin"] = serving.token
        if run:
            keys["run"] = serving.guard.users.run_key(run)
        up = {"url": serving.url, "token": serving.token, "link": serving.link, "keys": json.dumps(keys)}
        print(json.dumps(up), flush=True)

    TASKS.add(asyncio.get_running_loop().create_task(told()))


TASKS: set[asyncio.Task[None]] = set()


async def main() -> None:
    options = json.loads(sys.argv[1])
    outlet.resolve = nowhere
    users = Users()
    keys = {role: users.add(f"{role}-person", role) for role in ROLES}
    programs = [MAKERS[name]() for name in options.get("programs", MAKERS)]
    if files := options.get("files"):
        import resource

        resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
    await serve(
        options["address"], programs, port=options.get("port", 0), users=users if options.get("own_users") else None, name="ana",
        token=True, rate=1e6, **options.get("serve", {}), ready=lambda serving: seeded(serving, options.get("seed", False), keys),
    )  # fmt: skip


class Process:
    """The other side."""

    def __init__(self, process: asyncio.subprocess.Process, up: dict[str, str]) -> None:
        self.process, self.up = process, up

    @classmethod
    async def begin(cls, *, stderr: Any = None, **options: Any) -> "Process":
        """`files`: how many it may have open; `serve`: options of `serve`."""
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "tests.server.process",
            json.dumps(options),
            stdout=asyncio.subprocess.PIPE,
            stderr=stderr,
            env={name: value for name, value in os.environ.items() if name != MARK},  # a server is started by people
        )
        assert process.stdout is not None
        line = await process.stdout.readline()
        assert line, "the server did not come up"
        return cls(process, json.loads(line))

    async def end(self, number: int) -> int:
        if self.process.returncode is None:
            self.process.send_signal(number)
        return await self.process.wait()


if __name__ == "__main__":
    asyncio.run(main())
