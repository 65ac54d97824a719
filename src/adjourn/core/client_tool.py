"""Tools that whoever started a run carries out: a call waits until they say what came of it."""

from collections.abc import Container, Iterable, Mapping
from typing import Any, cast

from adjourn.core.interrupt import Interrupt
from adjourn.core.records import CLIENT_TOOLS, Started
from adjourn.core.secret_places import has_secrets
from adjourn.core.state import State
from adjourn.errors import Invalid

CLIENT_TOOL = "client_tool"
"""The type of the question by which a call of one waits."""


def checked_client_tools(
    given: Iterable[Mapping[str, Any]], own: Container[str] | None
) -> dict[str, Any]:
    """What `client_tools=` adds to a run's options; raises `Invalid` for one without a name of its
    own. `own`: the names of the agent's tools; None for a flow."""
    found: dict[str, dict[str, Any]] = {}
    for one in given:
        name, why = one.get("name"), ""
        if not isinstance(name, str) or not name:
            why = f"a tool of the caller has no name: {one!r:.80}"
        elif own is None:
            why = "a flow calls no tools of its caller"
        elif name in own:
            why = f"the agent has a tool {name!r:.80} of its own"
        elif name in found:
            why = f"two tools are named {name!r:.80}"
        elif has_secrets(one.get("schema") or {}):
            why = f"the tool {name!r:.80} takes a secret, and secrets are never sent to a caller"
        if why or not isinstance(name, str):
            raise Invalid(
                why, consequence="nothing was started", advice="leave it out, or rename it"
            )
        schema = one.get("schema") or {"type": "object"}
        found[name] = {"name": name, "description": one.get("description", ""), "schema": schema}
        if one.get("result") is not None:
            found[name]["result"] = one["result"]
    if found:
        return {CLIENT_TOOLS: list(found.values())}
    return {}


def client_tools_of(started: Started) -> list[dict[str, Any]]:
    """The tools that whoever started a run carries out."""
    return list(cast("list[dict[str, Any]]", started.options.get(CLIENT_TOOLS, ())))


def called_of(interrupt: Interrupt) -> str:
    """The call that waits for whoever started the run, by its id inside the run; "" for everything
    else that a run waits for."""
    if interrupt.kind != "question" or interrupt.type != CLIENT_TOOL:
        return ""
    payload: Any = interrupt.payload
    if not isinstance(payload, dict):
        return ""
    return str(cast("dict[str, Any]", payload).get("call", ""))


def client_calls(state: State) -> dict[str, Interrupt]:
    """The calls that wait for whoever started the run, by their ids inside the run."""
    tools = {tool["name"] for tool in client_tools_of(state.started)}
    found: dict[str, Interrupt] = {}
    for interrupt in state.interrupts:
        call = state.live.get(called_of(interrupt))
        if call is not None and call.tool in tools:
            found[call.id] = interrupt
    return found
