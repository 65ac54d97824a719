"""What is to be done when somebody has put a backup in the place of a PostgreSQL database: a backup
is a past, and the world has gone on since."""

from dataclasses import dataclass

from adjourn.errors import Conflict, bare
from adjourn.stores.postgres.connections import messages
from adjourn.stores.postgres.store import PostgresStore
from adjourn.stores.rules import restore

PAGE = 500
"""So many runs are looked at in one statement."""
ALIVE = "select id from adjourn.worker where until > %(now)s order by id limit 1"
FORGET = "delete from adjourn.worker"
SAID = "select coalesce(max(updated_at), 0), coalesce(max(epoch), 0), count(*) from adjourn.run"
OPEN = """
select id, n from adjourn.run where n > %(after)s and status not in ('completed', 'cancelled') order by n limit %(page)s
"""


@dataclass(frozen=True, slots=True)
class Held:
    """What came of it: `taken` is the time of the last record, `held` how many of `runs` have not
    ended and are paused now."""

    taken: float
    runs: int
    held: int


async def hold_all(store: PostgresStore, *, by: str, origin: str) -> Held:
    """Pause every run that has not ended, with everything in doubt that it may have begun since the
    backup.

    Args:
        store: the database that was put back.
        by: who did that.
        origin: from where, for the audit.

    Raises `Conflict`, and changes nothing, while a worker is at work in it.
    """
    alive = await store.rows(ALIVE, now=store.now())
    if alive:
        raise Conflict(
            f"worker {bare(alive[0][0])} is running on this database",
            consequence="nothing was changed",
            advice="stop all workers and servers first",
        )
    [(taken, highest, runs)] = await store.rows(SAID)
    epoch = restore.next_epoch(highest, store.now())
    await store.ask(lambda db: messages(db, [FORGET], {}))
    held = after = 0
    while page := await store.rows(OPEN, after=after, page=PAGE):
        for run, _ in page:
            held += await store.carry_out(restore.holding(run, epoch, by, origin))
        after = page[-1][1]
    await store.carry_out(restore.telling(held, by, origin))
    return Held(taken, runs, held)
