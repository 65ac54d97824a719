"""Checking everything that a store holds: chains, rows, seals, and what somebody wrote down
elsewhere (an anchor).

What a check can know is what it says: what is sealed and signed was so when it was signed; what is
only chained agrees with itself, which whoever can write the file can bring about.
"""

import base64
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, cast

import msgspec

from adjourn.core.codec import decode
from adjourn.core.files import digests
from adjourn.core.messages import FilePart
from adjourn.core.record_codec import parse
from adjourn.core.records import AnyRecord, Replied, Started
from adjourn.core.upgrade_rule import objections
from adjourn.errors import AdjournError, KeyMissing
from adjourn.stores.audit import SECURITY, BrokenChain, Evidenced, verify
from adjourn.stores.audit_key import AuditKey
from adjourn.stores.erasure import Hold
from adjourn.stores.erasure_check import Line, flaws
from adjourn.stores.outbox import Endpoint
from adjourn.stores.protocol import Halt
from adjourn.stores.rules.erasure import ERASE
from adjourn.stores.rules.holds import HOLD, LIFT
from adjourn.stores.rules.interrupt_row import InterruptRow
from adjourn.stores.rules.outbox import endpoint_digest
from adjourn.stores.rules.prune import PRUNE
from adjourn.stores.rules.replay import Replay, disagreements
from adjourn.stores.rules.restore import RESTORE, when
from adjourn.stores.rules.signatures import REQUIRE, STOP
from adjourn.stores.run_row import RunRow, opened_bytes
from adjourn.stores.seals import Anchor, Covered, Seal, seal_hash, sealed_head


class Evidence(Protocol):
    """All that a store holds, as one look sees it: whatever is written meanwhile is not in it."""

    def store_id(self) -> str: ...
    def scopes(self) -> Iterable[tuple[str, int, bytes]]:
        """Every scope with an audit, with the number and the hash of the line that should be its
        last."""
        ...

    def strays(self) -> Iterable[BrokenChain]:
        """Lines and records that belong to nothing."""
        ...

    def lines(self, scope: str) -> Iterable[Line]: ...
    def line(self, scope: str, number: int) -> Line | None: ...
    def runs(self) -> Iterable[RunRow | BrokenChain]:
        """Every run's row; what cannot be read as one is broken."""
        ...

    def journal(self, row: RunRow) -> Iterable[Line]: ...
    def interrupts(self, row: RunRow) -> Iterable[InterruptRow]:
        """The rows of its interrupts; raises `ValueError` if one cannot be read."""
        ...

    def blobs(self, row: RunRow) -> Iterable[tuple[str, bytes]]:
        """The files of a run: their digests and their bytes."""
        ...

    def record_head(self, run: str, seq: int) -> bytes | None: ...
    def seals(self) -> Iterable[Seal]: ...
    def touched(self) -> Iterable[str]: ...
    def is_signed(self) -> bool: ...
    def halts(self) -> Iterable[Halt]: ...
    def holds(self) -> Iterable[Hold]: ...
    def endpoints(self) -> Iterable[Endpoint]: ...


class Verification(list[BrokenChain]):
    """What a check found: a list of the broken places, empty if there are none; and how far it can
    vouch for the rest.

    `seal`: the last one. `signed_from`: the first that a given key has signed, if keys were given.
        `lines` and `records`: how
    many are not sealed yet, the oldest line written at `oldest`. `unread`: runs that are encrypted with
        a key that is not here; their hashes were checked. `str()` says all of it in words.
    """

    def __init__(self) -> None:
        super().__init__()
        self.seal: Seal | None = None
        self.signed_from: Seal | None = None
        self.keys: tuple[AuditKey, ...] = ()
        self.anchor: Anchor | None = None
        self.lines = 0
        self.records = 0
        self.oldest = 0.0
        self.unread = 0

    @property
    def is_signed(self) -> bool:
        """Whether the last seal bears the signature of a key that the caller gave."""
        return self.signed_from is not None

    def __str__(self) -> str:
        if self:
            return "\n".join(map(str, self))
        return " ".join([self._sealed(), *self._since(), *self._trust()])

    def _sealed(self) -> str:
        if self.seal is None:
            return "Consistent; nothing is sealed."
        signed = f", signed by {self.seal.kid}" if self.is_signed else ""
        return f"Consistent up to seal {self.seal.k} ({when(self.seal.at)}){signed}."

    def _since(self) -> list[str]:
        said: list[str] = []
        if self.anchor is not None:
            said.append(
                f"Everything that the anchor of {when(self.anchor.at)} covers is still there."
            )
        if self.lines or self.records:
            counts: list[str] = []
            oldest = ""
            if self.lines:
                counts.append(_count(self.lines, "line"))
                oldest = f" (the oldest line is of {when(self.oldest)})"
            if self.records:
                counts.append(_count(self.records, "record"))
            many = " and ".join(counts)
            since = " since then" if self.seal else ""
            are = "is" if self.lines + self.records == 1 else "are"
            said.append(f"{many}{since} {are} chained, not sealed{oldest}.")
        return said

    def _trust(self) -> list[str]:
        if self.signed_from is None:
            why = "Nothing is signed."
            if self.seal is not None and self.seal.kid:
                why = f"Its signature ({self.seal.kid}) was not checked: give the key."
            return [f"{why} So anyone who can write the file can rewrite it."]
        first = self.signed_from
        if first.k == 1:
            return []
        return [
            f"Signed from seal {first.k} ({when(first.at)}) on; earlier lines are unchanged since then."
        ]


def _count(number: int, word: str) -> str:
    return f"{number:,} {word if number == 1 else f'{word}s'}"


def verified(
    evidence: Evidence, keys: Sequence[AuditKey] = (), since: Anchor | None = None
) -> Verification:
    """See `Store.verify`."""
    found = Verification()
    found.keys, found.anchor = tuple(keys), since
    _Check(evidence, found).everything()
    return found


class _Check:
    """One check of everything: chains and rows first, because they say exactly where; then seals,
    and what lies outside of runs."""

    def __init__(self, evidence: Evidence, found: Verification) -> None:
        self._evidence, self._found = evidence, found
        self._lines: dict[str, int] = {}
        self._records: dict[str, int] = {}
        self._covered: dict[str, Covered] = {}
        self._salts: dict[str, bytes] = {}
        self._erasing: dict[str, dict[str, Any]] = {}  # the lines of the audit that erased a run
        self._erased: dict[str, int] = {}  # and the records that say so
        # the last lines of the audits of runs that were pruned
        self._pruned: dict[str, dict[str, Any]] = {}
        self._broken: set[tuple[Evidenced, str]] = set()

    def _say(self, what: Evidenced, scope: str, number: int, why: str) -> None:
        self._broken.add((what, scope))
        self._found.append(BrokenChain(what, scope, number, why))

    def everything(self) -> None:
        self._audits()
        self._journals()
        for scope in sorted({*self._lines} - {*self._records, *self._pruned, "", SECURITY}):
            self._say(Evidenced.JOURNAL, scope, 1, "the run is missing")
        for stray in self._evidence.strays():
            self._say(stray.what, stray.scope, stray.n, stray.why)
        self._seals()
        self._unsealed()
        self._signing()
        self._switches(Evidenced.HALT, "halt", "unhalt", self._evidence.halts())
        self._switches(Evidenced.HOLD, HOLD, LIFT, self._evidence.holds())
        self._endpoints()

    # Chains and rows

    def _audits(self) -> None:
        for scope, number, head in self._evidence.scopes():
            self._lines[scope] = number
            if broken := verify(Evidenced.AUDIT, scope, self._listened(scope), (number, head)):
                self._say(Evidenced.AUDIT, scope, broken.n, broken.why)

    def _listened(self, scope: str) -> Iterator[Line]:
        """The lines of an audit; on the way, those that erased or pruned its run are taken down."""
        for line in self._evidence.lines(scope):
            for verb, taken_down in ((PRUNE, self._pruned), (ERASE, self._erasing)):
                if line[1] and f'"{verb}"' in line[1]:
                    entry = _read(line[1])
                    if entry.get("verb") == verb and not entry.get("refused"):
                        taken_down[scope] = entry
            yield line

    def _journals(self) -> None:
        for row in self._evidence.runs():
            if isinstance(row, BrokenChain):
                self._say(row.what, row.scope, row.n, row.why)
                self._records[row.scope] = 0
                continue
            self._records[row.id] = row.seq
            if row.id in self._pruned:
                self._say(Evidenced.ROWS, row.id, 0, "it was pruned, but is still stored")
            if row.id not in self._lines:
                self._say(Evidenced.AUDIT, row.id, 1, "all of it is missing")
            journal = list(self._evidence.journal(row))
            self._salts[row.id] = row.salt
            if row.erased or row.id in self._erasing:
                self._erased[row.id] = row.seq
                for seq, why in flaws(row, journal, self._asks(row), self._erasing.get(row.id)):
                    self._say(Evidenced.JOURNAL if seq else Evidenced.ROWS, row.id, seq, why)
            elif broken := verify(
                Evidenced.JOURNAL, row.id, journal, (row.seq, row.head), row.salt
            ):
                self._say(Evidenced.JOURNAL, row.id, broken.n, broken.why)
            else:
                self._rows(row, journal)

    def _asks(self, row: RunRow) -> bool:
        """Whether there are rows of its interrupts, or files."""
        if any(True for _ in self._evidence.blobs(row)):
            return True
        try:
            return bool(list(self._evidence.interrupts(row)))
        except ValueError:
            return True

    def _rows(self, row: RunRow, journal: Sequence[Line]) -> None:
        """The rows are what the journal means, and behind every gated call in it stand
        decisions."""
        replay, records = Replay(), list[AnyRecord]()
        for seq, body, _ in journal:
            assert body is not None  # its chain would be broken
            try:
                records.append(parse(body))
                replay.fold(body, records[-1])
            except KeyMissing:  # its chain holds over what is encrypted; what it says is not seen
                self._found.unread += 1
                return
            except (msgspec.MsgspecError, AdjournError, ValueError) as e:
                self._say(Evidenced.JOURNAL, row.id, seq, f"it is not valid there: {e}")
                return
        try:
            unequal = disagreements(row, self._evidence.interrupts(row), replay)
        except ValueError as e:
            unequal = [f"they cannot be read: {e}"]
        for wrong in unequal:
            self._say(Evidenced.ROWS, row.id, 0, wrong)
        for wrong in objections(records):
            self._say(Evidenced.JOURNAL, row.id, 0, wrong)
        self._files(row, records)

    def _files(self, row: RunRow, records: Sequence[AnyRecord]) -> None:
        """Every file has the bytes that its digest says, and those that the input and the replies
        name are there. What a tool or a model writes by itself may name anything."""
        there: set[str] = set()
        for digest, data in self._evidence.blobs(row):
            there.add(digest)
            if hashlib.sha256(opened_bytes(row.salt, data)).hexdigest() != digest:
                self._say(Evidenced.FILES, row.id, 0, f"the bytes of {digest:.16} were changed")
        for seq, record in enumerate(records, 1):
            if isinstance(record, Started):
                named = digests((record.input, record.history))
            elif isinstance(record, Replied):
                named = digests(part for part in record.parts if isinstance(part, FilePart))
            else:
                continue
            for digest in sorted(named - there):
                why = f"it names the file {digest:.16}, which is missing"
                self._say(Evidenced.FILES, row.id, seq, why)

    # Seals

    def _seals(self) -> None:
        store, last = self._evidence.store_id(), Seal(0, 0.0, b"", "", b"")
        if not store:
            self._say(Evidenced.SEALS, "", 0, "the id of the store is missing")
        for seal in self._evidence.seals():
            self._seal(store, last, seal)
            last = seal
        if last.k:
            self._found.seal = last
        if self._found.keys and self._found.signed_from is None and self._lines:
            kids = ", ".join(key.kid for key in self._found.keys)
            self._say(Evidenced.SEALS, "", 0, f"none is signed by {kids}")
        if (anchor := self._found.anchor) is not None and anchor.k > last.k:
            why = (
                f"this seal does not exist, the last one is {last.k}: this is an older copy of "
                "the store, or lines were removed"
            )
            self._say(Evidenced.ANCHOR, "", anchor.k, self._restoration(anchor) or why)

    def _seal(self, store: str, last: Seal, seal: Seal) -> None:
        if seal.k != last.k + 1:
            missing = f"it is missing: seal {seal.k} follows seal {last.k}"
            self._say(Evidenced.SEAL, "", last.k + 1, missing)
        elif seal.prev != last.hash:
            self._say(Evidenced.SEAL, "", seal.k, "it does not follow from the seal before it")
        if seal.hash != seal_hash(store, seal.k, seal.at, seal.prev, seal.body):
            self._say(Evidenced.SEAL, "", seal.k, "it was edited, or belongs to another store")
            return
        self._signature(seal)
        self._anchored(store, seal)
        for entry in seal.covered:
            self._entry(seal, entry)
            self._covered[entry.scope] = entry

    def _signature(self, seal: Seal) -> None:
        """With keys, everything from the first signature on must be signed by one of them."""
        if not self._found.keys:
            return
        key = self._key(seal.kid)
        if key is not None and key.fits(seal.hash, seal.sig):
            self._found.signed_from = self._found.signed_from or seal
        elif key is not None:
            self._say(Evidenced.SEAL, "", seal.k, f"its signature was not made by {seal.kid}")
        elif seal.kid:
            why = f"it is signed by {seal.kid:.64}, which is none of the given keys"
            self._say(Evidenced.SEAL, "", seal.k, why)
        elif self._found.signed_from is not None:
            self._say(Evidenced.SEAL, "", seal.k, "it is not signed, but earlier seals are")

    def _key(self, kid: str) -> AuditKey | None:
        for key in self._found.keys:
            if key.kid == kid:
                return key
        return None

    def _anchored(self, store: str, seal: Seal) -> None:
        anchor = self._found.anchor
        if anchor is None or anchor.k != seal.k:
            return
        if anchor.store != store:
            why = f"it belongs to the store {anchor.store}; this one is {store}"
            self._say(Evidenced.ANCHOR, "", anchor.k, why)
        elif anchor.hash != seal.hash.hex() or anchor.at != seal.at:
            why = (
                "the seal with this number differs from the one that it names: sealed lines "
                "were changed"
            )
            self._say(Evidenced.ANCHOR, "", anchor.k, self._restoration(anchor) or why)
        key = self._key(anchor.kid)
        if key is not None and not key.fits(bytes.fromhex(anchor.hash), _base64(anchor.sig)):
            self._say(Evidenced.ANCHOR, "", anchor.k, f"its signature was not made by {anchor.kid}")

    def _restoration(self, anchor: Anchor) -> str:
        """Why its seal is not here any more, if somebody restored a backup afterwards that did not
        have it; else ""."""
        for entry in self._global(RESTORE):
            if entry.get("seal", anchor.k) < anchor.k and anchor.at < entry.get("at", 0.0):
                by, at = entry.get("by") or "an unknown person", when(entry.get("at", 0.0))
                return (
                    f"it is of a time that was lost: {by} restored a backup at {at}, whose "
                    f"last seal was {entry['seal']}; "
                    "compare what it names with the database that was kept"
                )
        return ""

    def _entry(self, seal: Seal, entry: Covered) -> None:
        """The chains of this scope still pass through what was sealed."""
        line = self._evidence.line(entry.scope, entry.line)
        record = self._evidence.record_head(entry.scope, entry.record)
        for what, number, head, sealed in (
            (Evidenced.AUDIT, entry.line, line[2] if line else None, entry.line_head),
            (Evidenced.JOURNAL, entry.record, record, entry.record_head),
        ):
            if not number or (what, entry.scope) in self._broken:
                continue
            if what == Evidenced.JOURNAL and number < self._erased.get(entry.scope, 0):
                continue  # its hash went with its content
            if what == Evidenced.JOURNAL and (pruned := self._pruned.get(entry.scope)) is not None:
                self._against_pruned(seal, entry, pruned)
                continue
            if head is None:
                why = f"it is missing: seal {seal.k} ({when(seal.at)}) names it"
                self._say(what, entry.scope, number, why)
            elif sealed not in self._names(what, entry.scope, head):
                why = (
                    f"it is not what seal {seal.k} ({when(seal.at)}) names: it, or a line before "
                    "it, was rewritten"
                )
                self._say(what, entry.scope, number, why)

    def _against_pruned(self, seal: Seal, entry: Covered, pruned: Mapping[str, Any]) -> None:
        """Of a run that was pruned, the audit has where its journal ended: no seal names more, or
        something else there."""
        last, head = pruned.get("seq", 0), pruned.get("head", "")
        if entry.record > last or (entry.record == last and entry.record_head != head):
            why = f"its pruned content differs from what seal {seal.k} ({when(seal.at)}) names"
            self._say(Evidenced.JOURNAL, entry.scope, entry.record, why)

    def _names(self, what: Evidenced, scope: str, head: bytes) -> tuple[str, ...]:
        """How a seal may name a hash; older ones named also a journal's as it is."""
        salt = self._salts.get(scope, b"") if what == Evidenced.JOURNAL else b""
        return head.hex(), sealed_head(salt, head)

    def _unsealed(self) -> None:
        """What came after the last seal; each audit with such lines is marked for the next one."""
        touched, none = {*self._evidence.touched()}, Covered("", 0, "")
        for scope, number in self._lines.items():
            sealed = self._covered.get(scope, none).line
            if number <= sealed:
                continue
            self._found.lines += number - sealed
            first = self._evidence.line(scope, sealed + 1)
            at = _read(first[1] or "").get("at", 0.0) if first else 0.0
            self._found.oldest = min(self._found.oldest or at, at)
            if scope not in touched:
                why = "it is not sealed and not marked for the next seal"
                self._say(Evidenced.AUDIT, scope, sealed + 1, why)
        for run, seq in self._records.items():
            self._found.records += max(0, seq - self._covered.get(run, none).record)

    # What lies outside of runs: the global chain says what there must be

    def _signing(self) -> None:
        meant = False
        for entry in self._global(REQUIRE, STOP):
            meant = entry["verb"] == REQUIRE
        if meant != self._evidence.is_signed():
            why = "unsigned decisions are refused, but the audit does not require that"
            if meant:
                why = "unsigned decisions are accepted, but the audit does not allow that"
            self._say(Evidenced.SIGNING, "", 0, why)

    def _switches(
        self, what: Evidenced, on: str, off: str, switches: Iterable[Halt | Hold]
    ) -> None:
        """Halts or holds: those are on that somebody set and nobody lifted."""
        meant: dict[str, tuple[str, str, float]] = {}
        for entry in self._global(on, off):
            if entry["verb"] == off:
                meant.pop(entry["scope"], None)
            else:
                said = (entry["by"], entry["reason"], entry.get("at", 0.0))  # it may be forged
                meant.setdefault(entry["scope"], said)
        there: dict[str, tuple[str, str, float]] = {}
        for switch in switches:
            there[switch.scope] = (switch.by, switch.reason, round(switch.at, 3))
        for scope in sorted({*meant, *there}):
            if scope not in there:
                self._say(what, scope, 0, "it is off, but the audit has no lift of it")
            elif scope not in meant:
                self._say(what, scope, 0, "it is on, but the audit does not say who set it")
            elif there[scope] != meant[scope]:
                why = (
                    f"by, reason and time are {there[scope]!r:.200}, the audit has "
                    f"{meant[scope]!r:.200}"
                )
                self._say(what, scope, 0, why)

    def _endpoints(self) -> None:
        meant: dict[str, str] = {}
        for entry in self._global("add endpoint", "remove endpoint"):
            if entry["verb"] == "remove endpoint":
                meant.pop(entry["endpoint"], None)
            else:
                meant[entry["endpoint"]] = entry.get("digest", "")  # older lines have none
        there = {
            endpoint.name: endpoint_digest(endpoint) for endpoint in self._evidence.endpoints()
        }
        for name in sorted({*meant, *there}):
            if name not in there:
                self._say(
                    Evidenced.ENDPOINT, name, 0, "it is missing, but the audit has no removal of it"
                )
            elif name not in meant:
                self._say(
                    Evidenced.ENDPOINT,
                    name,
                    0,
                    "it receives notifications, but the audit does not say who added it",
                )
            elif meant[name] and there[name] != meant[name]:
                why = "its address, secret or topics are not those that were added"
                self._say(Evidenced.ENDPOINT, name, 0, why)

    def _global(self, *verbs: str) -> Iterator[dict[str, Any]]:
        for _, body, _ in self._evidence.lines(""):
            entry = _read(body or "")
            if entry.get("verb") in verbs and not entry.get("refused"):
                yield entry


def _read(body: str) -> dict[str, Any]:
    """A line of the audit; empty if it cannot be read, which its chain says already."""
    try:
        entry = decode(body)
    except msgspec.MsgspecError:
        return {}
    if isinstance(entry, dict):
        return cast("dict[str, Any]", entry)
    return {}


def _base64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        return b""
