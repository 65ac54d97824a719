"""A name means one thing: no class twice, no module twice but where its folder says which role it has, no activities."""

import ast
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "src" / "adjourn"

ROLES = (
    "cli/commands/", "cli/doctor/", "cli/terminal/", "demo/", "models/pydantic_ai/", "server/api/", "server/notifications/",
    "stores/memory/", "stores/postgres/", "stores/rules/", "stores/sqlite/", "testing/contract/",
)  # fmt: skip
"""Folders that say which role a module has: `server/api/inbox` and `cli/commands/inbox` are told apart by them."""

NOUNS = {"finding", "routing", "string"}
"""Nouns that end like activities."""


@cache
def modules() -> tuple[str, ...]:
    """Every module by its path in the package, without packages themselves and without the public names of the package."""
    found = [path.relative_to(PACKAGE).with_suffix("").as_posix() for path in sorted(PACKAGE.rglob("*.py"))]
    return tuple(name for name in found if "/" in name and not name.endswith(("__init__", "__main__")))


def repeated(names: tuple[str, ...]) -> dict[str, list[str]]:
    places: dict[str, list[str]] = defaultdict(list)
    for name in names:
        if not name.startswith(ROLES):
            places[name.rpartition("/")[2]].append(name)
    return {name: where for name, where in places.items() if len(where) > 1}


def activities(names: tuple[str, ...]) -> list[str]:
    words = [(name, re.split(r"[/_]", name)[-1]) for name in names]
    return [name for name, word in words if word.endswith("ing") and word not in NOUNS]


def classes(text: str) -> list[str]:
    """The classes of a module that others may name."""
    return [node.name for node in ast.parse(text).body if isinstance(node, ast.ClassDef) and node.name[0] != "_"]


def test_no_class_name_means_two_things() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for name in modules():
        for found in classes((PACKAGE / f"{name}.py").read_text("utf-8")):
            places[found].append(name)
    assert not {name: where for name, where in places.items() if len(where) > 1}


def test_no_module_name_means_two_things() -> None:
    assert not repeated(modules()), "name it for what it holds, or let its folder say its role"


def test_no_module_is_named_after_an_activity() -> None:
    assert not activities(modules()), "a module is named for what it holds"


def test_the_rules_themselves() -> None:
    assert repeated(("core/plan", "agent/plan", "server/api/plan")) == {"plan": ["core/plan", "agent/plan"]}
    assert not repeated(("core/audit", "stores/sqlite/audit", "stores/rules/audit"))
    assert activities(("core/erasing", "core/early_waking", "cli/doctor/finding")) == [
        "core/erasing",
        "core/early_waking",
    ]
    assert classes("class One: ...\nclass _Two: ...\ndef three():\n    class Four: ...") == ["One"]
