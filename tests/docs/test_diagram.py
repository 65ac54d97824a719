"""What the docs show of the status table and of the records is made from them.

`python tests/docs/test_diagram.py` writes both into their pages again.
"""

import re
from pathlib import Path
from typing import Any, get_args

import pytest

from adjourn.core import records
from adjourn.core.status import NEXT, to_mermaid

DOCS = Path(__file__).parents[2] / "docs"


def diagram() -> str:
    return f"```mermaid\n{to_mermaid()}\n```"


def table(kinds: Any) -> str:
    """Records with their promise and their fields; `at`, which all have, is left out."""
    lines = ["| record | fields | |", "|---|---|---|"]
    for kind in get_args(kinds) or (kinds,):
        fields = [name for name in kind.__struct_fields__ if name != "at"]
        listed = ", ".join(f"`{name}`" for name in fields)
        lines.append(f"| `{kind.__name__}` | {listed} | {' '.join(words(kind).split())} |")
    return "\n".join(lines)


def words(kind: Any) -> str:
    return (kind.__doc__ or "").strip()


MADE = {
    ("concepts/statuses.md", "diagram"): diagram,
    ("reference/records.md", "people"): lambda: table(records.Started | records.Command),
    ("reference/records.md", "facts"): lambda: table(records.Fact),
    ("reference/records.md", "moves"): lambda: table(records.Move),
    ("reference/records.md", "store"): lambda: table(records.Chapter | records.Erased),
}


def block(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<=<!-- {name} -->\n)(.*?)(?=\n<!-- end of {name} -->)", re.DOTALL)


@pytest.mark.parametrize(("page", "name"), list(MADE))
def test_what_is_made_from_the_code_is_up_to_date(page: str, name: str) -> None:
    found = block(name).search((DOCS / page).read_text("utf-8"))
    assert found, f"{page} needs <!-- {name} --> and <!-- end of {name} -->"
    assert found[0] == MADE[page, name](), f"{page} is not up to date: run `python tests/docs/test_diagram.py`"


def test_every_status_is_explained() -> None:
    text = (DOCS / "concepts/statuses.md").read_text("utf-8")
    assert set(re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)) == {status.value for status in NEXT}


if __name__ == "__main__":
    for (page, name), make in MADE.items():
        text = (DOCS / page).read_text("utf-8")
        (DOCS / page).write_text(block(name).sub(lambda _, make=make: make(), text), "utf-8")
