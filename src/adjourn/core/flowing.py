"""A flow's part of the fold: where its tokens are, what its joins have, its state. Routing needs no record of its own."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

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
)


@dataclass(slots=True, eq=False)
class Join:
    """What waits for branches: a batch's dict, a `for_each`'s list, a sub-flow's chains, or one chosen branch."""

    parent: "Token"
    kind: str
    results: dict[Any, Any] = field(default_factory=dict[Any, Any])
    open: int = 0
    waiting: list[Any] = field(default_factory=list[Any])
    total: int = 0
    first: Any = None


@dataclass(slots=True, eq=False)
class Token:
    """One run through a chain. `label` begins the ids of its calls; `scope` is the flow it is in ("" is the root)."""

    items: list[AnyItem]
    label: str
    scope: str
    join: Join | None = None
    key: Any = None
    at: int = 0
    input: Any = None
    last: Any = None


@dataclass(slots=True)
class Scope:
    """One flow being run: the root, or a sub-flow."""

    graph: Graph
    data: dict[str, Any] = field(default_factory=dict[str, Any])
    seen: dict[int, dict[str, list[Any]]] = field(default_factory=dict[int, dict[str, list[Any]]])
    met: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    join: Join | None = None


Spawn = Callable[[str, str, Any, str], None]
"""Spawn a call: id, tool, input, kind (`chunk`, `agent` or `test`)."""


class Flowing:
    """Tokens, joins and state of a flow run."""

    def __init__(self, graph: Graph, spawn: Spawn) -> None:
        self.scopes: dict[str, Scope] = {"": Scope(graph)}
        self.tokens: dict[str, Token] = {}
        self.counts: dict[str, int] = {}
        self.events: list[tuple[str, Any]] = []
        self.notes: list[str] = []
        self.problems: list[str] = []
        self.done: dict[str, int] = {}
        self.touched = 0.0
        self.closing = False
        self._spawn = spawn

    @property
    def data(self) -> dict[str, Any]:
        """The root's state."""
        return self.scopes[""].data

    def begin(self, value: Any, scope: str = "", label: str = "", join: Join | None = None) -> None:
        """Every chain that begins with the flow begins."""
        chains = [c for c in self.scopes[scope].graph.chains if c.root]
        if join is not None:
            join.open = join.total = len(chains)
        for n, chain in enumerate(chains):
            self._enter(Token(chain.items, label, scope, join, n), value)

    def given(self, call: str, value: Any) -> None:
        """A call has its result: go on behind it."""
        token = self.tokens.pop(call)
        item = token.items[token.at]
        name = getattr(item, "name", "")
        self.done[name] = self.done.get(name, 0) + 1
        if isinstance(item, IfItem):
            self._chosen(token, item, value)
        elif isinstance(item, MatchItem):
            self._matched(token, item, value)
        else:
            token.at += 1
            self._enter(token, value)

    def ended(self, call: str) -> None:
        """A call that has no result for its chain (its event goes on elsewhere): the chain ends here."""
        token = self.tokens.pop(call)
        token.at = len(token.items)
        self._enter(token, None)

    def emit(self, event: str, value: Any, scope: str = "") -> None:
        """Begin every chain that waits for the event."""
        for n, chain in enumerate(self.scopes[scope].graph.chains):
            if event in chain.any:
                self._handle(n, chain, value, scope)
            elif event in chain.all:
                seen = self.scopes[scope].seen.setdefault(n, {})
                seen.setdefault(event, []).append(value)
                if all(seen.get(name) for name in chain.all):
                    self._handle(n, chain, {name: seen[name].pop(0) for name in chain.all}, scope)

    def apply(self, call_scope: str, changes: list[Any]) -> None:
        """A chunk's changes to the state of its flow."""
        apply(self.scopes[call_scope].data, changes)

    def scope_of(self, call: str) -> str:
        """The flow a call is in."""
        return self.tokens[call].scope if call in self.tokens else ""

    # Routing

    def _handle(self, n: int, chain: Chain, value: Any, scope: str) -> None:
        label = f"{scope}{self._number(f'{scope}when{n}')}/"
        self._enter(Token(chain.items, label, scope), value)

    def _number(self, name: str) -> str:
        k = self.counts.get(name, 0)
        self.counts[name] = k + 1
        return f"{name.rpartition('/')[2]}#{k}"

    def _call(self, token: Token, tool: str, value: Any, kind: str) -> None:
        id = f"{token.label}{self._number(token.label + tool)}"
        token.input = value
        self.tokens[id] = token
        self._spawn(id, tool, value, kind)

    def _enter(self, token: Token, value: Any) -> None:
        """Move a token on until it waits for a call or a join."""
        while token.at < len(token.items):
            item = token.items[token.at]
            token.last = value
            match item:
                case ChunkItem() | AgentItem():
                    return self._call(token, item.name, value, "agent" if isinstance(item, AgentItem) else "chunk")
                case EmitItem():
                    self.emit(item.event, value, token.scope)
                case SideItem():
                    label = f"{token.label}{self._number(token.label + item.name)}/"
                    self._enter(Token(item.body, label, token.scope), value)
                case CollectItem():
                    self._collect(token, item, value)
                case IfItem():
                    token.key = (token.key, 0) if not isinstance(token.key, _Testing) else token.key
                    return self._test(token, item, 0, value)
                case MatchItem():
                    if item.key:
                        return self._call(token, item.key, value, "chunk")
                    return self._matched(token, item, value, value)
                case _:
                    return self._open(token, item, value)
            token.at += 1
        return self._close(token, value)

    def _test(self, token: Token, item: IfItem, n: int, value: Any) -> None:
        """Ask the n-th condition."""
        testing = token.key if isinstance(token.key, _Testing) else _Testing(token.key[0])
        testing.n = n
        token.key = testing
        self._call(token, item.conditions[n], value, "test")

    def _chosen(self, token: Token, item: IfItem, holds: Any) -> None:
        testing = token.key
        assert isinstance(testing, _Testing)
        if holds is not True and testing.n + 1 < len(item.conditions):
            self._test(token, item, testing.n + 1, token.input)
            return
        branch = item.branches[testing.n] if holds is True else item.otherwise
        token.key = testing.key
        self._branch(token, branch, f"{item.name}", token.input)

    def _matched(self, token: Token, item: MatchItem, value: Any, passing: Any = None) -> None:
        found = [b for v, b in zip(item.values, item.branches, strict=True) if v == value and type(v) is type(value)]
        self._branch(token, found[0] if found else item.otherwise, item.name, token.input if item.key else passing)

    def _branch(self, token: Token, items: list[AnyItem], name: str, value: Any) -> None:
        join = Join(token, "one", open=1)
        label = f"{token.label}{self._number(token.label + name)}/"
        self._enter(Token(items, label, token.scope, join, None), value)

    def _open(self, token: Token, item: AnyItem, value: Any) -> None:
        """Start what a join will wait for."""
        name = getattr(item, "name", "")
        label = f"{token.label}{self._number(token.label + name)}"
        if isinstance(item, BatchItem):
            join = Join(token, "batch", open=len(item.branches), total=len(item.branches))
            for key, branch in item.branches.items():
                self._enter(Token(branch, f"{label}.{key}/", token.scope, join, key), value)
        elif isinstance(item, FlowItem):
            scope = f"{label}/"
            join = Join(token, "flow")
            self.scopes[scope] = Scope(item.graph, join=join)
            self.begin(value, scope, scope, join)
        elif isinstance(item, EachItem):
            self._each(token, item, label, value)

    def _each(self, token: Token, item: EachItem, label: str, value: Any) -> None:
        if not isinstance(value, list):
            self.problems.append(f"for_each {item.name!r} needs a list, it got {type(value).__name__}")
            return None
        elements: list[Any] = value  # pyright: ignore[reportUnknownVariableType]
        join = Join(token, "each", open=len(elements), total=len(elements))
        if not elements:
            token.at += 1
            return self._enter(token, [])
        pairs = list(enumerate(elements))
        now = pairs[: item.concurrency] if item.concurrency else pairs
        join.waiting = [(k, v, item, label) for k, v in pairs[len(now) :]][::-1]
        for k, v in now:
            self._enter(Token(item.body, f"{label}[{k}]/", token.scope, join, k), v)
        return None

    def _collect(self, token: Token, item: CollectItem, value: Any) -> None:
        scope = self.scopes[token.scope]
        met = scope.met.setdefault(item.name, {})
        met[item.key] = value
        wanted = {i.key for c in scope.graph.chains for i in _collects(c) if i.name == item.name}
        if set(met) >= wanted:
            scope.met[item.name] = {}
            for n, chain in enumerate(scope.graph.chains):
                if chain.collected == item.name:
                    self._handle(n, chain, dict(sorted(met.items())), token.scope)

    def _close(self, token: Token, value: Any) -> None:
        """A chain has ended: tell its join."""
        join = token.join
        if join is None:
            return
        join.results[token.key] = value
        join.open -= 1
        if join.kind == "each" and join.waiting:
            k, v, item, label = join.waiting.pop()
            self._enter(Token(item.body, f"{label}[{k}]/", token.scope, join, k), v)
        elif join.open == 0:
            parent = join.parent
            parent.at += 1
            self._enter(parent, _joined(join))


@dataclass(slots=True, eq=False)
class _Testing:
    """Which condition of an `if_` a token is at, and the key it had."""

    key: Any
    n: int = 0


def _joined(join: Join) -> Any:
    if join.kind == "batch":
        return join.results
    if join.kind == "each":
        return [join.results[k] for k in range(join.total)]
    return join.results.get(0) if join.kind == "flow" else join.results.get(None)


def _collects(chain: Chain) -> list[CollectItem]:
    return [i for i in chain.items if isinstance(i, CollectItem)]


def apply(data: dict[str, Any], changes: list[Any]) -> None:
    """Changes to a JSON value: `["set", path, value]`, `["del", path]`, `["add", path, elements]`."""
    for op, path, *rest in changes:
        target: Any = data
        try:
            for key in path[:-1]:
                target = target[key]
            if op == "set":
                target[path[-1]] = rest[0]
            elif op == "add":
                target[path[-1]].extend(rest[0])
            else:
                del target[path[-1]]
        except (LookupError, TypeError, AttributeError):
            continue  # another chunk has replaced what this one changed: the last in the journal wins


def changes(before: Any, after: Any, path: list[Any]) -> list[Any]:
    """What turns `before` into `after`, as small as is easy."""
    if type(before) is type(after) and before == after:
        return []
    if isinstance(before, dict) and isinstance(after, dict) and path:
        return _dict_changes(cast("dict[str, Any]", before), cast("dict[str, Any]", after), path)
    if isinstance(before, list) and isinstance(after, list) and path:
        old, new = cast("list[Any]", before), cast("list[Any]", after)
        if new[: len(old)] == old:
            return [["add", path, new[len(old) :]]]
    return [["set", path, after]]


def _dict_changes(before: dict[str, Any], after: dict[str, Any], path: list[Any]) -> list[Any]:
    found: list[Any] = [["del", [*path, key]] for key in before if key not in after]
    for key, value in after.items():
        found += changes(before[key], value, [*path, key]) if key in before else [["set", [*path, key], value]]
    return found
