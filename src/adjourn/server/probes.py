"""`/healthz` and `/readyz`, for whoever supervises the process: they need no key and tell nothing
else. `/metrics`, for whoever may read."""

from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import Response

from adjourn.runtime.health_server import Answer, alive, readiness
from adjourn.runtime.prometheus import KIND, metrics_of
from adjourn.server.app_state import AppState
from adjourn.server.problem import Problem, check_reading

PROBES = (["healthz"], ["readyz"])
"""Their paths."""
METRICS = ["metrics"]


async def probed(app: AppState, request: Request, name: str) -> Response:
    """Answer a probe."""
    check_reading(request)
    if name == "healthz":
        return _response(await alive())
    return _response(await readiness(app.health)())


async def metrics(app: AppState, request: Request) -> Response:
    """The numbers of the store, for a key with the right to read."""
    check_reading(request)
    who = await app.guard.identify(request)
    if who.run or not who.may_everywhere("read"):
        what = f"{who.name!r} cannot read the metrics"
        raise Problem(403, "forbidden", what, advice="use a key with a role that can read")
    text = await metrics_of(app.runtime.store, app.runtime.worker.advancer.meter)
    return _response(Answer(HTTPStatus.OK, text, KIND))


def _response(answer: Answer) -> Response:
    return Response(
        answer.body,
        answer.status.value,
        media_type=answer.kind,
        headers={"Cache-Control": "no-store"},
    )
