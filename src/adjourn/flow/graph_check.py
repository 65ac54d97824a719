"""What is wrong with a graph, said when it is first used."""

from collections import Counter

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
    """Raise `InvalidDefinition` for chunks nobody reaches, joins that can never complete, and loops
    without a chunk."""
    name = graph.name
    if not graph.chains:
        raise InvalidDefinition(
            f"flow {name!r} has no chain: begin one with flow.to(chunk) or flow.when(event)"
        )
    if lost := sorted(registered - chunk_names(graph)):
        raise InvalidDefinition(
            f"flow {name!r}: no chain reaches {', '.join(map(repr, lost))}",
            advice="place it, or remove it",
        )
    for item in items_of(graph):
        if isinstance(item, FlowItem) and not any(chain.root for chain in item.graph.chains):
            raise InvalidDefinition(
                f"flow {name!r}: nothing in {item.name!r} begins with the flow itself",
                advice="give it a to()",
            )
    _check_meetings(name, graph)
    _check_loops(name, graph)


def _check_meetings(name: str, graph: Graph) -> None:
    """A meeting point is reached if every key arrives exactly once: from chains that always run,
    outside of loops and choices."""
    certain: set[str] = set()
    waiting = dict(meetings(graph))
    _check_twins(name, graph)
    while True:
        collected = _surely_collected(graph, certain)
        ready = [
            meeting for meeting, keys in waiting.items() if keys == collected.get(meeting, set())
        ]
        if not ready:
            break
        certain.update(ready)
        for meeting in ready:
            del waiting[meeting]
    if waiting:
        raise InvalidDefinition(
            f"flow {name!r}: {', '.join(map(repr, sorted(waiting)))} can never complete for "
            "certain: collect in chains that always run, outside of for_each, if_, match and "
            "when (for events there is when(all=[…]))"
        )
    for chain in graph.chains:
        if chain.collected and chain.collected not in certain:
            raise InvalidDefinition(
                f"flow {name!r}: collected({chain.collected!r}) can never complete: nothing "
                f"is collected there"
            )
    continued = {chain.collected for chain in graph.chains}
    for meeting in certain:
        if meeting not in continued:
            raise InvalidDefinition(
                f"flow {name!r}: nothing continues from collect({meeting!r})",
                advice=f"write flow.collected({meeting!r})",
            )


def _check_twins(name: str, graph: Graph) -> None:
    found: Counter[tuple[str, str]] = Counter()
    for item in items_of(graph):
        if isinstance(item, CollectItem):
            found[item.name, item.key] += 1
    for (meeting, key), times in found.items():
        if times > 1:
            raise InvalidDefinition(
                f"flow {name!r}: collect({meeting!r}) has the key {key!r} twice"
            )


def _surely_collected(graph: Graph, certain: set[str]) -> dict[str, set[str]]:
    """The keys that arrive for certain, by meeting point."""
    found: dict[str, set[str]] = {}
    for chain in graph.chains:
        if not chain.root and chain.collected not in certain:
            continue
        for item in _always(chain.items):
            if isinstance(item, CollectItem):
                found.setdefault(item.name, set()).add(item.key)
    return found


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
    """Chains that begin each other in a circle, with nothing that runs in between, would never come
    to rest."""
    for place, chain in enumerate(graph.chains):
        if not chain.root and place in _begun_at_once(graph, chain):
            event = ", ".join([*chain.any, *chain.all]) or chain.collected
            raise InvalidDefinition(
                f"flow {name!r}: {event!r} starts itself again without a chunk in between"
            )


def _begun_at_once(graph: Graph, first: GraphChain) -> set[int]:
    """The chains that begin in the same breath as this one."""
    events, met, _ = _at_once(first.items)
    begun: set[int] = set()
    while True:
        more: set[int] = set()
        for place, chain in enumerate(graph.chains):
            if place not in begun and _begins(chain, events, met):
                more.add(place)
        if not more:
            return begun
        begun |= more
        for place in more:
            new_events, new_met, _ = _at_once(graph.chains[place].items)
            events, met = events | new_events, met | new_met


def _begins(chain: GraphChain, events: set[str], met: set[str]) -> bool:
    every = bool(chain.all) and set(chain.all) <= events
    return every or not events.isdisjoint(chain.any) or chain.collected in met


def _at_once(items: list[AnyItem]) -> tuple[set[str], set[str], bool]:
    """What a chain may emit and collect before anything has run, and whether it may come to its end
    like that."""
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
                for chain in item.graph.chains:
                    if chain.root and not _at_once(chain.items)[2]:
                        return events, met, False
            case _:
                branches: list[bool] = []
                for inner in nested(item):
                    emitted, collected, ends = _at_once(inner)
                    events |= emitted
                    met |= collected
                    branches.append(ends)
                if not _passes(item, branches):
                    return events, met, False
    return events, met, True


def _passes(item: AnyItem, branches: list[bool]) -> bool:
    """Whether a token may come past an item at once: an empty list does, and so may a side or one
    case."""
    if isinstance(item, BatchItem):
        return all(branches)
    return isinstance(item, EachItem | SideItem) or any(branches)
