"""Servers for these tests: one of ours that does what it is told, and those of npm."""

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from adjourn.mcp import McpTools, mcp_tools

HERE = Path(__file__).parent
PACKAGES = HERE / "node_modules" / "@modelcontextprotocol"


class FakeServer:
    """See `fake_server`."""

    def __init__(self, folder: Path, *, modern: bool = False) -> None:
        self.folder = folder
        self.command = [sys.executable, "-S", str(HERE / "fake_server.py"), str(folder)]
        if modern:
            self.command.append("modern")
        self.has("pay")

    def has(self, *names: str, **more: Any) -> None:
        """From now on it has these tools. `more` is said of each."""
        schema = {"type": "object", "properties": {"cents": {"type": "integer"}}}
        tools = [{"name": name, "description": f"To {name}.", "inputSchema": schema, **more} for name in names]
        (self.folder / "tools.json").write_text(json.dumps(tools))

    def tools(self, **options: Any) -> McpTools:
        return mcp_tools(self.command, name="fake", **options)

    @property
    def calls(self) -> list[dict[str, Any]]:
        """What it was called with, over all its lives."""
        file = self.folder / "calls.jsonl"
        if not file.exists():
            return []
        return [json.loads(line) for line in file.read_text().splitlines()]


@pytest.fixture
def server(tmp_path: Path) -> FakeServer:
    return FakeServer(tmp_path)


@pytest.fixture
def modern(tmp_path: Path) -> FakeServer:
    return FakeServer(tmp_path, modern=True)


def npm_server(name: str) -> list[str]:
    """The command of one of npm's servers. Without it these tests prove nothing: skipped on a developer's machine, a failure in CI."""
    script, node = PACKAGES / name / "dist" / "index.js", shutil.which("node")
    if node is None or not script.exists():
        why = "needs Node and `make mock`"
        if os.environ.get("CI"):
            pytest.fail(why, pytrace=False)
        pytest.skip(why)
    return [node, str(script)]
