"""Adjourn on PostgreSQL and under engines: each function is one measurement, in a process of its own, beside a raw commit.

The server is one of the tests': `bench/run.py --fleet` starts it on the disk, and names it in POSTGRES.
"""

import asyncio
import json
import os
import statistics
import sys
import threading
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
from psycopg import ClientCursor
from tests.engines import restate_server, temporal_server
from tests.stores.postgres.test_violence import FACTS, RUNS, live, terminate
from words import Stopwatch, text
from workload import Bodies, asker, talker

from adjourn import Runtime
from adjourn.cli.engine_options import EngineOptions
from adjourn.core.records import Claimed, Stepped
from adjourn.engines.engine_host import EngineHost
from adjourn.stores.postgres import store as postgres_store
from adjourn.stores.postgres.store import PostgresStore
from adjourn.testing.contract.fixtures import claim, started

POSTGRES = "ADJOURN_BENCH_POSTGRES"
"""`{"address": "postgresql://…/", "pid": …}` of the server."""
TURNS = 20
FLOOR = """
create table journal (run bigint, seq bigint, epoch bigint, digest bytea, body text, head bytea, primary key (run, seq));
create table run (n bigint primary key, seq bigint, head bytea, at float8) with (fillfactor = 70);
insert into run select n, 0, '', 0 from generate_series(0, 99) n
"""
COMMIT = (
    "begin; insert into journal values (%(run)s, %(seq)s, 1, %(head)s, %(body)s, %(head)s); "
    "update run set seq = %(seq)s, head = %(head)s, at = %(at)s where n = %(run)s; commit"
)


def server() -> dict[str, Any]:
    return json.loads(os.environ[POSTGRES])


def address(database: str) -> str:
    return f"{server()['address']}{database}"


def fresh() -> str:
    """The address of a new, empty database."""
    name = f"bench_{uuid4().hex[:12]}"
    with psycopg.connect(address("postgres"), autocommit=True) as db:
        db.execute(f"create database {name}".encode())
    return address(name)


def cpu_of(pid: int) -> float:
    """CPU seconds of a process and all its children, also those that have ended."""
    spent, each = 0.0, os.sysconf("SC_CLK_TCK")
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    for process in (pid, *map(int, children)):
        try:
            fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        spent += sum(map(int, fields[11 : 15 if process == pid else 13])) / each
    return spent


def written(where: str) -> int:
    """Bytes of the server's log so far."""
    with psycopg.connect(where) as db:
        [(size,)] = db.execute("select pg_current_wal_lsn() - '0/0'::pg_lsn").fetchall()
    return int(size)


def size_of(where: str) -> int:
    with psycopg.connect(where) as db:
        [(size,)] = db.execute(
            "select sum(pg_total_relation_size(oid)) from pg_class where relnamespace = 'adjourn'::regnamespace and relkind = 'r'"
        ).fetchall()
    return int(size)


# The floor


def connected(where: str) -> psycopg.Connection[Any]:
    return psycopg.connect(where, autocommit=True, cursor_factory=ClientCursor, prepare_threshold=None)


def commit_by_hand(db: psycopg.Connection[Any], run: int, seq: int) -> None:
    """The least that is durable: a record and its run's row, one message, one transaction."""
    db.execute(COMMIT, {"run": run, "seq": seq, "head": bytes(32), "body": text(seq), "at": time.time()})


async def commits(count: int) -> dict[str, float]:
    """One commit of one run after another, beside the floor, in turn."""
    where, raw = fresh(), fresh()
    db = connected(raw)
    db.execute(FLOOR)
    store, ours, floor = PostgresStore(where), list[float](), list[float]()
    await store.create(started("r"))
    lease = await claim(store, "r", ttl=600.0)
    seq = lease.seq
    for n in range(count):
        began = time.perf_counter()
        seq = (await store.commit(lease, [Stepped(call="1.0", key=str(n), value=text(n))], [], seen=seq)).seq
        ours.append(time.perf_counter() - began)
        began = time.perf_counter()
        commit_by_hand(db, 1, n)
        floor.append(time.perf_counter() - began)
    await store.close()
    db.close()
    return {"ms": statistics.median(ours) * 1e3, "floor_ms": statistics.median(floor) * 1e3}


async def crowd(runs: int, each: int = 50) -> dict[str, float]:
    """So many runs that commit at once, beside the floor over eight connections."""
    where, raw = fresh(), fresh()
    with connected(raw) as db:
        db.execute(FLOOR)
    store = PostgresStore(where)
    leases: list[Any] = []
    for n in range(runs):
        await store.create(started(f"r{n}"))
        leases.append(await claim(store, f"r{n}", worker="bench", ttl=600.0))

    async def go(lease: Any) -> None:
        seq = lease.seq
        for n in range(each):
            seq = (await store.commit(lease, [Stepped(call="1.0", key=str(n), value=text(n))], [], seen=seq)).seq

    with Stopwatch() as watch:
        await asyncio.gather(*map(go, leases))
    await store.close()
    with Stopwatch() as floor:
        await asyncio.to_thread(by_hand, raw, runs * each)
    return {"commits_s": runs * each / watch.wall, "floor_s": runs * each / floor.wall}


def by_hand(where: str, count: int, connections: int = 8) -> None:
    def go(run: int) -> None:
        with connected(where) as db:
            for seq in range(count // connections):
                commit_by_hand(db, run, seq)

    threads = [threading.Thread(target=go, args=(run,)) for run in range(connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


# Steps


@asynccontextmanager
async def working(where: str, agent: Any, kind: str) -> AsyncGenerator[tuple[Runtime, Callable[[], float]]]:
    """A worker under an engine, and the CPU seconds of the engine's server so far. It has done something before."""
    warm = talker(1, name="warm")
    async with AsyncExitStack() as stack:
        rt = await stack.enter_async_context(Runtime(where, [agent, warm], concurrency=1000, work=kind == "store"))
        spent: Callable[[], float] = float
        if kind != "store":
            engine_server = stack.enter_context(engine_servers(kind))
            engine = EngineOptions(**engine_server.options).choice().engine
            assert engine is not None
            await stack.enter_async_context(EngineHost(rt, engine, slots=1000, patience=600.0))
            spent = partial(cpu_of, engine_server.pid)
        await (await rt.start(warm, "begin")).wait()
        yield rt, spent


def engine_servers(kind: str) -> Any:
    module: Any = {"restate": restate_server, "temporal": temporal_server}[kind]
    found = module.program()
    assert found is not None, f"{kind} is not installed: make mock"
    return (module.RestateServer if kind == "restate" else module.TemporalServer)(found)


async def steps(runs: int, kind: str = "store") -> dict[str, float]:
    """So many runs of 20 turns in one worker: from the first claim to the last end, by the database's clock."""
    where, agent, pid = fresh(), talker(TURNS), server()["pid"]
    async with Runtime(where, work=False) as desk, AsyncExitStack() as stack:
        if kind != "store":  # an engine is told of what begins while it is there
            await stack.enter_async_context(working(where, agent, kind))
        before, wal, size = cpu_of(pid), written(where), size_of(where)
        with Stopwatch() as watch:
            begun = [await desk.start(agent, f"begin {n}", run_id=f"r{n}") for n in range(runs)]
            if kind == "store":
                await stack.enter_async_context(working(where, agent, kind))
            for run in begun:
                outcome = await run.wait()
                assert outcome.status == "completed", outcome
    with psycopg.connect(where) as db:
        [(spent,)] = db.execute(
            "select (select max(updated_at) from adjourn.run where id like 'r%') - (select min((body::json->>'at')::float8) "
            "from adjourn.journal j join adjourn.run r on r.n = j.run where r.id like 'r%' and j.seq = 2)"
        ).fetchall()
    turns = runs * TURNS
    return {
        "steps_s": 2 * turns / spent, "cpu_ms": watch.cpu / turns * 1e3, "postgres_ms": (cpu_of(pid) - before) / turns * 1e3,
        "wal_bytes": (written(where) - wal) / turns, "bytes": (size_of(where) - size) / turns,
    }  # fmt: skip


# Words and parks


async def words(count: int, kind: str = "store") -> dict[str, float]:
    """An approval in this process → claimed by a worker in another, one after the other; before it, what parks and resumes cost."""
    where, agent = fresh(), asker(1, 0, Bodies())
    command = [sys.executable, str(Path(__file__).with_name("one.py")), "fleet_cost.worker_here", where, kind]
    worker = await asyncio.create_subprocess_exec(
        *command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    assert worker.stdout is not None and worker.stdin is not None
    if await worker.stdout.readline() != b"ready\n":
        raise RuntimeError(f"the worker of {kind} ended with {await worker.wait()} before it was ready")
    claimed, told = list[float](), list[float]()
    async with Runtime(where, work=False) as desk:
        size = size_of(where)
        runs = [await desk.start(agent, f"begin {n}") for n in range(count)]
        outcomes: list[Any] = [await run.wait() for run in runs]
        size = size_of(where) - size
        for run, outcome in zip(runs, outcomes, strict=True):
            began = time.time()
            await desk.approve(outcome.interrupts[0].id, by="bench")
            told.append(time.time() - began)
            await run.wait()
            records = [record for _, record in await desk.store.load(run.id)]
            claimed.append(max(record.at for record in records if isinstance(record, Claimed)) - began)
    worker.stdin.close()
    spent = json.loads((await worker.stdout.read()).splitlines()[-1])
    return {
        "ms": statistics.median(claimed) * 1e3, "p95_ms": sorted(claimed)[int(len(claimed) * 0.95)] * 1e3,
        "told_ms": statistics.median(told) * 1e3, "engine_ms": spent["engine"] / count * 1e3,
        "worker_ms": spent["worker"] / count * 1e3, "parked_bytes": size / count,
    }  # fmt: skip


async def worker_here(where: str, kind: str) -> dict[str, float]:
    """The other process: works until the end of its input."""
    async with working(where, asker(1, 0, Bodies()), kind) as (_, engine):
        print("ready", flush=True)
        before, cpu = engine(), time.process_time()
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
        return {"engine": engine() - before, "worker": time.process_time() - cpu}


# Beside much


def multiply(where: str, count: int, status: str) -> None:
    """Copies of the one run in a database: its row, journal and interrupt; of finished ones, its row."""
    with psycopg.connect(where) as db:
        db.execute("set local synchronous_commit = off")
        for table, changed in {
            "run": {
                "n": "", "id": "x.id || k", "status": f"'{status}'" if status != "waiting" else "x.status",
                "opens": "0" if status != "waiting" else "x.opens", "title": "x.title || ' ' || k",
                "created_at": "x.created_at + k * 0.001", "updated_at": "x.updated_at + k * 0.001",
            },
            "journal": {"run": "x.run + k"},
            "interrupt": {"run": "x.run + k", "opened_at": "x.opened_at + k * 0.001"},
        }.items():  # fmt: skip
            if table != "run" and status != "waiting":
                continue
            names = [
                name for (name,) in db.execute(
                    "select column_name from information_schema.columns where table_schema = 'adjourn' and table_name = %s "
                    "and is_generated = 'NEVER' order by ordinal_position", (table,)
                )
            ]  # fmt: skip
            names = [name for name in names if changed.get(name, "x")]
            values = ", ".join(changed.get(name, f'x."{name}"') for name in names)
            only = "x.n = 1" if table == "run" else "x.run = 1"
            into = ", ".join(f'"{name}"' for name in names)
            db.execute(
                f"insert into adjourn.{table} ({into}) select {values} from adjourn.{table} x, generate_series(1, {count}) k "
                f"where {only} order by k".encode()
            )
    with psycopg.connect(where, autocommit=True) as db:
        db.execute("vacuum analyze")


async def beside(parked: int, finished: int, rounds: int = 60) -> dict[str, float]:
    """Forty commits at once in a database with nothing else, beside so many parked runs, and beside so many finished ones: in turn."""
    agent = asker(1, 0, Bodies())
    stores: dict[str, PostgresStore] = {}
    leases: dict[str, list[Any]] = {}
    took: dict[str, list[float]] = {}
    found: dict[str, float] = {}
    for name, count, status in (("none", 0, ""), ("parked", parked, "waiting"), ("finished", finished, "completed")):
        where = fresh()
        async with Runtime(where, [agent]) as rt:
            await (await rt.start(agent, "begin", run_id="first")).wait()
            if count:
                await asyncio.to_thread(multiply, where, count, status)
            if status == "waiting":
                found["inbox_ms"] = await looked(lambda rt=rt: rt.inbox(limit=50))
            if status == "completed":
                found["list_ms"] = await looked(lambda rt=rt: rt.runs(limit=50))
        stores[name], took[name], leases[name] = PostgresStore(where), [], []
        for n in range(40):
            await stores[name].create(started(f"r{n}"))
            leases[name].append(await claim(stores[name], f"r{n}", worker="bench", ttl=6000.0))
    seen = {(name, lease.run): lease.seq for name in leases for lease in leases[name]}

    async def go(name: str, lease: Any, n: int) -> None:
        fact = Stepped(call="1.0", key=str(n), value=text(n))
        done = await stores[name].commit(lease, [fact], [], seen=seen[name, lease.run])
        seen[name, lease.run] = done.seq

    for n in range(rounds):
        for name in stores:
            began = time.perf_counter()
            await asyncio.gather(*(go(name, lease, n) for lease in leases[name]))
            took[name].append(time.perf_counter() - began)
    for store in stores.values():
        await store.close()
    return found | {f"{name}_ms": statistics.median(spent[10:]) * 1e3 for name, spent in took.items()}


async def looked(ask: Callable[[], Awaitable[list[Any]]]) -> float:
    spent: list[float] = []
    for _ in range(60):
        began = time.perf_counter()
        assert len(await ask()) == 50
        spent.append(time.perf_counter() - began)
    return statistics.median(spent) * 1e3


# Violence


class Here:
    """The server, as the tests know it."""

    def address(self, database: str) -> str:
        return address(database)


async def cuts(count: int) -> dict[str, float]:
    """So many `pg_terminate_backend` under load; raises if a fact is there twice, or one that was acknowledged is missing."""
    postgres_store.PATIENCE = 60.0
    store, done, lives, here = PostgresStore(fresh()), list[int](), 0, Here()
    with Stopwatch() as watch:
        while sum(done) < count:
            lives += 1
            violence: Any = terminate(here, store, lives, done)  # pyright: ignore[reportArgumentType]
            await live(store, asyncio.ensure_future(violence), f"{lives}-")
    await store.close()
    return {"cut": float(sum(done)), "facts": float(lives * RUNS * FACTS), "wrong": 0.0, "seconds": watch.wall}
