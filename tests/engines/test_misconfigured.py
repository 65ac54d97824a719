"""Engines that are named wrongly, stopped, or not ready: real servers, and for each mistake a sentence that says what to do."""

import asyncio
from pathlib import Path
from typing import Any, cast

import pytest
from tests.engines.restate_server import RestateServer, restate
from tests.engines.temporal_server import TemporalServer, temporal
from tests.local_server import free_port

from adjourn import Runtime
from adjourn.cli.doctor import server_versions
from adjourn.cli.doctor.engine_checks import engine
from adjourn.cli.doctor.server_versions import SERVERS
from adjourn.cli.engine_options import EngineOptions
from adjourn.engines import restate as restate_engine
from adjourn.engines.restate import RestateEngine
from adjourn.engines.temporal import TemporalEngine
from adjourn.errors import EngineError, InvalidDefinition
from adjourn.stores.memory import MemoryStore

__all__ = ["restate", "temporal"]  # fixtures

NOBODY: Any = None
"""What would advance runs, were it asked to."""
LIMIT = 60.0


async def refused(engine: RestateEngine) -> str:
    """What a worker is told whom the server does not take."""
    await engine.open()
    try:
        async with asyncio.timeout(LIMIT):
            with pytest.raises(EngineError) as raised:
                await engine.serve(NOBODY, 1)
    finally:
        await engine.close()
    return str(raised.value)


async def advice_of(options: EngineOptions) -> str:
    """What an engine says that answers."""
    found = options.choice().engine
    assert found is not None
    await found.open()
    try:
        return "; ".join(": ".join(problem) for problem in await found.problems())
    finally:
        await found.close()


def named(server: RestateServer, **other: str) -> EngineOptions:
    return EngineOptions(**{**server.options, **other})


@pytest.mark.parametrize("name", ["restate", "Restate.runs", "restate-prod", "OpenAPI", "9a", "a/b", "", "ä"])
def test_a_name_that_restate_reserves_or_cannot_have_is_refused_before_anything_else(name: str) -> None:
    with pytest.raises(InvalidDefinition, match="--engine-queue"):
        RestateEngine(service=name)


@pytest.mark.parametrize("name", ["AdjournRun", "runs-of.prod_1", "_runs", "openapis"])
async def test_restate_takes_the_names_that_we_take(name: str, restate: RestateServer) -> None:
    options = named(restate, queue=name)
    worker = options.choice().engine
    assert worker is not None
    await worker.open()
    serving = asyncio.create_task(worker.serve(NOBODY, 1))
    try:
        async with asyncio.timeout(LIMIT):
            while await advice_of(options):
                assert not serving.done(), serving.exception()
                await asyncio.sleep(0.05)
    finally:
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)
        await worker.close()


async def test_restate_refuses_what_we_refuse_and_the_advice_is_not_about_the_address(
    restate: RestateServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(restate_engine, "NAME", restate_engine.re.compile(".*"))
    said = await refused(cast("RestateEngine", named(restate, queue="restateful").choice().engine))
    assert "does not accept the worker" in said and "--engine-url" not in said


async def test_a_worker_that_restate_does_not_reach_is_told_to_name_its_address(restate: RestateServer) -> None:
    said = await refused(cast("RestateEngine", named(restate, url=f"http://127.0.0.1:{free_port()}").choice().engine))
    assert "does not accept the worker" in said and "--engine-url" in said


async def test_an_admin_api_that_is_not_there_is_said_to_workers_and_to_the_doctor(restate: RestateServer) -> None:
    wrong = named(restate, admin=f"http://127.0.0.1:{free_port()}")
    assert "--engine-admin" in await refused(cast("RestateEngine", wrong.choice().engine))
    assert "--engine-admin" in await advice_of(wrong)


async def test_a_service_that_no_worker_has_registered_is_said(restate: RestateServer) -> None:
    assert "no worker has registered" in await advice_of(named(restate, queue="Nothing"))


async def test_an_address_of_something_else_is_said(restate: RestateServer) -> None:
    other = named(restate, address=restate.options["admin"]).choice().engine
    assert other is not None
    with pytest.raises(EngineError, match="is not a usable Restate ingress"):
        await other.open()


@pytest.mark.parametrize("address", ["restate:8080", "http://[bad", "ftp://x", "http://127.0.0.1:1"])
async def test_what_is_no_address_of_restate_is_said(address: str) -> None:
    with pytest.raises(EngineError, match="--engine-address"):
        await RestateEngine(address).open()


@pytest.mark.parametrize("listen", ["abc", "127.0.0.1:x", "there.invalid:9080", "192.0.2.1:9080"])
async def test_a_place_on_which_nobody_can_listen_is_said(listen: str, restate: RestateServer) -> None:
    said = await refused(cast("RestateEngine", named(restate, listen=listen).choice().engine))
    assert "--engine-listen" in said


async def test_a_namespace_that_is_not_there_and_a_queue_without_workers_are_said(
    temporal: TemporalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = EngineOptions(**temporal.options, queue="nothing")
    assert "no worker polls the task queue 'nothing'" in await advice_of(options)
    monkeypatch.setenv("TEMPORAL_NAMESPACE", "nowhere")
    assert "no namespace 'nowhere'" in await advice_of(options)


@pytest.mark.parametrize("address", ["a b:1", "127.0.0.1:1"])
async def test_what_is_no_address_of_temporal_is_said(address: str) -> None:
    with pytest.raises(EngineError, match="--engine-address"):
        await TemporalEngine(address).open()


def test_settings_of_temporal_that_cannot_be_read_are_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "temporal.toml").write_text("[[[")
    monkeypatch.setenv("TEMPORAL_CONFIG_FILE", str(tmp_path / "temporal.toml"))
    with pytest.raises(InvalidDefinition, match="TEMPORAL_CONFIG_FILE"):
        TemporalEngine()


async def version_of(options: EngineOptions) -> str:
    found = options.choice().engine
    assert found is not None
    await found.open()
    try:
        return await found.version()
    finally:
        await found.close()


async def test_the_versions_that_are_said_to_be_tested_are_those_of_the_servers_here(
    restate: RestateServer, temporal: TemporalServer
) -> None:
    tested = {server.name: server.tested for server in SERVERS}
    assert (await version_of(named(restate))).startswith(f"{tested['Restate']}.")
    assert (await version_of(EngineOptions(**temporal.options))).startswith(f"{tested['Temporal']}.")
    assert await version_of(named(restate, admin="http://127.0.0.1:1")) == ""


async def test_the_doctor_says_that_an_engine_is_too_old(
    temporal: TemporalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ADJOURN_ENGINE", "temporal")
    monkeypatch.setenv("ADJOURN_ENGINE_ADDRESS", temporal.options["address"])
    newer = [server._replace(oldest="99") for server in SERVERS]
    monkeypatch.setattr(server_versions, "SERVERS", newer)
    async with Runtime(MemoryStore()) as rt:
        [found] = await engine(rt)
    assert (
        found.level == "wrong" and "is too old" in found.text and found.advice == ("Upgrade", "to version 99 or newer")
    )


async def test_the_doctor_asks_the_server_and_says_when_it_is_stopped(
    restate: RestateServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable, value in restate.options.items():
        monkeypatch.setenv("ADJOURN_ENGINE" if variable == "kind" else f"ADJOURN_ENGINE_{variable.upper()}", value)
    monkeypatch.setenv("ADJOURN_ENGINE_QUEUE", "Nothing")
    async with Runtime(MemoryStore()) as rt:
        assert "no worker has registered" in (await engine(rt))[0].text
        restate.stop()
        try:
            [found] = await engine(rt)
        finally:
            restate.start()
    assert "does not answer" in found.text and found.advice is not None and "--engine-address" in found.advice[1]
