"""Every public name says what it promises, in its docstring and in the reference."""

import importlib
import inspect
import re
from pathlib import Path
from typing import Any

import pytest

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
MODULES = ("adjourn", "adjourn.testing")


def public_names() -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for module in MODULES:
        try:
            names: list[str] = importlib.import_module(module).__all__
        except (ImportError, AttributeError):
            continue  # reported by test_every_public_module_lists_its_names
        found += [(module, name) for name in names if not name.startswith("__")]
    return found


def own_docstring(thing: Any) -> str:
    """The docstring written for this very object: neither inherited nor made up by a decorator."""
    doc = thing.__dict__.get("__doc__") if inspect.isclass(thing) else inspect.getdoc(thing)
    if not doc or doc.startswith(f"{getattr(thing, '__name__', '')}("):
        return ""
    return doc.strip()


@pytest.fixture(scope="module")
def reference() -> str:
    return "\n".join(page.read_text("utf-8") for page in sorted(REFERENCE.rglob("*.md")))


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
