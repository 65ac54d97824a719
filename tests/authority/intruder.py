"""An agent whose tool has a shell on the worker's machine, with the worker's environment and the database file.

`python -m tests.authority.intruder WAY DATABASE RUN` is what the tool starts: it tries to agree to the agent's own payment.
"""

import asyncio
import hashlib
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

from adjourn import Agent, Policy, Runtime, ToolContext, ask, tool
from adjourn.core.ids import ref_of
from adjourn.core.records import Asked, Decided
from adjourn.driver.worker_mark import MARK
from adjourn.stores.protocol import Filter
from adjourn.stores.sqlite import SQLiteStore
from adjourn.testing.scripted import ScriptedModel, call

PLACE = "INTRUDER_PLACE"
"""The folder: `runs.db`, its users, and `ledger`."""
WAYS = ("command line", "python", "users", "rows")


@tool(effect="unsafe")
async def pay(ctx: ToolContext, cents: int) -> str:
    """Pay."""
    with (Path(os.environ[PLACE]) / "ledger").open("a") as ledger:
        ledger.write(f"{ctx.run_id}\n")
    return "paid"


@tool(effect="unsafe")
async def shell(ctx: ToolContext, way: str) -> str:
    """Run a command."""
    database = str(Path(os.environ[PLACE]) / "runs.db")
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.authority.intruder", way, database, ctx.run_id,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    said, _ = await process.communicate()
    return f"ended with {process.returncode}: {said.decode()}"


def name_of(way: str) -> str:
    """The agent that tries it this way."""
    return f"by-{way.replace(' ', '-')}"


def _agent(way: str) -> Agent:
    model = ScriptedModel([call("pay", cents=100), call("shell", way=way)], "done")
    policy = Policy([ask("pay", groups=["leads"], not_requester=True)], default="allow")
    return Agent(name_of(way), model=model, tools=[pay, shell], policy=policy)


cast = [_agent(way) for way in WAYS]


# What the shell does


async def asked_for(database: str, run: str) -> Asked:
    """What is to be agreed to, once it is there."""
    store = SQLiteStore(database)
    try:
        async with asyncio.timeout(60):
            while not (found := await store.inbox(Filter(run=run, limit=1))):
                await asyncio.sleep(0.02)
        [(_, asked), *_] = await store.load(run, found[0].seq - 1)
    finally:
        await store.close()
    assert isinstance(asked, Asked)
    return asked


def by_command_line(database: str, item: str, *who: str, **env: str) -> int:
    command = [sys.executable, "-m", "adjourn", "approve", item, "--db", database, *who]
    return subprocess.run(command, env={**os.environ, **env}, check=False).returncode


async def by_python(database: str, run: str) -> None:
    async with Runtime(f"sqlite:///{database}", work=False) as rt:
        [item] = await rt.inbox(run=run)
        await rt.approve(item.id, by="ana", groups=["leads"])


def by_users_table(database: str, item: str) -> int:
    """A user and a key of its own, written into the file of users; then the command line, with that key."""
    key = "adj_" + "m" * 43
    with closing(sqlite3.connect(f"{database}-users")) as users, users:
        users.execute("insert into user (name, role, groups, created_at) values ('mallory', 'admin', 'leads', 0)")
        hashed = hashlib.sha256(f"adjourn/key\0{key}".encode()).hexdigest()
        users.execute(
            "insert into key (hash, user, hint, created_at, expires) values (?, 'mallory', '', 0, 0)", (hashed,)
        )
    users.close()
    return by_command_line(database, item, ADJOURN_KEY=key)


async def by_rows(database: str, run: str, asked: Asked) -> None:
    """The rows of a decision, each hash and each column as the store would write them, and the mark taken off."""
    os.environ.pop(MARK, None)
    store = SQLiteStore(database)
    await store.signed(False)
    yes = Decided(i=asked.i, verdict="approve", by="ana", groups=("leads",), digest=asked.digest)
    await store.deliver(run, yes, origin="cli")
    await store.close()


def main(way: str, database: str, run: str) -> int:
    asked = asyncio.run(asked_for(database, run))
    match way:
        case "command line":
            return by_command_line(database, ref_of(run, asked.i), "--by", "ana", "--group", "leads")
        case "python":
            asyncio.run(by_python(database, run))
        case "users":
            return by_users_table(database, ref_of(run, asked.i))
        case _:
            asyncio.run(by_rows(database, run, asked))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
