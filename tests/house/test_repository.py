"""The shape of the repository: names, sizes, and nothing that belongs to one machine."""

import ast
import json
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
from tests.house.test_parameters import MOST

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "adjourn"

BANNED_NAMES = {"utils", "util", "helpers", "helper", "common", "base", "manager", "misc", "v2"}
FILE_LINES = 600
FUNCTION_LINES = 70

# What is larger than the house allows, and how large it may stay: "core/state.py" or "core/state.py::fold".
# The numbers only go down.
LARGER: dict[str, int] = {}

MACHINE_PATH = re.compile(r"(?<![\w.\-/])/(?:work|root)/")
REGISTRY = re.compile(r"://[^\s/\"']*(?:pypi|npm|registry|pythonhosted)")
SKIPPED = {
    ".git",
    ".venv",
    ".venv-peers",
    ".venv-pythons",
    "node_modules",
    "site",
    "build",
    "dist",
    "__pycache__",
    ".hypothesis",
}


def tracked_files() -> list[Path]:
    """What is, or would be, under version control."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if listing.returncode == 0:
        return [ROOT / name for name in listing.stdout.split("\0") if name and (ROOT / name).is_file()]
    return [path for path in ROOT.rglob("*") if path.is_file() and not SKIPPED & {*path.relative_to(ROOT).parts}]


def text_of(path: Path) -> str:
    """The file as text; empty for pictures and other binaries."""
    try:
        return path.read_text("utf-8")
    except UnicodeDecodeError:
        return ""


def lines_matching(pattern: re.Pattern[str]) -> list[str]:
    return [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}"
        for path in tracked_files()
        for number, line in enumerate(text_of(path).splitlines(), 1)
        if pattern.search(line)
    ]


def sizes() -> dict[str, tuple[int, int]]:
    """Every source file and function: its lines, and how many it may have."""
    found: dict[str, tuple[int, int]] = {}
    for path in sorted([*SOURCE.rglob("*.py"), *SOURCE.rglob("*.sql")]):
        name, text = path.relative_to(SOURCE).as_posix(), path.read_text("utf-8")
        found[name] = (len(text.splitlines()), FILE_LINES)
        if path.suffix != ".py":
            continue
        for node in ast.walk(ast.parse(text, str(path))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or node.lineno) - node.lineno + 1 - docstring_lines(node)
                key = f"{name}::{node.name}"
                found[key] = (max(lines, found.get(key, (0, 0))[0]), FUNCTION_LINES)
    return found


def docstring_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """What a function says of its parameters is not what has to be followed."""
    first = node.body[0]
    if ast.get_docstring(node) is None:
        return 0
    return (first.end_lineno or first.lineno) - first.lineno + 1


def test_a_file_is_named_after_its_noun() -> None:
    vague = [
        path.relative_to(ROOT).as_posix()
        for path in SOURCE.rglob("*")
        if "node_modules" not in path.parts and BANNED_NAMES & {*path.name.split(".")[0].strip("_").split("_")}
    ]
    assert not vague


def test_files_and_functions_stay_small() -> None:
    over = [
        f"{name} has {lines} lines (at most {LARGER.get(name, limit)}): a noun is missing"
        for name, (lines, limit) in sizes().items()
        if lines > LARGER.get(name, limit)
    ]
    assert not over, "\n".join(over)


def test_every_exception_in_size_is_still_needed() -> None:
    known = sizes()
    stale = [name for name in LARGER if name not in known or known[name][0] <= known[name][1]]
    assert not stale, f"remove from LARGER: {stale}"


@pytest.mark.parametrize("path", sorted((ROOT / "requirements").glob("*.txt")), ids=lambda path: path.name)
def test_requirements_are_hashed_and_name_no_address(path: Path) -> None:
    text = path.read_text("utf-8")
    entries = [line for line in text.splitlines() if line and line[0] not in " #"]
    assert "://" not in text
    assert " @ " not in text
    assert all(re.match(r"[A-Za-z0-9]", line) for line in entries), "an option of the installer does not belong here"
    assert all("==" in line and line.endswith("\\") for line in entries), "pin everything, with hashes"


def test_no_file_knows_a_package_registry() -> None:
    assert not lines_matching(REGISTRY)


def test_no_file_knows_the_machine_it_was_written_on() -> None:
    assert not lines_matching(MACHINE_PATH)


def test_lock_files_carry_no_addresses() -> None:
    for path in tracked_files():
        if path.name in {"package-lock.json", "npm-shrinkwrap.json"}:
            packages = json.loads(path.read_text("utf-8")).get("packages", {})
            assert not [name for name, entry in packages.items() if "resolved" in entry], path.relative_to(ROOT)


def test_contributors_are_told_the_sizes_that_are_checked() -> None:
    told = (ROOT / "CONTRIBUTING.md").read_text("utf-8").partition("| **Size.**")[2].partition("|\n")[0]
    widths = [tomllib.loads((ROOT / name).read_text("utf-8")) for name in ("src/ruff.toml", "pyproject.toml")]
    wide, wider = widths[0]["lint"]["pycodestyle"], widths[1]["tool"]["ruff"]["lint"]["pycodestyle"]
    assert f"at most {FILE_LINES} lines, a function {FUNCTION_LINES} " in told
    assert f"a line of `src` {wide['max-line-length']} " in told
    assert f"any other {wider['max-line-length']}." in told
    assert "at most six parameters" in told
    assert MOST == 6
