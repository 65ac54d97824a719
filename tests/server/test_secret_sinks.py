"""Fifty secrets, in arguments, results, files, resources, inputs, answers and errors: found in nothing that the server keeps or
says."""

import asyncio
import logging
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import httpx
import psycopg
import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from pydantic import BaseModel
from tests.logs import ours
from tests.server.receiver import HERE, Receiver
from tests.server.world import Client, eventually

from adjourn import Agent, Resource, Runtime, ToolContext, pause_for, tool
from adjourn.core.messages import ToolResult
from adjourn.parts import Document, File, Image
from adjourn.secrets import KeyRing, Secret, seal
from adjourn.server import add_webhook, serving
from adjourn.server.api.operations import OPERATIONS
from adjourn.telemetry import instrument
from adjourn.testing import ScriptedModel, call

CANARIES = [f"canary-{number:02}-Hx4Rm8Tn2" for number in range(50)]
TOLD, SEALED, PINS, MADE = CANARIES[:10], CANARIES[10:20], CANARIES[20:30], CANARIES[30:39]
ANSWERS = CANARIES[39:49]
RESOURCE = CANARIES[49]
BYTES = {"blob": "body", "snapshot": "rest", "segment": "body", "guest_row": "body"}
"""Columns of PostgreSQL that are no text."""


class Login(BaseModel):
    user: str
    pin: Annotated[str, Secret("pin")]


class Bodies:
    """The tools, and what they saw."""

    def __init__(self) -> None:
        self.saw: set[str] = set()

    def tools(self) -> list[Any]:
        @tool(policy="ask", describe="pay {cents} with {card}")
        async def pay(
            card: Annotated[str, Secret()], cents: int, key: Annotated[str, Resource("key"), Secret()]
        ) -> str:
            """Pay."""
            self.saw |= {card, key}
            return f"paid {cents} with {card} by {key}"

        @tool
        def fail(pin: Annotated[str, Secret("pin")]) -> str:
            """Fail."""
            self.saw.add(pin)
            raise ValueError(f"the pin {pin} is wrong")

        @tool
        async def login(number: int) -> str:
            """Ask for a login."""
            got = pause_for("login", {"number": number}, resume_to="self", answer_schema=Login)
            self.saw.add(got["pin"])
            if number % 2:
                raise ValueError(f"{got['pin']} is not the pin of {got['user']}")
            return f"{got['user']} is in with {got['pin']}"

        @tool
        async def make(number: int) -> Annotated[str, Secret()]:
            """Make a secret."""
            return MADE[number]

        @tool
        async def receipt(ctx: ToolContext, card: Annotated[str, Secret()]) -> list[Any]:
            """Print a receipt."""
            ctx.publish({"printed": card})
            said = f"paid with {card}".encode()
            return [File(said, "text/plain", f"{card}.txt"), Document(b"%PDF-1.7 " + said), Image(b"GIF89a paid")]

        return [pay, fail, login, make, receipt]


def pays(messages: Any) -> Any:
    """What was made is paid with, without being seen."""
    made = [one.content for one in messages if isinstance(one, ToolResult) and one.tool == "make"]
    return [call(name, card=card, **more) for card in made for name, more in (("receipt", {}), ("pay", {"cents": 7}))]


async def every_answer(client: Client, run: str, *, only_about_it: bool = False) -> dict[str, str]:
    """What every operation says that reads, but for the streams, which have no end; and the pages. `only_about_it`: only
    the operations that name the run."""
    found: dict[str, str] = {}
    for operation in OPERATIONS:
        path = operation.path.replace("{run_id}", run).lstrip("/")
        if operation.method != "GET" or "{" in path or (only_about_it and "{run_id}" not in operation.path):
            continue
        try:
            async with client.stream("GET", path, timeout=5) as answer:
                if answer.headers.get("content-type", "").startswith("text/event-stream"):
                    continue
                found[operation.path] = (await answer.aread()).decode()
        except httpx.ReadTimeout:
            continue
    for page in ("", "inbox", f"runs/{run}"):
        found[f"page {page}"] = (await client.get(f"{client.serving.url}/{page}")).text
    return found


class Elsewhere:
    """What a watcher in another runtime hears of a run: the live part of it comes over the store's channel."""

    def __init__(self, rt: Runtime, run: str) -> None:
        self.text = ""
        self._task = asyncio.get_running_loop().create_task(self._hear(rt, run))

    async def _hear(self, rt: Runtime, run: str) -> None:
        async for event in (await rt.get(run)).watch():
            self.text += repr(event)

    async def has_live(self) -> bool:
        return "Published(" in self.text

    async def end(self) -> str:
        await asyncio.wait_for(self._task, 60)
        return self.text


class Heard:
    """What the stream of a run's events says while it goes on, as a browser hears it."""

    def __init__(self, client: Client, run: str) -> None:
        self.text = b""
        self._task = asyncio.get_running_loop().create_task(self._hear(client, run))

    async def _hear(self, client: Client, run: str) -> None:
        async with client.stream("GET", f"runs/{run}/events", timeout=60) as answer:
            async for part in answer.aiter_bytes():
                self.text += part

    async def end(self) -> bytes:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        return self.text


def kept(address: str, folder: Path) -> dict[str, bytes]:
    """All that the store has: its files; of PostgreSQL its tables, and the files of the server."""
    found = {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()}
    if not address.startswith("postgresql"):
        return found
    connection: Any = psycopg.connect(address)
    with connection as db:
        for (table,) in db.execute("select tablename from pg_tables where schemaname = 'adjourn'").fetchall():
            found[f"table {table}"] = repr(db.execute(f"select t::text from adjourn.{table} t").fetchall()).encode()
        for table, column in BYTES.items():
            rows = db.execute(f"select {column} from adjourn.{table}").fetchall()
            found[f"bytes of {table}"] = b"".join(bytes(row[0]) for row in rows)
    return found


@pytest.fixture(params=["sqlite", "postgres"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/sinks.db"
    return request.getfixturevalue("postgres").fresh()


async def decide_all(client: Client, run: Any) -> None:
    """Approve what waits, and answer what is asked, over HTTP."""
    for asked in (await run.state()).interrupts:
        ref = quote(asked.ref, safe="")
        if asked.kind == "approval":
            said = await client.post(f"interrupts/{ref}/approve", json={"digest": asked.digest})
        else:
            value: dict[str, str] = {"user": "ana", "pin": ANSWERS[int(asked.payload["number"])]}
            said = await client.post(f"interrupts/{ref}/answer", json={"value": value, "digest": asked.digest})
        assert said.status_code == 200, said.text


async def test_fifty_secrets_are_in_nothing_that_is_kept_or_said(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("ADJOURN_SECRET_KEYS", KeyRing.new_key())
    bodies, spans, provider = Bodies(), InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    measured = InMemoryMetricReader()
    meters = MeterProvider([measured])
    first = [call("pay", card=card, cents=5) for card in TOLD]
    first += [call("pay", card=seal(card), cents=6) for card in SEALED]
    first += [call("fail", pin=pin) for pin in PINS] + [call("login", number=number) for number in range(10)]
    first += [call("make", number=number) for number in range(len(MADE))]
    agent = Agent("buyer", model=ScriptedModel(first, pays, "done"), tools=bodies.tools())
    sinks: dict[str, str | bytes] = {}
    with (
        caplog.at_level(logging.DEBUG),
        instrument(tracer_provider=provider, meter_provider=meters, content=True),
    ):
        async with (
            Receiver() as hook,
            serving(
                address, [agent], port=0, token=True, rate=10_000, allow=HERE,
                resources={"key": RESOURCE},
            ) as server,
            Client(server, server.token) as client,
            Runtime(address, work=False) as other,
        ):  # fmt: skip
            rt = server.runtime
            await add_webhook(rt.store, "hook", hook.url, allow=HERE)
            run = await rt.start(agent, f"pay with {seal(CANARIES[0])}", by="ana")
            heard, elsewhere = Heard(client, run.id), Elsewhere(other, run.id)
            for turn in range(2):
                await client.until(run.id, "waiting")
                sinks |= await every_answer(client, run.id)
                if turn:
                    await eventually(elsewhere.has_live)
                    sinks |= {f"live {name}": text for name, text in kept(address, tmp_path).items()}
                await decide_all(client, run)
            outcome = await run.wait(30)
            sinks["stream"] = await heard.end()
            sinks["events elsewhere"] = await elsewhere.end()
            assert outcome.output == "done"
            sinks |= {f"after {path}": text for path, text in (await every_answer(client, run.id)).items()}
            sinks["checkpoint"] = outcome.checkpoint.to_json()
            sinks["events"] = "".join([repr(event) async for event in run.watch()])
            files = await rt.store.blobs(run.id)
            sinks["files"] = b"".join(files.values())
            sinks["metrics"] = (await client.get(f"{server.url}/metrics")).text
            told = await hook.until(len(TOLD) + 1)
            sinks["webhooks"] = b"".join(one.body for one in told)
            sinks |= {f"open {name}": text for name, text in kept(address, tmp_path).items()}
            await rt.prune(older=0, by="ana", archive=tmp_path / "archive")
            [archived] = [file for file in (tmp_path / "archive").rglob("*") if file.is_file()]
            sinks["archive"] = archived.read_bytes()
    sinks |= kept(address, tmp_path)
    sinks["logs"] = caplog.text + repr([record.__dict__ for record in ours(caplog)])
    sinks["telemetry"] = "".join(span.to_json() for span in spans.get_finished_spans()) + str(
        measured.get_metrics_data()
    )
    provider.shutdown()
    meters.shutdown()
    assert bodies.saw == {*CANARIES}
    assert b"login" in heard.text and len(sinks["archive"]) > 10_000
    assert sorted({*files.values()}) == [b"GIF89a paid", "paid with •••".encode()]
    assert address.startswith("postgresql") or "live sinks.db-live" in sinks
    assert len([name for name in sinks if name.startswith("/")]) > 20, sorted(sinks)
    assert "gen_ai.tool.call.arguments" in str(sinks["telemetry"]), "no content was told: this proves nothing"
    for where, said in sinks.items():
        text = said if isinstance(said, bytes) else said.encode()
        assert not [canary for canary in CANARIES if canary.encode() in text], where
