"""Errors of a framework's model as ours: whether another attempt may help, and when."""

from typing import Any

from adjourn.errors import ModelError
from adjourn.models.provider_status import classified, retry_after

NAMES = {
    "APITimeoutError": "timeout",
    "TimeoutException": "timeout",
    "APIConnectionError": "connection",
    "TransportError": "connection",
}
"""Errors of providers' clients that have no status, by the name of the class or of one above it."""


def failure(name: str, error: BaseException) -> ModelError:
    """`error` as a `ModelError`; the caller chains the cause. Frameworks wrap what providers raise:
    the first cause that says something counts."""
    for one in _causes(error):
        kind, transient = _classify(one)
        if kind:
            wait = _retry_after(one) if transient else None
            return ModelError(
                f"{name}: {_said(error)}", transient=transient, retry_after=wait, kind=kind
            )
    return ModelError(f"{name}: {_said(error)}")


def _causes(error: BaseException) -> list[BaseException]:
    found: list[BaseException] = []
    at: BaseException | None = error
    while at is not None and at not in found:
        found.append(at)
        at = at.__cause__ or at.__context__
    return found


def _classify(error: BaseException) -> tuple[str, bool]:
    """Its kind and whether it may pass; "" if it says nothing."""
    status = getattr(error, "status_code", None)
    if isinstance(status, int) and not isinstance(status, bool):
        return classified(status)
    if isinstance(error, TimeoutError):
        return "timeout", True
    if isinstance(error, ConnectionError):
        return "connection", True
    for kind in type(error).__mro__:
        if kind.__name__ in NAMES:
            return NAMES[kind.__name__], True
    return "", False


def _retry_after(error: BaseException) -> float | None:
    headers: Any = getattr(getattr(error, "response", None), "headers", None)
    return retry_after(headers)


def _said(error: BaseException) -> str:
    return (str(error) or type(error).__name__)[:1000]
