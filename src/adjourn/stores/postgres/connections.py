"""Connections to PostgreSQL: what they keep (nothing, so that a pooler may share them), and which
errors pass by themselves.

Several statements go in one message, by the simple protocol: no prepared statements, no settings of
a session. What a transaction needs beyond that is set for that transaction alone.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import psycopg
from psycopg import ClientCursor, sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout

from adjourn.errors import InvalidDefinition, StoreError
from adjourn.stores.address import without_password

Connection: TypeAlias = psycopg.Connection[tuple[Any, ...]]
Pool: TypeAlias = ConnectionPool[Connection]
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


def pool(info: str, size: int) -> Pool:
    """Up to so many connections, made when they are needed."""
    return ConnectionPool(
        info,
        kwargs=OPTIONS,
        min_size=0,
        max_size=size,
        open=True,
        timeout=15.0,
        name="adjourn",
        num_workers=1,
    )


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
    if isinstance(error, PoolTimeout | PoolClosed):
        return False
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
