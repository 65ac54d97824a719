"""Every Python block in the documentation runs.

The blocks of a page run in order and share their names, in an empty directory. `await` works at the top level. A block
``` ```text output ``` right after a Python block is what that block prints; `...` stands for anything.
"""

import ast
import asyncio
import contextlib
import doctest
import inspect
import io
import re
import sys
import types
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from adjourn.driver.metrics import Meter

ROOT = Path(__file__).parents[2]
MADE = ROOT / "docs" / "reference" / "api"
"""Made of docstrings, if the documentation was built here."""
PAGES = [ROOT / "README.md", *(page for page in sorted((ROOT / "docs").rglob("*.md")) if page.parent != MADE)]

# Pages that may show code which cannot run here (```python no-run), and how many such blocks they have.
NOT_RUN: dict[str, int] = {}

FENCE = re.compile(r"^(?P<indent>[ \t]*)(?P<ticks>`{3,}|~{3,})(?P<info>[^`]*)$")
OTHER_SPELLINGS = {"py", "python3", "pycon", "py3", "{.python}", "{.py}"}
SECONDS = 60


class Block(NamedTuple):
    info: list[str]
    line: int  # of the block's first line of text
    text: str
    follows: bool  # only blank lines since the block before


def blocks_of(text: str) -> list[Block]:
    found: list[Block] = []
    lines = text.splitlines()
    at, adjacent = 0, False
    while at < len(lines):
        opening = FENCE.match(lines[at])
        if opening is None:
            adjacent = adjacent and not lines[at].strip()
            at += 1
            continue
        ticks, indent = opening["ticks"], opening["indent"]
        start = at = at + 1
        while at < len(lines) and not re.fullmatch(rf"\s*{re.escape(ticks)}{re.escape(ticks[0])}*\s*", lines[at]):
            at += 1
        body = "\n".join(line.removeprefix(indent) for line in lines[start:at])
        found.append(Block(opening["info"].split(), start + 1, body, adjacent))
        at, adjacent = at + 1, True
    return found


def is_python(block: Block) -> bool:
    return block.info[:1] == ["python"]


def runs(block: Block) -> bool:
    return is_python(block) and "no-run" not in block.info


def is_output(block: Block) -> bool:
    return block.info == ["text", "output"]


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def execute(block: Block, page: Path, names: dict[str, Any], runner: asyncio.Runner) -> str:
    """Run one block and give back what it printed. Line numbers in a traceback are those of the page."""
    source = "\n" * (block.line - 1) + block.text
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    code = compile(source, str(page), "exec", flags=flags, dont_inherit=True)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        # Only a block that awaits runs inside the loop: `run_sync` and `asyncio.run` belong outside of one.
        if code.co_flags & inspect.CO_COROUTINE:
            runner.run(asyncio.wait_for(eval(code, names), SECONDS))
        else:
            exec(code, names)
    return printed.getvalue()


def check_output(want: str, got: str, where: str) -> None:
    want, got = (f"{text.strip()}\n" for text in (want, got))
    assert doctest.OutputChecker().check_output(want, got, doctest.ELLIPSIS), f"{where} prints\n{got}instead of\n{want}"


def run_page(page: Path, text: str, names: dict[str, Any]) -> None:
    with asyncio.Runner() as runner:
        printed, line = "", 0
        for block in blocks_of(text):
            if runs(block):
                printed, line = execute(block, page, names, runner), block.line
            elif is_output(block):
                check_output(block.text, printed, f"{page.name}:{line}")


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, Any]:
    """The namespace of a page: a real module, so that annotations written as strings can be resolved."""
    module = types.ModuleType("page")
    monkeypatch.setitem(sys.modules, "page", module)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Meter, "watch", None)  # a page may switch telemetry on, for the rest of the page
    return module.__dict__


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_snippet_runs(page: Path, names: dict[str, Any]) -> None:
    run_page(page, page.read_text("utf-8"), names)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_no_snippet_escapes_being_run(page: Path) -> None:
    blocks = blocks_of(page.read_text("utf-8"))
    escaped = [block.line for block in blocks if is_python(block) and not runs(block)]
    assert len(escaped) == NOT_RUN.get(name_of(page), 0), f"blocks that do not run, at lines {escaped}"
    misspelt = [block.line for block in blocks if block.info[:1] and block.info[0].lower() in OTHER_SPELLINGS]
    assert not misspelt, f"write ```python, at lines {misspelt}"
    pairs = zip([None, *blocks], blocks, strict=False)
    orphans = [b.line for before, b in pairs if is_output(b) and not (before and runs(before) and b.follows)]
    assert not orphans, f"output without a block that prints it, at lines {orphans}"


PAGE = """
```python
import asyncio
x = 1
async def later(): return x + 1
```

text

    ```python
    print(await later())
    print("id-837")
    ```

    ```text output
    2
    id-...
    ```

```python
print(asyncio.run(later()))
```
```text output
{printed}
```
"""


def test_a_page_shares_its_names_and_awaits_at_the_top(names: dict[str, Any]) -> None:
    run_page(Path("page.md"), PAGE.replace("{printed}", "2"), names)


def test_a_wrong_output_is_noticed(names: dict[str, Any]) -> None:
    with pytest.raises(AssertionError, match=r"page\.md:21 prints"):
        run_page(Path("page.md"), PAGE.replace("{printed}", "3"), names)
