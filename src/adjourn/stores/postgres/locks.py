"""The locks of a transaction, always in this order: halts, the global audit, the security log,
seals, tickets, a session, the rows of runs.

Whoever has a row and waits for `HALTS` behind a halt would wait for somebody who waits for that
row.
"""

from adjourn.stores.audit import SECURITY
from adjourn.stores.rules.reads_and_writes import ReadRequest

OURS = 1_094_863_951
"""Under which number of PostgreSQL's advisory locks ours are."""
HALTS, GLOBAL, SECURE, SEALS, SCHEMA, TICKETS, PEOPLE = 1, 2, 3, 4, 5, 6, 7
SHARE_HALTS = f"select pg_advisory_xact_lock_shared({OURS}, {HALTS})"
SESSION = "select pg_advisory_xact_lock(hashtextextended(%(session)s, {OURS}))".replace(
    "{OURS}", str(OURS)
)
ROW = "select 1 from adjourn.run where id = %(run)s for no key update"
EARLIER = "select 1 from adjourn.run where id = %(before)s for share"
COPIED = "select 1 from adjourn.run where id = %(copied)s for share"
LETTERS = "select 1 from adjourn.letter where n = any(%(letters)s::bigint[]) order by n for update"


def alone(number: int) -> str:
    """The statement that takes one of ours for this transaction only."""
    return f"select pg_advisory_xact_lock({OURS}, {number})"


def is_configuring(ask: ReadRequest) -> bool:
    """Whether a rule may change what all others go by. Those that write into the global audit do;
    they are few."""
    return not ask.run and "" in ask.audit


def of(ask: ReadRequest) -> list[str]:
    """The locks beyond `HALTS` that a rule needs before it reads."""
    found: list[str] = []
    if "" in ask.audit:
        found.append(alone(GLOBAL))
    if SECURITY in ask.audit:
        found.append(alone(SECURE))
    if ask.touched:
        found.append(alone(SEALS))
    if ask.tickets:
        found.append(alone(TICKETS))
    if ask.last:
        found.append(SESSION)
    if ask.before:
        found.append(EARLIER)
    if ask.copied:
        found.append(COPIED)
    if ask.run:
        found.append(ROW)
    if ask.letters:
        found.append(LETTERS)
    return found
