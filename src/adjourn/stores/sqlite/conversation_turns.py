"""The turns of a conversation in SQLite: from the newest back, and who goes on with which."""

from typing import Any

from adjourn.core.status import Status
from adjourn.stores.protocol import Turn
from adjourn.stores.rows import first_column
from adjourn.stores.rules.conversation_turns import turns_of

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
"""One statement for all of them. A run is younger than the one that it goes on with: so this ends,
whatever a file says."""

_LAST = (
    "select id from run where session = ? and session <> '' and program = ? order by n desc limit 1"
)
_GOES_ON = (
    "j.key & 4294967295 = 1 and j.body ->> '$.after.run' is not null and j.body ->> "
    "'$.history' is null"
)
"""The first record of a run that goes on with another; the index of these is by which."""
FOLLOWED = f"""
select w.value, r.id from json_each(:runs) w
join journal j on {_GOES_ON} and j.body ->> '$.after.run' = w.value
join run r on r.n = j.key >> 32 order by r.n
"""
_LATER = f"""
with recursive later (n, id) as (
    select r.n, r.id from journal j join run r on r.n = j.key >> 32 where {_GOES_ON} and j.body ->> '$.after.run' = ?
    union
    select r.n, r.id from later l cross join journal j on {_GOES_ON} and j.body ->> '$.after.run' = +l.id
    cross join run r on r.n = j.key >> 32
)
select l.id, r.status from later l cross join run r on r.n = l.n order by l.n
"""

_CONVERSATION = f"""
with recursive turn (id) as (
    select id from run where id = ?
    union
    select j.body ->> '$.after.run' from turn t join run r on r.id = t.id join journal j on j.key = (r.n << 32) + 1
    where j.body ->> '$.after.run' is not null and j.body ->> '$.history' is null
    union
    select r.id from turn t cross join journal j on {_GOES_ON} and j.body ->> '$.after.run' = +t.id
    cross join run r on r.n = j.key >> 32
)
select r.id from turn t join run r on r.id = t.id where r.erased = 0 order by r.n desc
"""


def read_last(db: Any, of: tuple[str, str]) -> str:
    """The last run of this session that is of this program; "" if there is none."""
    found = db.execute(_LAST, of).fetchone()
    return found[0] if found else ""


def read_conversation(db: Any, run: str) -> list[str]:
    """See `Book.conversation`."""
    return first_column(db.execute(_CONVERSATION, (run,)))


def read_later(db: Any, run: str) -> list[tuple[str, Status]]:
    """Every run that goes on with this one, also by way of others, and its status."""
    return [(id, Status(status)) for id, status in db.execute(_LATER, (run,))]


def read_turns(db: Any, run: str, seq: int, limit: int) -> list[Turn]:
    """See `Store.turns`."""
    return turns_of(db.execute(_TURNS, {"run": run, "seq": seq, "limit": limit}))
