"""The security log and the seals: what is written about the store as a whole."""

from collections.abc import Mapping, Sequence
from typing import Any

from adjourn.core.codec import encode
from adjourn.errors import AuditBroken
from adjourn.stores.audit import SECURITY
from adjourn.stores.audit_key import AuditKey
from adjourn.stores.rules.reads_and_writes import ReadRequest
from adjourn.stores.rules.sheet import Sheet
from adjourn.stores.rules.transaction import StoreRule
from adjourn.stores.seals import Seal, seal_hash


def noting(lines: Sequence[Mapping[str, Any]]) -> StoreRule:
    """See `Store.note`."""
    return StoreRule(ReadRequest(audit=(SECURITY,)), lambda sheet: sheet.noted(lines))


def sealing(key: AuditKey | None, after: Seal | None, most: int) -> StoreRule:
    """See `Store.seal`."""
    ask = ReadRequest(touched=most, seal=after.k if after else 0)
    return StoreRule(ask, lambda sheet: seal(sheet, key, after))


def seal(sheet: Sheet, key: AuditKey | None, after: Seal | None) -> Seal | None:
    """See `Store.seal`."""
    store, last = sheet.store_id(), sheet.seal()
    if not store:
        raise AuditBroken(
            "the id of the store is missing: the store was modified",
            consequence="nothing was sealed",
        )
    if after is not None and sheet.seal(after.k) != after:
        raise AuditBroken(
            (
                f"seal {after.k}, which this process has made or read, is no longer in the "
                f"store: the store was modified"
            ),
            consequence="nothing was sealed",
            advice="compare it with a copy, and with your last anchor: adjourn audit verify --since ANCHOR",
        )
    if key is None and last is not None and last.kid:
        return None  # what is signed stays signed: this is for whoever has the key
    covered = sheet.touched()
    if not covered and (last is None or key is None or last.kid):
        return None
    number, at = (last.k + 1 if last else 1), round(sheet.now, 3)
    prev, body = (last.hash if last else b""), encode(covered).decode()
    hash = seal_hash(store, number, at, prev, body)
    made = Seal(
        number, at, prev, body, hash, key.kid if key else "", key.sign(hash) if key else b""
    )
    sheet.put_seal(made, covered[-1].scope if covered else None)
    return made
