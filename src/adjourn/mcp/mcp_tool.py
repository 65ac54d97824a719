"""A tool of a server: one call of it, with whatever the server asks in between."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, cast

from adjourn.agent.dict_tool import DictTool
from adjourn.bodies.tool_context import ToolContext
from adjourn.core.action_digest import digest
from adjourn.core.codec import text_of
from adjourn.core.effect import Effect
from adjourn.errors import InDoubt, ToolFailed
from adjourn.mcp import content, question
from adjourn.mcp.session import McpSession, SessionLost

if TYPE_CHECKING:
    from mcp_types import CallToolRequestParams, CallToolResult, InputRequiredResult

ROUNDS = 10
"""How often a server may ask in one call."""
STATE = 64 * 1024
"""Characters of a server's own state that are kept while it waits for an answer."""
LONGEST = 60.0
"""Seconds until a server is called again that only wants to be called again, at most."""
KEY = "dev.adjourn/idempotency-key"
"""In `_meta` of a call: the same for every attempt of it."""
RUN = "dev.adjourn/run"
"""In `_meta` of a call: the run whose call it is."""

Connect = Callable[[], Awaitable[McpSession]]


class McpTool(DictTool):
    """See `Tool`. `remote`: its name at the server; `server`: what that is called here."""

    remote = ""
    server = ""


class McpCall:
    """One call, in one life of its body. What the server has asked so far is the body's progress:
    a list of rounds, each with its requests, and the state that the server wants back."""

    def __init__(self, tool: McpTool, context: ToolContext, args: dict[str, Any]) -> None:
        self._tool, self._context, self._args = tool, context, args
        self._rounds: list[dict[str, Any]] = list(cast("list[Any]", context.progress or []))
        self._said: list[dict[str, Any]] = []
        self._used: set[int] = set()
        self._new: dict[str, Any] | None = None

    async def result(self, connect: Connect) -> Any:
        """What the tool gives. Stops where a person must answer first."""
        for at in self._rounds:
            await self._ask(at)
        while True:
            try:
                found = await self._send(await connect())
            except SessionLost:
                continue
            if not isinstance(found, dict):
                if found.is_error:
                    raise ToolFailed(content.error_text(found))
                return content.recorded(found)
            if len(self._rounds) >= ROUNDS:
                raise ToolFailed(f"the server has already asked {ROUNDS} times")
            self._rounds.append(found)
            await self._context.save(self._rounds)
            await self._ask(self._rounds[-1])

    async def _ask(self, at: dict[str, Any]) -> None:
        """Have everything that was asked in a round answered. A server that asks for nothing but to
        be called again later is called again later."""
        if not at["requests"]:
            await self._context.sleep(min(LONGEST, 2.0 ** len(self._said)))
        answers: dict[str, Any] = {}
        for key, params in at["requests"].items():
            shown = question.asked(self._tool.server, self._tool.remote, params, at["again"])
            answers[key] = question.answered(self._context, shown, params)
        self._said.append(answers)

    async def _send(self, session: McpSession) -> "CallToolResult | dict[str, Any]":
        """The result, or the round that must be answered first."""
        from mcp.shared.exceptions import MCPError
        from mcp_types import InputRequiredResult

        self._used, self._new = set(), None
        try:
            result = await session.call(self._params(session), self._answer)
        except MCPError as error:
            if found := _links(error):
                return {"requests": found, "state": None, "again": False}
            if self._new is not None and not _is_cut(error):
                return self._unanswered(self._new)
            raise self._lost(error, session) from error
        except SessionLost:
            raise
        except Exception as error:
            raise self._lost(error, session) from error
        if isinstance(result, InputRequiredResult):
            return self._required(result)
        if self._new is not None:
            return self._unanswered(self._new)
        return result

    def _unanswered(self, params: dict[str, Any]) -> dict[str, Any]:
        """The round of a server that was told that nobody answers now, and has ended somehow."""
        is_risky = self._tool.effect not in (Effect.READ, Effect.IDEMPOTENT)
        return {"requests": {"0": params}, "state": None, "again": is_risky}

    def _params(self, session: McpSession) -> "CallToolRequestParams":
        from mcp_types import CallToolRequestParams

        said: dict[str, Any] = {
            "name": self._tool.remote,
            "arguments": self._args,
            "_meta": {KEY: self._context.idempotency_key, RUN: self._context.run_id},
        }
        if self._rounds and session.is_modern:
            said["inputResponses"] = self._said[-1] or None
            said["requestState"] = self._rounds[-1]["state"]
        return CallToolRequestParams.model_validate(said)

    async def _answer(self, params: dict[str, Any]) -> dict[str, Any]:
        """What a server is told that asks in the middle of a call: what a person has said to exactly
        this, or that nobody answers now."""
        params = {key: value for key, value in params.items() if key != "_meta"}
        for place, at in enumerate(self._rounds):
            if place not in self._used and _is_same(at["requests"], params):
                self._used.add(place)
                return self._said[place]["0"]
        if self._new is None:
            self._new = params
        return {"action": "cancel"}

    def _required(self, result: "InputRequiredResult") -> dict[str, Any]:
        state = result.request_state
        if state is not None and len(state) > STATE:
            raise ToolFailed(
                f"the server's state has {len(state):,} characters; {STATE:,} are kept"
            )
        requests = {
            key: question.params_of(key, request)
            for key, request in (result.input_requests or {}).items()
        }
        return {"requests": requests, "state": state, "again": False}

    def _lost(self, error: Exception, session: McpSession) -> Exception:
        """What a call has come to that has no result."""
        from mcp.shared.exceptions import MCPError
        from mcp_types import INVALID_PARAMS, METHOD_NOT_FOUND

        said = text_of(error) or type(error).__name__
        if isinstance(error, MCPError) and error.code in (INVALID_PARAMS, METHOD_NOT_FOUND):
            return ToolFailed(said)  # it says that it did nothing
        session.is_lost = True
        why = f"{self._tool.server} did not say what happened to {self._tool.remote}: {said}"
        if self._tool.effect == Effect.READ:
            return ConnectionError(why)
        return InDoubt(why)


def _is_cut(error: Any) -> bool:
    """Whether it is the SDK that speaks, and not the server."""
    from mcp_types import CONNECTION_CLOSED, REQUEST_TIMEOUT

    return error.code in (CONNECTION_CLOSED, REQUEST_TIMEOUT)


def _links(error: Any) -> dict[str, Any]:
    """The pages that must be visited first, as 2025-11-25 says it: with an error."""
    from mcp_types import URL_ELICITATION_REQUIRED

    data = error.data
    if error.code != URL_ELICITATION_REQUIRED or not isinstance(data, dict):
        return {}
    found: dict[str, Any] = {}
    listed = cast("dict[str, Any]", data).get("elicitations")
    if isinstance(listed, list):
        for place, params in enumerate(cast("list[dict[str, Any]]", listed)):
            found[str(place)] = {"message": params.get("message", ""), "url": params.get("url", "")}
    return found


def _is_same(requests: dict[str, Any], params: dict[str, Any]) -> bool:
    asked = requests.get("0")
    return asked is not None and digest("mcp", _bare(asked)) == digest("mcp", _bare(params))


def _bare(params: dict[str, Any]) -> dict[str, Any]:
    """What is asked, without the name that this time it has."""
    return {key: value for key, value in params.items() if key not in ("elicitationId", "_meta")}
