"""A flow's part of the fold: where its tokens are, what its joins have, its state. Routing needs no
record of its own."""

from collections import deque
from collections.abc import Iterator
from typing import Any, Literal

import msgspec

from adjourn.core.flow_events import FlowClosing, Heard
from adjourn.core.flow_place import inside
from adjourn.core.graph import (
    AgentItem,
    AnyItem,
    BatchItem,
    ChunkItem,
    CollectItem,
    EachItem,
    EmitItem,
    FlowItem,
    Graph,
    GraphChain,
    IfItem,
    MatchItem,
    SideItem,
    chains_of,
    meetings,
)
from adjourn.core.ids import activation_id, branch_label, element_label, label_of, split_event
from adjourn.core.json_changes import apply
from adjourn.core.records import Emitted

Place = tuple[str, int]
"""A place in a graph: the path of a list of items (see `core.graph.chains_of`), and which of
them."""


class Token(msgspec.Struct):
    """One run through a chain, in the flow of the label `scope`. `join`: the label of what waits
    for it, if something does. `outer` are the chains it comes back to after a branch of `if_` or
    `match`. `began`: how many events had come when its chain began. Whatever it waits at holds it:
    a call, a join or a flow."""

    path: str
    label: str
    scope: str
    join: str = ""
    key: str = ""
    began: int = 0
    at: int = 0
    input: Any = None
    tested: int = 0
    outer: list[tuple[str, int, str]] = []

    @property
    def place(self) -> Place:
        """Where it is in the graph."""
        return (self.path, self.at)


class FlowScope(msgspec.Struct):
    """One flow being run: the root, or a sub-flow, for which `parent` waits. `label` begins the ids
    of its calls; `open` counts its tokens."""

    label: str = ""
    parent: Token | None = None
    data: dict[str, Any] = {}
    seen: dict[int, dict[str, list[Any]]] = {}
    met: dict[str, dict[str, Any]] = {}
    open: int = 0
    value: Any = None


class Join(msgspec.Struct):
    """What waits for a batch's branches (by key) or a `for_each`'s elements (by number):
    `parent`."""

    parent: Token
    label: str
    open: int
    elements: list[Any] = []
    begun: int = 0
    lent: set[str] = set()
    results: dict[str, Any] = {}


ActivationKind = Literal["chunk", "agent", "test"]


class Activation(msgspec.Struct, frozen=True):
    """A token has come to a call: its id, tool, input and kind, and the flow it is of."""

    id: str
    tool: str
    value: Any
    kind: ActivationKind
    of: str


class FlowFold(msgspec.Struct, dict=True):
    """Tokens, joins and state of a flow run, as plain data: what waits is found by the label of
    what it waits for.

    `tokens` are those that wait for a call, by its id. `counts`: by the label of a chain that goes
    on, the numbers that it has given to what it began."""

    graph: Graph
    scopes: dict[str, FlowScope] = msgspec.field(default_factory=lambda: {"": FlowScope()})
    tokens: dict[str, Token] = {}
    joins: dict[str, Join] = {}
    notes: list[str] = []
    problems: list[str] = []
    steps: int = 0
    called: set[str] = set()
    done: dict[str, dict[int, int]] = {}
    touched: float = 0.0
    closing: FlowClosing = FlowClosing.NO
    events: int = 0
    inherited: int = 0
    heard: list[Heard] = []
    chains: int = 0
    counts: dict[str, dict[str, int]] = {}

    def __post_init__(self) -> None:
        # Not data: what the graph says anyway, and what lives no longer than one call of a method
        # here.
        self._items = dict(chains_of(self.graph))
        self._wanted: dict[Place | None, dict[str, set[str]]] = {}
        self._agenda: deque[tuple[Token, Any]] = deque()
        self._spawned: list[Activation] = []

    @property
    def root(self) -> FlowScope:
        """The flow itself."""
        return self.scopes[""]

    def spawned(self) -> list[Activation]:
        """The calls that tokens have come to since this was last asked."""
        found, self._spawned = self._spawned, []
        return found

    def graph_of(self, scope: FlowScope) -> Graph:
        """The graph of a flow being run."""
        if scope.parent is None:
            return self.graph
        item = self._item(scope.parent)
        assert isinstance(item, FlowItem)
        return item.graph

    def _item(self, token: Token) -> AnyItem:
        return self._items[token.path][token.at]

    def _scope(self, token: Token) -> FlowScope:
        return self.scopes[token.scope]

    def _chains(self, scope: FlowScope) -> Iterator[tuple[int, GraphChain, str]]:
        """The chains of a flow being run: number, chain, path."""
        if scope.parent is not None:
            before = label_of(inside(*scope.parent.place, "flow"))
        else:
            before = ""
        for number, chain in enumerate(self.graph_of(scope).chains):
            yield number, chain, f"{before}{number}"

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
        item = self._item(token)
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
        """The JSON Schema of what a call must give for its chain to go on; None if anything will
        do."""
        token = self.tokens.get(call)
        if token is None:
            return None
        if isinstance(self._item(token), IfItem):
            return {"type": "boolean"}
        for item in self._coming(token):
            if not isinstance(item, EmitItem | SideItem | CollectItem):
                if isinstance(item, EachItem):
                    return {"type": "array"}
                return None
        return None

    def waits(self, call: str) -> None:
        """A call waits for somebody or for a time: its element of each `for_each` around it lends
        its place to the next one.

        It does not take the place back when it goes on, so that as many more are under way then as
        have just come back.
        """
        token = self.tokens.get(call)
        while token is not None:
            join = self.joins.get(token.join)
            if (
                join is not None
                and isinstance(self._item(join.parent), EachItem)
                and token.key not in join.lent
            ):
                join.lent.add(token.key)
                if join.begun < len(join.elements):
                    self._next_element(join)
            if join is not None:
                token = join.parent
            else:
                token = self._scope(token).parent
        self._run()

    def ended(self, call: str) -> None:
        """A call whose answer went elsewhere, as an event: its chain ends here, with nothing."""
        token = self.tokens.pop(call)
        self._count(token)
        self._forget(token)
        for _, _, label in token.outer[1:]:
            self.counts.pop(label, None)
        if token.outer:
            token.label = token.outer[0][2]
            token.outer.clear()
        token.at = len(self._items[token.path])
        self._agenda.append((token, None))
        self._run()

    def _count(self, token: Token) -> None:
        self.steps += 1
        item = self._item(token)
        if isinstance(item, ChunkItem | AgentItem):
            self.called.add(self.graph_of(self._scope(token)).renamed.get(item.name, item.name))
        times = self.done.setdefault(token.path, {})
        times[token.at] = times.get(token.at, 0) + 1

    def emit(self, event: str, value: Any, call: str = "", *, taken: bool = False) -> Heard | None:
        """An event of a call, qualified by its flow: begin every chain of that flow that waits for
        it. What is kept of it for waits to come; nothing if it is `taken`: an answer is for the
        question that was asked."""
        label, name = split_event(event)
        scope = self.scopes.get(label)
        if scope is None:
            return None
        heard = self._hear(event, value, call=call, taken=taken)
        self._emit(scope, name, value)
        self._run()
        return heard

    def hear(self, emitted: Emitted) -> Heard | None:
        """An event from outside: it reaches every flow that is running. What is kept of it for
        waits to come."""
        heard = self._hear(emitted.event, emitted.value, emitted)
        for scope in list(self.scopes.values()):
            self._emit(scope, emitted.event, emitted.value)
        self._run()
        return heard

    def _coming(self, token: Token) -> Iterator[AnyItem]:
        """The items behind the one at which a token is, on its way out of the chain."""
        yield from self._items[token.path][token.at + 1 :]
        for path, at, _ in reversed(token.outer):
            yield from self._items[path][at:]

    def heard_by(self, call: str) -> list[Heard]:
        """The events that nothing has taken yet and that came since the chain of this call
        began."""
        token = self.tokens.get(call)
        if token is None:
            return []
        return [heard for heard in self.heard if heard.n > token.began]

    def take(self, number: int) -> None:
        """A wait has taken this event."""
        self.heard = [heard for heard in self.heard if heard.n != number]

    def _hear(
        self,
        event: str,
        value: Any,
        sent: Emitted | None = None,
        call: str = "",
        *,
        taken: bool = False,
    ) -> Heard | None:
        """Count an event, and keep it if somebody may still wait for it: a chain that began before
        it came."""
        self.events += 1
        if taken or not self.chains:
            return None
        heard = Heard(self.events, event, value, sent, call)
        self.heard.append(heard)
        return heard

    def scope_of(self, call: str) -> FlowScope:
        """The flow a call is in."""
        token = self.tokens.get(call)
        if token:
            return self._scope(token)
        return self.root

    def apply(self, call: str, changes: list[Any]) -> None:
        """A chunk's changes to the state of its flow."""
        if changes:
            apply(self.scope_of(call).data, changes)

    # Routing. Nothing here calls itself: what comes next is put on the agenda, so that a long loop
    # needs no deep stack.

    def _run(self) -> None:
        while self._agenda:
            token, value = self._agenda.popleft()
            self._enter(token, value)

    def _begin(self, scope: FlowScope, value: Any) -> None:
        began = scope.parent.began if scope.parent else self.events
        number = 0
        for _, chain, path in self._chains(scope):
            if chain.root:
                self._opened(scope)
                self._agenda.append(
                    (Token(path, scope.label, scope.label, key=str(number), began=began), value)
                )
                number += 1

    def _opened(self, scope: FlowScope) -> None:
        scope.open += 1
        self.chains += 1

    def _emit(self, scope: FlowScope, event: str, value: Any) -> None:
        for number, chain, path in self._chains(scope):
            if event in chain.any:
                self._handle(scope, number, path, value)
            elif event in chain.all:
                seen = scope.seen.setdefault(number, {})
                seen.setdefault(event, []).append(value)
                if all(map(seen.get, chain.all)):
                    self._handle(
                        scope, number, path, {name: seen[name].pop(0) for name in chain.all}
                    )

    def _handle(
        self, scope: FlowScope, number: int, path: str, value: Any, began: int | None = None
    ) -> None:
        label = self._numbered(scope.label, f"when{number}")
        self._alone(scope, path, label, value, self.events if began is None else began)

    def _alone(self, scope: FlowScope, path: str, label: str, value: Any, began: int) -> None:
        """Begin a chain that nothing waits for, except the end of its flow."""
        self._opened(scope)
        self._agenda.append((Token(path, label_of(label), scope.label, began=began), value))

    def _numbered(self, label: str, name: str) -> str:
        """A name of its own for what the chain with this label begins. No label is given twice, so
        the numbers are kept only as long as the chain goes on."""
        counts = self.counts.setdefault(label, {})
        count = counts.get(name, 0)
        counts[name] = count + 1
        return activation_id(label, name, count)

    def _forget(self, token: Token) -> None:
        """A chain with a label of its own has ended."""
        if token.label != token.scope:
            self.counts.pop(token.label, None)

    def _call(self, token: Token, tool: str, value: Any, kind: ActivationKind) -> None:
        id = self._numbered(token.label, tool)
        token.input = value
        self.tokens[id] = token
        graph = self.graph_of(self._scope(token))
        self._spawned.append(Activation(id, graph.renamed.get(tool, tool), value, kind, graph.name))

    def _enter(self, token: Token, value: Any) -> None:
        """Move a token on until it waits for a call or a join, or ends."""
        while True:
            items = self._items[token.path]
            if token.at >= len(items):
                self._forget(token)
                if not token.outer:
                    return self._close(token, value)
                token.path, token.at, token.label = token.outer.pop()
                continue
            item = items[token.at]
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
            self._hear(token.scope + item.event, value)
            self._emit(self._scope(token), item.event, value)
        elif isinstance(item, SideItem):
            label = self._numbered(token.label, item.name)
            self._alone(self._scope(token), inside(*token.place, "side"), label, value, token.began)
        else:
            self._collect(token, item, value)

    def _chosen(self, token: Token, item: IfItem, holds: Any) -> None:
        if holds is True:
            self._branch(token, f"if.{token.tested}", item.name, token.input)
        elif token.tested + 1 < len(item.conditions):
            token.tested += 1
            self._call(token, item.conditions[token.tested], token.input, "test")
        else:
            self._branch(token, "if.else", item.name, token.input)

    def _matched(self, token: Token, item: MatchItem, value: Any, passing: Any) -> None:
        branch = "match.else"
        for number, one in enumerate(item.values):
            if one == value and type(one) is type(value):
                branch = f"match.{number}"
                break
        self._branch(token, branch, item.name, passing)

    def _branch(self, token: Token, which: str, name: str, value: Any) -> None:
        token.outer.append((token.path, token.at + 1, token.label))
        token.label = label_of(self._numbered(token.label, name))
        token.path, token.at = inside(*token.place, which), 0
        self._agenda.append((token, value))

    def _open(self, token: Token, item: BatchItem | EachItem | FlowItem, value: Any) -> None:
        """Start what a token will wait for."""
        if isinstance(item, EachItem) and not _is_list(value):
            self.problems.append(
                f"for_each {item.name!r} needs a list, it got {type(value).__name__} from what comes before"
            )
            return
        label = self._numbered(token.label, item.name)
        if isinstance(item, FlowItem):
            scope = FlowScope(label_of(label), token)
            self.scopes[scope.label] = scope
            self._begin(scope, value)
        elif isinstance(item, BatchItem):
            self.joins[label] = Join(token, label, len(item.branches))
            for place, key in enumerate(item.branches):
                path = inside(*token.place, f"batch.{place}")
                self._agenda.append(
                    (
                        Token(path, branch_label(label, key), token.scope, label, key, token.began),
                        value,
                    )
                )
        else:
            self._each(token, item, label, value)

    def _each(self, token: Token, item: EachItem, label: str, elements: list[Any]) -> None:
        if not elements:
            token.at += 1
            self._agenda.append((token, []))
            return
        join = self.joins[label] = Join(token, label, len(elements), elements)
        for _ in range(min(item.concurrency or len(elements), len(elements))):
            self._next_element(join)

    def _next_element(self, join: Join) -> None:
        place, join.begun = join.begun, join.begun + 1
        around = join.parent
        token = Token(
            inside(*around.place, "each"),
            element_label(join.label, place),
            around.scope,
            join.label,
            str(place),
            around.began,
        )
        self._agenda.append((token, join.elements[place]))

    def _collect(self, token: Token, item: CollectItem, value: Any) -> None:
        scope = self._scope(token)
        met = scope.met.setdefault(item.name, {})
        met[item.key] = value
        if met.keys() >= self._meetings(scope)[item.name]:
            del scope.met[item.name]
            for number, chain, path in self._chains(scope):
                if chain.collected == item.name:
                    self._handle(scope, number, path, dict(sorted(met.items())), token.began)

    def _meetings(self, scope: FlowScope) -> dict[str, set[str]]:
        """Which keys each meeting point of a flow waits for."""
        where = scope.parent.place if scope.parent is not None else None
        if where not in self._wanted:
            self._wanted[where] = meetings(self.graph_of(scope))
        return self._wanted[where]

    def _close(self, token: Token, value: Any) -> None:
        """A chain has ended: tell its join, or its flow."""
        join = self.joins.get(token.join)
        if join is None:
            self._closed(self._scope(token), token.key, value)
            return
        join.results[token.key] = value
        join.open -= 1
        if join.begun < len(join.elements) and token.key not in join.lent:
            self._next_element(join)
        elif join.open == 0:
            del self.joins[join.label]
            joined = self._joined(join)
            join.parent.at += 1
            self._agenda.append((join.parent, joined))

    def _joined(self, join: Join) -> Any:
        """What goes on: a dict in the order of the branches, or a list in the order of the
        elements."""
        item = self._item(join.parent)
        if isinstance(item, BatchItem):
            return {key: join.results[key] for key in item.branches}
        return [join.results[str(place)] for place in range(len(join.elements))]

    def _closed(self, scope: FlowScope, key: str, value: Any) -> None:
        """A flow has ended when all its chains have, those of its events and sides too. Its value
        is the first one's."""
        if key == "0":
            scope.value = value
        scope.open -= 1
        self.chains -= 1
        if not self.chains:  # nobody is left who could wait for what came
            self.heard = []
        if scope.open == 0 and scope.parent is not None:
            del self.scopes[scope.label]
            self.counts.pop(scope.label, None)
            scope.parent.at += 1
            self._agenda.append((scope.parent, scope.value))


def _is_list(value: Any) -> bool:
    return isinstance(value, list)
