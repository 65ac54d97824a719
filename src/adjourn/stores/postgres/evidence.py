"""Everything in a PostgreSQL database, for a check."""

from collections.abc import Iterable
from typing import Any

from adjourn.stores.outbox import Endpoint
from adjourn.stores.postgres.config import READ, Config, taken
from adjourn.stores.postgres.connections import Connection, messages, named
from adjourn.stores.postgres.rows import COLUMNS, interrupt_row, run_row
from adjourn.stores.protocol import Halt
from adjourn.stores.table_evidence import TableEvidence


class PostgresEvidence(TableEvidence):
    """See `verification.Evidence`: by one connection, inside a transaction that sees one moment."""

    _within = "adjourn."
    _runs, _number = f"select {COLUMNS} from adjourn.run r where r.n > :after order by r.n", -1
    _journal = (
        "select seq, body, head from adjourn.journal where run = :of and seq > :after order by seq"
    )
    _head = (
        "select j.head from adjourn.run r join adjourn.journal j on j.run = r.n and j.seq = :seq "
        "where r.id = :run"
    )

    def __init__(self, db: Connection) -> None:
        super().__init__(run_row, interrupt_row)
        self._db = db
        self._config = taken(self._rows(READ, generation="")[0], Config())[1]

    def _rows(self, sql: str, **values: Any) -> list[Any]:
        return messages(self._db, [named(sql)], values)[0]

    def is_signed(self) -> bool:
        """See `verification.Evidence`."""
        return self._config.signed

    def halts(self) -> Iterable[Halt]:
        """See `verification.Evidence`."""
        return self._config.halts

    def endpoints(self) -> Iterable[Endpoint]:
        """See `verification.Evidence`."""
        return self._config.endpoints
