"""Runs as rows of PostgreSQL, made without journals: for lists, which look at nothing else."""

from collections.abc import Iterable

import psycopg
from tests.stores.many_runs import WORKERS

from adjourn.core.codec import encode
from adjourn.stores.rules.inbox_filter import words
from adjourn.stores.run_row import RunRow

COLUMNS = (
    "n, id, kind, program, session, labels, title, words, input_digest, seq, head, status, epoch, worker, wake_at, blocked, opens, "
    "errors, stopped, created_at, updated_at, requesters, salt, erased, chapter, queued, after, after_seq"
)
ZONES = """
insert into adjourn.zone select n / 4096, min(floor(created_at / 60) * 60), max(ceil(created_at / 60) * 60)
from adjourn.run group by 1
"""
LABELS = "insert into adjourn.label select l.key, l.value, r.n from adjourn.run r, json_each_text(r.labels::json) l"
NUMBERS = "select setval(pg_get_serial_sequence('adjourn.run', 'n'), (select max(n) from adjourn.run))"


def insert(address: str, found: Iterable[RunRow]) -> None:
    """Put them into a database."""
    with psycopg.connect(address) as db:
        db.cursor().executemany("insert into adjourn.worker values (%s, %s)", list(WORKERS.items()))
        with db.cursor().copy(f"copy adjourn.run ({COLUMNS}) from stdin") as copy:
            for x in found:
                copy.write_row((
                    x.n, x.id, x.kind, x.program, x.session, encode(x.labels).decode(), x.title, words(x.title, x.id, x.program), "",
                    x.seq, b"", x.status.value, 0, x.worker, 0.0, [], x.opens, x.errors, x.stopped, x.created_at, x.updated_at,
                    [], b"", 0.0, 0, False, "", 0,
                ))  # fmt: skip
        for statement in (ZONES, LABELS, NUMBERS):
            db.execute(statement)
    with psycopg.connect(address, autocommit=True) as db:
        db.execute("analyze")
