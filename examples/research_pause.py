"""A research agent repeats itself. A person pauses it in the middle of a model call, reads its notes, and lets it go on with
an instruction. It finishes from where it was, and no tool call runs twice.

    python examples/research_pause.py

The agent works in a process of its own, as it would on a server; the person sits in this one. They share a database file
and nothing else. The model is a script, so that no API key is needed: give `make_agent` a real one and the rest stays.
"""

import asyncio
import json
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import chdir
from pathlib import Path

from adjourn import Agent, Completed, Recorded, Run, Runtime, TextArrived, ToolContext, tool
from adjourn.core.messages import Delta, ModelRequest, Reply, Text, TextDelta, ToolCall, ToolResult, UserMessage
from adjourn.core.records import Returned
from adjourn.core.usage import Usage

QUERIES = ["suppliers of cork", "cork suppliers", "who supplies cork", "cork supplier list"]
LEDGER = Path("searches.jsonl")
HERE = str(Path(__file__).resolve())


class Researcher:
    """Plays the model: it searches the same thing in other words, for ever, unless it is told to summarise."""

    name = "researcher"

    async def request(self, request: ModelRequest) -> AsyncIterator[Delta | Reply]:
        told = any(isinstance(m, UserMessage) and "summarise" in m.text for m in request.messages)
        found = [m for m in request.messages if isinstance(m, ToolResult)]
        if told:
            words, calls = f"Summary: {len(found)} searches found Amorim, Cork Supply and Granorte.", ()
        else:
            query = QUERIES[len(found) % len(QUERIES)]
            words = f"I should search once more, this time for {query!r}."
            calls = (ToolCall(id=f"search-{len(found)}", tool="search", args={"query": query}),)
        for word in words.split(" "):
            yield TextDelta(word + " ")
            await asyncio.sleep(0.03)
        yield Reply((Text(text=words), *calls), Usage(1, 400, 40), self.name)


@tool(effect="read")
def search(ctx: ToolContext, query: str) -> str:
    """Search the web.

    Args:
        query: What to look for.
    """
    with LEDGER.open("a") as ledger:  # outside the store: what really happened
        ledger.write(json.dumps([ctx.call_id, query]) + "\n")
    return "Amorim; Cork Supply; Granorte"


def make_agent() -> Agent:
    return Agent("research", model=Researcher(), instructions="Find suppliers.", tools=[search])


async def work() -> None:
    """The process that works, until the run has ended."""
    async with Runtime("sqlite:///research.db", [make_agent()]) as rt:
        run = await rt.start(make_agent(), "Find suppliers of cork.", run_id="cork")
        print("started", flush=True)
        async for _ in run.watch():
            pass


async def until_it_repeats_itself(run: Run[str]) -> None:
    """A person reads along, and has seen enough when the fifth search is being thought about."""
    searches = 0
    async for event in run.watch():
        if isinstance(event, Recorded) and isinstance(event.record, Returned):
            searches += 1
        elif isinstance(event, TextArrived) and searches >= 4:
            return


async def control() -> None:
    """The process in which the person is."""
    async with Runtime("sqlite:///research.db") as rt:
        run = await rt.get("cork")
        await until_it_repeats_itself(run)
        print("pause:   it repeats itself")
        await run.pause(by="operator", reason="repeating itself", now=True)
        outcome = await run.wait()
        print(f"status:  {outcome.status} after {outcome.usage.requests} model calls, the last one cut off")
        print("notes:")
        for message in await run.messages():
            if isinstance(message, ToolResult):
                print(f"  {message.tool}: {message.content}")
        await run.resume("summarise what you have and stop", by="operator")
        outcome = await run.wait()
        assert isinstance(outcome, Completed)
        print(f"output:  {outcome.output}")


def check() -> None:
    """No call ran twice: look at the ledger, not at the store."""
    calls = [json.loads(line)[0] for line in LEDGER.read_text().splitlines()]
    assert len(calls) == len(set(calls)), "a call ran twice"
    print(f"{len(calls)} searches ran, each once")


async def main() -> None:
    worker = await asyncio.create_subprocess_exec(sys.executable, HERE, "work", stdout=asyncio.subprocess.PIPE)
    assert worker.stdout is not None
    await worker.stdout.readline()
    await control()
    await worker.wait()
    check()


if __name__ == "__main__":
    if sys.argv[1:] == ["work"]:
        asyncio.run(work())
    else:
        with tempfile.TemporaryDirectory() as folder, chdir(folder):
            asyncio.run(main())
