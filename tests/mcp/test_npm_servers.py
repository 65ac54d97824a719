"""Real servers, from npm."""

import asyncio
import json
import os
import shutil
import signal
import sys
import time
from pathlib import Path
from typing import Any

from tests.mcp.conftest import FakeServer, npm_server
from tests.mcp.life import agent
from tests.mcp.test_mcp_tools import results

from adjourn import Agent, Completed, Policy, Runtime, allow, ask, deny
from adjourn.core.messages import Result
from adjourn.mcp import McpTools, mcp_tools
from adjourn.stores.memory import MemoryStore
from adjourn.stores.sqlite import SQLiteStore
from adjourn.testing import ScriptedModel, call

LIMIT = 60.0


def children(what: str) -> list[int]:
    """Processes that this one has started, by a word of their command."""
    found: list[int] = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            command = (entry / "cmdline").read_text()
        except OSError:
            continue  # it has ended
        if parent == os.getpid() and what in command:
            found.append(int(entry.name))
    return found


def clerk(tools: McpTools, folder: Path) -> Agent[Any]:
    """Reads, writes and moves a file."""
    note, moved = str(folder / "note.txt"), str(folder / "gone.txt")
    script = (
        [call("read_text_file", path=note)],
        [call("write_file", path=note, content="after")],
        [call("move_file", source=note, destination=moved)],
        [call("read_text_file", path=note)],
        "done",
    )
    policy = Policy([allow("read_*"), ask("write_file"), deny("move_file")])
    return Agent("clerk", model=ScriptedModel(*script), tools=[tools], policy=policy)


async def test_reads_are_allowed_writes_asked_and_deletes_denied_and_the_server_may_die_in_between(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "note.txt").write_text("before")
    command = [*npm_server("server-filesystem"), str(folder)]
    database = f"sqlite:///{tmp_path}/runs.db"
    async with (
        mcp_tools(command, trust=True, name="files") as tools,
        Runtime(database, [one := clerk(tools, folder)]) as rt,
    ):
        run = await rt.start(one, "go")
        await run.wait()
        [asked] = await rt.inbox()
        assert asked.call is not None and asked.call.tool == "write_file" and asked.call.effect == "idempotent"
        assert (folder / "note.txt").read_text() == "before"
        [process] = children(str(folder))
        os.kill(process, signal.SIGKILL)
    async with mcp_tools(command, trust=True, name="files") as tools, Runtime(database, [clerk(tools, folder)]) as rt:
        [asked] = await rt.inbox()
        await rt.approve(asked, by="ana")
        run = await rt.get(run.run_id)
        assert isinstance(await run.wait(), Completed)
        read = await results(run)
    assert (folder / "note.txt").read_text() == "after" and not (folder / "gone.txt").exists()
    assert "'before'" in read and "Successfully wrote" in read and "not allowed: " in read and "'after'" in read
    assert not children(str(folder))


def next_version(folder: Path) -> list[str]:
    """The command of the file server as its next version may be: it says something else of one of its tools."""
    node, script = npm_server("server-filesystem")
    package = Path(script).parents[1]
    shutil.copytree(package, folder / "next")
    (folder / "node_modules").symlink_to(package.parents[1])
    index = folder / "next" / "dist" / "index.js"
    before = index.read_text()
    after = before.replace("Create a new file or", "Create a new file for everybody or")
    assert after != before
    index.write_text(after)
    return [node, str(index)]


async def test_an_approval_is_void_if_the_server_comes_back_with_another_definition(tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "note.txt").write_text("before")
    database = f"sqlite:///{tmp_path}/runs.db"
    command = [*npm_server("server-filesystem"), str(folder)]
    async with (
        mcp_tools(command, trust=True, name="files") as tools,
        Runtime(database, [one := clerk(tools, folder)]) as rt,
    ):
        run = await rt.start(one, "go")
        await run.wait()
    command = [*next_version(tmp_path), str(folder)]
    async with mcp_tools(command, trust=True, name="files") as tools, Runtime(database, [clerk(tools, folder)]) as rt:
        [asked] = await rt.inbox()
        await rt.approve(asked, by="ana")
        run = await rt.get(run.run_id)
        assert isinstance(await run.wait(), Completed)
        assert "the tool write_file has changed since it was called" in await results(run)
    assert (folder / "note.txt").read_text() == "before"


async def test_an_elicitation_is_answered_the_next_day_in_another_process(tmp_path: Path) -> None:
    command, database = npm_server("server-everything"), tmp_path / "runs.db"
    tool = "trigger-elicitation-request"
    life = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.mcp.life", str(database), tool, *command, stdout=asyncio.subprocess.PIPE
    )
    async with asyncio.timeout(LIMIT):
        out, _ = await life.communicate()
    waiting = json.loads(out)["waits"]
    store = SQLiteStore(str(database), now=lambda: time.time() + 24 * 3600)
    async with (
        mcp_tools(command, name="server", effects={tool: "unsafe"}) as tools,
        Runtime(store, [agent(tools, tool)]) as rt,
    ):
        [asked] = await rt.inbox()
        assert isinstance(asked.answer_schema, dict) and asked.answer_schema["required"] == ["name"]
        await rt.answer(asked, {"name": "Ana", "check": True}, by="ana")
        run = await rt.get(waiting)
        assert isinstance(await run.wait(), Completed)
        read = await results(run)
    assert "User provided the requested information" in read and "Name: Ana" in read


async def test_images_are_files_other_resources_are_described_and_no_base64_is_recorded() -> None:
    command = npm_server("server-everything")
    calls = [call("get-tiny-image")], [call("get-resource-reference", resourceType="Blob", resourceId=1)]
    more = [call("get-resource-links", count=2)], [call("get-structured-content", location="New York")]
    async with mcp_tools(command, trust=True, name="everything") as tools:
        looker = Agent("looker", model=ScriptedModel(*calls, *more, "done"), tools=[tools])
        async with Runtime(MemoryStore(), [looker]) as rt:
            run = await rt.start(looker, "go")
            assert isinstance(await run.wait(), Completed)
            image, resource, links, structured = [
                message.content for message in await run.messages() if isinstance(message, Result)
            ]
            files = await rt.store.blobs(run.id)
    [picture] = [part for part in image if not isinstance(part, str)]
    assert picture["type"] == "image/png" and picture["size"] == len(files[picture["$file"]]) > 100
    assert "iVBOR" not in str(image)
    [blob] = [part for part in resource["content"] if part["type"] == "resource"]
    assert blob["uri"].startswith("demo://") and blob["bytes"] > 0 and "blob" not in blob
    assert len([part for part in links["content"] if part["type"] == "resource_link"]) == 2
    assert set(structured) == {"temperature", "conditions", "humidity"}


async def test_a_process_that_is_killed_inside_a_call_leaves_it_in_doubt(tmp_path: Path) -> None:
    server = FakeServer(tmp_path)
    server.has("hang")
    database = tmp_path / "runs.db"
    life = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.mcp.life", str(database), "hang", *server.command, stderr=asyncio.subprocess.PIPE
    )
    assert life.stderr is not None
    async with asyncio.timeout(LIMIT):
        while b"hang is called" not in await life.stderr.readline():
            pass
    life.kill()
    await life.communicate()
    async with (
        mcp_tools(server.command, name="server", effects={"hang": "unsafe"}) as tools,
        Runtime(f"sqlite:///{database}", [agent(tools, "hang")]) as rt,
    ):
        [row] = await rt.runs()
        run = await rt.get(row.run_id)
        await run.wait()
        [doubt] = await rt.inbox()
        assert doubt.kind == "in_doubt"
    assert len(server.calls) == 1
