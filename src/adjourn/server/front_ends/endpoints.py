"""The addresses of front ends: AG-UI below `/ag-ui`, the message stream of the AI SDK below `/ai-sdk`.
What they may do is decided where the API decides it."""

from adjourn.server.api_request import operations_of
from adjourn.server.front_ends import ag_ui_endpoints, ai_sdk_endpoints

FRONT_ENDS = operations_of(ag_ui_endpoints, ai_sdk_endpoints)
"""What front ends can ask for, beside the API."""
