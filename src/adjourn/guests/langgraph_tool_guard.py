"""No tool runs while a graph thinks: one that comes up all the same is stopped before it begins."""

from collections.abc import Collection
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler

from adjourn.errors import ModelError

HELD = "adjourn:held"
"""The tag of a tool that runs a graph whose own calls are held."""


class ToolGuard(BaseCallbackHandler):
    """Is told of each tool that begins in a graph, also in what its nodes call by themselves, and
    stops it, unless it only reads."""

    raise_error = True
    run_inline = True

    def __init__(self, reads: Collection[str]) -> None:
        self._reads = reads
        self.stopped = ""

    def on_tool_start(
        self,
        serialized: dict[str, Any],
        input_str: str,
        *,
        run_id: UUID,
        tags: list[str] | None = None,
        **more: Any,
    ) -> None:
        """See `BaseCallbackHandler`."""
        name = str((serialized or {}).get("name") or "?")
        if HELD in (tags or ()) or name in self._reads:
            return
        self.stopped = self.stopped or name
        raise self.error()

    def error(self) -> ModelError:
        """Why the graph did not go on."""
        return ModelError(
            f"a node of the graph runs the tool {self.stopped!r} by itself, where no person is "
            "asked and it would run again after a crash: it was not run. Let a ToolNode run "
            f"it; or, if it changes nothing, say so: adopt(graph, effects={{{self.stopped!r}: "
            "'read'})"
        )
