"""Chunks: the functions that a flow runs, and the names that may stand in a graph."""

import inspect
from collections.abc import Callable, Iterable
from typing import Any, Unpack

from adjourn.bodies.body import BodyOptions, Declared
from adjourn.bodies.signature import check_takes
from adjourn.core.effect import RunsAsStep
from adjourn.core.ids import checked_name
from adjourn.errors import InvalidDefinition


class Chunk(Declared):
    """A function of one parameter, the `FlowContext`; what it returns is the next chunk's input."""

    def __init__(
        self,
        run: Callable[..., Any],
        name: str,
        *,
        resources: Iterable[str] = (),
        **options: Unpack[BodyOptions],
    ) -> None:
        if isinstance(run, str):
            raise InvalidDefinition(
                f"a chunk must be a function, got {run!r:.80}",
                advice=f"to name one use @flow.chunk(name={run!r:.80})",
            )
        if isinstance(run, RunsAsStep):
            raise InvalidDefinition(
                f"a chunk must be a function, got {run!r:.80}",
                advice="write a chunk, or give the tool to an agent of the flow",
            )
        checked_name(name, "a chunk's name (give one with flow.chunk(name=…))")
        what = f"chunk {name!r}"
        if not callable(run):
            raise InvalidDefinition(f"{what} must be a function, got {run!r:.80}")
        self._declare(what, **options)
        check_takes(run, 1, f"{what} takes one parameter, the FlowContext")
        check_takes(
            self.undo, 3, f"{what}: undo takes the context, the chunk's input and its result"
        )
        check_takes(self.verify, 2, f"{what}: verify takes the context and the chunk's input")
        if inspect.isasyncgenfunction(run):
            raise InvalidDefinition(
                f"{what} is an async generator",
                advice="return its result, and stream items with ctx.publish",
            )
        self.run, self.name, self.resources = run, name, names(resources, what)

    def __repr__(self) -> str:
        return f"Chunk({self.name!r})"


def names(resources: Any, where: str) -> tuple[str, ...]:
    """Resources by name, or `InvalidDefinition`."""
    found = () if isinstance(resources, str) else tuple(resources)
    if isinstance(resources, str) or not all(isinstance(name, str) for name in found):
        raise InvalidDefinition(
            f"{where}: resources= must be a list of names, got {resources!r:.80}"
        )
    return found
