"""Processes of the tests: one starts a run and drives it, or serves, until it is killed."""

import asyncio
import os
from multiprocessing.connection import Connection

import openai.types.responses  # noqa: F401  # pyright: ignore[reportUnusedImport]  before it forks
import pydantic_ai.models.openai  # noqa: F401  # pyright: ignore[reportUnusedImport]

from adjourn import Agent, Runtime
from adjourn.models import background
from adjourn.server import serving
from adjourn.stores import postgres, sqlite  # noqa: F401  # pyright: ignore[reportUnusedImport]


def agent(how: str = "") -> Agent[str]:
    """`"keys"`: its provider honours them. `"patient"`: it looks by itself after almost an hour."""
    poll, most = (3000.0, 3000.0) if how == "patient" else (0.2, 0.5)
    model = background("openai-responses:m-1", poll=poll, poll_at_most=most, honours_keys=how == "keys")
    return Agent("research", model=model, instructions="Find out.")


async def drive(address: str, how: str) -> None:
    program = agent(how)
    async with Runtime(address, [program], lease=2.0) as rt, asyncio.timeout(60):
        await (await rt.start(program, "what is it", run_id="R1")).wait()


async def serve(address: str, told: "Connection") -> None:
    runtime = Runtime(address, [agent("patient")], lease=2.0)
    async with serving(runtime, port=0, token=True) as server:
        told.send((server.url, server.token))
        await asyncio.Event().wait()


def main(address: str, how: str, settings: dict[str, str], told: "Connection") -> None:
    """Until it is killed. `settings`: those of the provider's client."""
    os.environ.update(settings)
    asyncio.run(serve(address, told) if how == "serve" else drive(address, how))
