"""The recording verbs of a context as a sync body calls them: without `await`, and with types that
say so."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeVar, overload

from adjourn.bodies.async_or_sync import in_thread
from adjourn.core.duration import Duration
from adjourn.core.files import File
from adjourn.errors import Misused

if TYPE_CHECKING:
    from adjourn.bodies.tool_context import ToolContext

T = TypeVar("T")


class SyncVerbs:
    """`step`, `save`, `file`, `sleep` and `on_cancel` of a context, for a sync body; each is that of the
    context.

    At run time a sync body may call the context's own verbs without `await`. A type checker cannot
    know that; these it can. In an async body they raise `Misused`.
    """

    def __init__(self, context: "ToolContext") -> None:
        self._context = context

    @overload
    def step(self, key: str, fn: Callable[..., Awaitable[T]], *args: Any) -> T: ...
    @overload
    def step(self, key: str, fn: Callable[..., T], *args: Any) -> T: ...
    def step(self, key: str, fn: Callable[..., Any], *args: Any) -> Any:
        """Run `fn(*args)` once for this call; see `ToolContext.step`. An async `fn` is awaited on
        the event loop."""
        return self._called("step", self._context.step, key, fn, *args)

    def save(self, progress: Any) -> None:
        """Record how far the body has come; see `ToolContext.save`."""
        self._called("save", self._context.save, progress)

    def file(self, ref: Any) -> File:
        """A file of this run; see `ToolContext.file`."""
        return self._called("file", self._context.file, ref)

    def sleep(self, duration: Duration) -> None:
        """Wait durably; see `ToolContext.sleep`."""
        self._called("sleep", self._context.sleep, duration)

    def on_cancel(self, fn: Callable[..., Any], *args: Any) -> None:
        """Register a compensation; see `ToolContext.on_cancel`."""
        self._called("on_cancel", self._context.on_cancel, fn, *args)

    def _called(self, name: str, verb: Callable[..., Any], *args: Any) -> Any:
        if not in_thread(self._context._desk):  # pyright: ignore[reportPrivateUsage]
            raise Misused(
                f"ctx.sync.{name} is for sync bodies, which have a thread of their own",
                advice=f"here: await ctx.{name}(…)",
            )
        return verb(*args)
