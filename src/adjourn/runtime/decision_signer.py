"""What a runtime does with signatures: it signs what is decided here, if it has a key, and believes
its deciders."""

import os
from collections.abc import Iterable, Sequence

from adjourn.core.interrupt import public_id
from adjourn.core.records import AnyRecord, Asked, Command, Decided, Emitted, Forked, Suspended
from adjourn.core.signatures import prefix_digest, shown, unsigned
from adjourn.driver.decider_keys import Deciders, SigningKey, StoreTrust, signing_key
from adjourn.driver.worker_mark import check_outside
from adjourn.errors import Misused, NotAllowed, StaleDecision, UnknownInterrupt
from adjourn.stores.protocol import Filter, Store

UNVERIFIED = (
    "decisions in this store are signed, and nothing here can verify them: start it with "
    "deciders (`adjourn worker --deciders FILE APP.PY:NAME`; in Python, deciders=), "
    "or without work (`adjourn serve --no-work`; work=False)"
)

DecidersSource = Deciders | str | os.PathLike[str] | Iterable[str]
SigningKeySource = SigningKey | str | os.PathLike[str]


class Signatures:
    """A runtime's deciders and signing key, for the store that it has open."""

    def __init__(self, deciders: DecidersSource | None, key: SigningKeySource | None) -> None:
        self._deciders, self._key = Deciders.of(deciders), signing_key(key)
        self._store: Store | None = None
        self._identity = ""
        self._required = False
        self.trust: StoreTrust | None = None

    async def open(self, store: Store, origin: str) -> None:
        """Look at the store. With deciders it asks for seals from here on."""
        self._store, self._required = store, await store.signed()
        if self._key is not None or self._deciders is not None:
            self._identity = await store.identity()
        if self._deciders is not None:
            self.trust = self._deciders.trusting(self._identity)
            if not self._required:
                self._required = await store.signed(True, origin=origin)

    def check_work(self) -> None:
        """Raise `Misused` where runs must not be advanced, because nothing here could tell whose
        decisions count."""
        if self._required and self.trust is None:
            raise Misused(UNVERIFIED)

    def check_key(self, run: str, commands: Sequence[Command]) -> None:
        """Raise `NotAllowed`, before anything is made, if one of these decides and the store would
        not take it from here."""
        if any(isinstance(x, Decided) for x in commands):
            check_outside("decide")
            if self._required and self._key is None:
                raise NotAllowed(unsigned("decides", run))

    async def sealed(self, run: str, command: Command) -> Command:
        """The command, with a seal if it decides something and there is a key. Raises `NotAllowed`
        for what a run decides itself.

        What is signed is made of the record that asked, read once: a digest that only stands beside
        it proves nothing. Raises `StaleDecision` if that is not what was seen.
        """
        if isinstance(command, Decided):
            check_outside("decide")
        if self._key is None or self._store is None or not isinstance(command, Decided | Emitted):
            return command
        of = ""
        if isinstance(command, Decided):
            opening = await self._opening(self._store, run, command.i)
            of = shown(run, opening)
            gated = isinstance(opening, Asked) and bool(opening.gate and opening.action)
            if gated and command.digest not in ("", of):
                raise StaleDecision(public_id(run, command.i), command.digest, of)
        return self._key.sealed(
            command, store=self._identity, run=run, of=of, now=self._store.now()
        )

    async def _opening(self, store: Store, run: str, i: str) -> Asked | Suspended:
        found = await store.inbox(Filter(run=run, interrupt=i, limit=1))
        if found:
            [(_, record), *_] = await store.load(run, found[0].seq - 1)
            if isinstance(record, Asked | Suspended):
                return record
        raise UnknownInterrupt(
            public_id(run, i), [x.id for x in await store.inbox(Filter(run=run, limit=20))]
        )

    def kept(self, run: str, records: Sequence[AnyRecord]) -> list[AnyRecord]:
        """The records of a new fork, with a seal if it keeps people's answers and there is a
        key."""
        *prefix, last = records
        if (
            self._key is not None
            and self._store is not None
            and isinstance(last, Forked)
            and last.answers == "keep"
        ):
            of = prefix_digest(last, prefix)
            last = self._key.sealed(
                last, store=self._identity, run=run, of=of, now=self._store.now()
            )
        return [*prefix, last]
