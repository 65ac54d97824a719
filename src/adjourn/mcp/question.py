"""What a server asks a person, as a question of ours, and the answer as the server takes it."""

from typing import Any, cast

from adjourn.bodies.tool_context import ToolContext
from adjourn.errors import InterruptClosed, ToolFailed

TYPE = "mcp"
"""The type of these questions."""
LINK_ANSWERS: dict[str, Any] = {
    "type": "string",
    "enum": ["accept", "decline"],
    "description": "accept: the page was opened and what it asks for is done. decline: it was not.",
}
AGAIN = (
    "The server cannot wait for the answer: with the answer, the tool is called again from its "
    "beginning. Its earlier actions may happen a second time."
)


def asked(server: str, tool: str, params: dict[str, Any], again: bool) -> dict[str, Any]:
    """What a person is shown.

    Args:
        server: who asks.
        tool: whose call it is.
        params: what the server has sent.
        again: whether answering has the tool called again from its beginning.
    """
    shown: dict[str, Any] = {"question": params.get("message", ""), "server": server, "tool": tool}
    if "url" in params:
        shown["url"] = params["url"]
        shown["note"] = "Check the address before you open it. Adjourn does not check it."
    if again:
        shown["again"] = AGAIN
    return shown


def answered(context: ToolContext, shown: dict[str, Any], params: dict[str, Any]) -> dict[str, Any]:
    """The answer to the server; if there is none yet, the body stops here and waits for it."""
    try:
        if "url" in params:
            said = context.pause_for(TYPE, shown, resume_to="self", answer_schema=LINK_ANSWERS)
            return {"action": said}
        schema = cast("dict[str, Any]", params.get("requestedSchema") or {"type": "object"})
        said = context.pause_for(TYPE, shown, resume_to="self", answer_schema=schema)
    except InterruptClosed as closed:
        if closed.expired:
            return {"action": "cancel"}
        return {"action": "decline"}
    return {"action": "accept", "content": said}


def params_of(key: str, request: Any) -> dict[str, Any]:
    """What one of the requests in an `input_required` result asks; `ToolFailed` if it does not ask
    a person."""
    asked = request.model_dump(by_alias=True, mode="json", exclude_none=True)
    if asked["method"] != "elicitation/create":
        raise ToolFailed(
            f"the server asks for {asked['method']!r} ({key!r}), which is not given to servers"
        )
    return asked["params"]
