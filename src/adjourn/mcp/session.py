"""A connection to a server, for any number of runs."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any, cast

from adjourn.core.codec import text_of
from adjourn.errors import ToolFailed
from adjourn.mcp.server_address import Address

if TYPE_CHECKING:
    from mcp import Client
    from mcp.client.session import ClientRequestContext
    from mcp_types import CallToolRequestParams, CallToolResult, InputRequiredResult
    from mcp_types import Tool as ListedTool

OPEN_WITHIN = 60.0
"""Seconds for a server to start and to say which version it speaks."""
LIST_WITHIN = 60.0
"""Seconds for a list of tools."""
PAGES = 100
"""Pages of a list of tools that are read."""

Answer = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]
"""What a server asks in the middle of a call, as JSON, to what it is answered."""


class SessionLost(Exception):
    """Nothing was sent: an earlier call was left while the server was at it, and what the server still
    asks about that one would be taken for a question of the next."""


class Unreachable(Exception):
    """The server could not be started, or did not answer."""


class McpSession:
    """A connection, held by a task of its own: the SDK's scopes must be left by the task that has
    entered them, and a run may end in any other.

    Calls of a server that speaks 2025-11-25 come one after another: what such a server asks in the
    middle of a call does not say of which.
    """

    def __init__(self, address: Address, client: "Client") -> None:
        self._address, self._client = address, client
        self._end = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._turn = asyncio.Lock()
        self._answer: Answer | None = None
        self._is_open = False
        self.is_lost = False

    @classmethod
    async def open(cls, address: Address) -> "McpSession":
        """A session that is ready. Raises `Unreachable`."""
        try:
            from mcp import Client
        except ImportError:
            raise ToolFailed(
                "mcp_tools needs the package mcp: pip install 'adjourn[mcp]'"
            ) from None
        asked = _Asked()
        session = cls(
            address,
            Client(address.streams(), cache=None, elicitation_callback=asked),
        )
        asked.session = session
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        ready.add_done_callback(lambda done: done.cancelled() or done.exception())
        session._task = asyncio.create_task(session._hold(ready), name="adjourn mcp session")
        try:
            async with asyncio.timeout(OPEN_WITHIN):
                await asyncio.shield(ready)
        except TimeoutError:
            await session.close()
            raise Unreachable(f"{address.label} did not answer within {OPEN_WITHIN:g} s") from None
        except BaseException:
            await session.close()
            raise
        return session

    async def _hold(self, ready: asyncio.Future[None]) -> None:
        try:
            async with AsyncExitStack() as stack:
                await stack.enter_async_context(self._client)
                self._is_open = True
                if not ready.done():
                    ready.set_result(None)
                await self._end.wait()
        except Exception as error:
            # one that was ready is found to be gone by whoever uses it next
            if not ready.done():
                why = f"{self._address.label}: {type(error).__name__}: {text_of(_first(error))}"
                ready.set_exception(Unreachable(why))
        finally:
            if not ready.done():
                ready.set_exception(Unreachable(f"{self._address.label} was closed"))

    async def close(self) -> None:
        """End it; a server that was started for it ends."""
        self._end.set()
        task = self._task
        if task is None or task.done():
            return
        if not self._is_open:
            task.cancel()
        await asyncio.wait({task})

    @property
    def is_modern(self) -> bool:
        """Whether it asks with a result, which is answered by another call, and not in the middle
        of one."""
        from mcp_types.version import MODERN_PROTOCOL_VERSIONS

        return self._client.session.protocol_version in MODERN_PROTOCOL_VERSIONS

    async def listed(self) -> "list[ListedTool]":
        """The tools that the server has now."""
        from mcp_types import PaginatedRequestParams

        found: list[ListedTool] = []
        cursor: str | None = None
        async with asyncio.timeout(LIST_WITHIN):
            for _ in range(PAGES):
                page = await self._client.session.list_tools(
                    params=PaginatedRequestParams(cursor=cursor)
                )
                found += page.tools
                cursor = page.next_cursor
                if not cursor:
                    break
        return found

    async def call(
        self, params: "CallToolRequestParams", answer: Answer
    ) -> "CallToolResult | InputRequiredResult":
        """Have a tool run. It is sent once, whatever comes of it. Raises `SessionLost` if it was not sent.

        Args:
            params: which tool, its arguments, and what was answered.
            answer: what is said to a server that asks in the middle of it.
        """
        if self.is_modern:
            return await self._send(params)
        async with self._turn:
            if self.is_lost:
                raise SessionLost
            self._answer = answer
            try:
                return await self._send(params)
            except BaseException as error:
                self.is_lost = self.is_lost or not _is_answered(error)
                raise
            finally:
                self._answer = None

    async def _send(
        self, params: "CallToolRequestParams"
    ) -> "CallToolResult | InputRequiredResult":
        from mcp_types import CallToolRequest, CallToolResult, InputRequiredResult
        from pydantic import TypeAdapter

        result: TypeAdapter[CallToolResult | InputRequiredResult] = TypeAdapter(
            InputRequiredResult | CallToolResult
        )
        # Not `call_tool`, which may send it again, and which fails after the tool has run if its
        # result does not fit the tool's own schema.
        return await self._client.session.send_request(CallToolRequest(params=params), result)

    async def ask(self, params: dict[str, Any]) -> dict[str, Any]:
        """What the server is told that asks in the middle of a call."""
        if self._answer is None:
            return {"action": "cancel"}
        return await self._answer(params)


class _Asked:
    """The SDK's callback for what a server asks."""

    session: McpSession | None = None

    async def __call__(self, context: "ClientRequestContext", params: Any) -> Any:
        from mcp_types import ElicitResult

        assert self.session is not None
        said = params.model_dump(by_alias=True, mode="json", exclude_none=True)
        return ElicitResult.model_validate(await self.session.ask(said))


def _is_answered(error: BaseException) -> bool:
    """Whether a call has ended with an error that the server itself has sent."""
    from mcp.shared.exceptions import MCPError
    from mcp_types import CONNECTION_CLOSED, REQUEST_TIMEOUT

    sdk = (CONNECTION_CLOSED, REQUEST_TIMEOUT)
    return isinstance(error, MCPError) and error.code not in sdk


def _first(error: BaseException) -> BaseException:
    """What a task group has wrapped."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return error
