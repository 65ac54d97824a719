"""What is wrong with a graph, said when it is first used."""

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
    chunk_names,
    items_of,
    meetings,
    nested,
)
from adjourn.errors import InvalidDefinition


def check_graph(graph: Graph, registered: set[str]) -> None:
    """Raise `InvalidDefinition` for chunks nobody reaches, joins that can never complete, and loops without a chunk."""
    name = graph.name
    if not graph.chains:
        raise InvalidDefinition(f"flow {name!r} has no chain: begin one with flow.to(chunk) or flow.when(event)")
    if lost := sorted(registered - chunk_names(graph)):
        raise InvalidDefinition(
            f"flow {name!r}: no chain reaches {', '.join(map(repr, lost))}", advice="place it, or remove it"
        )
    for item in items_of(graph):
        if isinstance(item, FlowItem) and not any(chain.root for chain in item.graph.chains):
            raise InvalidDefinition(
                f"flow {name!r}: nothing in {item.name!r} begins with the flow itself", advice="give it a to()"
            )
    _check_meetings(name, graph)
    _check_loops(name, graph)


def _check_meetings(name: str, graph: Graph) -> None:
    """A meeting point is reached if every key arrives exactly once: from chains that always run, outside of loops and choices."""
    certain: set[str] = set()
    waiting = dict(meetings(graph))
    _check_twins(name, graph)
    while ready := [m for m, keys in waiting.items() if keys == _surely_collected(graph, m, certain)]:
        certain.update(ready)
        for meeting in ready:
            del waiting[meeting]
    if waiting:
        raise InvalidDefinition(
            f"flow {name!r}: {', '.join(map(repr, sorted(waiting)))} can never complete for certain: collect in chains that "
            f"always run, outside of for_each, if_, match and when (for events there is when(all=[…]))"
        )
    for chain in graph.chains:
        if chain.collected and chain.collected not in certain:
            raise InvalidDefinition(
                f"flow {name!r}: collected({chain.collected!r}) can never complete: nothing is collected there"
            )
    for meeting in certain:
        if not any(chain.collected == meeting for chain in graph.chains):
            raise InvalidDefinition(
                f"flow {name!r}: nothing goes on from collect({meeting!r})", advice=f"write flow.collected({meeting!r})"
            )


def _check_twins(name: str, graph: Graph) -> None:
    found = [(item.name, item.key) for item in items_of(graph) if isinstance(item, CollectItem)]
    for pair in found:
        if found.count(pair) > 1:
            raise InvalidDefinition(f"flow {name!r}: collect({pair[0]!r}) has the key {pair[1]!r} twice")


def _surely_collected(graph: Graph, meeting: str, certain: set[str]) -> set[str]:
    chains = [c for c in graph.chains if c.root or c.collected in certain]
    items = [item for chain in chains for item in _always(chain.items)]
    return {i.key for i in items if isinstance(i, CollectItem) and i.name == meeting}


def _always(items: list[AnyItem]) -> list[AnyItem]:
    """The items of a chain that run exactly once if it runs."""
    found: list[AnyItem] = []
    for item in items:
        found.append(item)
        if isinstance(item, BatchItem | SideItem):
            for inner in nested(item):
                found += _always(inner)
    return found


def _check_loops(name: str, graph: Graph) -> None:
    """Chains that begin each other in a circle, with nothing that runs in between, would never come to rest."""
    for n, chain in enumerate(graph.chains):
        if not chain.root and n in _begun_at_once(graph, chain):
            event = ", ".join([*chain.any, *chain.all]) or chain.collected
            raise InvalidDefinition(f"flow {name!r}: {event!r} begins itself again without a chunk in between")


def _begun_at_once(graph: Graph, first: GraphChain) -> set[int]:
    """The chains that begin in the same breath as this one."""
    events, met, _ = _at_once(first.items)
    begun: set[int] = set()
    while True:
        more = {n for n, chain in enumerate(graph.chains) if n not in begun and _begins(chain, events, met)}
        if not more:
            return begun
        begun |= more
        for n in more:
            new_events, new_met, _ = _at_once(graph.chains[n].items)
            events, met = events | new_events, met | new_met


def _begins(chain: GraphChain, events: set[str], met: set[str]) -> bool:
    every = bool(chain.all) and set(chain.all) <= events
    return every or not events.isdisjoint(chain.any) or chain.collected in met


def _at_once(items: list[AnyItem]) -> tuple[set[str], set[str], bool]:
    """What a chain may emit and collect before anything has run, and whether it may come to its end like that."""
    events: set[str] = set()
    met: set[str] = set()
    for item in items:
        match item:
            case ChunkItem() | AgentItem() | IfItem():
                return events, met, False
            case MatchItem() if item.key:
                return events, met, False
            case EmitItem():
                events.add(item.event)
            case CollectItem():
                met.add(item.name)
            case FlowItem():
                if not all(_at_once(chain.items)[2] for chain in item.graph.chains if chain.root):
                    return events, met, False
            case _:
                passes = [_at_once(inner) for inner in nested(item)]
                events.update(*(p[0] for p in passes))
                met.update(*(p[1] for p in passes))
                if not _passes(item, [p[2] for p in passes]):
                    return events, met, False
    return events, met, True


def _passes(item: AnyItem, branches: list[bool]) -> bool:
    """Whether a token may come past an item at once: an empty list does, and so may a side or one case."""
    if isinstance(item, BatchItem):
        return all(branches)
    return isinstance(item, EachItem | SideItem) or any(branches)
