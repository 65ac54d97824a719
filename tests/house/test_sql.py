"""SQL stands in the stores, and nowhere else."""

import ast
import re
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "src" / "adjourn"
STORES = PACKAGE / "stores"
DRIVERS = {"sqlite3", "psycopg"}
WORDS = re.compile(rf"\b(select|insert|update|delete|create|pragma|{'|'.join(DRIVERS)})\b", re.IGNORECASE)
"""A module without one of these speaks no SQL."""
STATEMENT = re.compile(
    r"\s*(select\s.+\sfrom\s|insert\s+into\s|update\s+\w+\s+set\s|delete\s+from\s|create\s+(table|index)\s|pragma\s)",
    re.IGNORECASE | re.DOTALL,
)


def speaks_sql(text: str) -> list[str]:
    """What of a module is SQL, or the driver of a database."""
    found: list[str] = []
    if not WORDS.search(text):
        return found
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Constant(value=str(value)) if STATEMENT.match(value):
                found.append(value)
            case ast.Import(names=names):
                found += [name.name for name in names if name.name.partition(".")[0] in DRIVERS]
            case ast.ImportFrom(module=str(module)) if module.partition(".")[0] in DRIVERS:
                found.append(module)
            case _:
                pass
    return found


def test_no_module_outside_of_the_stores_speaks_sql() -> None:
    found: dict[str, list[str]] = {}
    for path in PACKAGE.rglob("*.py"):
        if STORES not in path.parents and (said := speaks_sql(path.read_text("utf-8"))):
            found[path.relative_to(PACKAGE).as_posix()] = said
    assert not found


def test_the_search_sees_what_it_is_for() -> None:
    assert speaks_sql("import sqlite3") == ["sqlite3"]
    assert speaks_sql("from psycopg.rows import tuple_row") == ["psycopg.rows"]
    assert speaks_sql("x = 'select a from b'\ny = f'delete from {t}'") == ["select a from b", "delete from "]
    assert not speaks_sql("x = 'select one of these'\n'''Update the page.'''")
