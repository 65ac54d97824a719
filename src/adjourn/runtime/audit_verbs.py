"""The verbs of a runtime that are about the audit: read it, seal it, anchor it, check it, carry it
elsewhere."""

import os
from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Any

from adjourn.errors import Invalid
from adjourn.runtime.open_runtime import OpenRuntime
from adjourn.stores.audit import EVERY_LINE, AuditFilter, AuditLine
from adjourn.stores.audit_key import AuditKey, KeySource, audit_keys
from adjourn.stores.protocol import Store
from adjourn.stores.seals import Anchor, Seal

if TYPE_CHECKING:
    from adjourn.runtime.indexer import Indexer
    from adjourn.runtime.sealer import Sealer
    from adjourn.stores.verification import Verification
    from adjourn.views.audit_entry import AuditEntry

PAGE = 100


class AuditVerbs(OpenRuntime):
    """What `Runtime` can do with the audit. `_audit_keys` are those it was given; the first that
    can sign signs."""

    _sealer: "Sealer | None"
    _indexer: "Indexer | None"
    _audit_keys: tuple[AuditKey, ...]

    def keep_sealed(self) -> None:
        """Seal every ten seconds from now on, and at the end, and keep the index of runs up to
        date. A runtime that advances runs does it by itself."""
        from adjourn.stores.tenant_store import check_whole

        check_whole(self.store, "sealing the audit")
        assert self._sealer is not None and self._indexer is not None
        self._sealer.start()
        self._indexer.start()

    async def audit(
        self,
        *,
        before: str = "",
        limit: int = 100,
        security: bool = False,
        wanted: AuditFilter = EVERY_LINE,
    ) -> "list[AuditEntry]":
        """Every command to any run, newest first; also what was refused.

        Args:
            before: the `cursor` of an entry: only older ones.
            limit: at most so many.
            security: the security log instead: logins, keys, users, refusals.
            wanted: only entries that fulfil this: who, verb, run, agent, tool, time, text.
        """
        from adjourn.views.audit_entry import entries

        store = self.store
        found = await store.recent(before, limit, security=security, wanted=wanted)
        return await entries(store, found)

    async def audit_seal(self) -> Seal | None:
        """Seal what was touched, now; None if there is nothing to seal, or if that needs a key
        that this process lacks."""
        _ = self.store  # raises before the runtime is opened
        assert self._sealer is not None
        return await self._sealer.once()

    async def audit_anchor(self) -> Anchor:
        """Seal, and name the last seal: `str()` of it is a line to print, post or file where no one
        here can change it.

        What it names can be proved later: `rt.verify(since=anchor)`. Raises `Invalid` if there is
        nothing to seal yet.
        """
        await self.audit_seal()
        store = self.store
        last = await store.seals(-1)
        if not last:
            raise Invalid("this store has no records yet, so there is nothing to anchor")
        return Anchor.of(await store.identity(), last[0])

    async def verify(
        self,
        *,
        since: "Anchor | str | os.PathLike[str] | None" = None,
        key: KeySource | Sequence[KeySource] | None = None,
    ) -> list[str]:
        """Check all journals and the audit. Returns a sentence for each place that was changed;
        empty: everything agrees.

        Args:
            since: an anchor that was kept elsewhere: what it covers must still be there.
            key: checks the signatures of seals, as `audit_key`.
        """
        return [str(broken) for broken in await self.verification(since=since, key=key)]

    async def verification(
        self,
        *,
        since: "Anchor | str | os.PathLike[str] | None" = None,
        key: KeySource | Sequence[KeySource] | None = None,
    ) -> "Verification":
        """Check everything, and say how far the check can vouch for it: up to which seal, signed by
        whom, and what is not sealed.

        `since`: an anchor, its text, or the path of a file with it. `key`: what signatures are
            checked with, if not with the
        runtime's own: a public line (`ed25519 …`), or a file.
        """
        keys = self._audit_keys if key is None else audit_keys(key)
        return await self.store.verify(keys, read_anchor(since))

    async def audit_export(self, after: int = 0) -> AsyncIterator[dict[str, Any]]:
        """The sealed lines of the audit, each behind the lines before it, and each seal behind the
        lines that it covers.

        `after`: only what the seals behind that number cover, so an export can continue where the last
            one ended.
        """
        async for item in exported(self.store, after):
            yield item


def read_anchor(since: "Anchor | str | os.PathLike[str] | None") -> Anchor | None:
    """An anchor, or the one in a text, or in the file of a path."""
    if since is None or isinstance(since, Anchor):
        return since
    if isinstance(since, str):
        return Anchor.read(since)
    with open(since, encoding="utf-8") as file:
        return Anchor.read(file.read())


async def exported(store: Store, after: int = 0) -> AsyncIterator[dict[str, Any]]:
    """See `AuditVerbs.audit_export`."""
    known: dict[str, int] = {}
    done = 0
    while done < after:
        page = await store.seals(done, min(PAGE, after - done))
        if not page:
            raise Invalid(f"seal {after} not found", advice=f"the last one is {done}")
        for seal in page:
            known |= {entry.scope: entry.line for entry in seal.covered}
        done = page[-1].k
    while page := await store.seals(done, PAGE):
        for seal in page:
            for entry in seal.covered:
                async for row in _lines(store, entry.scope, known.get(entry.scope, 0), entry.line):
                    yield line_json(row, seal.k)
                known[entry.scope] = entry.line
            yield seal_json(seal)
        done = page[-1].k


async def _lines(store: Store, scope: str, after: int, upto: int) -> AsyncIterator[AuditLine]:
    while after < upto:
        page = await store.audit(scope, after=after, limit=min(PAGE, upto - after))
        if not page or page[0].n > upto:
            return  # somebody has taken them away; `verify` says so
        for row in page:
            yield row
        after = page[-1].n


def line_json(row: AuditLine, k: int) -> dict[str, Any]:
    """A line of the audit, and the seal that covers it."""
    return {
        "type": "line",
        "k": k,
        "scope": row.scope,
        "n": row.n,
        "head": row.head.hex(),
        "entry": row.entry,
    }


def seal_json(seal: Seal) -> dict[str, Any]:
    """A seal; hashes and the signature are hex."""
    return {
        "type": "seal",
        "k": seal.k,
        "at": seal.at,
        "prev": seal.prev.hex(),
        "hash": seal.hash.hex(),
        "kid": seal.kid,
        "sig": seal.sig.hex(),
        "body": seal.body,
    }
