"""Secret results: sealed before they are recorded, and opened again for what takes the call back."""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, cast

from adjourn.bodies.secret_types import Secret
from adjourn.core.secret_places import looks_sealed


def sealed_result(value: Any, mark: Secret) -> Any:
    """A result as it is recorded. Nothing, and what is sealed already, stays as it is."""
    if value is None or looks_sealed(value):
        return value
    return mark.ring().seal(str(value), mark.name)


def opened_result(value: Any, mark: Secret) -> Any:
    """A result as the body gave it."""
    if looks_sealed(value):
        return mark.ring().open(value, mark.name)
    return value


def opening(undo: Callable[..., Any], mark: Secret) -> Callable[..., Any]:
    """An undo, which is given the result as the body gave it."""

    @wraps(undo)
    def opened(context: Any, args: Any, result: Any) -> Any:
        return undo(context, args, opened_result(result, mark))

    return _alike(undo, opened)


def sealing(verify: Callable[..., Any], mark: Secret) -> Callable[..., Any]:
    """A verify, whose answer that it happened has the result sealed."""

    def sealed(answer: Any) -> Any:
        if not isinstance(answer, tuple):
            return answer
        parts = cast("tuple[Any, ...]", answer)
        return (*parts[:1], *(sealed_result(part, mark) for part in parts[1:]))

    if inspect.iscoroutinefunction(verify):

        @wraps(verify)
        async def sealing_async(*args: Any) -> Any:
            return sealed(await verify(*args))

        return sealing_async

    @wraps(verify)
    def sealing_sync(*args: Any) -> Any:
        return sealed(verify(*args))

    return sealing_sync


def _alike(function: Callable[..., Any], wrapped: Callable[..., Any]) -> Callable[..., Any]:
    """Async if the function is: what runs it looks at that."""
    if not inspect.iscoroutinefunction(function):
        return wrapped

    @wraps(function)
    async def awaited(*args: Any) -> Any:
        return await wrapped(*args)

    return awaited
