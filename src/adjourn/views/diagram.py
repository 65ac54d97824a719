"""A flow's picture, as mermaid text; with a run's state, what is done, running and waiting."""

from collections import Counter
from collections.abc import Mapping

from adjourn.core.call import Phase
from adjourn.core.flow_fold import Place
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
    branches,
)
from adjourn.core.ids import is_within, label_of, path_of
from adjourn.core.state import State

_STYLES = (
    "    classDef done fill:#e1f2eb,stroke:#0d7257,color:#0d3b2e",
    "    classDef running fill:#e7eefb,stroke:#1d5fd6,color:#12336f",
    "    classDef waiting fill:#fcefd7,stroke:#874a00,color:#4f2c00",
    "    classDef failed fill:#fbe4e1,stroke:#b3261e,color:#5c130f",
)
_WAITS = (Phase.SUSPENDED, Phase.ASKED, Phase.DOUBT)
_ORDER = ("failed", "waiting", "running", "done")
"""Which of several marks colours a place that many tokens come by."""

Marks = Mapping[Place, Counter[str]]


class MermaidWriter:
    """Lines of a diagram being made."""

    def __init__(self, marks: Marks) -> None:
        self.lines: list[str] = ["flowchart LR"]
        self._marks = marks
        self._count = 0
        self._depth = 1
        self._renamed: Mapping[str, str] = {}

    def add(self, line: str) -> None:
        """One more line."""
        self.lines.append("    " * self._depth + line)

    def node(self, text: str, shape: str = "()", marks: Counter[str] | None = None) -> str:
        """A node; its id."""
        id = f"n{self._count}"
        self._count += 1
        mark = ""
        if marks:
            mark = f":::{next(m for m in _ORDER if marks[m])}"
            if marks.total() > 1:
                text += f" ({', '.join(f'{marks[m]} {m}' for m in reversed(_ORDER) if marks[m])})"
        self.add(f'{id}{shape[0]}"{_escaped(text)}"{shape[1]}{mark}')
        return id

    def step(
        self, last: str, text: str, shape: str = "()", marks: Counter[str] | None = None
    ) -> str:
        """A node behind another; its id."""
        id = self.node(text, shape, marks)
        self.edge(last, id)
        return id

    def edge(self, a: str, b: str, dotted: bool = False) -> None:
        """An arrow."""
        self.add(f"{a} {'-.->' if dotted else '-->'} {b}")

    def chain(self, items: list[AnyItem], path: str, last: str) -> str:
        """Draw a chain behind a node; its last node."""
        for at, item in enumerate(items):
            last = self._item(item, (path, at), last)
        return last

    def _inside(self, item: AnyItem, place: Place) -> list[tuple[list[AnyItem], str]]:
        """The chains inside an item, each with its path."""
        return [(items, inside(*place, which)) for which, items in branches(item)]

    def _item(self, item: AnyItem, place: Place, last: str) -> str:
        marks = self._marks.get(place)
        match item:
            case ChunkItem():
                return self.step(last, self._now(item.name), "[]", marks)
            case AgentItem():
                return self.step(last, f"agent {self._now(item.name)}", "[]", marks)
            case BatchItem():
                join = self.node("join")
                for key, (branch, path) in zip(
                    item.branches, self._inside(item, place), strict=True
                ):
                    self.edge(self.chain(branch, path, self.step(last, key)), join)
                return join
            case EachItem():
                begin = self.step(last, f"each, {item.concurrency or 'all'} at a time")
                return self.step(self.chain(item.body, inside(*place, "each"), begin), "end each")
            case IfItem() | MatchItem():
                return self._choice(item, place, last)
            case SideItem():
                side = self.node("side")
                self.edge(last, side, dotted=True)
                self.chain(item.body, inside(*place, "side"), side)
                return last
            case EmitItem():
                return self.step(last, f"emit {item.event}")
            case CollectItem():
                return self.step(last, f"collect {item.name}.{item.key}")
            case FlowItem():
                return self._flow(item, place, last)

    def _choice(self, item: IfItem | MatchItem, place: Place, last: str) -> str:
        fork = self.step(last, item.name, "{}", self._marks.get(place))
        end = self.node("end")
        if isinstance(item, IfItem):
            tests = [self._now(name) for name in item.conditions]
        else:
            tests = [repr(v) for v in item.values]
        for test, (branch, path) in zip([*tests, "else"], self._inside(item, place), strict=True):
            self.edge(self.chain(branch, path, self.step(fork, test)), end)
        return end

    def _flow(self, item: FlowItem, place: Place, last: str) -> str:
        self.add(f'subgraph s{self._count}["{_escaped(item.name)}"]')
        self._depth += 1
        ends = self.graph(item.graph, last, label_of(inside(*place, "flow")))
        self._depth -= 1
        self.add("end")
        join = self.node("end of " + item.name)
        for end in ends:
            self.edge(end, join)
        return join

    def graph(self, graph: Graph, last: str = "", before: str = "") -> list[str]:
        """Draw the chains of a flow; the last nodes of those that begin with it."""
        ends: list[str] = []
        around, self._renamed = self._renamed, graph.renamed
        for n, chain in enumerate(graph.chains):
            first = self.node(_source(chain))
            if last and chain.root:
                self.edge(last, first)
            end = self.chain(chain.items, f"{before}{n}", first)
            ends += [end] if chain.root else []
        self._renamed = around
        return ends

    def _now(self, name: str) -> str:
        return self._renamed.get(name, name)


def mermaid(graph: Graph, state: State | None = None) -> str:
    """The diagram."""
    drawing = MermaidWriter(marks(state) if state is not None else {})
    drawing.graph(graph)
    return "\n".join([*drawing.lines, *_STYLES])


def _source(chain: GraphChain) -> str:
    if chain.any:
        return f"when {' or '.join(chain.any)}"
    if chain.all:
        return f"when {' and '.join(chain.all)}"
    if chain.collected:
        return f"collected {chain.collected}"
    return "start"


def marks(state: State) -> dict[Place, Counter[str]]:
    """How many tokens have come past, are at, wait at and have failed at each place of the run's
    own graph."""
    found: dict[Place, Counter[str]] = {}
    if state.flow is None:
        return found
    for path, places in state.flow.done.items():
        for at, times in places.items():
            found.setdefault((path, at), Counter())["done"] += times
    inside = {path_of(o.record.call) for o in state.open.values()}
    for id, token in state.flow.tokens.items():
        call = state.live.get(id)
        if call is None:
            continue
        waits = call.phase in _WAITS or any(is_within(path, id) for path in inside)
        if id in state.faults:
            mark = "failed"
        elif waits:
            mark = "waiting"
        else:
            mark = "running"
        found.setdefault(token.place, Counter())[mark] += 1
    return found


def _escaped(text: str) -> str:
    """A text that mermaid shows as it is."""
    codes = {"#": "#35;", '"': "#quot;", "<": "#lt;", ">": "#gt;", "`": "#96;"}
    return "".join(codes.get(c, c if c.isprintable() else " ") for c in text)
