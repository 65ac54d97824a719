"""Agents on real wire formats: resumed elsewhere, cancelled, denied, and given arguments that are none."""

import asyncio
import json
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from adjourn import Agent, Policy, RunFailed, TextArrived, ask, can_resume, is_paused, tool

if TYPE_CHECKING:
    from conftest import MockServer, Providers

# the mock server ends a reply with a word that Gemini does not use
pytestmark = pytest.mark.filterwarnings("ignore:FUNCTION_CALL is not a valid FinishReason")
WIRES = pytest.mark.parametrize("wire", ["openai", "responses", "anthropic", "google"])

PROGRAM = """
    import asyncio, sys
    from pathlib import Path
    from adjourn import Agent, is_paused, pause_for, tool

    @tool(effect="read")
    async def look_up(order: int) -> dict:
        \"\"\"Find an order.\"\"\"
        with Path(ledger).open("a") as file:
            file.write(f"looked up {order}\\n")
        return {"order": order, "cents": 500}

    @tool
    async def ask_operator(question: str) -> dict:
        \"\"\"Ask a human operator for approval.\"\"\"
        pause_for("approval", {"question": question})

    model, checkpoint, ledger = sys.argv[1:]
    agent = Agent("refunds", model=model, instructions="You process refunds.", tools=[look_up, ask_operator])

    async def main():
        if Path(checkpoint).exists():
            outcome = await agent.resume(Path(checkpoint).read_text(), {"approved": True})
        else:
            outcome = await agent.run("refund order 123")
        if is_paused(outcome):
            Path(checkpoint).write_text(outcome.checkpoint.to_json())
            print("paused:", outcome.interrupts[0].payload["question"])
        else:
            print("output:", outcome.output)

    asyncio.run(main())
"""


def run(*arguments: str) -> str:
    command = [sys.executable, "-c", textwrap.dedent(PROGRAM), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def results_of(entry: dict[str, Any]) -> dict[str, str]:
    """The results in a request of the server's journal, by call id."""
    return {m["tool_call_id"]: m["content"] for m in entry["body"]["messages"] if m["role"] == "tool"}


@pytest.mark.parametrize(
    ("before", "after", "path"),
    [
        ("openai:gpt-5-mini", "anthropic:claude-haiku-4-5", "/v1/messages"),
        ("anthropic:claude-haiku-4-5", "openai-chat:gpt-4o-mini", "/v1/chat/completions"),
        ("openai-chat:gpt-4o-mini", "google:gemini-2.5-flash", "/v1beta/models/gemini-2.5-flash:"),
        ("google:gemini-2.5-flash", "openai:gpt-5-mini", "/v1/responses"),
    ],
)
def test_a_run_goes_on_in_another_process_with_another_provider(
    before: str, after: str, path: str, server: "MockServer", tmp_path: Path
) -> None:
    calls = [
        {"id": "call_1", "name": "look_up", "arguments": {"order": 123}},
        {"id": "call_2", "name": "ask_operator", "arguments": {"question": "Refund 5.00?"}},
    ]
    thoughts = {"reasoning": "The operator decides."}
    server.answer({"content": "A moment.", "toolCalls": calls, **thoughts}, match={"hasToolResult": False})
    server.answer({"content": "Refunded."}, match={"hasToolResult": True})
    files = str(tmp_path / "checkpoint.json"), str(tmp_path / "ledger.txt")

    assert run(before, *files) == "paused: Refund 5.00?"
    assert run(after, *files) == "output: Refunded."
    assert (tmp_path / "ledger.txt").read_text() == "looked up 123\n"

    first, second = server.journal()
    assert first["path"] != second["path"]
    assert second["path"].startswith(path)
    results = {call: json.loads(value) for call, value in results_of(second).items()}
    if "google" in after:
        results = {call: json.loads(value["return_value"]) for call, value in results.items()}
    assert results == {
        "call_1": {"order": 123, "cents": 500},
        "call_2": {"approved": True},
    }
    assert "The operator decides." not in json.dumps(second["body"])


STORY: dict[str, Any] = {"streamingProfile": {"ttft": 0, "tps": 20}, "match": {"userMessage": "Tell me a story."}}


@WIRES
async def test_cancelling_the_task_that_awaits_an_agent_hangs_up(
    wire: str, server: "MockServer", providers: "Providers"
) -> None:
    server.answer({"content": "a very long story " * 500}, **STORY)
    before = server.hung_up()
    task = asyncio.create_task(Agent("teller", model=providers.named(wire)).run("Tell me a story."))
    while not server.journal():
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await server.sees_one_hang_up(before)


@WIRES
async def test_cancelling_a_run_hangs_up(wire: str, server: "MockServer", providers: "Providers") -> None:
    server.answer({"content": "a very long story " * 500}, **STORY)
    before = server.hung_up()
    async with Agent("teller", model=providers.named(wire)).stream("Tell me a story.") as run:
        async for event in run:
            if isinstance(event, TextArrived):
                await run.cancel()
                break
        outcome = await run.wait()
    assert outcome.status == "cancelled"
    await server.sees_one_hang_up(before)


@WIRES
async def test_a_story_that_was_paused_in_the_middle_is_told_to_its_end(
    wire: str, server: "MockServer", providers: "Providers"
) -> None:
    server.answer({"content": "a very long story " * 500}, **STORY)
    server.answer({"content": "The end."}, match={"turnIndex": 1})
    agent, before = Agent("teller", model=providers.named(wire)), server.hung_up()
    async with agent.stream("Tell me a story.") as run:
        async for event in run:
            if isinstance(event, TextArrived):
                await run.pause(now=True)
                break
        outcome = await run.wait()
    assert is_paused(outcome)
    assert outcome.status == "paused"
    await server.sees_one_hang_up(before)

    outcome = await agent.resume(outcome.checkpoint.to_json())
    assert outcome.output == "The end."
    assert "a very" in json.dumps(providers.sent[1]), "what it had said is not forgotten"


@WIRES
async def test_a_denied_call_has_its_result_before_the_next_request(
    wire: str, server: "MockServer", providers: "Providers"
) -> None:
    ran: list[str] = []

    @tool(effect="read")
    def look_up(order: int) -> str:
        """Find an order."""
        ran.append("look_up")
        return "found"

    @tool
    def delete(order: int) -> str:
        """Delete an order."""
        ran.append("delete")
        return "gone"

    calls = [
        {"id": "call_1", "name": "delete", "arguments": {"order": 1}},
        {"id": "call_2", "name": "look_up", "arguments": {"order": 1}},
        {"id": "call_3", "name": "delete", "arguments": {"order": 2}},
    ]
    server.answer({"toolCalls": calls}, match={"hasToolResult": False})
    server.answer({"content": "Then not."}, match={"hasToolResult": True})
    policy = Policy([ask("delete", reason="destructive")], default="allow")
    agent = Agent("cleaner", model=providers.named(wire), tools=[look_up, delete], policy=policy)

    outcome = await agent.run("Delete the orders.")
    assert is_paused(outcome)
    assert len(server.journal()) == 1
    answers = {i.id: False for i in outcome.interrupts}
    outcome = await agent.resume(outcome.checkpoint.to_json(), answers=answers)
    assert outcome.output == "Then not."
    assert ran == ["look_up"]

    [_, second] = server.journal()
    results = results_of(second)
    assert list(results) == ["call_1", "call_2", "call_3"]
    assert "found" in results["call_2"]
    assert all("denied" in results[call].lower() for call in ("call_1", "call_3"))


@WIRES
async def test_malformed_arguments_are_told_to_the_model_and_the_run_goes_on(
    wire: str, malformed_server: "MockServer", providers: "Providers"
) -> None:
    providers.server = malformed_server

    @tool
    def weather(city: str) -> str:
        """The weather in a city."""
        raise AssertionError("must not run")

    outcome = await Agent("weather", model=providers.named(wire), tools=[weather]).run("truncated")
    assert outcome.output == "Sorry."
    second = json.dumps(providers.sent[1])
    if wire in ("openai", "responses"):
        assert "INVALID_JSON" in second
        assert "not a JSON object" in second
    else:  # their arguments are objects on the wire, and the mock server makes an empty one of broken text
        assert "city" in second and "required" in second


async def test_an_agent_tries_again_after_a_rate_limit_but_not_with_a_bad_key(
    server: "MockServer", providers: "Providers"
) -> None:
    limit = {"error": {"message": "slow down", "type": "rate_limit_error"}, "status": 429, "retryAfter": 0}
    server.answer(limit, match={"userMessage": "Hello", "sequenceIndex": 0})
    server.answer({"content": "Hi."}, match={"userMessage": "Hello"})
    server.answer(
        {"error": {"message": "bad key", "type": "authentication_error"}, "status": 401}, match={"userMessage": "Bye"}
    )
    agent = Agent("greeter", model=providers.openai())

    outcome = await agent.run("Hello")
    assert outcome.output == "Hi."
    assert len(server.journal()) == 2

    with pytest.raises(RunFailed, match="bad key") as caught:
        await agent.run("Bye")
    assert not can_resume(caught.value)
    assert len(server.journal()) == 3
