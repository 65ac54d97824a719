"""Chunks: the functions that a flow runs, and the names that may stand in a graph."""

import inspect
from collections.abc import Callable, Iterable
from typing import Any, Literal

from adjourn.bodies.retries import checked_retries
from adjourn.bodies.signature import check_takes
from adjourn.core.duration import Duration, seconds
from adjourn.core.effect import Effect
from adjourn.core.ids import checked_name
from adjourn.errors import InvalidDefinition

EffectName = Literal["read", "idempotent", "verifiable", "unsafe"]


class Chunk:
    """A function of one parameter, the `FlowContext`; what it returns is the next chunk's input."""

    def __init__(
        self,
        run: Callable[..., Any],
        name: str,
        *,
        effect: EffectName = "unsafe",
        undo: Callable[[Any, Any, Any], Any] | None = None,
        verify: Callable[[Any, Any], Any] | None = None,
        timeout: Duration | None = None,
        settle: Duration | None = None,
        key_ttl: Duration | None = None,
        retries: int = 0,
        backoff: Duration = 0.5,
        resources: Iterable[str] = (),
    ) -> None:
        if isinstance(run, str):
            raise InvalidDefinition(
                f"a chunk must be a function, got {run!r:.80}",
                advice=f"to name one use @flow.chunk(name={run!r:.80})",
            )
        checked_name(name, "a chunk's name (give one with flow.chunk(name=…))")
        for what, function in (("the chunk", run), ("undo", undo), ("verify", verify)):
            if function is not None and not callable(function):
                raise InvalidDefinition(
                    f"chunk {name!r}: {what} must be a function, got {function!r:.80}"
                )
        check_takes(run, 1, f"chunk {name!r} takes one parameter, the FlowContext")
        check_takes(
            undo, 3, f"chunk {name!r}: undo takes the context, the chunk's input and its result"
        )
        check_takes(verify, 2, f"chunk {name!r}: verify takes the context and the chunk's input")
        if inspect.isasyncgenfunction(run):
            raise InvalidDefinition(
                f"chunk {name!r} is an async generator",
                advice="return its result, and ctx.publish what comes on the way",
            )
        try:
            self.effect = Effect(effect)
        except ValueError:
            raise InvalidDefinition(
                f"chunk {name!r}: effect= must be read, idempotent, verifiable or unsafe, got {effect!r}"
            ) from None
        if (self.effect == Effect.VERIFIABLE) != (verify is not None):
            raise InvalidDefinition(f"chunk {name!r}: effect='verifiable' and verify= go together")
        self.run, self.name, self.undo, self.verify = run, name, undo, verify
        if timeout is None:
            self.timeout = None
        else:
            self.timeout = seconds(timeout, "timeout")
        if settle is None:
            self.settle = self.timeout or 0.0
        else:
            self.settle = seconds(settle, "settle")
        if key_ttl is None:
            self.key_ttl = 0.0
        else:
            self.key_ttl = seconds(key_ttl, "key_ttl")
        self.retries, self.backoff = (
            checked_retries(f"chunk {name!r}", retries, self.effect),
            seconds(backoff, "backoff"),
        )
        self.resources = names(resources, f"chunk {name!r}")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function itself, outside of any run."""
        return self.run(*args, **kwargs)

    def __repr__(self) -> str:
        return f"Chunk({self.name!r})"


def names(resources: Any, where: str) -> tuple[str, ...]:
    """Resources by name, or `InvalidDefinition`."""
    if isinstance(resources, str):
        found = ()
    else:
        found = tuple(resources)
    if isinstance(resources, str) or not all(isinstance(name, str) for name in found):
        raise InvalidDefinition(
            f"{where}: resources= must be a list of names, got {resources!r:.80}"
        )
    return found
