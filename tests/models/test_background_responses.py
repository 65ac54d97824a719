"""Background responses over the wire: OpenAI's client, a provider on loopback, real processes that are killed."""

import asyncio
import base64
import json
import multiprocessing
import os
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from standardwebhooks.webhooks import Webhook
from tests.models.background_process import agent, main
from tests.models.background_provider import BackgroundProvider, background_provider

from adjourn import Agent, Cancelled, InvalidDefinition, Run, RunFailed, Runtime
from adjourn.core.records import Parked, Replied
from adjourn.core.usage import Usage
from adjourn.events import Recorded
from adjourn.models import background
from adjourn.server import serving
from adjourn.testing import ScriptedModel

SECRET = "whsec_" + base64.b64encode(b"a secret of the tests' own").decode()


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[BackgroundProvider]:
    with background_provider() as found:
        monkeypatch.setenv("OPENAI_BASE_URL", found.url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
        monkeypatch.setenv("OPENAI_WEBHOOK_SECRET", SECRET)
        yield found


@pytest.fixture(params=["sqlite", "postgres"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgres":
        return request.getfixturevalue("postgres").fresh()
    return f"sqlite:///{tmp_path}/a.db"


PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["tests.models.background_process"])


class Worker:
    """Another process: a fork of one that has imported everything and does nothing else."""

    def __init__(self, address: str, how: str) -> None:
        self._here, there = PROCESSES.Pipe(duplex=False)
        settings = {name: value for name, value in os.environ.items() if name.startswith("OPENAI_")}
        self._process = PROCESSES.Process(target=main, args=(address, how, settings, there))
        self._process.start()
        there.close()

    def kill(self) -> None:
        self._process.kill()
        self._process.join(10)

    def close(self) -> None:
        self.kill()
        self._process.close()
        self._here.close()

    async def client(self) -> httpx.AsyncClient:
        """Of the server that this process is."""
        url, token = await asyncio.to_thread(self._here.recv)
        return httpx.AsyncClient(base_url=url, headers={"authorization": f"Bearer {token}"}, timeout=30)


@contextmanager
def process(address: str, how: str = "") -> Generator[Worker]:
    """One that ends with the test, by its own id."""
    started = Worker(address, how)
    try:
        yield started
    finally:
        started.close()


def killing(provider: BackgroundProvider, where: str, started: Worker) -> threading.Event:
    """Kill the process at its next request of this kind, after the provider has taken it and before it answers."""
    killed = threading.Event()

    def kill() -> None:
        if not killed.is_set():
            started.kill()
            killed.set()

    setattr(provider, where, kill)
    return killed


async def rested(run: Run[Any]) -> Any:
    async with asyncio.timeout(30):
        return await run.wait()


async def parked(run: Run[Any], times: int = 1) -> None:
    """Until the run waits for the provider; for the second time, …"""
    async with asyncio.timeout(60):
        async for event in run.watch():
            if isinstance(event, Recorded) and isinstance(event.record, Parked):
                times -= 1
                if not times:
                    return


async def test_a_worker_that_is_killed_after_the_provider_took_it_pays_once(
    provider: BackgroundProvider, address: str
) -> None:
    """The id was never recorded. Without keys that count a person is asked; nothing is handed in again."""
    with process(address) as first:
        killed = killing(provider, "on_submit", first)
        assert await asyncio.to_thread(killed.wait, 60)
    provider.finish("resp_0000", "unseen")
    async with Runtime(address, [agent()]) as rt:
        with pytest.raises(RunFailed, match="the provider may be working on it, and charge for it"):
            await rested(await rt.get("R1"))
        [item] = await rt.inbox()
        assert (item.kind, item.payload["kind"]) == ("error", "perhaps_paid")
    assert len(provider.responses) == 1


async def test_with_keys_that_count_it_is_handed_in_again_and_made_once(
    provider: BackgroundProvider, address: str
) -> None:
    provider.honours = True
    with process(address, "keys") as first:
        killed = killing(provider, "on_submit", first)
        assert await asyncio.to_thread(killed.wait, 60)
    provider.finish("resp_0000", "made once")
    async with Runtime(address, [agent("keys")]) as rt:
        assert (await rested(await rt.get("R1"))).output == "made once"
    assert len(provider.responses) == 1


async def test_a_worker_that_is_killed_with_the_reply_in_its_hand_is_followed_by_one_that_takes_it(
    provider: BackgroundProvider, address: str
) -> None:
    provider.on_submit = lambda: provider.finish("resp_0000", "found")
    with process(address) as first:
        killed = killing(provider, "on_look", first)
        assert await asyncio.to_thread(killed.wait, 60)
    async with Runtime(address, [agent()]) as rt:
        assert (await rested(await rt.get("R1"))).output == "found"
        records = [record for _, record in await rt.store.load("R1")]
    assert len(provider.responses) == 1
    [replied] = [record for record in records if isinstance(record, Replied)]
    assert replied.usage == Usage(1, 1200, 340, 100, replied.usage.cost)


def signed(event: dict[str, Any], id: str = "wh_1", *, secret: str = SECRET, age: float = 0.0) -> dict[str, Any]:
    """A webhook, as the provider sends it."""
    body = json.dumps(event)
    at = datetime.now(UTC) - timedelta(seconds=age)
    headers = {
        "content-type": "application/json",
        "webhook-id": id,
        "webhook-timestamp": str(int(at.timestamp())),
        "webhook-signature": Webhook(secret).sign(id, at, body),
    }
    return {"content": body, "headers": headers}


ENDED = {"object": "event", "id": "evt_1", "type": "response.completed", "data": {"id": "resp_0000"}}


async def test_a_signed_webhook_wakes_the_run_and_a_forged_an_old_and_an_altered_one_do_not(
    provider: BackgroundProvider, address: str
) -> None:
    patient = agent("patient")
    async with serving(address, [patient]) as server, httpx.AsyncClient(base_url=server.url) as client:
        run = await server.runtime.start(patient, "what is it")
        await parked(run)
        [body] = provider.bodies
        assert (body["background"], body["store"]) == (True, True)
        assert body["metadata"]["adjourn_run"] == run.id
        forged = signed(ENDED, secret="whsec_" + base64.b64encode(b"another").decode())
        old = signed(ENDED, age=600)
        altered: dict[str, Any] = {**signed(ENDED), "content": json.dumps({**ENDED, "type": "response.failed"})}
        unsigned: dict[str, Any] = {"content": json.dumps(ENDED), "headers": {"content-type": "application/json"}}
        for wrong in (forged, old, altered, unsigned):
            assert (await client.post("/webhooks/openai", **wrong)).status_code == 401
        assert provider.looks == []
        assert (await client.get("/webhooks/openai")).status_code == 405
        nothing = signed({"type": "response.completed", "data": {"id": "resp_other"}}, "wh_0")
        assert (await client.post("/webhooks/openai", **nothing)).json() == {"known": False}
        assert (await client.post("/webhooks/openai", **signed({"type": "x"}, "wh_9"))).status_code == 400
        provider.finish("resp_0000", "woken")
        first, again, other = signed(ENDED), signed(ENDED), signed(ENDED, "wh_2")
        told = await asyncio.gather(*(client.post("/webhooks/openai", **one) for one in (first, again, other)))
        assert {answer.status_code for answer in told} == {200}
        outcome = await rested(run)
        assert (outcome.status, outcome.output) == ("completed", "woken")
        assert outcome.usage.output_tokens == 340
        records = [record for _, record in await server.runtime.store.load(run.id)]
        assert len([record for record in records if isinstance(record, Replied)]) == 1
        assert (await client.post("/webhooks/openai", **signed(ENDED, "wh_3"))).json() == {"known": False}


async def test_without_a_secret_there_is_no_endpoint(
    provider: BackgroundProvider, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_WEBHOOK_SECRET")
    async with serving(address, [agent()]) as server, httpx.AsyncClient(base_url=server.url) as client:
        answer = await client.post("/webhooks/openai", **signed(ENDED))
        assert (answer.status_code, "OPENAI_WEBHOOK_SECRET" in answer.json()["detail"]) == (404, True)


async def test_a_cancel_stops_it_at_the_provider(provider: BackgroundProvider, address: str) -> None:
    program = agent()
    async with Runtime(address, [program]) as rt:
        run = await rt.start(program, "go")
        await parked(run)
        await run.cancel(by="ana")
        outcome = await rested(run)
        assert isinstance(outcome, Cancelled)
        assert (provider.cancelled, outcome.residue) == (["resp_0000"], [])
        assert outcome.usage.input_tokens == 1200


async def test_two_servers_take_a_reply_once_and_tell_the_provider_to_stop_once(
    provider: BackgroundProvider, address: str
) -> None:
    """Everything is said to both, twice. Then one of them dies while it tells the provider to stop."""
    with process(address, "serve") as first, process(address, "serve") as second:
        async with await first.client() as one, await second.client() as other, Runtime(address, work=False) as rt:
            await told_twice(provider, rt, [one, other])
            await cancelled_twice(provider, rt, [one, other])
            second.kill()
            killed = killing(provider, "on_cancel", first)
            run = await rt.start(agent("patient"), "what is it")
            await parked(run)
            await run.cancel(by="ana")
            assert await asyncio.to_thread(killed.wait, 60)
    async with Runtime(address, [agent("patient")]) as rt:
        outcome = await rested(await rt.get(run.id))
    assert isinstance(outcome, Cancelled)
    assert provider.cancelled == ["resp_0001", "resp_0002", "resp_0002"]
    assert (len(provider.responses), outcome.residue, outcome.usage.input_tokens) == (3, [], 1200)


async def told_twice(provider: BackgroundProvider, rt: Runtime, servers: list[httpx.AsyncClient]) -> None:
    """Each webhook arrives at both servers; and one came too early, when the response was still at work."""
    run = await rt.start(agent("patient"), "what is it")
    await parked(run)
    early = signed({**ENDED, "type": "response.in_progress"}, "wh_0")
    assert (await servers[0].post("/webhooks/openai", **early)).json() == {"known": True}
    await parked(run, times=2)
    assert provider.looks == ["resp_0000"]
    provider.finish("resp_0000", "woken")
    ids = ("wh_1", "wh_2")
    told = [server.post("/webhooks/openai", **signed(ENDED, id)) for id in ids for server in servers]
    assert {answer.status_code for answer in await asyncio.gather(*told)} == {200}
    outcome = await rested(run)
    assert (outcome.output, outcome.usage.output_tokens) == ("woken", 340)
    records = [type(record) for _, record in await rt.store.load(run.id)]
    assert (records.count(Replied), len(provider.responses)) == (1, 1)


async def cancelled_twice(provider: BackgroundProvider, rt: Runtime, servers: list[httpx.AsyncClient]) -> None:
    run = await rt.start(agent("patient"), "what is it")
    await parked(run)
    told = [server.post(f"/api/v1/runs/{run.id}/cancel", json={}) for server in servers * 2]
    statuses = {answer.status_code for answer in await asyncio.gather(*told)}
    assert 200 in statuses and statuses <= {200, 409}
    outcome = await rested(run)
    assert isinstance(outcome, Cancelled)
    assert (provider.cancelled, outcome.residue, outcome.usage.input_tokens) == (["resp_0001"], [], 1200)


async def test_a_response_that_failed_is_handed_in_again(provider: BackgroundProvider, address: str) -> None:
    program = agent()
    async with Runtime(address, [program]) as rt:
        run = await rt.start(program, "go")
        await parked(run)
        provider.on_submit = lambda: provider.finish("resp_0001", "second")
        provider.fail("resp_0000")
        assert (await rested(run)).output == "second"
        assert len(provider.responses) == 2


async def test_a_response_that_the_provider_has_forgotten_asks_a_person(
    provider: BackgroundProvider, address: str
) -> None:
    program = agent()
    async with Runtime(address, [program]) as rt:
        run = await rt.start(program, "go")
        await parked(run)
        del provider.responses["resp_0000"]
        with pytest.raises(RunFailed, match="may have been answered, and charged"):
            await rested(run)


async def test_a_model_without_background_mode_says_so(provider: BackgroundProvider) -> None:
    chat = Agent("r", model=background("openai-chat:m-1"))
    with pytest.raises(RunFailed, match="has no background mode: it is for OpenAI's Responses API"):
        await chat.run("go")
    with pytest.raises(InvalidDefinition, match="poll= must be greater than 0"):
        background("openai-responses:m-1", poll=0)
    with pytest.raises(InvalidDefinition, match="a model of your own implements submit, fetch and withdraw"):
        background(ScriptedModel("x"))  # pyright: ignore[reportArgumentType]


async def test_a_run_without_a_store_waits_for_it_too(provider: BackgroundProvider) -> None:
    provider.on_submit = lambda: provider.finish("resp_0000", "here")
    async with asyncio.timeout(20):
        assert (await agent().run("go")).output == "here"
