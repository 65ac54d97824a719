"""The state diagram in the docs is the status table."""

import re
from pathlib import Path

from adjourn.core.status import NEXT, to_mermaid

PAGE = Path(__file__).parents[2] / "docs" / "concepts" / "statuses.md"


def test_the_diagram_is_made_from_the_table() -> None:
    found = re.search(
        r"<!-- diagram -->\n```mermaid\n(.*?)\n```\n<!-- end of diagram -->", PAGE.read_text("utf-8"), re.DOTALL
    )
    assert found, "statuses.md needs a mermaid block between <!-- diagram --> and <!-- end of diagram -->"
    assert found[1] == to_mermaid(), f"put this between the markers of statuses.md:\n{to_mermaid()}"


def test_every_status_is_explained() -> None:
    explained = set(re.findall(r"^\| `(\w+)` \|", PAGE.read_text("utf-8"), re.MULTILINE))
    assert explained == {status.value for status in NEXT}
