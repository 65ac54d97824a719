"""Agents and flows as tools of an MCP server, and the inbox beside them."""

import re
from collections.abc import Awaitable, Callable, Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, cast

import msgspec

from adjourn.core.action_digest import digest
from adjourn.core.decision import VERBS, Decision
from adjourn.core.interrupt import Interrupt
from adjourn.errors import AdjournError, Invalid, InvalidDefinition, NotAllowed
from adjourn.mcp.mcp_tool import KEY, RUN
from adjourn.mcp.served_run import ServedRun, refused
from adjourn.runtime.checkpoint import key_ring
from adjourn.runtime.definition import Definition
from adjourn.runtime.runtime import Runtime

if TYPE_CHECKING:
    from mcp.server import Server
    from mcp.server.context import ServerRequestContext
    from mcp_types import (
        CallToolRequestParams,
        CallToolResult,
        InputRequiredResult,
        InputResponses,
        Tool,
    )

VIA = "via"
"""The label of runs that were started here; its value is `mcp`."""
STATE_LIFE = 30 * 24 * 3600.0
"""Seconds for which a client may come back with what a run was asked."""
OWN = ("adjourn_inbox", "adjourn_run", "adjourn_decide")
NAME = re.compile(r"[^A-Za-z0-9_.-]")


class ServerTerms(msgspec.Struct, frozen=True, kw_only=True):
    """What a server of ours may do.

    Attributes:
        by: who starts runs, answers questions and decides.
        groups: the groups of that person.
        console: the address of the console, for what a person must decide.
        decide: whether a client may decide for that person.
        secret: seals the state of a run that a client holds; several, separated by commas: the
            first seals, all open. Without one, a key of this process.
    """

    by: str
    groups: tuple[str, ...] = ()
    console: str = ""
    decide: bool = False
    secret: str = ""


class McpServer:
    """The tools of a server of ours: one for each program, and those of the inbox."""

    def __init__(
        self, rt: Runtime, programs: Sequence[Definition[Any]], terms: ServerTerms
    ) -> None:
        self._rt, self._terms = rt, terms
        self._programs: dict[str, Definition[Any]] = {}
        for program in programs:
            name = NAME.sub("_", program.name)
            if name in self._programs or name in OWN:
                raise InvalidDefinition(f"two tools of the server would be named {name!r}")
            self._programs[name] = program
        self._own: dict[str, Callable[[dict[str, Any], Any], Awaitable[Any]]] = {
            "adjourn_inbox": self._inbox,
            "adjourn_run": self._look,
        }
        if terms.decide:
            self._own["adjourn_decide"] = self._decide

    def server(self) -> "Server[Any]":
        """The SDK's server, with the state that clients hold sealed."""
        from mcp.server import Server
        from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity

        async def listed(context: Any, params: Any) -> Any:
            from mcp_types import ListToolsResult

            return ListToolsResult(tools=self.tools())

        made: Server[Any] = Server(
            "adjourn", version=version("adjourn"), on_list_tools=listed, on_call_tool=self.call
        )
        if self._terms.secret:
            keys = list(dict.fromkeys(key_ring(self._terms.secret)))
            security = RequestStateSecurity(keys=keys, ttl=STATE_LIFE)
        else:
            security = RequestStateSecurity.ephemeral(ttl=STATE_LIFE)
        made.middleware.append(RequestStateBoundary(security, default_audience="adjourn"))
        return made

    def tools(self) -> "list[Tool]":
        """What the server has."""
        from mcp_types import Tool, ToolAnnotations

        told: dict[str, tuple[str, dict[str, Any], bool]] = {}
        for name, program in self._programs.items():
            if program.kind == "agent":
                asked = {"type": "string", "description": "What to ask it."}
                schema = {"type": "object", "properties": {"input": asked}, "required": ["input"]}
            else:
                asked = {"description": "The flow's input."}
                schema = {"type": "object", "properties": {"input": asked}}
            told[name] = f"Start a run of the {program.kind} {program.name}.", schema, False
        told |= {name: OWN_TOOLS[name] for name in self._own}
        found: list[Tool] = []
        for name, (description, schema, reads) in told.items():
            hints = ToolAnnotations(read_only_hint=reads, destructive_hint=not reads)
            found.append(
                Tool(name=name, description=description, input_schema=schema, annotations=hints)
            )
        return found

    async def call(
        self, context: "ServerRequestContext[Any, Any]", params: "CallToolRequestParams"
    ) -> "CallToolResult | InputRequiredResult":
        """Answer a call of a tool."""
        try:
            if params.name in self._programs:
                return await self._run(context, params)
            if params.name in self._own:
                said = await self._own[params.name](params.arguments or {}, params.meta)
                return _told(said)
        except AdjournError as error:
            return refused(error)
        from mcp.shared.exceptions import MCPError
        from mcp_types import INVALID_PARAMS

        raise MCPError(INVALID_PARAMS, f"tool {params.name!r} not found")

    async def _run(
        self, context: "ServerRequestContext[Any, Any]", params: "CallToolRequestParams"
    ) -> "CallToolResult | InputRequiredResult":
        program, arguments = self._programs[params.name], params.arguments or {}
        input = arguments.get("input")
        if program.kind == "agent" and not isinstance(input, str):
            raise Invalid("input must be a string")
        if params.request_state is not None:
            served = self._served(await self._rt.get(params.request_state))
            await served.answer(_responses(params.input_responses))
        else:
            key, run_id = _meta(params.meta).get(KEY), None
            if isinstance(key, str) and key:
                run_id = f"mcp-{digest('mcp run', params.name, key)[:32]}"
            started = await self._rt.start(
                program, input, run_id=run_id, labels={VIA: "mcp"}, by=self._terms.by
            )
            served = self._served(started)
        return await served.result(context)

    def _served(self, run: Any) -> ServedRun:
        return ServedRun(self._rt, run, self._terms.by, self._terms.console)

    async def _inbox(self, arguments: dict[str, Any], meta: Any) -> Any:
        found = await self._rt.inbox(
            agent=_string(arguments, "agent"), run=_string(arguments, "run_id")
        )
        return {"items": [_item(one) for one in found]}

    async def _look(self, arguments: dict[str, Any], meta: Any) -> Any:
        run = await self._rt.get(_string(arguments, "run_id"))
        seen = await run.state()
        waiting = [_item(one) for one in await self._rt.inbox(run=run.run_id)]
        return {
            "run_id": run.run_id,
            "status": await run.status(),
            "output": seen.output,
            "interrupts": waiting,
        }

    async def _decide(self, arguments: dict[str, Any], meta: Any) -> Any:
        """A decision of the person that the server acts for. What comes from inside of a run is
        none, and what was asked for here is not agreed to here."""
        if _meta(meta).get(RUN):
            raise NotAllowed(
                "a run cannot decide: this call comes from a tool",
                advice="only people decide, from outside the run",
            )
        interrupt = await self._rt.interrupt(_string(arguments, "ref"))
        row = await self._rt.row(interrupt.run_id)
        if row is not None and row.labels.get(VIA) == "mcp":
            raise NotAllowed(
                "this run was started over MCP, and the requester cannot approve it",
                advice="decide in the console or at a terminal",
            )
        shown = _string(arguments, "digest")
        if shown != interrupt.digest:
            raise Invalid("digest= must be that of the item, as adjourn_inbox shows it")
        note, decision = _string(arguments, "note"), _string(arguments, "decision")
        if decision == "approve":
            answer: Any = Decision.approve(note)
        elif decision == "deny":
            answer = Decision.deny(note)
        else:
            answer = arguments.get("value")
        seq = await self._rt.answer(
            interrupt, answer, by=self._terms.by, digest=shown, groups=self._terms.groups
        )
        return {"seq": seq}


def _item(interrupt: Interrupt) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "ref": interrupt.ref,
        "run_id": interrupt.run_id,
        "kind": interrupt.kind,
        "digest": interrupt.digest,
        "payload": interrupt.payload,
    }
    if interrupt.call is not None:
        shown["call"] = msgspec.to_builtins(interrupt.call)
    return shown


def _told(value: Any) -> "CallToolResult":
    from mcp_types import CallToolResult, TextContent

    value = msgspec.to_builtins(value)
    text = msgspec.json.encode(value).decode()
    return CallToolResult(content=[TextContent(text=text)], structured_content=value)


def _string(arguments: dict[str, Any], name: str) -> str:
    value = arguments.get(name, "")
    if not isinstance(value, str):
        raise Invalid(f"{name} must be a string")
    return value


def _meta(given: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", given or {})


def _responses(given: "InputResponses | None") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, response in (given or {}).items():
        found[key] = response.model_dump(mode="json", exclude_none=True)
    return found


_TEXT = {"type": "string"}
OWN_TOOLS: dict[str, tuple[str, dict[str, Any], bool]] = {
    "adjourn_inbox": (
        "What waits for a person.",
        {"type": "object", "properties": {"agent": _TEXT, "run_id": _TEXT}},
        True,
    ),
    "adjourn_run": (
        "The status of a run, its output, and its open interrupts.",
        {"type": "object", "properties": {"run_id": _TEXT}, "required": ["run_id"]},
        True,
    ),
    "adjourn_decide": (
        "Record the decision of the person you act for. Ask them first.",
        {
            "type": "object",
            "properties": {
                "ref": _TEXT,
                "digest": {**_TEXT, "description": "As adjourn_inbox shows it."},
                "decision": {"type": "string", "enum": list(VERBS)},
                "value": {"description": "The answer, or the choice."},
                "note": _TEXT,
            },
            "required": ["ref", "digest", "decision"],
        },
        False,
    ),
}
"""What stands beside the programs: its description, its arguments, whether it only reads."""
