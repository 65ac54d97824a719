"""A guide to a framework is one screen: the code that people have, the code beside it, and what to know; and the comparison of
frameworks is about the versions that are tested here."""

import re
from importlib.metadata import version
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
GUIDES = sorted((DOCS / "guides").glob("adopt-*.md"))
SCREEN = 60
"""Lines, without what is folded. What is longer is for a page of the reference."""
FOLDED = re.compile(r"<details markdown=\"1\">.*?</details>\n\n", re.DOTALL)
COMPARED = {
    "LangGraph, LangChain": ("langgraph", "langchain"),
    "OpenAI Agents SDK (Python)": ("openai-agents",),
    "Pydantic AI": ("pydantic-ai-slim",),
    "Microsoft Agent Framework": ("agent-framework-core",),
}
"""By what the comparison calls them: packages that are installed here."""


def test_each_framework_has_a_guide() -> None:
    assert [page.stem for page in GUIDES] == [
        "adopt-agent-framework",
        "adopt-langgraph",
        "adopt-openai-agents",
        "adopt-pydantic-ai",
    ]


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.stem)
def test_a_guide_is_one_screen_with_the_old_code_beside_the_new(page: Path) -> None:
    text = FOLDED.sub("", page.read_text("utf-8"))
    assert len(text.splitlines()) <= SCREEN, f"move what is not needed to adopt an agent out of {page.name}"
    old, new = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert "adjourn" not in old
    assert "adopt(" in new
    assert "**What stays as it is:**" in text and "**What is ours:**" in text
    assert "pip install 'adjourn[" in text


def test_the_comparison_has_a_date_and_the_versions_that_its_tests_run() -> None:
    text = (DOCS / "comparison.md").read_text("utf-8")
    assert re.search(r"^As of \d+ [A-Z][a-z]+ 20\d\d\.", text, re.MULTILINE)
    for name, packages in COMPARED.items():
        assert f"| {name} | {', '.join(map(version, packages))} |" in text, (
            f"{name}: run what the page says of it again"
        )
