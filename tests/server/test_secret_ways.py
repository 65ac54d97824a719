"""A secret in every place where a value can come in: it reaches the body, or is refused, and is found in no sink."""

import asyncio
import json
import logging
from pathlib import Path
from typing import Any

import pytest
from tests.logs import ours
from tests.server.receiver import HERE, Receiver
from tests.server.secret_doors import DOORS, with_servers
from tests.server.secret_ways import KEPT, REACH, REFUSED, World
from tests.server.test_secret_sinks import every_answer, kept
from tests.server.world import Client

from adjourn.secrets import KeyRing
from adjourn.server import add_webhook, serving

ALL = REACH | DOORS | REFUSED | KEPT


@pytest.fixture(params=["sqlite", "postgres"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/ways.db"
    return request.getfixturevalue("postgres").fresh()


def cluster(address: str, request: pytest.FixtureRequest) -> dict[str, bytes]:
    """Every file of PostgreSQL's cluster, its log included."""
    if not address.startswith("postgresql"):
        return {}
    server: Any = request.getfixturevalue("postgres")
    server.execute("checkpoint")
    found: dict[str, bytes] = {}
    for file in (server.folder / "data").rglob("*"):
        try:
            found[str(file)] = file.read_bytes()
        except OSError:  # a folder, or removed meanwhile
            continue
    return found


async def test_a_secret_comes_in_by_every_way_and_is_in_no_sink(
    address: str,
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setenv("ADJOURN_SECRET_KEYS", KeyRing.new_key())
    world, sinks = World(), dict[str, str | bytes]()
    secrets = {name: f"Wy4nG8-{address[:4]}-{n:02}" for n, name in enumerate(ALL)}
    with caplog.at_level(logging.DEBUG):
        async with (
            with_servers(world, tmp_path / "mcp"),
            Receiver() as hook,
            serving(address, world.programs, port=0, token=True, rate=10_000, allow=HERE) as server,
            Client(server, server.token) as client,
        ):
            world.rt, world.client = server.runtime, client
            await add_webhook(world.rt.store, "hook", hook.url, allow=HERE)
            for name, way in ALL.items():
                await way(world, secrets[name])
            for run in world.runs:
                answers = await every_answer(client, run, only_about_it=run != world.runs[-1])
                sinks |= {f"{run} {path}": text for path, text in answers.items()}
                handle = await world.rt.get(run)
                sinks[f"{run} checkpoint"] = (await handle.checkpoint()).to_json()
                sinks[f"{run} events"] = "".join([repr(event) async for event in handle.watch()])
            sinks["audit"] = json.dumps([line async for line in world.rt.audit_export()], default=str)
            sinks["webhooks"] = b"".join(one.body for one in await hook.until(1))
            sinks |= {f"open {name}": data for name, data in kept(address, tmp_path).items()}
    sinks |= kept(address, tmp_path)
    sinks |= await asyncio.to_thread(cluster, address, request)
    sinks["logs"] = caplog.text + repr([record.__dict__ for record in ours(caplog)])
    sinks |= world.said
    saw = {name for name, secret in secrets.items() if secret in world.saw}
    assert saw == {*REACH, *DOORS}
    assert len(sinks) > 300
    for where, text in sinks.items():
        whole = text if isinstance(text, bytes) else text.encode()
        assert not [name for name, secret in secrets.items() if secret.encode() in whole], where
