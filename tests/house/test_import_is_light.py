"""`import adjourn` loads no provider, web server, terminal library or database driver: they come when used."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import adjourn

HEAVY = {
    "multiprocessing", "pickle", "dataclasses", "json", "pathlib", "urllib", "secrets", "random", "shlex", "hmac",
    "ipaddress", "fractions", "unicodedata", "zlib",
    "pydantic_ai", "openai", "anthropic", "starlette", "uvicorn", "psycopg", "typer", "rich", "apsw", "sqlite3",
    "pydantic", "jsonschema", "httpx", "opentelemetry",
}  # fmt: skip


ALL = "from adjourn import *"
MODULES = {"import adjourn": 0, "from adjourn import Agent, Runtime, tool": 140}
"""At most so many modules of ours are loaded by a statement: each costs about a third of a millisecond."""


def loaded_by(statement: str) -> set[str]:
    """The modules that a fresh interpreter has loaded because of one statement, beside those of the floor."""
    code = f"import sys, asyncio, msgspec; old = {{*sys.modules}}; {statement}; print(*{{*sys.modules}} - old)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return {*done.stdout.split()}


@pytest.mark.parametrize("statement", [*MODULES, ALL])
def test_nothing_heavy_is_loaded_by(statement: str) -> None:
    loaded = {name.split(".")[0] for name in loaded_by(statement)}
    assert "adjourn" in loaded
    assert not loaded & HEAVY


@pytest.mark.parametrize("statement", MODULES)
def test_few_modules_of_ours_are_loaded_by(statement: str) -> None:
    ours = {name for name in loaded_by(statement) if name.startswith("adjourn.")}
    assert len(ours) <= MODULES[statement], sorted(ours)


def test_a_store_loads_its_driver_and_nothing_else_that_is_heavy(tmp_path: Path) -> None:
    loaded = loaded_by(f"from adjourn.stores.sqlite.store import SQLiteStore; SQLiteStore({str(tmp_path / 'a.db')!r})")
    assert "apsw" in loaded
    assert not loaded & (HEAVY - {"apsw"} | {"zipfile", "importlib.resources", "adjourn.stores.verification"})


def test_the_type_checker_and_the_interpreter_find_each_public_name_in_the_same_module() -> None:
    source = Path(adjourn.__file__).read_text("utf-8")
    checked = {
        name.name: f"{node.module}"
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("adjourn.")
        for name in node.names
    }
    homes: dict[str, str] = adjourn._HOME  # pyright: ignore[reportPrivateUsage]
    assert {name: f"adjourn.{home}" for name, home in homes.items()} == checked
    assert {*adjourn.__all__} <= {*checked}


def test_a_name_that_there_is_not_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Agnet'"):
        getattr(adjourn, "Agnet")  # noqa: B009
    assert {"Agent", "Runtime", "tool"} <= {*dir(adjourn)}
