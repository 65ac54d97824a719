"""A flow's shape, as data: what a run records, so that it goes on by its own graph whatever happens
to the code.

A graph is a list of chains; a chain is a list of items; items that branch hold chains of their own.
Joins are well formed by construction: what opens together closes together.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from adjourn.core.flow_place import inside
from adjourn.core.ids import label_of


class GraphItem(
    msgspec.Struct, frozen=True, omit_defaults=True, tag_field="is", forbid_unknown_fields=True
):
    """One place in a chain."""


class ChunkItem(GraphItem, frozen=True, tag="chunk"):
    """Run a chunk; its result goes on."""

    name: str


class AgentItem(GraphItem, frozen=True, tag="agent"):
    """Run an agent; its output goes on."""

    name: str


class BatchItem(GraphItem, frozen=True, tag="batch"):
    """Run all branches; their results go on as one dict."""

    name: str
    branches: "dict[str, list[AnyItem]]"


class EachItem(GraphItem, frozen=True, tag="each"):
    """Run the body once for each element; the results go on as a list, in order. `concurrency` 0:
    all at once."""

    name: str
    body: "list[AnyItem]"
    concurrency: int = 0


class IfItem(GraphItem, frozen=True, tag="if"):
    """Run the first branch whose condition holds. A condition is a chunk that gives True or
    False."""

    name: str
    conditions: list[str]
    branches: "list[list[AnyItem]]"
    otherwise: "list[AnyItem]" = []


class MatchItem(GraphItem, frozen=True, tag="match"):
    """Run the branch whose value equals the input (or what the chunk `key` makes of it)."""

    name: str
    values: list[Any]
    branches: "list[list[AnyItem]]"
    otherwise: "list[AnyItem]" = []
    key: str = ""


class EmitItem(GraphItem, frozen=True, tag="emit"):
    """Emit an event with the value that passes; the value goes on."""

    event: str


class SideItem(GraphItem, frozen=True, tag="side"):
    """Start a branch of its own; the value goes on at once."""

    name: str
    body: "list[AnyItem]"


class CollectItem(GraphItem, frozen=True, tag="collect"):
    """Leave the value at a meeting point; when every key has arrived, the chain of `collected`
    begins."""

    name: str
    key: str


class FlowItem(GraphItem, frozen=True, tag="flow"):
    """Run a flow inside this one; the value of its first chain goes on."""

    name: str
    graph: "Graph"


AnyItem = (
    ChunkItem
    | AgentItem
    | BatchItem
    | EachItem
    | IfItem
    | MatchItem
    | EmitItem
    | SideItem
    | CollectItem
    | FlowItem
)


class GraphChain(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What runs in a row. It begins with the flow, with any or all of some events, or at a meeting
    point."""

    items: list[AnyItem]
    any: list[str] = []
    all: list[str] = []
    collected: str = ""

    @property
    def root(self) -> bool:
        """Whether it begins with the flow."""
        return not (self.any or self.all or self.collected)


class Graph(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A flow's shape. `renamed`: what a chunk, an agent or a condition of it is called now; calls
    keep the ids that they have from the name that it had."""

    name: str
    chains: list[GraphChain]
    renamed: dict[str, str] = {}


# What msgspec knows of a type is made when it is first needed, and two threads must not make it at
# the same time.
_decoder = msgspec.json.Decoder(Graph)


def read_graph(blueprint: Any) -> Graph:
    """A graph out of plain data; raises `msgspec.ValidationError`."""
    return msgspec.convert(blueprint, Graph)


def nested(item: AnyItem) -> list[list[AnyItem]]:
    """The chains inside an item, sub-flows' excepted."""
    return [items for _, items in branches(item)]


def branches(item: AnyItem) -> list[tuple[str, list[AnyItem]]]:
    """The chains inside an item, sub-flows' excepted, each with what its path says of it."""
    match item:
        case BatchItem():
            return _numbered("batch.", item.branches.values())
        case EachItem():
            return [("each", item.body)]
        case SideItem():
            return [("side", item.body)]
        case IfItem():
            return [*_numbered("if.", item.branches), ("if.else", item.otherwise)]
        case MatchItem():
            return [*_numbered("match.", item.branches), ("match.else", item.otherwise)]
        case _:
            return []


def _numbered(before: str, chains: Iterable[list[AnyItem]]) -> list[tuple[str, list[AnyItem]]]:
    return [(f"{before}{number}", items) for number, items in enumerate(chains)]


def chains_of(graph: Graph, before: str = "") -> Iterator[tuple[str, list[AnyItem]]]:
    """Every list of items of a flow and of the flows inside it, by its path."""
    found = _numbered(before, [chain.items for chain in graph.chains])
    while found:
        path, items = found.pop()
        yield path, items
        for at, item in enumerate(items):
            found += [(inside(path, at, which), branch) for which, branch in branches(item)]
            if isinstance(item, FlowItem):
                yield from chains_of(item.graph, label_of(inside(path, at, "flow")))


def walk(items: list[AnyItem]) -> list[AnyItem]:
    """Every item of a chain and of the chains inside it, sub-flows' excepted."""
    found: list[AnyItem] = []
    for item in items:
        found.append(item)
        for inner in nested(item):
            found += walk(inner)
    return found


def items_of(graph: Graph) -> list[AnyItem]:
    """Every item of a flow, sub-flows' excepted."""
    found: list[AnyItem] = []
    for chain in graph.chains:
        found += walk(chain.items)
    return found


def chunk_names(graph: Graph) -> set[str]:
    """The chunks a flow itself needs, conditions and keys included."""
    names: set[str] = set()
    for item in items_of(graph):
        match item:
            case ChunkItem():
                names.add(item.name)
            case IfItem():
                names.update(item.conditions)
            case MatchItem():
                names.update({item.key} - {""})
            case _:
                pass
    return names


def agent_names(graph: Graph) -> set[str]:
    """The agents a flow and its sub-flows need."""
    found: set[str] = set()
    for flow in flows_of(graph):
        found.update(item.name for item in items_of(flow) if isinstance(item, AgentItem))
    return found


def flows_of(graph: Graph) -> list[Graph]:
    """The flow and every flow inside it."""
    found = [graph]
    for item in items_of(graph):
        if isinstance(item, FlowItem):
            found += flows_of(item.graph)
    return found


def meetings(graph: Graph) -> dict[str, set[str]]:
    """The meeting points of a flow, and which keys each waits for."""
    found: dict[str, set[str]] = {}
    for item in items_of(graph):
        if isinstance(item, CollectItem):
            found.setdefault(item.name, set()).add(item.key)
    return found
