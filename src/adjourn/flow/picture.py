"""A flow's picture, as mermaid text; with a run's state, what is done, running and waiting."""

from adjourn.core.call import Phase
from adjourn.core.graph import (
    AnyItem,
    BatchItem,
    Chain,
    CollectItem,
    EachItem,
    EmitItem,
    FlowItem,
    Graph,
    IfItem,
    MatchItem,
    SideItem,
)
from adjourn.core.state import State

_STYLES = (
    "    classDef done fill:#e1f2eb,stroke:#0d7257",
    "    classDef running fill:#e7eefb,stroke:#1d5fd6",
    "    classDef waiting fill:#fcefd7,stroke:#874a00",
)


class Drawing:
    """Lines of a diagram being made."""

    def __init__(self, marks: dict[str, str]) -> None:
        self.lines: list[str] = ["flowchart LR"]
        self.marks = marks
        self._count = 0

    def node(self, text: str, shape: str = "[]", name: str = "") -> str:
        """A node; its id."""
        id = f"n{self._count}"
        self._count += 1
        safe = text.replace('"', "'")
        mark = f":::{self.marks[name]}" if name in self.marks else ""
        self.lines.append(f'    {id}{shape[0]}"{safe}"{shape[1]}{mark}')
        return id

    def edge(self, a: str, b: str, text: str = "", dotted: bool = False) -> None:
        """An arrow."""
        arrow = "-.->" if dotted else "-->"
        self.lines.append(f"    {a} {arrow}{f'|{text}|' if text else ''} {b}")

    def chain(self, items: list[AnyItem], start: str) -> str:
        """Draw a chain behind `start`; its last node."""
        last = start
        for item in items:
            last = self._item(item, last)
        return last

    def _item(self, item: AnyItem, last: str) -> str:
        match item:
            case BatchItem():
                join = self.node("join", "()")
                for key, branch in item.branches.items():
                    self.edge(self.chain(branch, self._step(last, key, "()")), join)
                return join
            case EachItem():
                begin = self._step(last, f"each ({item.concurrency or 'all'})", "()")
                end = self.node("end each", "()")
                self.edge(self.chain(item.body, begin), end)
                return end
            case IfItem() | MatchItem():
                return self._choice(item, last)
            case SideItem():
                side = self.node("side", "()")
                self.edge(last, side, dotted=True)
                self.chain(item.body, side)
                return last
            case EmitItem():
                return self._step(last, f"emit {item.event}", "()")
            case CollectItem():
                return self._step(last, f"collect {item.name}.{item.key}", "()")
            case FlowItem():
                return self._step(last, f"flow {item.name}", "[]")
            case _:
                return self._step(last, item.name, "[]", item.name)

    def _choice(self, item: IfItem | MatchItem, last: str) -> str:
        fork = self._step(last, item.name, "{}")
        end = self.node("end", "()")
        tests = item.conditions if isinstance(item, IfItem) else [repr(v) for v in item.values]
        for test, branch in zip(tests, item.branches, strict=True):
            begin = self.node(test, "()")
            self.edge(fork, begin)
            self.edge(self.chain(branch, begin), end)
        other = self.node("else", "()")
        self.edge(fork, other)
        self.edge(self.chain(item.otherwise, other), end)
        return end

    def _step(self, last: str, text: str, shape: str, name: str = "") -> str:
        id = self.node(text, shape, name)
        self.edge(last, id)
        return id


def mermaid(graph: Graph, state: State | None = None) -> str:
    """The diagram."""
    drawing = Drawing(marks(state) if state is not None else {})
    for chain in graph.chains:
        drawing.chain(chain.items, drawing.node(_source(chain), "()"))
    return "\n".join([*drawing.lines, *_STYLES])


def _source(chain: Chain) -> str:
    if chain.any:
        return f"when {' or '.join(chain.any)}"
    if chain.all:
        return f"when {' and '.join(chain.all)}"
    return f"collected {chain.collected}" if chain.collected else "start"


def marks(state: State) -> dict[str, str]:
    """Which chunks are done, running or waiting."""
    found: dict[str, str] = dict.fromkeys(state.flow.done, "done") if state.flow else {}
    for call in state.live.values():
        found[call.tool] = "waiting" if call.phase in (Phase.SUSPENDED, Phase.ASKED, Phase.DOUBT) else "running"
    return found
