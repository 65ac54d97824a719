"""Builds wheel and source archive into dist/, looks into both, and tries both in environments of their own.

It publishes nothing. It ends with exit code 1 and the reasons if something is not as it must be.
"""

import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import venv
import zipfile
from email.parser import Parser
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
WANTED = (
    "adjourn/__init__.py",
    "adjourn/py.typed",
    "adjourn/server/static/index.html",
    "adjourn/stores/sqlite/migrations/0001_journal.sql",
)
UNWANTED = re.compile(r"node_modules|__pycache__|\.pyc$|(^|/)tests/|\.db(-wal|-shm)?$|(^|/)\.(?!gitignore)")
HEADING = re.compile(r"^## (?P<version>\d\S*)(?: \((?P<date>[^)]+)\))?$", re.MULTILINE)


def version() -> str:
    """The one in the source."""
    found = re.search(r'^__version__ = "([^"]+)"$', (ROOT / "src/adjourn/__init__.py").read_text("utf-8"), re.MULTILINE)
    assert found, "src/adjourn/__init__.py has no __version__"
    return found[1]


def build() -> tuple[Path, Path]:
    """Wheel and source archive, and nothing else, in dist/."""
    shutil.rmtree(DIST, ignore_errors=True)
    for target in ("sdist", "wheel"):
        subprocess.run(
            [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(DIST)], cwd=ROOT, check=True
        )
    [wheel], [archive] = DIST.glob("*.whl"), DIST.glob("*.tar.gz")
    return wheel, archive


def files_in(path: Path) -> dict[str, str]:
    """Every file by its name, with the text of those that describe the package."""
    described = re.compile(r"(^|/)(METADATA|PKG-INFO|entry_points\.txt)$")
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as wheel:
            return {n: wheel.read(n).decode() if described.search(n) else "" for n in wheel.namelist()}
    found: dict[str, str] = {}
    with tarfile.open(path) as archive:
        for member in archive.getmembers():
            data = archive.extractfile(member)
            if data:
                name = member.name.partition("/")[2]
                found[name] = data.read().decode() if described.search(name) else ""
    return found


def wrong_with(files: dict[str, str], prefix: str, expected: str) -> list[str]:
    """What is missing, what does not belong there, and what the description gets wrong."""
    wrong = [f"{prefix}{name} is missing" for name in WANTED if prefix + name not in files]
    wrong += [f"{name} does not belong there" for name in files if UNWANTED.search(name)]
    texts = [text for name, text in files.items() if name.endswith(("METADATA", "PKG-INFO"))]
    if len(texts) != 1:
        return [*wrong, f"it has {len(texts)} descriptions instead of one"]
    said, project = Parser().parsestr(texts[0]), tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    for field, value in {
        "Name": project["name"],
        "Version": expected,
        "Summary": project["description"],
        "License-Expression": project["license"],
        "Description-Content-Type": "text/markdown",
    }.items():
        if said[field] != value:
            wrong.append(f"{field} is {said[field]!r} instead of {value!r}")
    if {*said.get_all("Provides-Extra", [])} != {*project["optional-dependencies"]}:
        wrong.append(f"it has the extras {said.get_all('Provides-Extra')}")
    if (ROOT / "README.md").read_text("utf-8").strip() not in str(said.get_payload()):
        wrong.append("its description is not the README")
    return wrong


def wrong_with_changelog(text: str, expected: str) -> list[str]:
    """The newest notes must be about this version."""
    newest = HEADING.search(text)
    if newest is None or newest["version"] != expected:
        return [f"CHANGELOG.md does not begin with {expected}"]
    return []


def quickstart() -> tuple[str, str]:
    """The README's first program, and what it prints."""
    found = re.search(
        r"```python\n(.*?)```\n+```text output\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL
    )
    assert found, "README.md has no quickstart with its output"
    return found[1], found[2]


def try_out(built: Path, expected: str) -> list[str]:
    """Install it into a fresh environment, with pinned dependencies, and use it from an empty folder."""
    wrong: list[str] = []
    with tempfile.TemporaryDirectory(prefix="adjourn-release-") as name:
        folder = Path(name)
        venv.create(folder / "venv", with_pip=True)
        python = str(folder / "venv" / "bin" / "python")
        pip = [python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
        subprocess.run([*pip, "--require-hashes", "-r", str(ROOT / "requirements/run.txt")], check=True)
        subprocess.run([*pip, "--no-deps", "--no-build-isolation", str(built)], check=True)
        (folder / "empty").mkdir()

        def says(*command: str) -> str:
            done = subprocess.run(
                command, cwd=folder / "empty", capture_output=True, text=True, timeout=120, check=False
            )
            if done.returncode:
                wrong.append(f"{' '.join(command)[:60]}: {done.stderr[-2000:]}")
            return done.stdout

        program, output = quickstart()
        adjourn = str(folder / "venv" / "bin" / "adjourn")
        for command, answer in {
            (python, "-c", "import adjourn; print(adjourn.__version__)"): expected,
            (adjourn, "version"): expected,
            (adjourn, "--help"): "worker",
            (python, "-c", program): output,
        }.items():
            if answer not in (said := says(*command)):
                wrong.append(f"{command[0].rpartition('/')[2]} {command[1]} said {said!r}")
    return wrong


def main() -> int:
    """Say what is wrong, or what is ready."""
    expected = version()
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    wheel, archive = build()
    wrong = wrong_with_changelog(changelog, expected)
    for built, prefix in ((wheel, ""), (archive, "src/")):
        found = [*wrong_with(files_in(built), prefix, expected), *try_out(built, expected)]
        wrong += [f"{built.name}: {reason}" for reason in found]
        print(f"{built.name}: {built.stat().st_size // 1024} KiB, {'not fit' if found else 'checked and tried out'}")
    if newest := HEADING.search(changelog):
        print(f"CHANGELOG.md: {newest[0].removeprefix('## ')}")
    for reason in wrong:
        print(reason, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
