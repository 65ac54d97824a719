"""Flows: what a user writes."""

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any, Literal, cast, overload

import msgspec

from adjourn.agent.agent import Agent
from adjourn.core.codec import plain
from adjourn.core.digest import digest
from adjourn.core.effect import Effect
from adjourn.core.graph import Chain as ChainShape
from adjourn.core.graph import Graph, chunk_names
from adjourn.core.policy import Duration, seconds
from adjourn.core.stop import MaxSteps, Stop
from adjourn.errors import InvalidDefinition
from adjourn.flow.build import Chain, Node, checked_event
from adjourn.flow.check import check_graph
from adjourn.flow.execution import Execution
from adjourn.flow.program import FlowProgram

EffectName = Literal["read", "idempotent", "verifiable", "unsafe"]


class Chunk:
    """A function of one parameter, the `FlowContext`; what it returns is the next chunk's input."""

    def __init__(
        self,
        run: Callable[..., Any],
        name: str,
        *,
        effect: EffectName = "unsafe",
        undo: Callable[..., Any] | None = None,
        verify: Callable[..., Any] | None = None,
        timeout: Duration | None = None,
        key_ttl: Duration | None = None,
        resources: Iterable[str] = (),
    ) -> None:
        if not name or any(c in name for c in "/#[]!?:") or name.startswith("@"):
            raise InvalidDefinition(
                f"a chunk's name is a short text without / # [ ] ! ? : and not beginning with @, not {name!r}"
            )
        for what, function in (("the chunk", run), ("undo", undo), ("verify", verify)):
            if function is not None and not callable(function):
                raise InvalidDefinition(f"chunk {name!r}: {what} must be a function, not {function!r}")
        try:
            self.effect = Effect(effect)
        except ValueError:
            raise InvalidDefinition(
                f"chunk {name!r}: effect= is read, idempotent, verifiable or unsafe, not {effect!r}"
            ) from None
        if (self.effect == Effect.VERIFIABLE) != (verify is not None):
            raise InvalidDefinition(f"chunk {name!r}: effect='verifiable' and verify= go together")
        self.run, self.name, self.undo, self.verify = run, name, undo, verify
        self.timeout = None if timeout is None else seconds(timeout, "timeout")
        self.key_ttl = 0.0 if key_ttl is None else seconds(key_ttl, "key_ttl")
        self.resources = tuple(resources)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function itself, outside of any run."""
        return self.run(*args, **kwargs)

    def __repr__(self) -> str:
        return f"Chunk({self.name!r})"


class Flow:
    """An event-driven graph of chunks that can pause. Write chunks with `@flow.chunk`, chains with `flow.to(…)`."""

    def __init__(self, name: str, *, stop: Stop = MaxSteps(10_000), resources: Iterable[str] = ()) -> None:
        if not isinstance(name, str) or not name or any(c in name for c in ":/\n"):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidDefinition(f"a flow's name is a short text without ':' and '/', not {name!r}")
        self.name, self.stop = name, stop
        self.chunks: dict[str, Chunk] = {}
        self.agents: dict[str, Agent[Any]] = {}
        self.flows: list[Flow] = []
        self.unclosed: list[str] = []
        self.resources = tuple(resources)
        self._chains: list[tuple[Node, dict[str, Any]]] = []
        self._conditions: set[str] = set()
        self._given: Graph | None = None

    # Chunks

    @overload
    def chunk(self, function: Callable[..., Any]) -> Chunk: ...
    @overload
    def chunk(
        self,
        *,
        name: str | None = None,
        effect: EffectName = "unsafe",
        undo: Callable[..., Any] | None = None,
        verify: Callable[..., Any] | None = None,
        timeout: Duration | None = None,
        key_ttl: Duration | None = None,
        resources: Iterable[str] = (),
    ) -> Callable[[Callable[..., Any]], Chunk]: ...
    def chunk(self, function: Any = None, *, name: str | None = None, **options: Any) -> Any:
        """Make a chunk of a function, sync (run in a thread) or async, with one parameter: the `FlowContext`."""

        def make(function: Callable[..., Any]) -> Chunk:
            made = Chunk(function, name or function.__name__, **options)
            if made.name in self.chunks:
                raise InvalidDefinition(f"flow {self.name!r} has two chunks named {made.name!r}")
            self.chunks[made.name] = made
            return made

        return make if function is None else make(function)

    def known(self, chunk: Any) -> Chunk:
        """The chunk that a chain names: one of ours, its name, or a plain function that becomes one."""
        if isinstance(chunk, str):
            if chunk not in self.chunks:
                raise InvalidDefinition(
                    f"flow {self.name!r} has no chunk {chunk!r}; it has {', '.join(self.chunks) or 'none'}"
                )
            return self.chunks[chunk]
        if isinstance(chunk, Chunk):
            if self.chunks.setdefault(chunk.name, chunk) is not chunk:
                raise InvalidDefinition(f"flow {self.name!r} has another chunk named {chunk.name!r}")
            return chunk
        if not callable(chunk):
            raise InvalidDefinition(f"a chunk is a function, its name, an Agent or a Flow, not {chunk!r:.80}")
        name = getattr(chunk, "__name__", "")
        old = self.chunks.get(name)
        if old is not None and old.run is chunk:
            return old
        return self.chunk(chunk)

    def condition(self, test: Callable[..., Any], after: str) -> str:
        """Register a condition under a name that does not depend on lines."""
        if not callable(test):
            raise InvalidDefinition(f"a condition is a function over the context, not {test!r}")
        name = getattr(test, "__name__", "<lambda>")
        if "<" in name:
            k = sum(1 for n in self._conditions if n.startswith(f"test({after})"))
            name = f"test({after}){k or ''}"
        self._conditions.add(name)
        if name not in self.chunks:
            self.chunks[name] = Chunk(test, name, effect="read")
        return name

    @staticmethod
    def kind_of(chunk: Any) -> str:
        """What `to` was given."""
        return "agent" if isinstance(chunk, Agent) else "flow" if isinstance(chunk, Flow) else "chunk"

    # Chains

    def _chain(self, **source: Any) -> Chain:
        node = Node()
        self._chains.append((node, source))
        return Chain(self, node)

    def to(self, chunk: Any, *more: Any) -> Chain:
        """Begin a chain with the flow's input."""
        return self._chain().to(chunk, *more)

    def batch(self, *branches: tuple[str, Any], **named: Any) -> Chain:
        """Begin with branches that run at the same time."""
        return self._chain().batch(*branches, **named)

    def for_each(self, concurrency: int = 0, name: str = "each") -> Chain:
        """Begin with a loop over the flow's input, a list."""
        return self._chain().for_each(concurrency, name)

    def when(self, *events: str, all: Iterable[str] = ()) -> Chain:
        """Begin a chain with an event: one, any of several, or `all=[…]` of them (their values as a dict)."""
        names = [checked_event(e) for e in events]
        every = [checked_event(e) for e in all]
        if bool(names) == bool(every):
            raise InvalidDefinition("when takes one event or several (any of them), or all=[…]")
        return self._chain(any=names, all=every)

    def collected(self, name: str) -> Chain:
        """Begin a chain at a meeting point, when every `collect(name, key)` has arrived; its input is a dict by key."""
        return self._chain(collected=name)

    def branch(self) -> Chain:
        """A chain on its own, for `batch` and `side`."""
        node = Node()
        return Chain(self, node, None, node)

    # Shape

    @property
    def graph(self) -> Graph:
        """The flow's shape, checked."""
        if self._given is not None:
            return self._given
        if self.unclosed:
            raise InvalidDefinition(f"flow {self.name!r}: {', '.join(self.unclosed)} is not closed")
        chains = [ChainShape(node.items(), **source) for node, source in self._chains]
        graph = Graph(self.name, chains)
        check_graph(self.name, graph, set(self.chunks))
        return graph

    def to_dict(self) -> dict[str, Any]:
        """The blueprint: structure only, chunks by name."""
        return msgspec.to_builtins(self.graph)

    @classmethod
    def from_dict(cls, blueprint: Mapping[str, Any], chunks: Mapping[str, Any] | Iterable[Any] = ()) -> "Flow":
        """A flow from a blueprint; `chunks` gives the functions, agents and flows by name."""
        try:
            graph = msgspec.convert(plain(dict(blueprint), "blueprint"), Graph)
        except msgspec.ValidationError as e:
            raise InvalidDefinition(f"this is not a blueprint: {e}") from None
        flow = cls(graph.name)
        named = isinstance(chunks, Mapping)
        given: dict[str, Any] = {**cast("Mapping[str, Any]", chunks)} if named else {_name(c): c for c in chunks}
        for name, one in given.items():
            if isinstance(one, Agent):
                flow.agents[name] = one
            elif isinstance(one, Flow):
                flow.flows.append(one)
            else:
                flow.chunks[name] = one if isinstance(one, Chunk) else Chunk(one, name)
        if missing := chunk_names(graph) - set(flow.all_chunks()):
            raise InvalidDefinition(
                f"the blueprint of {graph.name!r} needs chunks that were not given: {', '.join(sorted(missing))}"
            )
        check_graph(graph.name, graph, None)
        flow._given = graph
        return flow

    def to_mermaid(self, state: Any = None) -> str:
        """The flow's picture as a mermaid diagram; with a run's state, what is done, running and waiting."""
        from adjourn.flow.picture import mermaid

        return mermaid(self.graph, state)

    def all_chunks(self) -> dict[str, Chunk]:
        """Its chunks and those of its sub-flows."""
        found = dict(self.chunks)
        for flow in self.flows:
            for name, chunk in flow.all_chunks().items():
                if found.setdefault(name, chunk) is not chunk:
                    raise InvalidDefinition(
                        f"flow {self.name!r} and {flow.name!r} have different chunks named {name!r}; rename one"
                    )
        return found

    def all_agents(self) -> dict[str, Agent[Any]]:
        """Its agents and those of its sub-flows."""
        found = dict(self.agents)
        for flow in self.flows:
            found |= flow.all_agents()
        return found

    def all_resources(self) -> set[str]:
        """The live objects it needs, by name."""
        own = {name for chunk in self.chunks.values() for name in chunk.resources} | set(self.resources)
        return own.union(*(flow.all_resources() for flow in self.flows))

    @property
    def fingerprint(self) -> dict[str, Any]:
        """Names and shapes: which chunks and agents a run depends on. A run goes on by its own recorded graph."""
        graph = self.graph
        chunks = {name: digest("chunk", name)[:8] for name in sorted(chunk_names(graph))}
        agents = {name: agent.fingerprint for name, agent in self.all_agents().items()}
        return {"kind": "flow", "name": self.name, "tools": chunks, **({"agents": agents} if agents else {})}

    @cached_property
    def program(self) -> FlowProgram:
        """The flow as the driver sees it."""
        return FlowProgram(self)

    def load(self, value: Any) -> Any:
        """An output as it is."""
        return value

    # Executions

    def create_execution(
        self,
        *,
        auto_close: bool = True,
        auto_close_timeout: float | None = 10.0,
        resources: Mapping[str, Any] | None = None,
    ) -> Execution:
        """An execution to start, answer, save and close by hand."""
        return Execution(self, auto_close=auto_close, timeout=auto_close_timeout, resources=resources)

    async def start_execution(self, value: Any = None, **options: Any) -> Execution:
        """Create an execution and start it."""
        execution = self.create_execution(**options)
        await execution.start(value)
        return execution

    async def start(self, value: Any = None, *, resources: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Run to the end and give the state. There is no handle to answer with: the first `pause_for` raises."""
        execution = Execution(self, auto_close=True, timeout=0.0, resources=resources, handle=False)
        await execution.start(value)
        return await execution.close()

    def __repr__(self) -> str:
        return f"Flow({self.name!r}, chunks={list(self.chunks)})"


def _name(chunk: Any) -> str:
    return getattr(chunk, "name", "") or getattr(chunk, "__name__", "")
