"""Seals: one chain over the whole store, so that what was deleted or rewritten as a whole shows.

Journals and audits have chains of their own, one for each scope: a run, the global commands (""),
the security log. Every transaction that is audited, and every park and end of a run, leaves its
scope in `touched`. A seal takes those scopes and writes down where each chain stood: its last line
and its last record, with their hashes. Seals are chained themselves, and signed if there is a key.
What was written since the last seal is chained, not sealed.
"""

import base64
import hashlib
import re
from datetime import UTC, datetime
from typing import Any, Self

import msgspec

from adjourn.core.action_digest import digest
from adjourn.core.codec import loads
from adjourn.errors import Invalid

MOST = 1000
"""So many scopes go into one seal: a transaction stays short however much there is to seal."""


class Covered(msgspec.Struct, frozen=True, array_like=True):
    """Where the chains of one scope stood: `line` is its last line of the audit, `record` its last
    of the journal.

    The heads are hex, the journal's as `sealed_head` has it; a scope without a journal has record 0
    and no head.
    """

    scope: str
    line: int
    line_head: str
    record: int = 0
    record_head: str = ""


class Seal(msgspec.Struct, frozen=True):
    """One seal. `k` counts from 1; `hash` covers the store's id, `k`, `at`, `prev` (the hash before
    it) and `body`."""

    k: int
    at: float
    prev: bytes
    body: str
    hash: bytes
    kid: str = ""
    sig: bytes = b""

    @property
    def covered(self) -> list[Covered]:
        """The scopes that it covers."""
        return _read(self.body)


_read = msgspec.json.Decoder(list[Covered]).decode


def seal_hash(store: str, number: int, at: float, prev: bytes, body: str) -> bytes:
    """What a seal's signature is for."""
    return bytes.fromhex(digest("seal/1", store, number, at, prev, body))


def sealed_head(salt: bytes, head: bytes) -> str:
    """What a seal names a journal's hash by. A seal stays when the run is erased and its salt goes:
    between two hashes that are known as they are, one could try what the records between them
    said."""
    if salt:
        return hashlib.sha256(b"sealed" + salt + head).hexdigest()
    return head.hex()


class Anchor(msgspec.Struct, frozen=True):
    """The name of a seal, to be kept where the store's writers cannot reach: on paper, in a
    channel, in another system.

    `str(anchor)` is one line; `Anchor.read` takes that line (also inside other text), or its JSON.

    Attributes:
        store: the store's identity.
        k: the seal's number.
        at: when it was made, in seconds since 1970.
        hash: of the seal, in hex.
        kid: the key that signed it; empty: none did.
        sig: the signature, in base64.
    """

    store: str
    k: int
    at: float
    hash: str
    kid: str = ""
    sig: str = ""

    @classmethod
    def of(cls, store: str, seal: Seal) -> Self:
        """The anchor of a seal.

        Args:
            store: the store's identity.
            seal: the seal.
        """
        return cls(
            store, seal.k, seal.at, seal.hash.hex(), seal.kid, base64.b64encode(seal.sig).decode()
        )

    @classmethod
    def read(cls, text: str) -> Self:
        """The anchor in a string; raises `Invalid` if there is none, or more than one.

        Args:
            text: the string.
        """
        if text.lstrip().startswith("{"):
            try:
                return msgspec.convert(
                    loads(text, what="the anchor", limit=10_000), cls, strict=True
                )
            except (Invalid, msgspec.ValidationError) as e:
                raise Invalid(f"this is not an anchor in JSON: {e}") from None
        found = re.findall(_ANCHOR, text)
        if len(found) != 1:
            raise Invalid(
                f"there {'is no anchor' if not found else 'are several anchors'} in {text!r:.80}: "
                f"an anchor is the line that `adjourn audit anchor` prints, and begins with {_WORD}"
            )
        store, number, when, hash, kid, sig = found[0]
        try:
            at = datetime.fromisoformat(when).timestamp()
        except ValueError:
            raise Invalid(
                f"an anchor's time must look like 2026-01-31T09:30:00.000Z, got {when!r:.40}"
            ) from None
        return cls(store, int(number), round(at, 3), hash, kid, sig)

    @property
    def when(self) -> str:
        """Its time, as ISO 8601 in UTC."""
        return (
            datetime.fromtimestamp(self.at, UTC)
            .isoformat(timespec="milliseconds")
            .replace("+00:00", "Z")
        )

    def __str__(self) -> str:
        signed = f" kid={self.kid} sig={self.sig}" if self.kid else ""
        return f"{_WORD} store={self.store} k={self.k} at={self.when} hash={self.hash}{signed}"

    def as_json(self) -> dict[str, Any]:
        """Its fields."""
        return msgspec.to_builtins(self)


_WORD = "adjourn-anchor/1"
_ANCHOR = (
    _WORD + r"\s+store=([0-9a-f]{1,64})\s+k=([0-9]{1,15})\s+at=(\S{1,40})\s+hash=([0-9a-f]{64})"
    r"(?:\s+kid=([0-9a-f]{1,64})\s+sig=([A-Za-z0-9+/=]{1,200}))?"
)
