"""Flows: what a user writes."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Unpack, cast, overload

import msgspec

from adjourn.agent.agent import Agent
from adjourn.agent.agent_tool import family
from adjourn.bodies.body import BodyOptions
from adjourn.core.action_digest import digest
from adjourn.core.codec import plain
from adjourn.core.effect import is_function
from adjourn.core.graph import (
    FlowItem,
    Graph,
    agent_names,
    chunk_names,
    flows_of,
    items_of,
    read_graph,
)
from adjourn.core.graph import GraphChain as ChainShape
from adjourn.core.ids import checked_event, checked_name, label_of
from adjourn.core.stop_conditions import MaxSteps, Stop, guarded
from adjourn.errors import InvalidDefinition, NoOneToAnswer, RunFailed, bare
from adjourn.flow.builder import Chain, Node, OpenBlock
from adjourn.flow.chunk import Chunk, names
from adjourn.flow.execution import Execution
from adjourn.flow.flow_program import FlowProgram
from adjourn.flow.graph_check import check_graph
from adjourn.runtime.definition import Definition, Kind

if TYPE_CHECKING:
    from adjourn.core.state import State


GUARD = MaxSteps(10_000)
"""Ends a run that goes round in circles."""


class Flow(Definition[dict[str, Any]]):
    """An event-driven graph of chunks that can pause. Write chunks with `@flow.chunk`, chains with
    `flow.to(…)`.

    Args:
        name: the name by which runs find it; without `:` and `/`.
        stop: the conditions that end a run, for the agents in it. `MaxSteps(10_000)` stays beside
            them unless they limit the steps themselves.
        resources: live objects for all its executions, by name.
    """

    kind: ClassVar[Kind] = "flow"

    def __init__(self, name: str, *, stop: Stop = GUARD, resources: Iterable[str] = ()) -> None:
        self.name = checked_name(name, "a flow's name")
        if not isinstance(stop, Stop):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidDefinition(
                f"flow {name!r}: stop= must be conditions such as MaxSteps(500), got {stop!r:.80}"
            )
        self.stop = guarded(stop, GUARD)
        self.resources = names(resources, f"flow {name!r}")
        self.chunks: dict[str, Chunk] = {}
        self.agents: dict[str, Agent[Any]] = {}
        self.flows: dict[str, Flow] = {}
        self.unclosed: list[OpenBlock] = []
        self.revision = 0
        self._chains: list[tuple[Node, dict[str, Any]]] = []
        self._conditions: set[str] = set()
        self._given: Graph | None = None
        self._built: tuple[int, Graph] | None = None
        self._built_program: tuple[int, FlowProgram] | None = None

    # Chunks

    @overload
    def chunk(self, function: Callable[[Any], Any]) -> Chunk: ...
    @overload
    def chunk(
        self,
        *,
        name: str | None = None,
        resources: Iterable[str] = (),
        **options: Unpack[BodyOptions],
    ) -> Callable[[Callable[[Any], Any]], Chunk]: ...
    def chunk(self, function: Any = None, *, name: str | None = None, **options: Any) -> Any:
        """Make a chunk of a function, sync (run in a thread) or async, with one parameter: the
        `FlowContext`.

        Args:
            function: the function; left out when the decorator has options.
            name: its name in the graph; without one, the function's.
            options: `effect`, `undo`, `verify`, `timeout`, `retries` and the others of `tool`.
        """

        def make(function: Callable[..., Any]) -> Chunk:
            return self._new(Chunk(function, name or getattr(function, "__name__", ""), **options))

        if function is None:
            return make
        return make(function)

    def _new(self, chunk: Chunk) -> Chunk:
        if self.chunks.setdefault(chunk.name, chunk) is not chunk:
            raise InvalidDefinition(
                f"flow {self.name!r} has two chunks named {chunk.name!r}",
                advice="give one another name: flow.chunk(name='…')(function)",
            )
        self.revision += 1
        return chunk

    def _known(self, chunk: Any) -> Chunk:
        """The chunk that a chain names: one of ours, its name, or a plain function that becomes
        one."""
        if isinstance(chunk, str):
            if chunk not in self.chunks:
                have = ", ".join(self.chunks) or "none"
                raise InvalidDefinition(
                    f"flow {self.name!r} has no chunk {chunk!r}", advice=f"it has {have}"
                )
            return self.chunks[chunk]
        if isinstance(chunk, Chunk):
            return self._new(chunk)
        if inspect.iscoroutine(chunk):
            chunk.close()
            raise InvalidDefinition(
                f"{chunk.__name__!r} was called",
                advice=f"pass the function itself: to({chunk.__name__})",
            )
        if not is_function(chunk):
            raise InvalidDefinition(
                f"a chunk must be a function, its name, an Agent or a Flow, got {chunk!r:.80}"
            )
        old = self.chunks.get(getattr(chunk, "__name__", ""))
        if old is not None and old.run == chunk:
            return old
        return self.chunk(chunk)

    def _condition(self, test: Callable[..., Any], after: str) -> str:
        """Register a condition under a name that does not depend on lines."""
        if isinstance(test, Chunk):
            return self._known(test).name
        if not is_function(test):
            raise InvalidDefinition(
                f"a condition must be a function over the context, got {test!r:.80}"
            )
        name = getattr(test, "__name__", "<lambda>")
        if "<" in name:
            before = sum(known.startswith(f"test({after})") for known in self._conditions)
            name = f"test({after}){before or ''}"
        old = self.chunks.get(name)
        if old is None or old.run != test:
            self._new(Chunk(test, name, effect="read"))
        self._conditions.add(name)
        return name

    def _has_agent(self, agent: Agent[Any]) -> str:
        """Make an agent one of the flow's; its name."""
        name = checked_name(agent.name, "the name of an agent in a flow")
        if self.agents.setdefault(name, agent) is not agent:
            raise InvalidDefinition(f"flow {self.name!r} has two agents named {name!r}")
        return name

    def _has_flow(self, flow: "Flow") -> "Flow":
        """Make a flow one of the flow's; that flow."""
        if self in flow._all_flows().values():
            raise InvalidDefinition(f"flow {self.name!r} cannot contain itself")
        if self.flows.setdefault(flow.name, flow) is not flow:
            raise InvalidDefinition(f"flow {self.name!r} has two sub-flows named {flow.name!r}")
        return flow

    # Chains

    def _chain(self, **source: Any) -> Chain:
        if self._given is not None:
            raise InvalidDefinition(
                f"flow {self.name!r} was made from a blueprint, which cannot be extended"
            )
        node = Node()
        self._chains.append((node, source))
        self.revision += 1
        return Chain(self, node)

    def to(self, chunk: Any, *more: Any) -> Chain:
        """Begin a chain with the flow's input.

        Args:
            chunk: a chunk, an agent or another flow.
            more: what follows it, in order.
        """
        return self._chain().to(chunk, *more)

    def batch(self, *branches: tuple[str, Any], name: str = "batch", **named: Any) -> Chain:
        """Begin with branches that run at the same time.

        Args:
            branches: chunks, agents or flows; each branch is named after what it runs.
            name: the name of the batch in ids and diagrams.
            named: branches with names of their own.
        """
        return self._chain().batch(*branches, name=name, **named)

    def for_each(self, concurrency: int = 0, name: str = "each") -> Chain:
        """Begin with a loop over the flow's input, a list.

        Args:
            concurrency: how many elements run at the same time; 0: all of them.
            name: the name of the loop in ids and diagrams.
        """
        return self._chain().for_each(concurrency, name)

    def if_(self, condition: Callable[[Any], Any], name: str = "if") -> Chain:
        """Begin with a choice.

        Args:
            condition: a function over the `FlowContext` that returns True or False.
            name: the name of the choice in ids and diagrams.
        """
        return self._chain().if_(condition, name)

    def match(self, key: Callable[[Any], Any] | None = None, name: str = "match") -> Chain:
        """Begin with a choice by value.

        Args:
            key: a function over the `FlowContext` that gives the value; without one, the input.
            name: the name of the choice in ids and diagrams.
        """
        return self._chain().match(key, name)

    def when(self, *events: str, all: Iterable[str] = ()) -> Chain:
        """Begin a chain with an event.

        Args:
            events: one event, or any of several.
            all: every one of these events; the input is a dict of their values.
        """
        some = list(map(checked_event, events))
        every = list(map(checked_event, [all] if isinstance(all, str) else all))
        if bool(some) == bool(every) or len(set(every)) != len(every):
            raise InvalidDefinition(
                "when takes one event or several (any of them), or all=[…] of different ones"
            )
        return self._chain(any=some, all=every)

    def collected(self, name: str) -> Chain:
        """Begin a chain at a meeting point, when every `collect(name, key)` has arrived; its input
        is a dict by key."""
        return self._chain(collected=name)

    def branch(self) -> Chain:
        """A chain on its own, for `batch` and `side`."""
        node = Node()
        return Chain(self, node, None, node)

    # Shape

    @property
    def graph(self) -> Graph:
        """The flow's shape, checked; raises `InvalidDefinition` for what cannot work."""
        if self._given is not None:
            return self._given
        revision = self._revisions()
        if self._built is None or self._built[0] != revision:
            if self.unclosed:
                opened = ", ".join(f"{one} is not closed with {one.end}()" for one in self.unclosed)
                raise InvalidDefinition(f"flow {self.name!r}: {opened}")
            chains = [ChainShape(node.items(), **source) for node, source in self._chains]
            graph = Graph(self.name, chains)
            check_graph(graph, set(self.chunks))
            self._all_agents()
            self._built = (revision, graph)
        return self._built[1]

    def _revisions(self) -> int:
        return sum(flow.revision for flow in self._all_flows().values())

    def to_dict(self) -> dict[str, Any]:
        """The blueprint: structure only, chunks by name."""
        return msgspec.to_builtins(self.graph)

    @classmethod
    def from_dict(
        cls, blueprint: Mapping[str, Any], chunks: Mapping[str, Any] | Iterable[Any] = ()
    ) -> "Flow":
        """A flow from its blueprint.

        Args:
            blueprint: what `to_dict` gave.
            chunks: the functions, agents and flows, by name.
        """
        try:
            graph = read_graph(plain(dict(blueprint), "blueprint"))
        except (msgspec.ValidationError, TypeError, ValueError) as e:
            raise InvalidDefinition(f"this is not a blueprint: {e}") from None
        if isinstance(chunks, Mapping):
            return cls._from(graph, dict(cast("Mapping[str, Any]", chunks)))
        return cls._from(graph, {_name(chunk): chunk for chunk in chunks})

    @classmethod
    def _from(cls, graph: Graph, given: dict[str, Any]) -> "Flow":
        flow = cls(graph.name)
        needed = chunk_names(graph)
        for name in agent_names(graph):
            if not isinstance(given.get(name), Agent):
                needed.add(name)
        if missing := sorted(needed - set(given)):
            raise InvalidDefinition(
                f"the blueprint of {graph.name!r} needs chunks that were not given: "
                f"{', '.join(map(repr, missing))}"
            )
        for name in agent_names(graph):
            if not isinstance(given[name], Agent) or given[name].name != name:
                raise InvalidDefinition(
                    f"the blueprint of {graph.name!r} needs an Agent named {name!r}"
                )
            flow._has_agent(given[name])
        for name in sorted(chunk_names(graph)):
            flow._new(given[name] if isinstance(given[name], Chunk) else Chunk(given[name], name))
        for item in items_of(graph):
            if isinstance(item, FlowItem) and item.name not in flow.flows:
                sub = given.get(item.name)
                flow._has_flow(sub if isinstance(sub, Flow) else cls._from(item.graph, given))
        check_graph(graph, set())
        flow._given = graph
        return flow

    def to_mermaid(self, state: "State | None" = None) -> str:
        """The flow as a mermaid diagram.

        Args:
            state: a run's state: the diagram then shows what is done, running and waiting.
        """
        from adjourn.views.diagram import mermaid

        return mermaid(self.graph, state)

    @property
    def blueprint(self) -> dict[str, Any]:
        """`to_dict()`: what its runs record."""
        return self.to_dict()

    def diagram(self) -> str:
        """`to_mermaid()`."""
        return self.to_mermaid()

    def _all_flows(self) -> "dict[str, Flow]":
        """The flow and every flow inside it, by name."""
        found: dict[str, Flow] = {self.name: self}
        for flow in self.flows.values():
            for name, one in flow._all_flows().items():
                if found.setdefault(name, one) is not one:
                    raise InvalidDefinition(
                        f"two different flows in {self.name!r} are named {name!r}",
                        advice="rename one",
                    )
        return found

    def _all_agents(self) -> dict[str, Agent[Any]]:
        """Its agents, those of its sub-flows, and those below them."""
        found: dict[str, Agent[Any]] = {}
        for flow in self._all_flows().values():
            for agent in flow.agents.values():
                for name, one in family(agent).items():
                    if found.setdefault(name, one) is not one:
                        raise InvalidDefinition(
                            f"two different agents in flow {self.name!r} are named {name!r}"
                        )
        return found

    def _all_resources(self) -> set[str]:
        """The live objects that it and its sub-flows declare, by name."""
        found: set[str] = set()
        for flow in self._all_flows().values():
            found.update(flow.resources)
            for chunk in flow.chunks.values():
                found.update(chunk.resources)
        return found

    @property
    def fingerprint(self) -> dict[str, Any]:
        """Names and shapes: which chunks and agents a run depends on. A run goes on by its own
        recorded graph."""
        graph = self.graph
        places: list[str] = []
        for one in flows_of(graph):
            label = label_of("" if one is graph else one.name)
            places += [label + name for name in chunk_names(one)]
        chunks = {name: digest("chunk", name)[:8] for name in sorted(places)}
        agents = {name: self._all_agents()[name].fingerprint for name in sorted(agent_names(graph))}
        return {
            "kind": "flow",
            "name": self.name,
            "tools": chunks,
            **({"agents": agents} if agents else {}),
        }

    @property
    def program(self) -> FlowProgram:
        """The flow as the driver sees it; another one once the flow has changed."""
        revision = self._revisions()
        if self._built_program is None or self._built_program[0] != revision:
            self._built_program = (revision, FlowProgram(self))
        return self._built_program[1]

    def load(self, value: Any) -> dict[str, Any]:
        """An output as it is: the flow's state."""
        return value

    # Executions

    def create_execution(
        self,
        *,
        auto_close: bool = True,
        auto_close_timeout: float | None = 10.0,
        resources: Mapping[str, Any] | None = None,
    ) -> Execution:
        """An execution to start, answer, save and close.

        Args:
            auto_close: close it when it has nothing to do.
            auto_close_timeout: after so many seconds; None: never by itself.
            resources: live objects for its chunks, by name.
        """
        program = FlowProgram(self, auto_close=auto_close, timeout=auto_close_timeout)
        return Execution(program, resources)

    async def start_execution(self, value: Any = None, **options: Any) -> Execution:
        """Create an execution and start it.

        Args:
            value: the input.
            options: as for `create_execution`.
        """
        execution = self.create_execution(**options)
        await execution.start(value)
        return execution

    async def start(
        self, value: Any = None, *, resources: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Run to the end and return the state. There is no handle to answer with: the first
        `pause_for` raises.

        Args:
            value: the input.
            resources: live objects for its chunks, by name.
        """
        execution = Execution(FlowProgram(self, handle=False), resources)
        try:
            await execution.start(value)
            state = await execution.close()
        except RunFailed as e:
            if isinstance(e.__cause__, NoOneToAnswer):
                raise e.__cause__ from None
            raise
        if execution.status == "stopped":
            raise RunFailed(
                f"flow {bare(self.name)} was stopped by {execution.stopped_by}",
                execution.save(),
                run_id=execution.run_id,
                advice="raise the limit with Flow(stop=…); error.checkpoint has what was done so far",
            )
        return state

    def __repr__(self) -> str:
        return f"Flow({self.name!r}, chunks={list(self.chunks)})"


def _name(chunk: Any) -> str:
    return getattr(chunk, "name", "") or getattr(chunk, "__name__", "")
