"""Microsoft Agent Framework: a functional workflow with file checkpoints, which it does not sync. Approvals: its session as JSON."""

import json
import statistics
from typing import Any

from agent_framework import (
    Agent,
    AgentSession,
    BaseChatClient,
    ChatResponse,
    Content,
    FileCheckpointStorage,
    FunctionInvocationLayer,
    Message,
    step,
    tool,
    workflow,
)
from words import Stopwatch, scratch, text

from peers.workload import TOOL, Marks, OwnRows, answered, arguments, costs


@step
async def model_step(n: int, turns: int) -> dict[str, Any]:
    return {"role": "assistant", "text": text(n), "call": arguments(n) if n < turns else None}


@step
async def tool_step(n: int) -> dict[str, Any]:
    return {"role": "tool", "text": Marks.body(n)}


@workflow
async def talk(turns: int) -> int:
    said: list[Any] = []
    n = 0
    while True:
        reply = await model_step(n, turns)
        said.append(reply)
        if not reply["call"]:
            return len(said)
        said.append(await tool_step(reply["call"]["n"]))
        n += 1


async def turns(n: int, _mode: str) -> dict[str, float]:
    """A run of n turns."""
    with scratch() as folder:
        with Stopwatch() as watch:
            await talk.build().run(n, checkpoint_storage=FileCheckpointStorage(str(folder)))
        assert Marks.count == n
        return costs(watch, n, folder)


class Scripted(FunctionInvocationLayer, BaseChatClient):
    """One call, then a last word."""

    def _inner_get_response(self, *, messages: Any, **_: Any) -> Any:
        async def reply() -> ChatResponse:
            calls = [c for m in messages for c in m.contents if c.type == "function_call"]
            n = sum(c.call_id.startswith("call_") for c in calls)
            said = [Content.from_text(text(n))]
            if not n:
                said.append(Content.from_function_call("call_0", TOOL, arguments=json.dumps(arguments(n))))
            return ChatResponse(messages=[Message(role="assistant", contents=said)], response_id=f"r{n}")

        return reply()


def history(messages: int) -> list[Any]:
    found: list[Any] = [Message(role="user", contents=["begin"])]
    for k in range(messages // 2):
        call = Content.from_function_call(f"old_{k}", TOOL, arguments=json.dumps(arguments(k)))
        found.append(Message(role="assistant", contents=[Content.from_text(text(k)), call]))
        found.append(Message(role="tool", contents=[Content.from_function_result(f"old_{k}", result=text(k))]))
    return found


async def answer(messages: int, _mode: str, times: int = 6) -> dict[str, float]:
    """An approval → the tool's body; the session is one row of JSON while it waits."""

    @tool(approval_mode="always_require")
    async def look(n: int) -> str:
        """Look something up."""
        return Marks.body(n)

    agent: Any = Agent(client=Scripted(), name="bench", tools=[look])

    async def resume(body: str) -> Any:
        kept = json.loads(body)
        asked = [Content.from_dict(x) for x in kept["asked"]]
        agreed = [x.to_function_approval_response(True) for x in asked]
        return await agent.run([Message(role="user", contents=agreed)], session=AgentSession.from_dict(kept["session"]))

    spent: list[tuple[float, float]] = []
    with scratch() as folder:
        rows = OwnRows(folder / "rows.db")
        for k in range(times):
            session = AgentSession()
            parked = await agent.run(history(messages), session=session)
            assert parked.user_input_requests
            asked = [x.to_dict() for x in parked.user_input_requests]
            rows.put(f"t{k}", "waiting", json.dumps({"session": session.to_dict(), "asked": asked}))
            spent.append(await answered(lambda k=k: resume(rows.get(f"t{k}"))))
        rows.close()
    return {
        "ms": statistics.median(ms for ms, _ in spent[1:]),
        "cpu_ms": statistics.median(cpu for _, cpu in spent[1:]),
    }
