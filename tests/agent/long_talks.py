"""Long conversations, for the tests of what a model is sent of them."""

from collections.abc import Sequence
from typing import Any

from adjourn import Agent, Checkpoint, MaxSteps, tool
from adjourn.core.messages import AssistantMessage, Message, Text, ToolCall, ToolResult, UserMessage
from adjourn.testing import ScriptedModel, call


@tool(effect="read")
async def look(n: int) -> str:
    """Look it up."""
    return f"found {n} " + "x" * 200


def words(messages: Sequence[Message]) -> list[str]:
    """Messages as short words."""
    found: list[str] = []
    for message in messages:
        if isinstance(message, ToolResult):
            found.append(str(message.content)[:7])
        else:
            calls = [f"call {p.args['n']}" for p in getattr(message, "parts", ()) if isinstance(p, ToolCall)]
            found.append(" ".join([message.text, *calls]).strip())
    return found


def looker(times: int, **options: Any) -> tuple[Agent, ScriptedModel]:
    model = ScriptedModel(*([call("look", n=n)] for n in range(times)), "done")
    return Agent("looker", model=model, tools=[look], stop=MaxSteps(1000), **options), model


async def talk(turns: int, **options: Any) -> tuple[Checkpoint, ScriptedModel]:
    """A chat of so many turns, each a run of its own."""
    model = ScriptedModel(*(f"answer {n}" for n in range(turns)))
    agent, last = Agent("chat", model=model, **options), None
    for n in range(turns):
        last = (await agent.run(f"question {n}", after=last)).checkpoint
    assert last is not None
    return last, model


def conversation(kinds: list[str]) -> list[Message]:
    found: list[Message] = [UserMessage("begin")]
    for n, kind in enumerate(kinds):
        match kind:
            case "user":
                found.append(UserMessage(f"user {n}"))
            case "text":
                found.append(AssistantMessage((Text(text=f"text {n}"),)))
            case _:
                ids = [f"{n}.{k}" for k in range(1 if kind == "call" else 3)]
                found.append(AssistantMessage(tuple(ToolCall(id=id, tool="look", args={"n": n}) for id in ids)))
                found += [ToolResult(id, "look", "y" * 300) for id in ids]
    return found
