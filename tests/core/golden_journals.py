"""Every journal that is kept under `tests` as an earlier version wrote it: in checkpoints, in chapters and in databases."""

import gzip
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from adjourn.core.record_codec import parse, parse_list
from adjourn.core.records import AnyRecord

TESTS = Path(__file__).parents[1]
Journal = list[tuple[int, AnyRecord]]


def golden_journals() -> dict[str, Journal]:
    """The journals, by the name of their file and, in a database, the number of their run."""
    return dict(_found())


def _found() -> Iterator[tuple[str, Journal]]:
    for path in sorted(TESTS.glob("*/golden/**/*.json")):
        envelope = json.loads(path.read_bytes())
        yield path.name, list(enumerate(parse_list(envelope["records"]), 1))
    for path in sorted(TESTS.glob("*/golden/*.jsonl")):
        yield path.name, [(seq, parse(line)) for seq, line in enumerate(path.read_text("utf-8").splitlines(), 1)]
    for path in sorted([*TESTS.glob("*/golden/*.sql"), *TESTS.glob("*/golden/*.db.gz")]):
        yield from _of_database(path)


def _of_database(path: Path) -> Iterator[tuple[str, Journal]]:
    database = sqlite3.connect(":memory:")
    if path.suffix == ".sql":
        database.executescript(path.read_text("utf-8"))
    else:
        database.deserialize(gzip.decompress(path.read_bytes()))
    found: dict[int, Journal] = {}
    for run, seq, body in database.execute("select run, seq, body from journal order by run, seq"):
        if body is not None:  # erased
            found.setdefault(run, []).append((seq, parse(body)))
    database.close()
    for run, journal in found.items():
        yield f"{path.name}-{run}", journal
