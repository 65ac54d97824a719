"""A guide to a framework is one screen: the code that people have, the code beside it, and what to know."""

import re
from pathlib import Path

import pytest

GUIDES = sorted((Path(__file__).parents[2] / "docs" / "guides").glob("adopt-*.md"))
SCREEN = 80
"""Lines. What is longer is for a page of the reference."""


def test_each_framework_has_a_guide() -> None:
    assert [page.stem for page in GUIDES] == [
        "adopt-agent-framework",
        "adopt-langgraph",
        "adopt-openai-agents",
        "adopt-pydantic-ai",
    ]


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.stem)
def test_a_guide_is_one_screen_with_the_old_code_beside_the_new(page: Path) -> None:
    text = page.read_text("utf-8")
    assert len(text.splitlines()) <= SCREEN, f"move what is not needed to adopt an agent out of {page.name}"
    old, new = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert "adjourn" not in old
    assert "adopt(" in new
    assert "**What stays as it is:**" in text and "**What is ours:**" in text
    assert "pip install 'adjourn[" in text
