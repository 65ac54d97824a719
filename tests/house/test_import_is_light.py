"""`import adjourn` loads no provider, web server, terminal library or database driver: they come when used."""

import json
import subprocess
import sys

import pytest

HEAVY = {
    "multiprocessing", "pickle",
    "pydantic_ai", "openai", "anthropic", "starlette", "uvicorn", "psycopg", "typer", "rich", "apsw", "sqlite3",
    "pydantic", "jsonschema", "httpx",
}  # fmt: skip


def loaded_by(statement: str) -> set[str]:
    """The top-level modules that a fresh interpreter has loaded because of one statement."""
    code = f"import sys, json; old = set(sys.modules); {statement}; print(json.dumps([*(set(sys.modules) - old)]))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return {name.split(".")[0] for name in json.loads(done.stdout)}


@pytest.mark.parametrize(
    "statement", ["import adjourn", "from adjourn import Agent, Runtime, tool", "from adjourn import *"]
)
def test_nothing_heavy_is_loaded_by(statement: str) -> None:
    loaded = loaded_by(statement)
    assert "adjourn" in loaded
    assert not loaded & HEAVY
