"""Connections to PostgreSQL: what they keep (nothing, so that a pooler may share them), and which
errors pass by themselves.

Several statements go in one message, by the simple protocol: no prepared statements, no settings of
a session. What a transaction needs beyond that is set for that transaction alone.
"""

import re
import select
import time
from collections import deque
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import psycopg
from psycopg import ClientCursor
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import TransactionStatus

from adjourn.errors import InvalidDefinition, StoreError
from adjourn.stores.address import without_password

WAIT = "SyncRepWaitForLSN"
"""Where in the server a commit waits for the standby."""
LISTEN = "listen"
"""The option of an address that names a way around a pooler."""
DEFAULTS = {
    "application_name": "adjourn",
    "connect_timeout": "10",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "20000",
}
"""A server that has gone without a word is noticed within half a minute."""
LIFETIME, IDLE = 3_600.0, 600.0
"""Seconds after which a connection is made anew, and after which one that nobody needs is closed."""
STANDBY = "25006"
"""The code of a server that may not write: a standby, perhaps about to be promoted."""
PROMOTE = "name the primary server in the address, or promote this one"
ADVICE = {
    "password authentication failed": "correct the password in the address, or in ADJOURN_DB",
    "no password supplied": "put the password into the address, into PGPASSWORD or ~/.pgpass",
    "no pg_hba.conf entry": "allow this machine and role in pg_hba.conf of the server",
    "permission denied": "`adjourn doctor` says which rights the role needs; its owner grants them",
    "does not exist": "correct the address, or create it: create role, create database",
    "Connection refused": "start the server, or correct host and port in the address",
    "timeout expired": "check that this machine reaches the server, and its firewall",
    "could not translate host name": "correct the host in the address",
    "Name or service not known": "correct the host in the address",
    "read-only transaction": PROMOTE,
    "during recovery": PROMOTE,
    "No space left on device": "make room on the disk of the database; then everything continues",
    "too many clients": "raise max_connections of the server, or put a pooler in between",
    "remaining connection slots": "raise max_connections of the server, or put a pooler in between",
}
"""What to do, by words of the server or of libpq. Errors of a connection have no codes."""
PASSING = ("08", "40", "57P01", "57P02", "57P03", "25P03", "55P03", "53300", "57014", STANDBY)
"""How the codes of errors begin after which the same may succeed: connections, deadlocks, a server
that stops or starts."""

CUT = ("08", "57P")
"""How the codes of errors begin with which a connection ends."""
VALUE = re.compile(r"(?<!:):(\w+)")
STARTING = ("starting up", "shutting down", "in recovery mode", "not yet accepting connections")
"""What a server says that will soon be there. Errors of a connection have no codes."""


def taken_apart(address: str) -> tuple[str, str]:
    """The address for libpq, and the one to listen at; the same, unless one is named with
    `listen=`."""
    parts = urlsplit(address)
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    direct = options.pop(LISTEN, "")
    plain = urlunsplit(parts._replace(query=urlencode(options)))
    try:
        return conninfo(plain), conninfo(direct or plain)
    except psycopg.ProgrammingError as e:
        raise InvalidDefinition(
            f"{without_password(address)!r} is not an address of PostgreSQL: {e}".rstrip()
        ) from None


def conninfo(address: str) -> str:
    """With what is to be set unless the address says otherwise. Of several servers the one is meant
    that can be written to."""
    given = {name: str(value) for name, value in conninfo_to_dict(address).items()}
    if "," in given.get("host", ""):
        given = {"target_session_attrs": "read-write", **given}
    return make_conninfo("", **{**DEFAULTS, **given})


class Connection(psycopg.Connection[tuple[Any, ...]]):
    """One that knows whether a commit of its last message did not wait for the standby."""

    is_unconfirmed = False

    def heed(self, notice: psycopg.errors.Diagnostic) -> None:
        """Whoever cancels a commit that waits gets a warning and no error: it is committed, but
        only here."""
        if notice.source_function == WAIT:
            self.is_unconfirmed = True


def connect(info: str) -> Connection:
    """A connection of its own; the caller closes it."""
    made = Connection.connect(info, **OPTIONS)
    made.add_notice_handler(made.heed)
    return made


OPTIONS: dict[str, Any] = {
    "autocommit": True,
    "prepare_threshold": None,
    "cursor_factory": ClientCursor,
    "client_encoding": "utf8",
}


class Pool:
    """Connections between two pieces of work. Each thread of the store takes one at a time, so there
    are never more than threads.

    A thread that finds none makes one itself: it waits for nobody, and how long it tries is its own
    affair. Those that were cut while they waited are found without a message, and thrown away.
    """

    def __init__(self, info: str) -> None:
        self._info = info
        self._free: deque[tuple[Connection, float, float]] = deque()
        """Each with when it was made and since when it waits; the one that waits longest is first."""
        self._closed = False

    @contextmanager
    def connection(self) -> Generator[Connection]:
        """A connection for one piece of work. Raises `psycopg.OperationalError` if there is no way
        to the database."""
        found = self._take()
        if found is None:
            db, made = connect(self._info), time.monotonic()
        else:
            db, made = found
        try:
            yield db
        except psycopg.errors.ReadOnlySqlTransaction:
            db.close()  # the way there may lead to another server by now
            raise
        finally:
            self._put_back(db, made)

    def _take(self) -> tuple[Connection, float] | None:
        while True:
            try:
                db, made, _ = self._free.pop()
            except IndexError:
                return None
            if is_open(db):
                return db, made
            db.close()

    def _put_back(self, db: Connection, made: float) -> None:
        now = time.monotonic()
        is_usable = not db.closed and db.info.transaction_status == TransactionStatus.IDLE
        if self._closed or not is_usable or now - made > LIFETIME:
            db.close()
        else:
            self._free.append((db, made, now))
        self._shrink(now)

    def _shrink(self, now: float) -> None:
        """Close the one that has waited longest, if that was for long."""
        try:
            first = self._free.popleft()
        except IndexError:
            return
        if now - first[2] > IDLE:
            first[0].close()
        else:
            self._free.appendleft(first)

    def close(self) -> None:
        """Close those that wait. No work may be left."""
        self._closed = True
        while self._free:
            self._free.pop()[0].close()


def is_open(db: Connection) -> bool:
    """Whether the server has said nothing to a connection that asks for nothing: if it has, that was
    its last word."""
    if db.closed:
        return False
    poll = select.poll()
    poll.register(db.fileno(), select.POLLIN)
    return not poll.poll(0)


def messages(
    db: Connection, script: Sequence[str], values: Mapping[str, Any] | None = None
) -> list[list[tuple[Any, ...]]]:
    """Send statements in one message; the rows of each. Without values, they are sent as they are.
    Raises `psycopg.OperationalError` if a
    commit was cancelled while it waited for the standby: then its outcome is to be settled."""
    cursor = db.execute("; ".join(script).encode(), values)
    if db.is_unconfirmed:
        db.close()
        raise psycopg.OperationalError("a commit was cancelled while it waited for the standby")
    found: list[list[tuple[Any, ...]]] = []
    while True:
        found.append(cursor.fetchall() if cursor.description else [])
        if not cursor.nextset():
            return found


def named(sql: str) -> str:
    """A statement whose values are `:name`, with values as psycopg has them."""
    return VALUE.sub(r"%(\1)s", sql)


def is_passing(error: BaseException) -> bool:
    """Whether the same may succeed when it is tried again."""
    if not isinstance(error, psycopg.Error):
        return False
    if error.sqlstate is None:
        return isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)
    return error.sqlstate.startswith(PASSING)


def is_cut(error: psycopg.Error) -> bool:
    """Whether a connection that was there is gone."""
    return is_passing(error) and (error.sqlstate or "08").startswith(CUT)


def is_starting(error: psycopg.Error) -> bool:
    """Whether a server refused a connection because it begins or ends."""
    return any(f"the database system is {what}" in str(error) for what in STARTING)


def is_overtaken(error: BaseException) -> bool:
    """Whether somebody else was faster to write the same key: then the rule has to look again."""
    return isinstance(error, psycopg.errors.UniqueViolation)


def store_error(where: str, error: BaseException) -> StoreError:
    """What a caller is told of an error of the database, and what to do."""
    text = " ".join(str(error).split()) or type(error).__name__
    for words, advice in ADVICE.items():
        if words in text:
            return StoreError(f"{where}: {text}", advice=advice)
    return StoreError(f"{where}: {text}")
