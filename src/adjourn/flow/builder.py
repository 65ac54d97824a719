"""Building a graph: chains written with `to`, `batch`, `for_each`, `if_`, `match`, `emit`, `side`,
`collect`."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from adjourn.core.codec import plain
from adjourn.core.graph import (
    AgentItem,
    AnyItem,
    BatchItem,
    ChunkItem,
    CollectItem,
    EachItem,
    EmitItem,
    FlowItem,
    IfItem,
    MatchItem,
    SideItem,
)
from adjourn.core.ids import checked_event, checked_name
from adjourn.errors import InvalidDefinition

if TYPE_CHECKING:
    from adjourn.flow.flow import Flow

Make = Callable[[], AnyItem]


class Node:
    """A place in a chain. The first that follows goes on; any other is a branch of its own."""

    def __init__(self, make: Make | None = None, name: str = "start") -> None:
        self.make, self.name = make, name
        self.nexts: list[Node] = []

    def items(self) -> list[AnyItem]:
        """The chain from here on."""
        found: list[AnyItem] = []
        node: Node | None = self
        while node is not None:
            if node.make is not None:
                found.append(node.make())
            for other in node.nexts[1:]:
                found.append(SideItem("side", other.items()))
            node = node.nexts[0] if node.nexts else None
        return found


class Chain:
    """A place to go on from. Going on twice from one place begins a side branch."""

    def __init__(
        self, flow: "Flow", node: Node, outer: "OpenBlock | None" = None, root: Node | None = None
    ) -> None:
        self._flow, self._node, self._outer, self._root = flow, node, outer, root

    def _add(self, make: Make, name: str = "") -> "Chain":
        self._flow.revision += 1
        node = Node(make, name or self._node.name)
        self._node.nexts.append(node)
        return Chain(self._flow, node, self._outer, self._root)

    def _inner(self, node: Node, opened: "OpenBlock") -> "Chain":
        node.name = self._node.name
        return Chain(self._flow, node, opened, self._root)

    def to(self, chunk: Any, *more: Any) -> "Chain":
        """Continue with a chunk, then with more of them.

        Args:
            chunk: a function, its name, an `Agent` or a `Flow`.
            more: what follows it, in this order.
        """
        make, name = placed(self._flow, chunk)
        chain = self._add(make, name)
        if more:
            return chain.to(*more)
        return chain

    def batch(self, *branches: tuple[str, Any], name: str = "batch", **named: Any) -> "Chain":
        """Run branches at the same time; the next chunk gets their results as a dict.

        Args:
            branches: pairs of a name and a branch: a chunk, an agent, a flow or `flow.branch()…`.
            name: the batch's, in the flow's picture and in its steps.
            named: branches by keyword, `batch(left=chunk, right=agent)`.
        """
        pairs = [*branches, *named.items()]
        if not pairs or not all(isinstance(pair, tuple) and len(pair) == 2 for pair in pairs):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidDefinition(
                "batch takes branches with names: batch(left=chunk, …) or batch(('left', chunk), …)"
            )
        names = [checked_name(key, "a branch's name") for key, _ in pairs]
        if len(set(names)) != len(names):
            raise InvalidDefinition(f"batch needs branches with names of their own, not {names!r}")
        checked_name(name, "a batch's name")
        made = {key: inner(self._flow, branch) for key, branch in pairs}
        return self._add(lambda: BatchItem(name, {key: make() for key, make in made.items()}))

    def for_each(self, concurrency: int = 0, name: str = "each") -> "Chain":
        """Run what follows, until `end_for_each`, for each element of a list.

        Args:
            concurrency: so many at once; 0: all.
            name: the loop's, in the flow's picture and in its steps.
        """
        if isinstance(concurrency, bool) or not isinstance(concurrency, int) or concurrency < 0:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidDefinition(
                f"concurrency must be an integer (0 for all at once), got {concurrency!r}"
            )
        opened = OpenBlock(self, "for_each", name, concurrency=concurrency)
        return self._inner(opened.branch(None), opened)

    def end_for_each(self) -> "Chain":
        """Close `for_each`: the next chunk gets the results as a list, in order."""
        opened = self._close("for_each", "end_for_each")
        body = opened.bodies[0]
        return opened.chain._add(lambda: EachItem(opened.name, body.items(), opened.concurrency))

    def if_(self, condition: Callable[[Any], Any], name: str = "if") -> "Chain":
        """Run what follows, until `elif_`, `else_` or `end_if`, if the condition holds.

        Args:
            condition: a function over the context.
            name: the choice's, in the flow's picture and in its steps.
        """
        opened = OpenBlock(self, "if_", name)
        return self._inner(opened.branch(self._flow._condition(condition, self._node.name)), opened)

    def elif_(self, condition: Callable[[Any], Any]) -> "Chain":
        """Run what follows if no condition before held, and this one does.

        Args:
            condition: a function over the context.
        """
        opened = self._inside("if_", "elif_")
        chain = opened.chain
        return chain._inner(
            opened.branch(self._flow._condition(condition, chain._node.name)), opened
        )

    def else_(self) -> "Chain":
        """If none held."""
        opened = self._inside("if_", "else_")
        return opened.chain._inner(opened.otherwise(), opened)

    def end_if(self) -> "Chain":
        """Close `if_`: the next chunk gets the value of the branch that ran; the input, if none did."""
        opened = self._close("if_", "end_if")
        tests = list(map(str, opened.tests))
        return opened.chain._add(
            lambda: IfItem(opened.name, tests, opened.branches(), opened.otherwise_items())
        )

    def match(self, key: Callable[[Any], Any] | None = None, name: str = "match") -> "Chain":
        """Choose by a value; follow with `case`.

        Args:
            key: a function over the context that gives the value; without it, the input is the value.
            name: the choice's, in the flow's picture and in its steps.
        """
        opened = OpenBlock(self, "match", name)
        if key is not None:
            opened.key = self._flow._condition(key, self._node.name)
        else:
            opened.key = ""
        return self._inner(Node(), opened)

    def case(self, value: Any) -> "Chain":
        """Run what follows, until the next `case`, if this is the value.

        Args:
            value: any JSON value.
        """
        opened = self._inside("match", "case")
        return opened.chain._inner(opened.branch(plain(value, "case")), opened)

    def default(self) -> "Chain":
        """If no case fits."""
        opened = self._inside("match", "default")
        return opened.chain._inner(opened.otherwise(), opened)

    def end_match(self) -> "Chain":
        """Close `match`: the next chunk gets the value of the branch that ran; the input, if none did."""
        opened = self._close("match", "end_match")
        if not opened.bodies:
            raise InvalidDefinition(f"match {opened.name!r} has no case")
        return opened.chain._add(
            lambda: MatchItem(
                opened.name, opened.tests, opened.branches(), opened.otherwise_items(), opened.key
            )
        )

    def emit(self, event: str) -> "Chain":
        """Emit an event with the value that passes.

        Args:
            event: its name.
        """
        checked_event(event)
        return self._add(lambda: EmitItem(event))

    def side(self, chunk: Any) -> "Chain":
        """Start a branch of its own; the chain continues with the value at once.

        Args:
            chunk: a chunk, an agent, a flow or `flow.branch()…`.
        """
        make = inner(self._flow, chunk)
        return self._add(lambda: SideItem("side", make()))

    def collect(self, name: str, key: str) -> "Chain":
        """Leave the value at a meeting point; `flow.collected(name)` continues when all are there.

        Args:
            name: the meeting point's.
            key: under which the value is in the dict that is passed on.
        """
        for text in (name, key):
            if not isinstance(text, str) or not text:  # pyright: ignore[reportUnnecessaryIsInstance]
                raise InvalidDefinition(
                    f"collect needs the name of a meeting point and a key, got {text!r:.80}"
                )
        return self._add(lambda: CollectItem(name, key))

    def _inside(self, kind: str, verb: str) -> "OpenBlock":
        if self._outer is None or self._outer.kind != kind:
            unclosed = f"; {self._outer} is still open" if self._outer else ""
            raise InvalidDefinition(f"{verb} belongs after {kind}{unclosed}")
        return self._outer

    def _close(self, kind: str, verb: str) -> "OpenBlock":
        opened = self._inside(kind, verb)
        opened.close()
        return opened


class OpenBlock:
    """A `for_each`, `if_` or `match` that is being written."""

    def __init__(self, chain: Chain, kind: str, name: str, concurrency: int = 0) -> None:
        self.chain, self.kind, self.concurrency = chain, kind, concurrency
        self.name = checked_name(name, "a name")
        self.tests: list[Any] = []
        self.bodies: list[Node] = []
        self.rest: Node | None = None
        self.key = ""
        chain._flow.unclosed.append(self)

    def branch(self, test: Any) -> Node:
        """A branch, and what it is taken for."""
        self._still_open()
        if self.rest is not None:
            raise InvalidDefinition(f"{self}: nothing can follow the else branch")
        if self.kind == "match" and self._has_case(test):
            raise InvalidDefinition(f"{self} has two cases for {test!r:.80}")
        self.tests.append(test)
        self.bodies.append(Node())
        return self.bodies[-1]

    def _has_case(self, value: Any) -> bool:
        """Whether there is a case for this; 1 and True are two cases."""
        return any(type(test) is type(value) and test == value for test in self.tests)

    def branches(self) -> list[list[AnyItem]]:
        """The items of each branch."""
        return [body.items() for body in self.bodies]

    def otherwise_items(self) -> list[AnyItem]:
        """The items of the branch for everything else."""
        if self.rest:
            return self.rest.items()
        return []

    def otherwise(self) -> Node:
        """The branch for everything else."""
        self._still_open()
        if self.rest is not None:
            raise InvalidDefinition(f"{self} already has an else branch")
        self.rest = Node()
        return self.rest

    def close(self) -> None:
        """It is written."""
        self._still_open()
        self.chain._flow.unclosed.remove(self)

    def _still_open(self) -> None:
        if self not in self.chain._flow.unclosed:
            raise InvalidDefinition(f"{self} is already closed")

    @property
    def end(self) -> str:
        """What closes it."""
        return f"end_{self.kind.rstrip('_')}"

    def __str__(self) -> str:
        return f"{self.kind} {self.name!r}"


def placed(flow: "Flow", chunk: Any) -> tuple[Make, str]:
    """What `to` was given, as a way to make its item, and its name."""
    from adjourn.agent.agent import Agent
    from adjourn.flow.flow import Flow

    if isinstance(chunk, Agent):
        name = flow._has_agent(chunk)  # pyright: ignore[reportUnknownArgumentType]
        return lambda: AgentItem(name), name
    if isinstance(chunk, Flow):
        sub = flow._has_flow(chunk)
        return lambda: FlowItem(sub.name, sub.graph), sub.name
    name = flow._known(chunk).name
    return lambda: ChunkItem(name), name


def inner(flow: "Flow", branch: Any) -> Callable[[], list[AnyItem]]:
    """A branch of a batch or a side: a chunk, an agent, a flow, or a chain begun with
    `flow.branch()`."""
    if isinstance(branch, Chain):
        if branch._root is None or branch._flow is not flow or branch._outer is not None:
            raise InvalidDefinition(
                "a branch must be a chunk, an agent, a flow, or a chain begun with the branch() "
                f"of flow {flow.name!r}, with everything in it closed"
            )
        return branch._root.items
    make, _ = placed(flow, branch)
    return lambda: [make()]
