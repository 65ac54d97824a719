"""The reference is made of the docstrings, and nothing public is missing in it."""

import re
from functools import cache

import pytest
from tests.docs.api_pages import FOLDER, pages
from tests.docs.public_api import MODULES, PublicCallable, public_callables, public_things
from tests.docs.test_snippets import ROOT


@cache
def made() -> dict[str, str]:
    return pages()


def page_of(module: str) -> str:
    return made()[f"{module.rpartition('.')[2]}.md"]


def section_of(one: PublicCallable) -> str:
    """What the page says of a callable."""
    own, _, method = one.name.partition(".")
    [section] = re.findall(rf"^## {own}\n.*?(?=^## |\Z)", page_of(one.module), re.MULTILINE | re.DOTALL)
    if not method:
        return section.partition("\n### ")[0]
    [found] = re.findall(rf"^### {method}\n.*?(?=^### |\Z)", section, re.MULTILINE | re.DOTALL)
    return found


@pytest.mark.parametrize("key", public_things())
def test_every_public_name_has_its_place(key: str) -> None:
    module, _, name = key.partition(":")
    assert f"\n## {name}\n" in page_of(module)


@pytest.mark.parametrize("one", public_callables(), ids=lambda one: f"{one.module}:{one.name}")
def test_every_parameter_is_shown_and_explained(one: PublicCallable) -> None:
    section = section_of(one)
    for parameter in one.parameters:
        assert re.search(rf"\b{parameter.name}\b", section.partition("```text")[2].partition("```")[0])
        if parameter.name in one.documented:
            assert f"| `{parameter.name}` |" in section


def test_the_pages_are_in_the_contents_and_made_when_the_documentation_is_built() -> None:
    text = (ROOT / "mkdocs.yml").read_text("utf-8")
    listed = re.findall(r"reference/api/(\w+\.md)", text)
    assert sorted(listed) == sorted(made()) and len(made()) == len(MODULES)
    assert "python -m tests.docs.api_pages" in (ROOT / "Makefile").read_text("utf-8")
    assert FOLDER.relative_to(ROOT).as_posix() in (ROOT / ".gitignore").read_text("utf-8")


def test_a_page_is_made_twice_alike() -> None:
    assert pages() == made()
