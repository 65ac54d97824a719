"""A process of its own on a database: `python -m tests.stores.process VERB ADDRESS NAME COUNT`.

It says `ready`, waits for a line, does what its verb says, and prints one line of JSON for each thing that was
acknowledged to it.
"""

import asyncio
import json
import sys
from typing import Any

from adjourn.core.records import Said, Stepped
from adjourn.errors import AlreadyDecided
from adjourn.stores.address import open_store
from adjourn.stores.protocol import Store
from adjourn.testing.contract.fixtures import claim, started, yes


def say(what: Any) -> None:
    print(json.dumps(what), flush=True)


async def work(store: Store, name: str, count: int) -> None:
    """Ten runs of its own, side by side, each with `count` commits of a fact."""

    async def one(run: str) -> None:
        await store.create(started(run))
        lease = await claim(store, run, worker=name)
        seq = lease.seq
        for n in range(count):
            seq = (await store.commit(lease, [Stepped(call="1.0", key=str(n))], [], seen=seq)).seq
            say([run, seq, str(n)])

    await asyncio.gather(*(one(f"{name}-{n}") for n in range(10)))


async def talk(store: Store, name: str, count: int) -> None:
    """Words to the run `shared`, ten at a time."""

    async def word(text: str) -> None:
        say([await store.deliver("shared", Said(text=text)), text])

    for n in range(0, count, 10):
        await asyncio.gather(*(word(f"{name}{k}") for k in range(n, n + 10)))


async def decide(store: Store, name: str, count: int) -> None:
    """Twenty-five people who all decide each of `count` interrupts of the run `shared`."""

    async def person(by: str, i: str) -> None:
        try:
            await store.deliver("shared", yes(i, by=by))
            say([i, by])
        except AlreadyDecided:
            say([i, ""])

    for n in range(count):
        await asyncio.gather(*(person(f"{name}{p}", f"1.{n}?0") for p in range(25)))


async def take(store: Store, name: str, count: int) -> None:
    """Claim, write, release the run `shared`, until it was this one's turn `count` times."""
    turns = 0
    while turns < count:
        try:
            lease = await claim(store, "shared", worker=name)
        except Exception:
            await asyncio.sleep(0.001)
            continue
        done = await store.commit(lease, [Stepped(call="1.0", key=name)], [], seen=lease.seq)
        say([lease.epoch, done.seq])
        await store.release(lease)
        turns += 1


async def stream(store: Store, name: str, count: int) -> None:
    """Words to the run `shared` for ever."""
    n = 0
    while True:
        say([await store.deliver("shared", Said(text=f"{name}{n}")), f"{name}{n}"])
        n += 1


async def halt(store: Store, name: str, count: int) -> None:
    """A halt."""
    await store.halt("*", by=name)
    say("halted")


async def seal(store: Store, name: str, count: int) -> None:
    """Seal and say something new, in turns, `count` times."""
    for n in range(count):
        await store.note([{"verb": "login", "by": f"{name}{n}"}])
        made = await store.seal()
        if made is not None:
            say([made.k, [x.line for x in made.covered]])


VERBS = {"work": work, "talk": talk, "decide": decide, "take": take, "stream": stream, "halt": halt, "seal": seal}


async def main(verb: str, address: str, name: str, count: int) -> None:
    store = open_store(address)
    say("ready")
    sys.stdin.readline()
    await VERBS[verb](store, name, count)
    await store.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])))
