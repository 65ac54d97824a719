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


MEANINGS = {
    "desk": {"StepHandle", "RunningStep"},  # the second is the first one, of a step that runs
    "worker": {"Worker", "RunWorker", "str"},  # what a verb knows of it; its id
    "step": {"Step", "TimelineStep", "str"},  # as a timeline shows it; its id
    "call": {"Call", "PendingToolCall", "PendingCallView", "str"},  # as its interrupt shows it; its id
    "program": {
        "Program", "Planner", "AgentProgram", "FlowProgram",  # the plan's part of it; the two that there are
        "Definition", "Agent", "Flow",  # what makes one
        "str",  # its name
    },
}  # fmt: skip
"""The nouns that stand for one class each, and what a parameter or a field of that name may be."""

ELSEWHERE = {
    "cli/commands/again.py::program": "an option of the command line",
    "cli/commands/checkpoint.py::program": "an option of the command line",
    "guests/pydantic_ai_guest.py::call": "the keyword of the method that it overrides",
    "views/numbers_view.py::step": "the field of an answer, the seconds between two points of a curve",
}


def classes(text: str) -> list[str]:
    """The classes of a module, those within others and those for itself alone among them."""
    return [node.name for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ClassDef)]


def nouns(text: str) -> list[tuple[str, set[str]]]:
    """Each parameter, field and variable of these names that says what it is, with the classes that it may be."""
    found: list[tuple[str, set[str]]] = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.arg):
            name, annotation = node.arg, node.annotation
        elif isinstance(node, ast.AnnAssign):
            name, annotation = ast.unparse(node.target).rpartition(".")[2], node.annotation
        else:
            continue
        if annotation is not None and (noun := name.lstrip("_")) in MEANINGS:
            said = re.sub(r"\[.*\]", "", ast.unparse(annotation).replace("'", ""))
            found.append((noun, {word.strip() for word in said.split("|")} - {"None"}))
    return found


def test_no_class_name_means_two_things() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for path in sorted(PACKAGE.rglob("*.py")):
        for found in classes(path.read_text("utf-8")):
            places[found].append(path.relative_to(PACKAGE).as_posix())
    assert not {name: where for name, where in places.items() if len(where) > 1}


def test_each_noun_means_one_class() -> None:
    strange: dict[str, set[str]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        place = path.relative_to(PACKAGE).as_posix()
        for noun, said in nouns(path.read_text("utf-8")):
            if said - MEANINGS[noun]:
                strange[f"{place}::{noun}"] = said - MEANINGS[noun]
    assert {where: said for where, said in strange.items() if where not in ELSEWHERE} == {}, "call it what it is"
    assert set(ELSEWHERE) <= set(strange), "what is no exception any more is not listed"


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
    assert sorted(classes("class One: ...\nclass _Two: ...\ndef three():\n    class Four: ...")) == [
        "Four",
        "One",
        "_Two",
    ]
    text = (
        "def at(desk: AppState, call: 'Call | None', other: int, step=1):\n    self._worker: Hearer[Call] | None = None"
    )
    assert dict(nouns(text)) == {"desk": {"AppState"}, "call": {"Call"}, "worker": {"Hearer"}}
