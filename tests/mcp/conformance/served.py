"""What the kit calls: flows with the names and the questions that its scenarios want, served by our server.

`python -m tests.mcp.conformance.served` prints the address.
"""

import asyncio
from collections.abc import Mapping
from typing import Any

import uvicorn

from adjourn import Flow, Runtime
from adjourn.mcp.http_app import PATH, listen
from adjourn.mcp.mcp_server import McpServer, ServerTerms
from adjourn.stores.memory import MemoryStore

SECRET = "only for the conformance kit, which knows it"
NAME = ("user_name", "What is your name?", {"name": "string"})
CONFIRM = ("confirm", "Please confirm", {"ok": "boolean"})
STEPS = (
    ("step1", "Step 1: What is your name?", {"name": "string"}),
    ("step2", "Step 2: Which colour?", {"color": "string"}),
)
INFORMATION = ("ask", "Please provide your information", {"username": "string", "email": "string"})
STATUSES = ["active", "inactive", "pending"]
DEFAULTS = {
    "name": {"type": "string", "default": "John Doe"},
    "age": {"type": "integer", "default": 30},
    "score": {"type": "number", "default": 95.5},
    "status": {"type": "string", "enum": STATUSES, "default": "active"},
    "verified": {"type": "boolean", "default": True},
}
OPTIONS, VALUES = ["option1", "option2", "option3"], ["value1", "value2", "value3"]
TITLED = [{"const": value, "title": f"The {value}"} for value in VALUES]
CHOICES = {
    "untitledSingle": {"type": "string", "enum": OPTIONS},
    "titledSingle": {"type": "string", "oneOf": TITLED},
    "legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": ["One", "Two", "Three"]},
    "untitledMulti": {"type": "array", "items": {"type": "string", "enum": OPTIONS}},
    "titledMulti": {"type": "array", "items": {"anyOf": TITLED}},
}
Question = tuple[str, str, Mapping[str, Any]]
"""Its key, its words, and the fields of its answer: each a type, or a schema that may be left out."""


def asking(name: str, text: str, *questions: Question) -> Flow:
    """A flow that asks, and then says something."""
    flow = Flow(name)

    @flow.chunk(effect="read")
    async def body(ctx: Any) -> None:
        said: dict[str, Any] = {}
        for key, question, fields in questions:
            form = {
                "type": "object",
                "properties": {
                    field: {"type": kind} if isinstance(kind, str) else kind for field, kind in fields.items()
                },
                "required": [field for field, kind in fields.items() if isinstance(kind, str)],
            }
            asked = {"question": question}
            said[key] = ctx.pause_for("question", asked, resume_to="self", interrupt_id=key, answer_schema=form)
        ctx.state["text"] = text.format(**said)

    flow.to(body)
    return flow


def failing(name: str) -> Flow:
    """A flow that fails."""
    flow = Flow(name)

    @flow.chunk(effect="read", retries=1)
    async def body(ctx: Any) -> None:
        raise ValueError("This tool intentionally returns an error for testing")

    flow.to(body)
    return flow


FLOWS = [
    failing("test_error_handling"),
    asking("test_elicitation_sep1034_defaults", "{ask}", ("ask", "Please complete this", DEFAULTS)),
    asking("test_elicitation_sep1330_enums", "{ask}", ("ask", "Please choose", CHOICES)),
    asking("test_simple_text", "This is a simple text response for testing."),
    asking("test_elicitation", "User response: {ask}", INFORMATION),
    asking("test_input_required_result_elicitation", "Hello, {user_name[name]}!", NAME),
    asking("test_input_required_result_capabilities", "Hello, {user_name[name]}!", NAME),
    asking("test_input_required_result_request_state", "state-ok", CONFIRM),
    asking("test_input_required_result_tampered_state", "state-ok", CONFIRM),
    asking("test_input_required_result_multi_round", "{step1[name]} likes {step2[color]}", *STEPS),
]


async def main() -> None:
    async with Runtime(MemoryStore(), FLOWS) as rt:
        server = McpServer(rt, FLOWS, ServerTerms(by="kit", secret=SECRET)).server()
        place = listen("127.0.0.1", 0)
        host, port = place.getsockname()
        app = server.streamable_http_app(streamable_http_path=PATH, host=host)
        print(f"http://{host}:{port}{PATH}", flush=True)
        await uvicorn.Server(uvicorn.Config(app, log_level="error")).serve(sockets=[place])


if __name__ == "__main__":
    asyncio.run(main())
