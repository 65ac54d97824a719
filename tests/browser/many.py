"""Many runs at once: copies of the rows of one that is there."""

from pathlib import Path
from typing import Any

from adjourn.stores.sqlite.connection import connect, transaction


def multiply(database: Path, run: str, count: int) -> None:
    """`count` more runs like `run`: its row, its journal, its interrupts. Their ids are its own and a number."""
    db: Any = connect(str(database))
    [(source, most)] = list(db.execute("select (select n from run where id = ?), max(n) from run", (run,)))

    def columns(table: str, changed: dict[str, str]) -> tuple[str, str]:
        names = [str(name) for _, name, *_ in db.execute(f"pragma table_info({table})")]
        return ", ".join(names), ", ".join(changed.get(name, f"x.{name}") for name in names)

    places = {
        "run": {"n": f"{most} + k.n", "id": "x.id || '-' || k.n", "created_at": "x.created_at - k.n", "title": "x.title || ' ' || k.n"},
        "journal": {"key": f"({most} + k.n) << 32 | x.seq", "body": f"replace(x.body, '{run}', '{run}-' || k.n)"},
        "interrupt": {"run": f"{most} + k.n", "opened_at": "x.opened_at - k.n"},
    }  # fmt: skip
    with transaction(db):  # from its beginning: a reader that becomes a writer is not waited for
        db.execute("create temp table k (n)")
        db.execute(
            "insert into k with recursive k(n) as (select 1 union all select n + 1 from k where n < ?) select n from k",
            (count,),
        )
        for table, changed in places.items():
            into, values = columns(table, changed)
            only = f"x.n = {source}" if table == "run" else f"x.run = {source}"
            db.execute(f"insert into {table} ({into}) select {values} from {table} x, temp.k as k where {only}")
        db.execute("drop table temp.k")
    db.close()
