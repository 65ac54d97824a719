"""What a check looks at in a `MemoryStore`."""

from collections.abc import Iterable
from typing import Any

from adjourn.stores.audit import BrokenChain, chain
from adjourn.stores.erasure import Hold
from adjourn.stores.outbox import Endpoint
from adjourn.stores.protocol import Halt
from adjourn.stores.rules.interrupt_row import InterruptRow
from adjourn.stores.run_row import RunRow
from adjourn.stores.seals import Seal
from adjourn.stores.verification import Line


class MemoryEvidence:
    """Everything in the dicts, for a check. A journal has no hashes of its own here: only its row
    keeps the last."""

    def __init__(self, store: Any) -> None:  # a `MemoryStore`, which knows this one
        self._store = store

    def store_id(self) -> str:
        """See `verification.Evidence`."""
        return self._store._id

    def scopes(self) -> Iterable[tuple[str, int, bytes]]:
        """See `verification.Evidence`."""
        return [(scope, rows[-1].n, rows[-1].head) for scope, rows in self._store._audit.items()]

    def strays(self) -> Iterable[BrokenChain]:
        """See `verification.Evidence`."""
        return ()

    def lines(self, scope: str) -> Iterable[Line]:
        """See `verification.Evidence`."""
        return [(line.n, line.body, line.head) for line in self._store._audit.get(scope, [])]

    def line(self, scope: str, number: int) -> Line | None:
        """See `verification.Evidence`."""
        rows = self._store._audit.get(scope, [])
        if 0 < number <= len(rows):
            return (number, rows[number - 1].body, rows[number - 1].head)
        return None

    def runs(self) -> Iterable[RunRow]:
        """See `verification.Evidence`."""
        return list(self._store._runs.values())

    def journal(self, row: RunRow) -> Iterable[Line]:
        """See `verification.Evidence`."""
        if row.erased:
            journal: list[str | None] = self._store._journals[row.id]
            return list(
                zip(range(1, len(journal) + 1), journal, self._store._chains[row.id], strict=True)
            )
        head, lines = row.salt, list[Line]()
        for seq, body in enumerate(self._store._journals[row.id], 1):
            head = chain(head, body)
            lines.append((seq, body, head))
        return lines

    def interrupts(self, row: RunRow) -> Iterable[InterruptRow]:
        """See `verification.Evidence`."""
        return self._store._interrupts[row.id].values()

    def blobs(self, row: RunRow) -> Iterable[tuple[str, bytes]]:
        """See `verification.Evidence`."""
        return self._store._blobs.get(row.id, {}).items()

    def record_head(self, run: str, seq: int) -> bytes | None:
        """See `verification.Evidence`."""
        row = self._store._runs.get(run)
        lines = list(self.journal(row)) if row else []
        if 0 < seq <= len(lines):
            return lines[seq - 1][2]
        return None

    def seals(self) -> Iterable[Seal]:
        """See `verification.Evidence`."""
        return self._store._seals

    def touched(self) -> Iterable[str]:
        """See `verification.Evidence`."""
        return self._store._touched

    def is_signed(self) -> bool:
        """See `verification.Evidence`."""
        return self._store._signed

    def halts(self) -> Iterable[Halt]:
        """See `verification.Evidence`."""
        return self._store._halts.values()

    def holds(self) -> Iterable[Hold]:
        """See `verification.Evidence`."""
        return self._store._holds.values()

    def endpoints(self) -> Iterable[Endpoint]:
        """See `verification.Evidence`."""
        return self._store._endpoints.values()
