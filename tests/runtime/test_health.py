"""Whether a process is fit to work, and how whoever supervises it hears of it."""

import asyncio
from pathlib import Path
from typing import Any

import apsw
import pytest
from tests.runtime.conftest import on_both

from adjourn import Agent, Runtime
from adjourn.errors import StoreError
from adjourn.runtime import health
from adjourn.runtime.health import HealthCheck
from adjourn.runtime.health_server import HealthServer, alive, readiness
from adjourn.runtime.worker import STALLED
from adjourn.stores.memory.store import MemoryStore
from adjourn.testing import FakeClock, ScriptedModel


def plain() -> Agent[str]:
    return Agent("plain", model=ScriptedModel("done"))


async def get(port: int, line: bytes) -> tuple[int, bytes]:
    """The status and the body of an answer."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(line + b"\r\nHost: x\r\n\r\n")
    async with asyncio.timeout(10):
        said = await reader.read()
    writer.close()
    head, _, body = said.partition(b"\r\n\r\n")
    return int(head.split()[1]), body


@on_both
async def test_a_process_whose_store_answers_and_whose_sweep_goes_on_is_ready(address: str) -> None:
    async with Runtime(address, [plain()]) as rt:
        assert await HealthCheck(rt).health() == health.Health()
        assert await rt.store.roster() == [], "the probe leaves nothing"


async def test_a_runtime_that_is_not_open_is_not_ready() -> None:
    found = await HealthCheck(Runtime("memory://")).health()
    assert not found.is_ready and "open the runtime" in found.store


async def test_a_store_that_cannot_be_written_to_is_not_ready() -> None:
    class Broken(MemoryStore):
        async def roster(self, *args: Any, **options: Any) -> Any:
            """See `Store.roster`."""
            raise StoreError("the disk is full")

    async with Runtime(Broken()) as rt:
        found = await HealthCheck(rt).health()
    assert (found.is_ready, found.store) == (False, "the disk is full")


async def test_a_store_that_hangs_is_not_ready_and_does_not_hang_whoever_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    class Hanging(MemoryStore):
        async def roster(self, *args: Any, **options: Any) -> Any:
            """See `Store.roster`."""
            await asyncio.Event().wait()

    monkeypatch.setattr(health, "PATIENCE", 0.01)
    async with Runtime(Hanging()) as rt:
        assert "did not answer" in (await HealthCheck(rt).health()).store


async def test_a_database_that_a_newer_version_has_changed_is_not_ready(db: str) -> None:
    async with Runtime(f"sqlite:///{db}", [plain()]) as rt:
        file: Any = apsw.Connection(str(Path(db)))
        [(version,)] = file.execute("pragma user_version").fetchall()
        file.execute(f"pragma user_version = {version + 1}")
        found = await HealthCheck(rt).health()
        file.close()
    assert found.schema == f"it is {version + 1}, and this process supports {version}"


async def test_a_worker_whose_sweep_stands_still_or_that_drains_is_not_ready() -> None:
    clock = FakeClock()
    runtime = Runtime(MemoryStore(clock.now), [plain()])
    runtime.clock = clock
    async with runtime as rt:
        assert rt.worker.is_sweeping
        clock.advance(STALLED)
        assert not rt.worker.is_sweeping
        assert "sweep" in (await HealthCheck(rt).health()).sweep
        worker = rt.worker
    assert not worker.is_sweeping


async def test_a_worker_of_an_engine_is_not_ready_if_nobody_sweeps_beside_the_engine() -> None:
    clock = FakeClock()
    runtime = Runtime(MemoryStore(clock.now), [plain()], work=False)
    runtime.clock = clock
    async with runtime as rt:
        clock.advance(STALLED)
        assert rt.worker.is_sweeping, "who advances nothing need not sweep"
        rt.lend_worker()
        assert rt.worker.is_sweeping
        clock.advance(STALLED)
        assert not rt.worker.is_sweeping
        rt.worker.swept()
        assert rt.worker.is_sweeping


async def test_who_asks_often_does_not_ask_the_store() -> None:
    class Counting(MemoryStore):
        asked = 0

        async def roster(self, *args: Any, **options: Any) -> Any:
            """See `Store.roster`."""
            self.asked += 1
            return []

    store = Counting()
    async with Runtime(store) as rt:
        check = HealthCheck(rt)
        await asyncio.gather(*(check.health() for _ in range(50)))
    assert store.asked == 1


async def test_a_worker_answers_probes_and_nothing_else() -> None:
    async with Runtime("memory://", [plain()]) as rt:
        server = HealthServer({"/healthz": alive, "/readyz": readiness(HealthCheck(rt))}, "127.0.0.1", 0)
        await server.open()
        try:
            assert await get(server.port, b"GET /healthz HTTP/1.1") == (200, b"ok\n")
            assert await get(server.port, b"GET /readyz?verbose HTTP/1.1") == (200, b"ok\n")
            assert await get(server.port, b"HEAD /readyz HTTP/1.1") == (200, b"")
            assert await get(server.port, b"GET /other HTTP/1.1") == (404, b"not found\n")
            assert (await get(server.port, b"POST /readyz HTTP/1.1"))[0] == 405
            assert (await get(server.port, b"nonsense"))[0] == 404
        finally:
            server.close()
    assert (await readiness(HealthCheck(rt))()).status == 503
