"""`mcp_tools`: the tools of a server, found while a run goes on."""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import msgspec

from adjourn.agent.tool import PolicyName
from adjourn.agent.toolset import ToolsetContext
from adjourn.bodies.tool_context import ToolContext
from adjourn.core.action_digest import digest
from adjourn.core.codec import plain, text_of
from adjourn.core.duration import Duration
from adjourn.core.effect import EffectName
from adjourn.errors import InvalidDefinition
from adjourn.mcp.mcp_tool import McpCall, McpTool
from adjourn.mcp.server_address import Address, Server, address
from adjourn.mcp.session import McpSession

if TYPE_CHECKING:
    from mcp_types import Tool as ListedTool
    from mcp_types import ToolAnnotations

log = logging.getLogger("adjourn.mcp")

RETRIES = 2
"""How often a tool is tried again that only reads."""


def mcp_tools(
    server: Server,
    *,
    trust: bool = False,
    prefix: str = "",
    env: Mapping[str, str] | None = None,
    headers: Mapping[str, str] | None = None,
    effects: Mapping[str, EffectName] | None = None,
    undo: Mapping[str, Callable[..., Any]] | None = None,
    verify: Mapping[str, Callable[..., Any]] | None = None,
    timeout: Duration | None = None,
    name: str = "",
) -> "McpTools":
    """The tools of an MCP server, as an element of `Agent(tools=[…])`. Needs `adjourn[mcp]`.

    Args:
        server: a URL, or the command that starts it, as a string or a list.
        trust: whether what the server says of its tools is believed. Without it, every tool that
            `effects` does not name is unsafe, and a person is asked about each call.
        prefix: put before the tools' names.
        env: added to the environment of a server that is started here; it gets no other secrets.
        headers: sent with each request to a server with a URL.
        effects: what tools do to the world, by their names at the server: `"read"`,
            `"idempotent"`, `"verifiable"` or `"unsafe"`. What you say here goes before what the
            server says, and whether a person is asked is then for the policy alone.
        undo: `undo(ctx, args, result)`, by the tools' names at the server.
        verify: `verify(ctx, args)` for those that are `"verifiable"`, by their names at the server.
        timeout: seconds, or a `timedelta`, for each call.
        name: what the server is called in runs and questions; without one, its prefix, host or
            command. A run refuses to continue without a server of this name.
    """
    where = address(server, env or {}, headers or {})
    known: dict[str, EffectName] = dict(effects or {})
    for tool in verify or {}:
        if known.setdefault(tool, "verifiable") != "verifiable":
            raise InvalidDefinition(
                f"mcp_tools: {tool!r} has a verify=, so that it is 'verifiable' and not {known[tool]!r}"
            )
    terms = _Terms(trust, prefix, known, dict(undo or {}), dict(verify or {}), timeout)
    return McpTools(name or prefix.rstrip("_-.") or where.label, where, terms)


class _Terms(msgspec.Struct, frozen=True):
    """What whoever uses a server says of it."""

    trust: bool
    prefix: str
    effects: Mapping[str, EffectName]
    undo: Mapping[str, Callable[..., Any]]
    verify: Mapping[str, Callable[..., Any]]
    timeout: Duration | None

    def judged(
        self, name: str, hints: "ToolAnnotations | None"
    ) -> tuple[EffectName, PolicyName | None]:
        """What a tool does to the world, and the least strict verdict about it."""
        if name in self.effects:
            return self.effects[name], None
        if not self.trust:
            return "unsafe", "ask"
        if hints is not None and hints.read_only_hint:
            return "read", None
        if hints is not None and hints.idempotent_hint:
            effect: EffectName = "idempotent"
        else:
            effect = "unsafe"
        if hints is not None and hints.destructive_hint is False:
            return effect, None
        return effect, "ask"  # the protocol's own default: it may destroy something


class McpTools:
    """See `Toolset`, and `mcp_tools`, which makes it. Its session is opened when it is used first, in
    each event loop, lives across runs, and is opened again when the server has gone. It ends with
    its event loop, or with `close`."""

    def __init__(self, name: str, address: Address, terms: _Terms) -> None:
        self.name = name
        self._address, self._terms = address, terms
        self._said: set[tuple[str, str]] = set()
        self._sessions: WeakKeyDictionary[asyncio.AbstractEventLoop, _Place] = WeakKeyDictionary()

    async def tools(self, context: ToolsetContext) -> Iterable[McpTool]:
        """See `Toolset.tools`."""
        found: list[McpTool] = []
        for listed in await self._listed():
            try:
                found.append(self._tool(listed))
            except InvalidDefinition as error:
                self._left_out(listed.name, text_of(error))
        return found

    def _left_out(self, tool: str, why: str) -> None:
        """Say once that a tool of the server cannot be used."""
        if (tool, why) not in self._said:
            self._said.add((tool, why))
            log.warning("%s: %s is left out: %s", self.name, tool, why)

    async def close(self) -> None:
        """End the session of this event loop; a server that was started for it ends."""
        place = self._sessions.pop(asyncio.get_running_loop(), None)
        if place is not None and place.session is not None:
            await place.session.close()

    async def __aenter__(self) -> "McpTools":
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def _listed(self) -> "list[ListedTool]":
        """The server's tools. A session that has gone is found out by this, and opened again."""
        session = await self._session()
        try:
            return await session.listed()
        except Exception as error:
            log.info("%s: its session was lost (%s)", self.name, text_of(error))
            session.is_lost = True
        session = await self._session()
        return await session.listed()

    async def _session(self) -> McpSession:
        place = self._sessions.setdefault(asyncio.get_running_loop(), _Place())
        async with place.turn:
            if place.session is not None and place.session.is_lost:
                await place.session.close()
                place.session = None
            if place.session is None:
                place.session = await McpSession.open(self._address)
            return place.session

    def _tool(self, listed: "ListedTool") -> McpTool:
        if listed.execution is not None and listed.execution.task_support == "required":
            raise InvalidDefinition("it can only be called as a task")
        effect, policy = self._terms.judged(listed.name, listed.annotations)
        retries = 0
        if effect == "read":
            retries = RETRIES

        async def run(context: ToolContext, args: dict[str, Any]) -> Any:
            return await McpCall(tool, context, args).result(self._session)

        tool = McpTool(
            self._terms.prefix + listed.name,
            listed.description or "",
            listed.input_schema,
            run,
            effect=effect,
            undo=self._terms.undo.get(listed.name),
            verify=self._terms.verify.get(listed.name),
            policy=policy,
            timeout=self._terms.timeout,
            retries=retries,
        )
        tool.remote, tool.server = listed.name, self.name
        said = listed.model_dump(by_alias=True, mode="json", exclude_none=True)
        said.pop("_meta", None)
        tool.origin = digest("mcp", self.name, plain(said, "definition"))
        return tool

    def __repr__(self) -> str:
        return f"McpTools({self.name!r})"


class _Place:
    """The session of one event loop."""

    def __init__(self) -> None:
        self.turn = asyncio.Lock()
        self.session: McpSession | None = None
