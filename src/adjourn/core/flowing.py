"""A flow's part of the fold: where its tokens are, what its joins have, its state. Routing needs no record of its own."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from adjourn.core.changes import apply
from adjourn.core.events import Heard
from adjourn.core.graph import (
    AgentItem,
    AnyItem,
    BatchItem,
    Chain,
    ChunkItem,
    CollectItem,
    EachItem,
    EmitItem,
    FlowItem,
    Graph,
    IfItem,
    MatchItem,
    SideItem,
    meetings,
)
from adjourn.core.records import Emitted

Place = tuple[int, int]
"""A place in a graph: which list of items (by identity; the graph outlives every token), and which of them."""


@dataclass(slots=True, eq=False)
class Scope:
    """One flow being run: the root, or a sub-flow. `label` begins the ids of its calls; `open` counts its tokens."""

    graph: Graph
    label: str = ""
    parent: "Token | None" = None
    data: dict[str, Any] = field(default_factory=dict[str, Any])
    seen: dict[int, dict[str, list[Any]]] = field(default_factory=dict[int, dict[str, list[Any]]])
    met: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    open: int = 0
    value: Any = None
    wanted: dict[str, set[str]] = field(default_factory=dict[str, set[str]])

    def __post_init__(self) -> None:
        self.wanted = meetings(self.graph)


@dataclass(slots=True, eq=False)
class Join:
    """What waits for a batch's branches (by key) or a `for_each`'s elements (by number)."""

    parent: "Token"
    label: str
    open: int
    item: BatchItem | EachItem
    elements: list[Any] = field(default_factory=list[Any])
    begun: int = 0
    lent: set[Any] = field(default_factory=set[Any])
    results: dict[Any, Any] = field(default_factory=dict[Any, Any])

    def joined(self) -> Any:
        """What goes on: a dict in the order of the branches, or a list in the order of the elements."""
        if isinstance(self.item, BatchItem):
            return {key: self.results[key] for key in self.item.branches}
        return [self.results[n] for n in range(len(self.elements))]


@dataclass(slots=True, eq=False)
class Token:
    """One run through a chain. `outer` are the chains it comes back to after a branch of `if_` or `match`. `began`: how many
    events had come when its chain began."""

    items: list[AnyItem]
    label: str
    scope: Scope
    join: Join | None = None
    key: Any = None
    began: int = 0
    at: int = 0
    input: Any = None
    tested: int = 0
    outer: list[tuple[list[AnyItem], int, str]] = field(default_factory=list[tuple[list[AnyItem], int, str]])

    @property
    def place(self) -> Place:
        """Where it is in the graph."""
        return (id(self.items), self.at)


Spawn = Callable[[str, str, Any, str, str], None]
"""Spawn a call: id, tool, input, kind (`chunk`, `agent` or `test`), and the flow it is of."""


class Flowing:
    """Tokens, joins and state of a flow run."""

    def __init__(self, graph: Graph, spawn: Spawn) -> None:
        self.root = Scope(graph)
        self.scopes: dict[str, Scope] = {"": self.root}
        self.tokens: dict[str, Token] = {}
        self.notes: list[str] = []
        self.problems: list[str] = []
        self.steps = 0
        self.called: set[str] = set()
        self.done: dict[Place, int] = {}
        self.touched = 0.0
        self.closing = ""
        self.events = self.inherited = 0
        self.heard: list[Heard] = []
        self._chains = 0
        self._counts: dict[str, int] = {}
        self._agenda: deque[tuple[Token, Any]] = deque()
        self._spawn = spawn

    @property
    def data(self) -> dict[str, Any]:
        """The root's state."""
        return self.root.data

    def begin(self, value: Any) -> None:
        """Every chain that begins with the flow begins."""
        self._begin(self.root, value)
        self._run()

    def given(self, call: str, value: Any) -> None:
        """A call has its result: go on behind it."""
        token = self.tokens.pop(call)
        item = token.items[token.at]
        self._count(token)
        if isinstance(item, IfItem):
            self._chosen(token, item, value)
        elif isinstance(item, MatchItem):
            self._matched(token, item, value, token.input)
        else:
            token.at += 1
            self._agenda.append((token, value))
        self._run()

    def needs(self, call: str) -> dict[str, Any] | None:
        """The JSON Schema of what a call must give for its chain to go on; None if anything will do."""
        token = self.tokens.get(call)
        if token is None:
            return None
        if isinstance(token.items[token.at], IfItem):
            return {"type": "boolean"}
        ways = [(token.items, token.at + 1), *((items, at) for items, at, _ in reversed(token.outer))]
        coming = (item for items, at in ways for item in items[at:])
        first = next((item for item in coming if not isinstance(item, EmitItem | SideItem | CollectItem)), None)
        return {"type": "array"} if isinstance(first, EachItem) else None

    def waits(self, call: str) -> None:
        """A call waits for somebody or for a time: its element of each `for_each` around it lends its place to the next one.

        It does not take the place back when it goes on, so that as many more are under way then as have just come back.
        """
        token = self.tokens.get(call)
        while token is not None:
            join = token.join
            if join is not None and isinstance(join.item, EachItem) and token.key not in join.lent:
                join.lent.add(token.key)
                if join.begun < len(join.elements):
                    self._next_element(join, join.item)
            token = join.parent if join is not None else token.scope.parent
        self._run()

    def ended(self, call: str) -> None:
        """A call whose answer went elsewhere, as an event: its chain ends here, with nothing."""
        token = self.tokens.pop(call)
        self._count(token)
        token.outer.clear()
        token.at = len(token.items)
        self._agenda.append((token, None))
        self._run()

    def _count(self, token: Token) -> None:
        self.steps += 1
        item = token.items[token.at]
        if isinstance(item, ChunkItem | AgentItem):
            self.called.add(token.scope.graph.renamed.get(item.name, item.name))
        self.done[token.place] = self.done.get(token.place, 0) + 1

    def emit(self, event: str, value: Any, call: str = "", *, taken: bool = False) -> Heard | None:
        """An event of a call, qualified by its flow: begin every chain of that flow that waits for it. What is kept of it
        for waits to come; nothing if it is `taken`: an answer is for the question that was asked."""
        label, slash, name = event.rpartition("/")
        scope = self.scopes.get(label + slash)
        if scope is None:
            return None
        heard = self._hear(event, value, call=call, taken=taken)
        self._emit(scope, name, value)
        self._run()
        return heard

    def hear(self, x: Emitted) -> Heard | None:
        """An event from outside: it reaches every flow that is running. What is kept of it for waits to come."""
        heard = self._hear(x.event, x.value, x)
        for scope in list(self.scopes.values()):
            self._emit(scope, x.event, x.value)
        self._run()
        return heard

    def heard_by(self, call: str) -> list[Heard]:
        """The events that nothing has taken yet and that came since the chain of this call began."""
        token = self.tokens.get(call)
        return [heard for heard in self.heard if token is not None and heard.n > token.began]

    def take(self, n: int) -> None:
        """A wait has taken this event."""
        self.heard = [heard for heard in self.heard if heard.n != n]

    def _hear(
        self, event: str, value: Any, sent: Emitted | None = None, call: str = "", *, taken: bool = False
    ) -> Heard | None:
        """Count an event, and keep it if somebody may still wait for it: a chain that began before it came."""
        self.events += 1
        if taken or not self._chains:
            return None
        heard = Heard(self.events, event, value, sent, call)
        self.heard.append(heard)
        return heard

    def scope_of(self, call: str) -> Scope:
        """The flow a call is in."""
        token = self.tokens.get(call)
        return token.scope if token else self.root

    def apply(self, call: str, changes: list[Any]) -> None:
        """A chunk's changes to the state of its flow."""
        if changes:
            apply(self.scope_of(call).data, changes)

    # Routing. Nothing here calls itself: what comes next is put on the agenda, so that a long loop needs no deep stack.

    def _run(self) -> None:
        while self._agenda:
            token, value = self._agenda.popleft()
            self._enter(token, value)

    def _begin(self, scope: Scope, value: Any) -> None:
        began = scope.parent.began if scope.parent else self.events
        for n, chain in enumerate(c for c in scope.graph.chains if c.root):
            self._opened(scope)
            self._agenda.append((Token(chain.items, scope.label, scope, key=n, began=began), value))

    def _opened(self, scope: Scope) -> None:
        scope.open += 1
        self._chains += 1

    def _emit(self, scope: Scope, event: str, value: Any) -> None:
        for n, chain in enumerate(scope.graph.chains):
            if event in chain.any:
                self._handle(scope, n, chain, value)
            elif event in chain.all:
                seen = scope.seen.setdefault(n, {})
                seen.setdefault(event, []).append(value)
                if all(seen.get(name) for name in chain.all):
                    self._handle(scope, n, chain, {name: seen[name].pop(0) for name in chain.all})

    def _handle(self, scope: Scope, n: int, chain: Chain, value: Any, began: int | None = None) -> None:
        label = self._numbered(f"{scope.label}when{n}")
        self._alone(scope, chain.items, label, value, self.events if began is None else began)

    def _alone(self, scope: Scope, items: list[AnyItem], label: str, value: Any, began: int) -> None:
        """Begin a chain that nothing waits for, except the end of its flow."""
        self._opened(scope)
        self._agenda.append((Token(items, f"{label}/", scope, began=began), value))

    def _numbered(self, name: str) -> str:
        k = self._counts.get(name, 0)
        self._counts[name] = k + 1
        return f"{name}#{k}"

    def _call(self, token: Token, tool: str, value: Any, kind: str) -> None:
        id = self._numbered(token.label + tool)
        token.input = value
        self.tokens[id] = token
        tool = token.scope.graph.renamed.get(tool, tool)
        self._spawn(id, tool, value, kind, token.scope.graph.name)

    def _enter(self, token: Token, value: Any) -> None:
        """Move a token on until it waits for a call or a join, or ends."""
        while True:
            if token.at >= len(token.items):
                if not token.outer:
                    return self._close(token, value)
                token.items, token.at, token.label = token.outer.pop()
                continue
            item = token.items[token.at]
            match item:
                case ChunkItem():
                    return self._call(token, item.name, value, "chunk")
                case AgentItem():
                    return self._call(token, item.name, value, "agent")
                case IfItem():
                    token.tested = 0
                    return self._call(token, item.conditions[0], value, "test")
                case MatchItem():
                    if item.key:
                        return self._call(token, item.key, value, "chunk")
                    return self._matched(token, item, value, value)
                case BatchItem() | EachItem() | FlowItem():
                    return self._open(token, item, value)
                case _:
                    self._pass(token, item, value)
            token.at += 1

    def _pass(self, token: Token, item: EmitItem | SideItem | CollectItem, value: Any) -> None:
        """What happens at a place that holds nothing up."""
        if isinstance(item, EmitItem):
            self._hear(token.scope.label + item.event, value)
            self._emit(token.scope, item.event, value)
        elif isinstance(item, SideItem):
            self._alone(token.scope, item.body, self._numbered(token.label + item.name), value, token.began)
        else:
            self._collect(token, item, value)

    def _chosen(self, token: Token, item: IfItem, holds: Any) -> None:
        if holds is True:
            self._branch(token, item.branches[token.tested], item.name, token.input)
        elif token.tested + 1 < len(item.conditions):
            token.tested += 1
            self._call(token, item.conditions[token.tested], token.input, "test")
        else:
            self._branch(token, item.otherwise, item.name, token.input)

    def _matched(self, token: Token, item: MatchItem, value: Any, passing: Any) -> None:
        pairs = zip(item.values, item.branches, strict=True)
        found = next((b for v, b in pairs if v == value and type(v) is type(value)), item.otherwise)
        self._branch(token, found, item.name, passing)

    def _branch(self, token: Token, items: list[AnyItem], name: str, value: Any) -> None:
        token.outer.append((token.items, token.at + 1, token.label))
        token.items, token.at, token.label = items, 0, f"{self._numbered(token.label + name)}/"
        self._agenda.append((token, value))

    def _open(self, token: Token, item: BatchItem | EachItem | FlowItem, value: Any) -> None:
        """Start what a token will wait for."""
        if isinstance(item, EachItem) and not _is_list(value):
            self.problems.append(
                f"for_each {item.name!r} needs a list, it got {type(value).__name__} from what comes before"
            )
            return
        label = self._numbered(token.label + item.name)
        if isinstance(item, FlowItem):
            scope = self.scopes[f"{label}/"] = Scope(item.graph, f"{label}/", token)
            self._begin(scope, value)
        elif isinstance(item, BatchItem):
            join = Join(token, label, len(item.branches), item)
            for key, branch in item.branches.items():
                self._agenda.append((Token(branch, f"{label}.{key}/", token.scope, join, key, token.began), value))
        else:
            self._each(token, item, label, value)

    def _each(self, token: Token, item: EachItem, label: str, elements: list[Any]) -> None:
        if not elements:
            token.at += 1
            self._agenda.append((token, []))
            return
        join = Join(token, label, len(elements), item, elements)
        for _ in range(min(item.concurrency or len(elements), len(elements))):
            self._next_element(join, item)

    def _next_element(self, join: Join, item: EachItem) -> None:
        k, join.begun = join.begun, join.begun + 1
        token = Token(item.body, f"{join.label}[{k}]/", join.parent.scope, join, k, join.parent.began)
        self._agenda.append((token, join.elements[k]))

    def _collect(self, token: Token, item: CollectItem, value: Any) -> None:
        scope = token.scope
        met = scope.met.setdefault(item.name, {})
        met[item.key] = value
        if met.keys() >= scope.wanted[item.name]:
            del scope.met[item.name]
            for n, chain in enumerate(scope.graph.chains):
                if chain.collected == item.name:
                    self._handle(scope, n, chain, dict(sorted(met.items())), token.began)

    def _close(self, token: Token, value: Any) -> None:
        """A chain has ended: tell its join, or its flow."""
        join = token.join
        if join is None:
            self._closed(token.scope, token.key, value)
            return
        join.results[token.key] = value
        join.open -= 1
        lent = token.key in join.lent
        if isinstance(join.item, EachItem) and join.begun < len(join.elements) and not lent:
            self._next_element(join, join.item)
        elif join.open == 0:
            join.parent.at += 1
            self._agenda.append((join.parent, join.joined()))

    def _closed(self, scope: Scope, key: Any, value: Any) -> None:
        """A flow has ended when all its chains have, those of its events and sides too. Its value is the first one's."""
        if key == 0:
            scope.value = value
        scope.open -= 1
        self._chains -= 1
        if not self._chains:  # nobody is left who could wait for what came
            self.heard = []
        if scope.open == 0 and scope.parent is not None:
            del self.scopes[scope.label]
            scope.parent.at += 1
            self._agenda.append((scope.parent, scope.value))


def _is_list(value: Any) -> bool:
    return isinstance(value, list)
