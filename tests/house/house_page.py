"""The page about the house itself: rooms, their weight and who knows whom, and the way of three things through them.

python -m tests.house.house_page     # writes docs/architecture/house.md
"""

import json
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

from tests.house.test_layers import EXCEPTIONS, FACADES, PACKAGE, Import, imports, is_under, layer_of, source_files

ROOT = PACKAGE.parents[1]
PAGE = ROOT / "docs" / "architecture" / "house.md"
MOST = 12
"""Modules in a list of those that stand out."""
STORE_CALLS = "store operations"


@cache
def room_imports() -> tuple[Import, ...]:
    """Imports of one module of the package by another, without the few that are named exceptions."""
    found: list[Import] = []
    for file in source_files():
        allowed = EXCEPTIONS.get(file.relative_to(PACKAGE).as_posix(), set())
        for one in imports(file):
            if one.target.startswith("adjourn.") and not any(is_under(one.target, name) for name in allowed):
                found.append(one)
    return tuple(found)


def module_name(file: Path) -> str:
    return file.relative_to(PACKAGE).as_posix().removesuffix(".py").removesuffix("/__init__")


@cache
def modules() -> frozenset[str]:
    return frozenset(module_name(file) for file in source_files())


def module_in(target: str) -> str:
    """The module that a dotted name stands in: `core/state` for `adjourn.core.state.State`; empty for the package."""
    parts = target.split(".")[1:]
    while parts and "/".join(parts) not in modules():
        parts.pop()
    return "/".join(parts)


@cache
def edges() -> frozenset[tuple[str, str]]:
    """Importer and imported, as modules."""
    found: set[tuple[str, str]] = set()
    for one in room_imports():
        importer, imported = one.file.removesuffix(".py").removesuffix("/__init__"), module_in(one.target)
        if imported and imported != importer:
            found.add((importer, imported))
    return frozenset(found)


def room_of(module: str) -> str:
    return module.split("/", maxsplit=1)[0]


@cache
def room_edges() -> frozenset[tuple[str, str]]:
    return frozenset((room_of(a), room_of(b)) for a, b in edges() if room_of(a) != room_of(b))


def cycles(graph: frozenset[tuple[str, str]]) -> set[str]:
    """What is left when, again and again, everything is taken away that imports nothing that is left."""
    left = {name for edge in graph for name in edge}
    while free := {name for name in left if not any(a == name and b in left for a, b in graph)}:
        left -= free
    return left


def lines_of(file: Path) -> int:
    return len(file.read_text("utf-8").splitlines())


def rooms() -> list[dict[str, Any]]:
    """Every room, with its weight and its neighbours."""
    found: list[dict[str, Any]] = []
    for room in sorted({layer_of(file) for file in source_files()} - {"__main__"}):
        files = [file for file in source_files() if layer_of(file) == room]
        sizes = {module_name(file): lines_of(file) for file in files}
        largest = max(sizes, key=lambda name: (sizes[name], name))
        found.append(
            {
                "room": room,
                "modules": len(files),
                "lines": sum(sizes.values()),
                "largest": f"{largest.partition('/')[2] or largest} {sizes[largest]}",
                "fan_in": len({a for a, b in edges() if room_of(b) == room and room_of(a) != room}),
                "by": sorted({a for a, b in room_edges() if b == room} - {"__init__", "__main__"}),
                "out": sorted({b for a, b in room_edges() if a == room}),
            }
        )
    return found


def named(names: list[str]) -> str:
    return ", ".join(names) or "–"


def rooms_table() -> list[str]:
    lines = ["| room | modules | lines | largest | modules that import it | rooms that import it | it imports |"]
    lines.append("|---|--:|--:|---|--:|---|---|")
    total = {"modules": 0, "lines": 0}
    for room in rooms():
        if room["room"] in FACADES or room["room"] == "__init__":
            continue
        total = {key: total[key] + room[key] for key in total}
        lines.append(
            f"| `{room['room']}` | {room['modules']} | {room['lines']:,} | {room['largest']} | {room['fan_in']} "
            f"| {named(room['by'])} | {named(room['out'])} |"
        )
    lines.append(f"| all | {total['modules']} | {total['lines']:,} | | | | |")
    return lines


def outstanding(side: int) -> list[str]:
    """The modules that most others import (1), or that import most others (0)."""
    counts = Counter(edge[side] for edge in edges() if edge[0] != "__init__" and room_of(edge[1]) not in FACADES)
    first = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:MOST]
    return [f"`{module}` {count}" for module, count in first]


def walk_legs() -> list[dict[str, Any]]:
    """The legs of the walks, from a process of their own."""
    command = [sys.executable, "-m", "tests.house.walks"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def counted(operations: list[str]) -> str:
    """`acquire, 3 commit`: in the order of the first of each."""
    counts = Counter(operations)
    shown = [name if count == 1 else f"{count} {name}" for name, count in counts.items()]
    return ", ".join(shown) or "–"


def walk_table(legs: list[dict[str, Any]]) -> list[str]:
    lines = [f"| walk | leg | functions | modules | hops | {STORE_CALLS} |", "|---|---|--:|--:|--:|---|"]
    for leg in legs:
        lines.append(
            f"| {leg['walk']} | {leg['name']} | {len(leg['functions'])} | {len(leg['modules'])} | {leg['hops']} "
            f"| {counted(leg['store'])} |"
        )
    return lines


def way(legs: list[dict[str, Any]], walk: str) -> str:
    """The modules of a walk in the order in which it first comes to each."""
    seen: dict[str, None] = {}
    for leg in legs:
        if leg["walk"] == walk:
            seen |= dict.fromkeys(leg["modules"])
    return " → ".join(f"`{module}`" for module in seen)


def page(legs: list[dict[str, Any]]) -> str:
    """The whole page."""
    approve = next(leg for leg in legs if leg["name"].endswith("/approve`"))
    circular = sorted(cycles(room_edges()))
    lines = [
        "# The house",
        "",
        "Made by `python -m tests.house.house_page`; `tests/house/test_house_page.py` proves that it is not far from the",
        "source. Lines are those of the files, comments and docstrings included.",
        "",
        "## Rooms",
        "",
        *rooms_table(),
        "",
        (
            f"Rooms that import each other in a circle: {named(circular) if circular else 'none'}. "
            f"Imports against the order of the layers: {sum(map(len, EXCEPTIONS.values()))}, each with its reason in "
            "`tests/house/test_layers.py`."
        ),
        "",
        f"Imported most: {', '.join(outstanding(1))}.",
        "",
        f"Importing most: {', '.join(outstanding(0))}.",
        "",
        "## Walks",
        "",
        "Recorded by a profiler, in memory and under a fake clock. A hop is a call from a function of one module to a",
        "function of another; each pair counts once.",
        "",
        *walk_table(legs),
        "",
        (
            f"An HTTP approve reads the interrupt {approve['interrupt_reads']} time(s) and copies the runtime "
            f"{approve['runtime_copies']} time(s)."
        ),
        "",
        "The modules of each walk, in the order in which it comes to them:",
        "",
    ]
    for walk, title in {"refund": "A refund", "for_each": "A `for_each`", "cancel": "A cancel with an undo"}.items():
        lines += [f"### {title}", "", way(legs, walk), ""]
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page(walk_legs()), "utf-8")
