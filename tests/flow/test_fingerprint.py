"""A saved run goes on with the same names and shapes, wherever the code stands and however it is started."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.flow.world import execution, only, started

from adjourn import Agent, Flow, FlowContext, ProgramChanged, RunFailed, register_upgrader, tool
from adjourn.testing.scripted import ScriptedModel, call

SOURCE = """
import asyncio
import sys

from adjourn import Flow

flow = Flow("approval")


@flow.chunk
async def ask(ctx):
    ctx.pause_for("approval", {"question": ctx.input})


@flow.chunk
def commit(ctx):
    ctx.state["decision"] = [ctx.input, __name__]


flow.to(ask).if_(lambda ctx: True).to(commit).end_if()


async def begin():
    execution = await flow.start_execution("T-1", auto_close=False)
    print(execution.save().to_json())


async def finish(saved):
    execution = flow.create_execution(auto_close=False).load(saved)
    [interrupt] = execution.pending_interrupts
    await execution.continue_with(interrupt, "yes")
    print(await execution.close())


def main():
    saved = sys.stdin.read()
    asyncio.run(finish(saved) if saved else begin())


if __name__ == "__main__":
    main()
"""

CHANGED: dict[str, Callable[[str], str]] = {
    "nothing": lambda s: s,
    "a comment at the top": lambda s: "# one\n# two\n# three\n" + s,
    "the body of a chunk": lambda s: s.replace("[ctx.input, __name__]", "[ctx.input.upper(), __name__]"),
    "a chunk more elsewhere": lambda s: s.replace(
        "async def begin", "@flow.chunk\nasync def more(ctx): ...\n\n\nflow.when('x').to(more)\n\n\nasync def begin", 1
    ),
    "a chunk more in the chain": lambda s: s.replace(
        "flow.to(ask)", "@flow.chunk\nasync def more(ctx): ...\n\n\nflow.to(more).to(ask)"
    ),
}


def python(*arguments: Any, cwd: Path, text: str = "") -> str:
    command = [sys.executable, *map(str, arguments)]
    done = subprocess.run(command, cwd=cwd, input=text, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What a script in a directory of its own has saved."""
    here = tmp_path_factory.mktemp("here")
    (here / "script.py").write_text(SOURCE)
    return python("script.py", cwd=here)


@pytest.mark.parametrize("change", CHANGED)
def test_what_changes_nothing_for_a_saved_run(saved: str, tmp_path: Path, change: str) -> None:
    (tmp_path / "module.py").write_text(CHANGED[change](SOURCE))
    answer = "YES" if change == "the body of a chunk" else "yes"
    imported = python("-c", "import module; module.main()", cwd=tmp_path, text=saved)
    assert imported == f"{{'decision': ['{answer}', 'module']}}"


def test_a_script_goes_on_from_elsewhere_as_a_script_too(saved: str, tmp_path: Path) -> None:
    (tmp_path / "moved.py").write_text(CHANGED["a comment at the top"](SOURCE))
    assert python("moved.py", cwd=tmp_path, text=saved) == "{'decision': ['yes', '__main__']}"


def flow(*names: str, agents: tuple[Agent, ...] = (), child: Flow | None = None) -> Flow:
    """A chain of an `ask` and of chunks of these names."""
    flow = Flow("f")

    async def ask(ctx: FlowContext) -> None:
        ctx.pause_for("q")

    chain = flow.to(ask)
    for name in names:
        chain = chain.to(flow.chunk(name=name)(_anything))
    for agent in agents:
        chain = chain.to(agent)
    if child is not None:
        chain.to(child)
    return flow


async def _anything(ctx: FlowContext) -> Any:
    return ctx.input


async def refused(before: Flow, after: Flow, match: str) -> None:
    one = await started(before)
    saved = one.save().to_json()
    with pytest.raises(ProgramChanged, match=match):
        execution(after).load(saved)
    again = execution(before).load(saved)  # nothing was consumed
    await again.continue_with(only(again), "x")
    await again.close()


async def test_a_chunk_that_was_renamed_is_refused_by_name() -> None:
    await refused(flow("pay"), flow("charge"), r"chunk 'pay' is gone; new: 'charge' \(renamed\?\)")


async def test_a_chunk_that_was_removed_is_refused_by_name() -> None:
    await refused(flow("pay", "mail"), flow("pay"), "chunk 'mail' is gone")


async def test_another_flow_is_refused_by_name() -> None:
    other = Flow("other")
    other.to(flow("pay").chunks["ask"]).to(flow("pay").chunks["pay"])
    await refused(flow("pay"), other, "the run is of 'f', not of 'other'")


def child(name: str, chunk: str) -> Flow:
    flow = Flow(name)
    flow.to(flow.chunk(name=chunk)(_anything))
    return flow


async def test_a_sub_flows_chunk_that_was_renamed_is_refused_by_name() -> None:
    await refused(flow(child=child("c", "pay")), flow(child=child("c", "charge")), "chunk 'c/pay' is gone")


async def test_an_agent_that_changed_is_refused_by_name() -> None:
    @tool
    async def look(where: str) -> str:
        """Look."""
        return where

    def agent(*tools: Any) -> Agent:
        return Agent("writer", model=ScriptedModel([call("look", where="x")], "done"), tools=list(tools))

    await refused(flow(agents=(agent(look),)), flow(agents=(agent(),)), "agent 'writer': tool 'look' is gone")
    await refused(flow(agents=(agent(look),)), flow(), "agent 'writer' is gone")


async def test_a_chunk_that_is_gone_may_be_accepted_and_then_asks_when_it_is_needed() -> None:
    one = await started(flow("pay"))
    with pytest.warns(UserWarning, match="'pay' is gone"):
        after = execution(flow()).load(one.save(), on_change="warn")
    with pytest.raises(RunFailed, match="flow 'f' no longer has the chunk 'pay'"):
        await after.continue_with(only(after), "x")
    back = execution(flow("pay")).load(after.save().to_json())
    await back.resume()
    assert await back.close() == {}


async def test_an_upgrader_may_rename_a_chunk_in_a_saved_run() -> None:
    def rename(records: list[dict[str, Any]], changes: list[str]) -> list[dict[str, Any]]:
        assert changes[0] == "chunk 'pay' is gone"
        return json.loads(json.dumps(records).replace('"pay"', '"charge"'))

    one = await started(flow("pay"))
    register_upgrader("f", rename)
    try:
        after = execution(flow("charge")).load(one.save().to_json())
    finally:
        register_upgrader("f", None)
    await after.continue_with(only(after), "x")
    assert await after.close() == {}


def test_the_fingerprint_is_made_of_names() -> None:
    found = flow("pay", child=child("c", "inner")).fingerprint
    assert found["kind"] == "flow"
    assert set(found["tools"]) == {"ask", "pay", "c/inner"}
    assert found == flow("pay", child=child("c", "inner")).fingerprint
