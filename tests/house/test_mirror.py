"""The tests stand where the source stands, are sentences, and a decision fits on a page."""

import ast
import re
from pathlib import Path

from tests.house.statements import statements

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "adjourn"
TESTS = ROOT / "tests"
DECISIONS = ROOT / "docs" / "decisions"

# Public, and used by every test rather than tested by some: the contract of stores, the oracle, fake clocks, scripts.
ELSEWHERE = {"testing"}
SHORT = {
    "cli/test_terminal.py::test_durations", "zoo/test_zoo.py::test_cancel", "zoo/test_zoo.py::test_close",
    "zoo/test_zoo.py::test_kill", "zoo/test_zoo.py::test_run",
}  # fmt: skip
DECISION_LINES = 40
LONGER = {"0019-restoring-a-backup.md": 41, "0020-upgrading-a-stored-run.md": 44}


def test_every_package_has_its_folder_of_tests() -> None:
    packages = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    assert {"core", "stores", "server", "cli"} <= packages
    folders = {path.parent.name for path in TESTS.glob("*/test_*.py")}
    assert not packages - folders - ELSEWHERE


def test_a_test_is_named_like_a_sentence() -> None:
    short = {
        f"{path.relative_to(TESTS).as_posix()}::{node.name}"
        for path in TESTS.glob("*/test_*.py")
        if re.search(r"def test_[^\W_]+\(", text := path.read_text("utf-8"))
        for node in statements(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and re.fullmatch(r"test_[^_]+", node.name)
    }
    assert short == SHORT


def test_a_decision_is_numbered_and_fits_on_a_page() -> None:
    pages = sorted(DECISIONS.glob("[0-9]*.md"))
    numbers = [int(page.name[:4]) for page in pages]
    assert len(numbers) == len({*numbers})
    longer = {page.name: len(page.read_text("utf-8").splitlines()) for page in pages}
    assert {name: lines for name, lines in longer.items() if lines > DECISION_LINES} == LONGER
