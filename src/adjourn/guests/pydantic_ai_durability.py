"""Durability for Pydantic AI's own loop: `agent.run()` inside a chunk or a tool, each of its model
requests and tool calls a recorded step.

Built on Pydantic AI's API for engines, `pydantic_ai.durable_exec`. The other way round than `adopt`:
there a run of ours asks the agent what to do and runs its tools; here the agent runs as it always
did, and what it did is not done again when the body that it runs in begins anew.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from typing import Any, cast
from weakref import WeakKeyDictionary

from pydantic_ai.agent import EventStreamHandler
from pydantic_ai.durable_exec import (
    JSON_CODEC,
    BaseDurabilityCapability,
    DurabilityEngineSpec,
    DurableOperationBackend,
    DurableOperationId,
    JournalCallableOperationBackend,
    RoleBasedOperationConfig,
    conversation_id_from_run_id,
)
from pydantic_ai.models import Model
from pydantic_ai.tools import RunContext

from adjourn.bodies.tool_context import ToolContext, current_context, enclosing
from adjourn.errors import InvalidDefinition

RECORDED = True
"""The configuration of every operation: it is recorded."""


class StepCounts:
    """How often each operation was asked for while one body runs: what tells its steps apart, the
    same whenever the body runs again."""

    def __init__(self) -> None:
        self._runs: dict[str, int] = {}
        self._asked: Counter[str] = Counter()
        self.begun = 0

    def key(self, name: str, context: RunContext[Any] | None) -> str:
        """The key of the step. Calls are told apart by their own ids, so that those that run at
        once may come in any order; runs by their order, because their ids may be random."""
        parts = ["pydantic_ai", name]
        if context is not None:
            parts.append(str(self._runs.setdefault(context.run_id or "", len(self._runs))))
            if context.tool_call_id:
                parts.append(context.tool_call_id)
        stem = "/".join(parts)
        self._asked[stem] += 1
        return f"{stem}/{self._asked[stem]}"


_counts: WeakKeyDictionary[ToolContext, dict[str, StepCounts]] = WeakKeyDictionary()


def _counts_of(context: ToolContext) -> StepCounts:
    """Of the body that runs, or of the step in it that an agent runs in."""
    return _counts.setdefault(context, {}).setdefault(enclosing.get(), StepCounts())


def _asks(cache_key: tuple[object, ...]) -> RunContext[Any] | None:
    """The run that asks for an operation."""
    for part in cache_key:
        if isinstance(part, RunContext):
            return cast("RunContext[Any]", part)
    return None


async def _now() -> str:
    return datetime.now(UTC).isoformat()


class StepBackend(JournalCallableOperationBackend[bool]):
    """Each operation is a step of the body that runs."""

    async def execute(
        self,
        *,
        operation_id: DurableOperationId,
        name: str,
        body: Callable[[], Awaitable[object]],
        cache_key: tuple[object, ...],
        config: bool,
    ) -> object:
        """See `CallableOperationBackend.execute`."""
        context = current_context()
        if context is None:
            return await body()
        return await context.enclosing_step(_counts_of(context).key(name, _asks(cache_key)), body)


class AdjournDurability(BaseDurabilityCapability[Any]):
    """A capability of a Pydantic AI agent: `Agent(…, capabilities=[AdjournDurability()])`.

    Inside a chunk of a flow, or a tool, each model request and each tool call of `agent.run()` is a
    step that is recorded; when the body runs again, after a crash, a pause or a resume elsewhere,
    what was recorded is not done again. Outside of one, the agent is as it was. A tool may stop and
    ask with `pause_for(…, resume_to="self")`; inside of a body, calls of one turn run one after the
    other, so that nothing is cut off then.

    What was begun and not recorded when a process died is as in doubt as any other body of a chunk:
    its effect says what happens. For a gate, an inbox item and an undo for each call, use `adopt`.
    """

    engine_spec = DurabilityEngineSpec(
        engine_name="Adjourn",
        durable_unit_noun="step",
        durable_container_noun="chunk",
        codec=JSON_CODEC,
        # what is not known when the agent is made would run without being recorded
        unsupported_runtime_toolset_kinds=frozenset({"function", "mcp", "dynamic"}),
        wrapped_toolset_kinds=frozenset({"function", "mcp", "dynamic"}),
        toolset_lifecycles={
            "function": "enter-always",
            "mcp": "enter-in-durable-unit",
            "dynamic": "enter-never",
        },
        # a call that stops to ask a person stops the body: no other may be in the middle of its work
        sequential_tools_in_durable_context=True,
        tool_config_key=None,
    )

    def __init__(
        self,
        *,
        models: Mapping[str, Model[Any]] | None = None,
        event_stream_handler: EventStreamHandler[Any] | None = None,
        name: str | None = None,
    ) -> None:
        """Make an agent's runs durable inside of ours.

        Args:
            models: models beside the agent's own that a run may be given, by name.
            event_stream_handler: is told what happens, live.
            name: by which its steps are recorded, if the agent has no name; it must not change
                while runs are open.
        """
        super().__init__(models=models, event_stream_handler=event_stream_handler, name=name)

    @property
    def in_durable_context(self) -> bool:
        """See `BaseDurabilityCapability`: whether a body of ours runs here."""
        return current_context() is not None

    def get_default_run_id(self) -> str | None:
        """See `AbstractCapability`. The same whenever the body runs again."""
        context = current_context()
        if context is None:
            return None
        counts = _counts_of(context)
        counts.begun += 1
        return f"{context.run_id}/{context.call_id}/{enclosing.get()}{counts.begun}"

    def get_default_conversation_id(self, run_id: str) -> str | None:
        """See `AbstractCapability`."""
        if not self.in_durable_context:
            return None
        return conversation_id_from_run_id(run_id)

    async def get_run_start_time(self, run_id: str) -> datetime | None:
        """See `AbstractCapability`. When it first began."""
        context = current_context()
        if context is None:
            return None
        key = _counts_of(context).key(f"{self.name}__run_start_time", None)
        return datetime.fromisoformat(await context.enclosing_step(key, _now))

    def get_durable_operation_backend(self) -> DurableOperationBackend[bool]:
        """See `BaseDurabilityCapability`."""
        if not self.name:
            raise InvalidDefinition(
                "the agent has no name to record its steps under: "
                "Agent(…, name='support'), or AdjournDurability(name='support')"
            )
        recorded = RoleBasedOperationConfig(
            model=RECORDED, event=RECORDED, capability=RECORDED, tool=RECORDED
        )
        return StepBackend(
            agent_name=self.name, default_model_id=self.default_model_id, config=recorded
        )
