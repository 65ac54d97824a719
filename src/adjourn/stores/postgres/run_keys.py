"""The wrapped keys of encrypted runs, in a PostgreSQL database."""

from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING

from adjourn.core.codec import encode
from adjourn.stores.guest_threads import KEY
from adjourn.stores.postgres.connections import Connection, messages
from adjourn.stores.rules.reads_and_writes import Writes

if TYPE_CHECKING:
    from adjourn.stores.postgres.write_statements import Script
    from adjourn.stores.secret_keys import KeyRing

READ = f"""
select wrapped from adjourn.run_key where kid = %(kid)s
union all select convert_from(body, 'UTF8') from adjourn.guest_row where tag = '{KEY}' || %(kid)s and tag <> ''
"""
_PUT = """
insert into adjourn.run_key select r.n, x.kid, x.wrapped
from json_to_recordset(%(keys)s::json) as x(owner text, kid text, wrapped text) join adjourn.run r on r.id = x.owner
"""
_ALL = (
    "select kid, wrapped from adjourn.run_key order by kid for update",
    f"""
select substr(tag, {len(KEY) + 1}), convert_from(body, 'UTF8') from adjourn.guest_row
where starts_with(tag, '{KEY}') and tag <> '' order by tag for update
""",
)
_REWRAP = (
    """
update adjourn.run_key k set wrapped = x.wrapped
from json_to_recordset(%(keys)s::json) as x(kid text, wrapped text) where k.kid = x.kid
""",
    f"""
update adjourn.guest_row g set body = convert_to(x.wrapped, 'UTF8')
from json_to_recordset(%(keys)s::json) as x(kid text, wrapped text) where g.tag = '{KEY}' || x.kid and g.tag <> ''
""",
)


def write(script: "Script", new: Sequence[Writes]) -> None:
    """Keep the keys of runs that begin."""
    keys: list[dict[str, str]] = []
    for writes in new:
        if writes.key and writes.row is not None:
            from adjourn.stores.run_keys import kid_of

            row = writes.row
            keys.append({"owner": row.id, "kid": kid_of(row.salt), "wrapped": writes.key})
    if keys:
        script.add(_PUT, keys=encode(keys).decode())


def rewrap(db: Connection, ring: "KeyRing") -> int:
    """See `Ruled.rewrap`."""
    from adjourn.stores.run_keys import rewrapped

    with db.transaction():
        keys: list[dict[str, str]] = []
        for kid, wrapped in chain(*messages(db, _ALL, {})):
            keys.append({"kid": kid, "wrapped": rewrapped(ring, kid, wrapped)})
        messages(db, _REWRAP, {"keys": encode(keys).decode()})
    return len(keys)
