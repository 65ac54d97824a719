"""What is wrong with a graph, said when it is built."""

from adjourn.core.graph import AnyItem, Chain, CollectItem, EmitItem, Graph, chunk_names, nested
from adjourn.errors import InvalidDefinition


def check_graph(name: str, graph: Graph, registered: set[str] | None) -> None:
    """Raise `InvalidDefinition` for chunks nobody reaches, joins that can never complete, and loops without a chunk."""
    if not graph.chains:
        raise InvalidDefinition(f"flow {name!r} has no chain: begin one with flow.to(chunk) or flow.when(event)")
    if registered is not None and (lost := sorted(registered - chunk_names(graph))):
        raise InvalidDefinition(f"flow {name!r}: no chain reaches {', '.join(map(repr, lost))}; place it, or remove it")
    _check_meetings(name, graph)
    _check_loops(name, graph)


def _check_meetings(name: str, graph: Graph) -> None:
    keys: dict[str, list[str]] = {}
    for chain in graph.chains:
        for item in chain.items:
            if isinstance(item, CollectItem):
                if not chain.root:
                    raise InvalidDefinition(
                        f"flow {name!r}: collect({item.name!r}) in a chain that begins with an event may never arrive; use when(all=[…])"
                    )
                keys.setdefault(item.name, []).append(item.key)
            for inner in nested(item):
                if any(isinstance(i, CollectItem) for i in _deep(inner)):
                    raise InvalidDefinition(
                        f"flow {name!r}: collect inside a branch or a loop may never complete; collect after it"
                    )
    for meeting, found in keys.items():
        if len(set(found)) != len(found):
            raise InvalidDefinition(f"flow {name!r}: collect({meeting!r}) has the same key twice")
        if not any(c.collected == meeting for c in graph.chains):
            raise InvalidDefinition(
                f"flow {name!r}: nothing goes on from collect({meeting!r}); write flow.collected({meeting!r})"
            )
    for chain in graph.chains:
        if chain.collected and chain.collected not in keys:
            raise InvalidDefinition(
                f"flow {name!r}: collected({chain.collected!r}) can never complete: nothing is collected there"
            )


def _deep(items: list[AnyItem]) -> list[AnyItem]:
    found = list(items)
    for item in items:
        for inner in nested(item):
            found += _deep(inner)
    return found


def _check_loops(name: str, graph: Graph) -> None:
    """Chains that emit before their first chunk, in a circle, would never come to rest."""
    at_once = {n: _emits_at_once(chain) for n, chain in enumerate(graph.chains)}

    def reaches(n: int, seen: set[int]) -> bool:
        if n in seen:
            return True
        return any(
            reaches(m, seen | {n})
            for event in at_once[n]
            for m, chain in enumerate(graph.chains)
            if event in chain.any
        )  # fmt: skip

    for n, chain in enumerate(graph.chains):
        if not chain.root and reaches(n, set()):
            raise InvalidDefinition(f"flow {name!r}: {chain.any} begins itself again without a chunk in between")


def _emits_at_once(chain: Chain) -> list[str]:
    found: list[str] = []
    for item in chain.items:
        if not isinstance(item, EmitItem):
            break
        found.append(item.event)
    return found
