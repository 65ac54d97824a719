"""A small front door: few names, the rest in modules beside it; each says what it promises and is in the reference."""

import importlib
import inspect
import re
from pathlib import Path
from typing import Any

import pytest

import adjourn
from adjourn import errors

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
BESIDE = (
    "adjourn.policy",
    "adjourn.hooks",
    "adjourn.parts",
    "adjourn.records",
    "adjourn.events",
    "adjourn.views",
    "adjourn.signing",
    "adjourn.secrets",
    "adjourn.wakes",
    "adjourn.schedules",
    "adjourn.telemetry",
    "adjourn.toolsets",
    "adjourn.guests",
    "adjourn.models",
    "adjourn.stores",
)
"""Where the names stand that programs do not begin with."""
MODULES = ("adjourn", "adjourn.testing", *BESIDE)
FRONT_DOOR = 50
OWN = {"Handle", "RunState"}
"""Imported from `adjourn` alone."""


def public_names() -> list[tuple[str, str]]:
    return [(module, name) for module in MODULES for name in importlib.import_module(module).__all__]


def own_docstring(thing: Any) -> str:
    """The docstring written for this very object: neither inherited nor made up by a decorator."""
    doc = thing.__dict__.get("__doc__") if inspect.isclass(thing) else inspect.getdoc(thing)
    if not doc or doc.startswith(f"{getattr(thing, '__name__', '')}("):
        return ""
    return doc.strip()


@pytest.fixture(scope="module")
def reference() -> str:
    return "\n".join(page.read_text("utf-8") for page in sorted(REFERENCE.rglob("*.md")))


def test_the_front_door_is_small() -> None:
    assert 40 <= len(adjourn.__all__) <= FRONT_DOOR
    assert {name for name in dir(adjourn) if not name.startswith("_")} == {*adjourn.__all__}


def test_what_left_the_front_door_is_beside_it_and_can_still_be_imported_from_it() -> None:
    homes: dict[str, str] = adjourn._HOME  # pyright: ignore[reportPrivateUsage]
    elsewhere = {name: getattr(errors, name) for name in vars(errors) if not name.startswith("_")}
    for module in BESIDE:
        imported = importlib.import_module(module)
        elsewhere |= {name: getattr(imported, name) for name in imported.__all__}
    for name in {*homes} - {*adjourn.__all__} - OWN:
        assert getattr(adjourn, name) is elsewhere[name], f"adjourn.{name} is in no module beside it"


@pytest.mark.parametrize("module", MODULES)
def test_every_public_module_lists_its_names(module: str) -> None:
    imported = importlib.import_module(module)
    assert imported.__doc__
    assert len(imported.__all__) == len(set(imported.__all__))


@pytest.mark.parametrize(("module", "name"), public_names())
def test_a_public_name_has_a_docstring(module: str, name: str) -> None:
    thing = getattr(importlib.import_module(module), name)
    if not (inspect.isclass(thing) or inspect.isroutine(thing)):
        pytest.skip("an alias or a constant has no docstring of its own; the reference explains it")
    assert own_docstring(thing), f"{module}.{name} needs a docstring"


@pytest.mark.parametrize(("module", "name"), public_names())
def test_a_public_name_is_in_the_reference(module: str, name: str, reference: str) -> None:
    assert re.search(rf"`[^`\n]*\b{re.escape(name)}\b[^`\n]*`", reference), f"docs/reference never mentions `{name}`"
