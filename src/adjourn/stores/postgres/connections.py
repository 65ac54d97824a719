"""Connections to PostgreSQL: what they keep (nothing, so that a pooler may share them), and which
errors pass by themselves.

Several statements go in one message, by the simple protocol: no prepared statements, no settings of
a session. What a transaction needs beyond that is set for that transaction alone.
"""

import select
import time
from collections import deque
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import psycopg
from psycopg import ClientCursor, sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import TransactionStatus

from adjourn.errors import InvalidDefinition, StoreError
from adjourn.stores.address import without_password

Connection: TypeAlias = psycopg.Connection[tuple[Any, ...]]
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
PASSING = ("08", "40", "57P01", "57P02", "57P03", "25P03", "55P03", "53300", "57014")
"""How the codes of errors begin after which the same may succeed: connections, deadlocks, a server
that stops or starts."""


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
    """With what is to be set unless the address says otherwise."""
    given = {name: str(value) for name, value in conninfo_to_dict(address).items()}
    return make_conninfo("", **{**DEFAULTS, **given})


def connect(info: str) -> Connection:
    """A connection of its own; the caller closes it."""
    return psycopg.connect(info, **OPTIONS)


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
        is_usable = db.info.transaction_status == TransactionStatus.IDLE
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
    db: Connection, script: Sequence[str], values: Mapping[str, Any]
) -> list[list[tuple[Any, ...]]]:
    """Send statements in one message; the rows of each."""
    cursor = db.execute(sql.SQL("; ".join(script)), values)  # pyright: ignore[reportArgumentType]  our own constants
    found: list[list[tuple[Any, ...]]] = []
    while True:
        found.append(cursor.fetchall() if cursor.description else [])
        if not cursor.nextset():
            return found


def is_passing(error: BaseException) -> bool:
    """Whether the same may succeed when it is tried again."""
    if not isinstance(error, psycopg.Error):
        return False
    if error.sqlstate is None:
        return isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)
    return error.sqlstate.startswith(PASSING)


def is_overtaken(error: BaseException) -> bool:
    """Whether somebody else was faster to write the same key: then the rule has to look again."""
    return isinstance(error, psycopg.errors.UniqueViolation)


def store_error(where: str, error: BaseException) -> StoreError:
    """What a caller is told of an error of the database."""
    text = str(error).strip() or type(error).__name__
    return StoreError(f"{where}: {text}")
