"""What a run of ours waits for, as a server asks its client; and the client's answer, as ours."""

from typing import TYPE_CHECKING, Any, cast

from adjourn.core.codec import loads
from adjourn.core.decision import Decision
from adjourn.core.interrupt import Interrupt
from adjourn.errors import Invalid

if TYPE_CHECKING:
    from mcp_types import ElicitRequest

ANSWER = "answer"
"""The field of an answer that is no object of its own."""
APPROVAL = "approval"
"""The type of questions that are approvals: a body that asks whether it may."""
FLAT = ("string", "number", "integer", "boolean")
WRITTEN = {"type": "string", "description": "The answer, as JSON."}


def is_for_client(interrupt: Interrupt) -> bool:
    """Whether a client is asked. Whoever asked for something does not agree to it, also where a body
    asks for that with a question."""
    return interrupt.kind == "question" and interrupt.type != APPROVAL


def question_of(interrupt: Interrupt) -> str:
    """A question in words."""
    payload = interrupt.payload
    if isinstance(payload, dict):
        said = cast("dict[str, Any]", payload).get("question")
        if isinstance(said, str) and said:
            return said
    if isinstance(payload, str) and payload:
        return payload
    if payload is None:
        return f"The run asks: {interrupt.type}"
    return f"The run asks: {interrupt.type}: {payload}"


def form_of(interrupt: Interrupt) -> dict[str, Any]:
    """The schema of a form, which has only plain fields."""
    schema = interrupt.answer_schema
    if not isinstance(schema, dict):
        return _wrapped({"type": "string"})
    if _is_form(schema):
        return schema
    if schema.get("type") in FLAT:
        return _wrapped(schema)
    return _wrapped(WRITTEN)


def answer_of(interrupt: Interrupt, response: dict[str, Any]) -> Any:
    """What a client has answered, as an answer to the interrupt; None if it has not."""
    if response.get("action") == "decline":
        return Decision.dismiss("declined by the client")
    if response.get("action") != "accept":
        return None
    content = cast("dict[str, Any]", response.get("content") or {})
    schema = interrupt.answer_schema
    if isinstance(schema, dict) and _is_form(schema):
        return content
    if ANSWER not in content:
        raise Invalid(f"the answer to {interrupt.id!r} has no field {ANSWER!r}")
    if isinstance(schema, dict) and schema.get("type") not in FLAT:
        return loads(str(content[ANSWER]), what="the answer")
    return content[ANSWER]


def form_request(interrupt: Interrupt) -> "ElicitRequest":
    """A question, as the protocol asks it."""
    from mcp_types import ElicitRequest, ElicitRequestFormParams

    asked = ElicitRequestFormParams(
        message=question_of(interrupt), requested_schema=form_of(interrupt)
    )
    return ElicitRequest(params=asked)


def link_request(interrupt: Interrupt, url: str) -> "ElicitRequest":
    """What a person must decide, as the page where they can."""
    from mcp_types import ElicitRequest, ElicitRequestURLParams

    if interrupt.call is not None:
        what = f"{interrupt.call.tool} waits for a person's decision."
    else:
        what = f"The run waits for a person ({interrupt.kind})."
    return ElicitRequest(
        params=ElicitRequestURLParams(message=what, url=url, elicitation_id=interrupt.ref)
    )


def _wrapped(schema: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": {ANSWER: schema}, "required": [ANSWER]}


def _is_form(schema: dict[str, Any]) -> bool:
    if schema.get("type") != "object" or not isinstance(schema.get("properties"), dict):
        return False
    return all(map(_is_field, cast("dict[str, Any]", schema["properties"]).values()))


def _is_field(schema: Any) -> bool:
    """Whether the protocol has a field for it: one plain value, or several of given ones."""
    if not isinstance(schema, dict):
        return False
    field = cast("dict[str, Any]", schema)
    if field.get("type") != "array":
        return field.get("type") in FLAT
    items = field.get("items")
    return isinstance(items, dict) and ("enum" in items or "anyOf" in items)
