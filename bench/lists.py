"""Lists where there is much: a million finished runs, a hundred thousand that wait. Rows are written as rows, without journals."""

import random
import time
from typing import Any

from adjourn_cost import address, multiply
from long_lives import Stalls
from words import scratch
from workload import Bodies, asker

from adjourn import Runtime
from adjourn.server.change_feed import ChangeFeed
from adjourn.stores.protocol import Filter
from adjourn.stores.sqlite import SQLiteStore
from adjourn.stores.sqlite import lists as sqlite_lists
from adjourn.stores.sqlite.connection import connect, transaction

PART = 20_000
COLUMNS = (
    "n, id, kind, program, session, labels, title, input_digest, seq, head, status, epoch, worker, wake_at, blocked, opens, "
    "errors, stopped, created_at, updated_at"
)
ONE: list[dict[str, Any]] = [
    {}, {"status": "failed"}, {"status": "stopped"}, {"status": "running"}, {"status": "completed"}, {"program": "mails"},
    {"program": "nobody"}, {"program": "mails", "status": "failed"}, {"session": "chat-33"}, {"label": ("tenant", "t5")},
    {"label": ("tenant", "nobody")}, {"since": 1.9e9}, {"until": 1e9 + 100}, {"since": 1e9 + 5_000, "until": 1e9 + 5_010},
    {"changed": 1.5e9}, {"text": "Refund"}, {"text": "xyzzy"}, {"text": "run-00ff"}, {"text": "order 12345 for"}, {"text": "or"},
    {"text": "zq"},
]  # fmt: skip
BOTH: list[dict[str, Any]] = [
    {"text": "order 1234", "program": "mails"},
    {"label": ("tenant", "t5"), "text": "order 77"},
]


def fill(path: str, count: int) -> None:
    """So many runs that have ended, each with a line in the audit."""
    db: Any = connect(path)
    db.pragma("synchronous", "off")
    chance = random.Random(1)
    marks = ", ".join("?" * len(COLUMNS.split(",")))
    for start in range(0, count, PART):
        numbers = range(start + 1, start + PART + 1)
        with transaction(db):
            db.executemany(f"insert into run ({COLUMNS}) values ({marks})", (row(n, chance) for n in numbers))
            lines = ((f"run {n}", 1, f'{{"at":{1e9 + n},"verb":"start","by":"ann"}}', b"h" * 32) for n in numbers)
            db.executemany("insert into audit values (?, ?, ?, ?)", lines)
    db.close()


def row(n: int, chance: random.Random) -> tuple[Any, ...]:
    title = f"{chance.choice(('Refund', 'Ship', 'Review'))} order {chance.randrange(10**6)} for customer {chance.randrange(10**5)}"
    labels = f'{{"tenant":"t{n % 97}"}}' if n % 2 else "{}"
    session = f"chat-{n % 5000}" if n % 3 else ""
    return (
        n, f"run-{chance.getrandbits(64):016x}", "agent", chance.choice(("refunds", "mails", "reports")), session,
        labels, title, "d" * 64, 9, b"h" * 32, "completed", 2, "", 0.0, "", 0, 0, 0, 1e9 + n, 1e9 + n + 5,
    )  # fmt: skip


async def filters(count: int) -> dict[str, float]:
    """The slowest of all filters by one thing, of two broad ones together, and of the pages of the audit."""
    with scratch() as folder:
        path = str(folder / "adjourn.db")
        await SQLiteStore(path).close()
        fill(path, count)
        store = SQLiteStore(path, lambda: 2e9)
        one = [await best(lambda f=f: store.runs(Filter(**f))) for f in ONE]
        both = [await best(lambda f=f: store.runs(Filter(**f))) for f in BOTH]
        look = await store._lists.ask(lambda db: max(longest_look(db, Filter(**f)) for f in BOTH))
        pages = [store.audit, store.recent, lambda: store.recent(f"{1e9 + count / 2}/1/run 5")]
        one += [await best(page) for page in pages]
        await store.close()
    return {"worst_ms": max(one) * 1e3, "both_ms": max(both) * 1e3, "look_ms": look * 1e3}


def longest_look(db: Any, wanted: Filter) -> float:
    """CPU seconds for which others wait at most, the best of five."""
    best = 1e9
    for _ in range(5):
        looks, spent = sqlite_lists.looks(db, wanted, 2e9), [0.0]
        while True:
            began = time.thread_time()
            if next(looks, None) is None:
                break
            spent.append(time.thread_time() - began)
        best = min(best, max(spent))
    return best


async def best(ask: Any) -> float:
    """CPU seconds of the best of five: of what is in the cache, as the second page is."""
    spent: list[float] = []
    for _ in range(5):
        began = time.process_time()
        await ask()
        spent.append(time.process_time() - began)
    return min(spent)


async def hub(pending: int) -> dict[str, float]:
    """The first look at many that wait, and one after a run has changed."""
    agent = asker(1, 0, Bodies())
    with scratch() as folder:
        async with Runtime(address(folder), [agent]) as rt:
            run = await rt.start(agent, "begin")
            await run.wait()
            multiply(str(folder / "adjourn.db"), pending)
            db: Any = connect(str(folder / "adjourn.db"))
            db.execute(
                "update run set updated_at = created_at - 1e6"
            )  # long ago: copies are made as if they came later
            db.close()
            looking = ChangeFeed(rt)
            async with Stalls() as stalls:
                await looking._look()
            ms: list[float] = []
            for n in range(10):
                await run.say(f"word {n}", by="ann")
                began = time.perf_counter()
                await looking._look()
                ms.append((time.perf_counter() - began) * 1e3)
            looking._whole()
    return {"ms": sorted(ms)[5], "stall_ms": stalls.longest * 1e3}
