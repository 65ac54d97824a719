"""Pydantic AI agents under Adjourn, with the framework's real package."""

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

from pydantic_ai import Agent as TheirAgent
from pydantic_ai import Tool as TheirTool
from pydantic_ai import messages as theirs
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel

from adjourn import Agent
from adjourn.guests import adopt
from adjourn.testing import GuestContract, GuestScript


def says(script: GuestScript) -> FunctionModel:
    """A model of the framework that follows the script."""

    async def stream(messages: list[theirs.ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
        turn = sum(isinstance(message, theirs.ModelResponse) for message in messages)
        reply = await script.reply(turn, heard(messages))
        for piece in reply.pieces:
            yield piece
        if reply.calls:
            yield {
                n: DeltaToolCall(
                    call.tool, theirs.ToolCallPart("", call.arguments).args_as_json_str(), tool_call_id=call.id
                )
                for n, call in enumerate(reply.calls, 1)
            }

    return FunctionModel(stream_function=stream)


def heard(messages: Sequence[theirs.ModelMessage]) -> list[str]:
    found: list[str] = []
    for message in messages:
        for part in message.parts if isinstance(message, theirs.ModelRequest) else ():
            if isinstance(part, theirs.UserPromptPart):
                found.append(str(part.content))
            elif isinstance(part, theirs.ToolReturnPart):
                found.append(part.model_response_str())
    return found


class TestPydanticAI(GuestContract):
    def guest(self, script: GuestScript, tools: Sequence[Callable[..., Any]], **terms: Any) -> Agent[Any]:
        return adopt(TheirAgent(says(script), name="support", tools=list(tools)), **terms)

    def marked_guest(self, script: GuestScript, tool: Callable[..., Any], **terms: Any) -> Agent[Any]:
        marked = TheirTool(tool, requires_approval=True)
        return adopt(TheirAgent(says(script), name="support", tools=[marked]), **terms)
