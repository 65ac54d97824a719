"""The addresses of front ends: AG-UI below `/ag-ui`, the message stream of the AI SDK below `/ai-sdk`.
What they may do is decided where the API decides it."""

from adjourn.server.api_request import MAX_BODY, Operation
from adjourn.server.front_ends.ag_ui_endpoints import connect_agent, run_agent
from adjourn.server.front_ends.ag_ui_input import CONNECT, RUN_AGENT_INPUT
from adjourn.server.front_ends.ai_sdk_endpoints import chat, get_chat, watch_chat
from adjourn.server.front_ends.ai_sdk_input import CHAT
from adjourn.server.schemas import EVENT, OBJECTS, answer

FRONT_ENDS = [
    Operation(
        "POST /ag-ui/{agent}",
        "read",
        "Run an agent, by AG-UI.",
        run_agent,
        EVENT,
        body=RUN_AGENT_INPUT,
        size=MAX_BODY,
        problems=(404, 409, 423),
        stream=True,
    ),
    Operation(
        "POST /ag-ui/{agent}/connect",
        "read",
        "Show the run of a thread again, by AG-UI.",
        connect_agent,
        EVENT,
        body=RUN_AGENT_INPUT,
        size=MAX_BODY,
        query=CONNECT,
        problems=(404,),
        stream=True,
    ),
    Operation(
        "POST /ai-sdk/{agent}",
        "read",
        "Run an agent, by the AI SDK's message stream.",
        chat,
        EVENT,
        body=CHAT,
        size=MAX_BODY,
        problems=(404, 409, 423),
        stream=True,
    ),
    Operation(
        "GET /ai-sdk/{agent}/{chat}",
        "read",
        "The messages of a chat, as the AI SDK keeps them.",
        get_chat,
        answer(messages=OBJECTS),
    ),
    Operation(
        "GET /ai-sdk/{agent}/{chat}/stream",
        "read",
        "Show the turn that a chat is in again.",
        watch_chat,
        EVENT,
        also=(204,),
        stream=True,
    ),
]
"""What front ends can ask for, beside the API."""
