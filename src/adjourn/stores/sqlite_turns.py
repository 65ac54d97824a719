"""The turns of a conversation in SQLite, from the newest back."""

from typing import Any

from adjourn.stores.rules.turns import turn_of
from adjourn.stores.store import Turn

_TURNS = """
with recursive turn (depth, n, upto) as (
    select 0, n, :seq from run where id = :run and seq >= :seq
    union all
    select t.depth + 1, r.n, j.body ->> '$.after.seq'
    from turn t
    join journal j on j.key = (t.n << 32) + 1
    join run r on r.id = j.body ->> '$.after.run'
    where t.depth + 1 < :limit and j.body ->> '$.history' is null and r.n < t.n
)
select t.depth, r.id, j.seq, j.body, j.head from turn t
join run r on r.n = t.n
join journal j on j.key > t.n << 32 and j.key <= (t.n << 32) + t.upto
order by t.depth, j.key
"""
"""One statement for all of them. A run is younger than the one that it goes on with: so this ends, whatever a file says."""


def read_turns(db: Any, run: str, seq: int, limit: int) -> list[Turn]:
    """See `Store.turns`."""
    found: list[Turn] = []
    rows: list[Any] = db.execute(_TURNS, {"run": run, "seq": seq, "limit": limit}).fetchall()
    place = 0
    while place < len(rows):
        depth, id = rows[place][:2]
        until = place
        while until < len(rows) and rows[until][0] == depth:
            until += 1
        lines = [(n, body) for _, _, n, body, _ in rows[place:until]]
        found.append(turn_of(id, lines, rows[until - 1][4]))
        place = until
    return found
