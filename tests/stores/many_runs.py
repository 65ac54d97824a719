"""Runs as rows, made without journals: for lists, which look at nothing else."""

import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from adjourn.core.codec import encode
from adjourn.core.status import ENDED, Status
from adjourn.stores.run_row import RunRow
from adjourn.stores.sqlite.connection import connect, transaction

TITLES = (
    "Refund order {}", "100% of _everything_ {}", "it's \"quoted\" {}", "ΟΔΟΣ {}", "İstanbul ß {}", "tab\tnew\nline {}", "", "{}", "an",
    "日本語のタイトル {}",
)  # fmt: skip
PROGRAMS = ("clerk", "Cook", "maid")
WORKERS = {"alive": 2_000.0, "dead": 500.0}
"""Until when they have beaten; the lists are looked at at 1,000."""


def rows(count: int, seed: int = 0, strays: float = 0.05) -> list[RunRow]:
    """So many runs, in the order in which they are inserted; except for the strays, each began after the one before."""
    chance = random.Random(seed)
    found: list[RunRow] = []
    for n in range(1, count + 1):
        status = chance.choice(list(Status))
        opens = chance.choice((0, 0, 1, 2)) if status not in ENDED else 0
        began = 100.0 + n if chance.random() >= strays else chance.uniform(0, 100.0 + count)
        row = RunRow(
            id=f"{chance.choice(('run', 'job'))}-{chance.getrandbits(40):010x}-{n}",
            kind="agent",
            program=chance.choice(PROGRAMS),
            session=chance.choice(("", "", "chat-1", "chat-2")),
            labels=chance.choice(({}, {}, {"tenant": "acme"}, {"tenant": "o'neil", "env": "prod"})),
            title=chance.choice(TITLES).format(chance.randrange(1000)),
            status=status,
            opens=opens,
            errors=chance.randint(0, opens),
            stopped=status == Status.COMPLETED and chance.random() < 0.3,
            worker=chance.choice(("", "", *WORKERS)) if status not in ENDED else "",
            created_at=began,
            updated_at=began + chance.uniform(0, 50),
            n=n,
        )
        found.append(row)
    return found


def insert(path: Path, found: Iterable[RunRow]) -> None:
    """Put them into a file."""
    db: Any = connect(str(path))
    columns = (
        "n, id, kind, program, session, labels, title, input_digest, seq, head, status, epoch, worker, wake_at, blocked, opens, "
        "errors, stopped, created_at, updated_at"
    )
    with transaction(db):
        db.executemany("insert or replace into worker values (?, ?)", WORKERS.items())
        db.executemany(
            f"insert into run ({columns}) values ({', '.join('?' * 20)})",
            (
                (x.n, x.id, x.kind, x.program, x.session, encode(x.labels).decode(), x.title, "", x.seq, b"", x.status.value, 0,
                 x.worker, 0.0, "", x.opens, x.errors, int(x.stopped), x.created_at, x.updated_at)
                for x in found
            ),
        )  # fmt: skip
    db.close()
