"""Live text between machines: rows in tables that are never written to the log, and empty unless
somebody watches."""

from collections.abc import Collection, Sequence
from typing import Any

from adjourn.core.codec import encode
from adjourn.stores.channel import Ears
from adjourn.stores.polled_channel import INTEREST, KEPT, PolledChannel
from adjourn.stores.postgres.connections import messages
from adjourn.stores.rows import Ask

_NOW = "extract(epoch from clock_timestamp())::float8"
_EXPIRE = f"delete from adjourn.said where at < {_NOW} - {KEPT}"
_UNWATCHED = f"delete from adjourn.watched where until < {_NOW}"
_INTERESTED = f"select run, asked from adjourn.watched where until > {_NOW}"
_NOTE = f"""
insert into adjourn.watched select x.run, {_NOW} + {INTEREST}, {_NOW}
from json_to_recordset(%(runs)s::json) as x(run text) order by x.run
on conflict (run) do update set until = excluded.until, asked = case when excluded.run = any(%(fresh)s::text[])
    then excluded.asked else watched.asked end
"""
_WRITE = f"""
insert into adjourn.said (run, source, at, body) select x.run, %(source)s, {_NOW}, x.body
from rows from (json_to_recordset(%(lines)s::json) as (run text, body text)) with ordinality as x(run, body, place)
where exists (select 1 from adjourn.watched w where w.run = x.run) order by x.place
"""
_SINCE = (
    "select n, body from adjourn.said where run = %(run)s and n > %(after)s and source "
    "<> %(source)s order by n"
)


class PostgresBoard:
    """See `Board`. `ask`: lets a thread of the store do something with a connection."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    async def _send(self, *script: str, **values: Any) -> list[tuple[Any, ...]]:
        return (await self._ask(lambda db: messages(db, script, values)))[-1]

    async def interested(self) -> dict[str, float]:
        """See `Board.interested`."""
        return dict(await self._send(_INTERESTED))

    async def note(self, runs: Sequence[str], fresh: Collection[str]) -> None:
        """See `Board.note`."""
        rows = encode([{"run": run} for run in runs]).decode()
        await self._send(_UNWATCHED, _EXPIRE, _NOTE, runs=rows, fresh=list(fresh))

    async def write(self, lines: Sequence[tuple[str, str]], source: str) -> None:
        """See `Board.write`."""
        rows = encode([{"run": run, "body": body} for run, body in lines]).decode()
        await self._send(_EXPIRE, _WRITE, lines=rows, source=source)

    async def last(self) -> int:
        """See `Board.last`."""
        return (await self._send("select coalesce(max(n), 0) from adjourn.said"))[0][0]

    async def since(self, run: str, after: int, source: str) -> list[tuple[int, str]]:
        """See `Board.since`."""
        return await self._send(_SINCE, run=run, after=after, source=source)

    async def forget(self, run: str) -> bool:
        """See `Board.forget`. Its bytes go with a scrub of the database."""
        drop = (
            "delete from adjourn.said where run = %(run)s",
            "delete from adjourn.watched where run = %(run)s",
        )
        await self._send(*drop, run=run)
        return True

    async def close(self) -> None:
        """See `Board.close`. The connections are the store's."""


def postgres_channel(ask: Ask, ears: Ears) -> PolledChannel:
    """A process's end of it."""
    return PolledChannel(PostgresBoard(ask), ears)
