"""`/healthz` and `/readyz`: for whoever supervises the process. They need no key and tell nothing
else."""

from starlette.requests import Request
from starlette.responses import Response

from adjourn.runtime.health_server import Answer, alive, readiness
from adjourn.server.app_state import AppState
from adjourn.server.problem import Problem

PROBES = (["healthz"], ["readyz"])
"""Their paths."""


async def probed(desk: AppState, request: Request, name: str) -> Response:
    """Answer a probe."""
    if request.method not in ("GET", "HEAD"):
        raise Problem(
            405,
            "method_not_allowed",
            f"method {request.method} is not allowed here",
            {"Allow": "GET, HEAD"},
        )
    if name == "healthz":
        return _response(await alive())
    return _response(await readiness(desk.health)())


def _response(answer: Answer) -> Response:
    return Response(
        answer.body,
        answer.status.value,
        media_type=answer.kind,
        headers={"Cache-Control": "no-store"},
    )
