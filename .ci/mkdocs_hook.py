"""What mkdocs calls for every page: a word after a block's language (`text output`) is for the tests, not for the page."""

import re
from typing import Any

FENCE = re.compile(r"^([ \t]*```[a-z]+) [a-z-]+$", re.MULTILINE)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """The page's text as it is rendered."""
    return FENCE.sub(r"\1", markdown)
