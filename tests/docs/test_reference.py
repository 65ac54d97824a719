"""The reference keeps up: every error with its HTTP status, every verb of the classes that people hold."""

import re
from pathlib import Path

import pytest

import adjourn
from adjourn import (
    Agent,
    Checkpoint,
    Decision,
    Execution,
    Flow,
    FlowContext,
    Handle,
    Interrupt,
    PendingToolCall,
    Run,
    RunState,
    Runtime,
    Store,
    ToolContext,
    errors,
)

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"

# What is there for the other layers, not for users.
INTERNAL: dict[type[object], set[str]] = {
    Agent: {"program", "fingerprint", "instructions_for", "specs", "terms", "load"},
    Flow: {"program", "fingerprint", "graph", "load"},
    FlowContext: {"leftover"},
    Runtime: {"store", "worker", "deliver", "row"},
    ToolContext: {"leftover"},
}

HELD: list[tuple[str, type[object]]] = [
    ("agents.md", Agent), ("agents.md", Handle), ("tools.md", ToolContext), ("runtime.md", Runtime), ("runtime.md", Run),
    ("views.md", RunState), ("outcomes.md", Checkpoint), ("outcomes.md", Interrupt), ("outcomes.md", PendingToolCall),
    ("outcomes.md", Decision), ("stores.md", Store), ("flows.md", Flow), ("flows.md", FlowContext),
    ("flows.md", Execution),
]  # fmt: skip


def members(kind: type[object]) -> set[str]:
    """The public fields, properties and methods that a class has of its own."""
    own: dict[str, object] = dict(vars(kind))
    found = {name for name, value in own.items() if callable(value) or isinstance(value, property | classmethod)}
    found |= {*getattr(kind, "__struct_fields__", ()), *getattr(kind, "__dataclass_fields__", ())}
    return {name for name in found if not name.startswith("_")} - INTERNAL.get(kind, set())


@pytest.mark.parametrize(("page", "kind"), HELD, ids=lambda x: getattr(x, "__name__", x))
def test_every_member_is_in_the_reference(page: str, kind: type[object]) -> None:
    quoted = " ".join(re.findall(r"`([^`\n]+)`", (REFERENCE / page).read_text("utf-8")))
    missing = {name for name in members(kind) if not re.search(rf"\b{name}\b", quoted)}
    assert not missing, f"docs/reference/{page} never mentions {sorted(missing)} of {kind.__name__}"


def kinds_of_errors() -> dict[str, type[object]]:
    own: dict[str, object] = dict(vars(errors))
    return {name: x for name, x in own.items() if isinstance(x, type) and x.__module__ == errors.__name__}


def test_every_error_is_listed_with_its_http_status() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (\d+|–) \|", (REFERENCE / "errors.md").read_text("utf-8"), re.MULTILINE)
    listed = dict[str, str](rows)
    assert listed == {name: str(getattr(kind, "status", "–")) for name, kind in kinds_of_errors().items()}


def test_every_error_is_public() -> None:
    inside = {"LeaseBusy"}  # for those who write stores and engines
    assert not [name for name in kinds_of_errors() if name not in inside and not hasattr(adjourn, name)]
