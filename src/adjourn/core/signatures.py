"""Signed decisions: what is signed, who may sign, and what is wrong with a signature.

A decision is signed by whoever makes it (a server for its users, or a person), and verified by
whoever acts on it. What a worker trusts is a *ring* of public keys that it reads from a file, never
from the database. The cryptography itself is
elsewhere: here are the bytes and the rules.
"""

import base64
import binascii
import hashlib
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import Protocol

import msgspec

from adjourn.core.action_digest import action_digest, digest
from adjourn.core.authority import NONE_STANDS, shown_digest
from adjourn.core.interrupt_kind import OF_CALLS
from adjourn.core.record_codec import dump
from adjourn.core.record_parts import DecisionSeal
from adjourn.core.records import (
    AnyRecord,
    Asked,
    Broke,
    Claimed,
    Closed,
    Decided,
    Doubted,
    Emitted,
    Faulted,
    Forked,
    Intended,
    Parked,
    Reminded,
    Replied,
    Returned,
    RunCancelled,
    RunCompleted,
    Stepped,
    Summarised,
    Suspended,
    Verified,
    Yielded,
)
from adjourn.core.standing_decision import Known, backing, under
from adjourn.errors import InvalidDefinition

LEEWAY = 300.0
"""Seconds that the time of a signature and the time of its record may differ."""
KEY_BYTES = 32
ALGORITHM = "ed25519"

Sealed = Decided | Emitted | Forked
SEALED = (Decided, Emitted, Forked)
Check = Callable[[bytes, bytes, bytes], bool]
"""Whether (public key, signature, message) belong together."""


# What is signed


def shown(run: str, opening: Asked | Suspended) -> str:
    """The digest of what a person was asked, made of the record itself and not of what the record
    says it is."""
    if isinstance(opening, Asked) and opening.kind in OF_CALLS:
        action = action_digest(run, opening.call, opening.tool, opening.definition, opening.args)
        return shown_digest(run, msgspec.structs.replace(opening, action=action))
    return digest("opened", run, dump(msgspec.structs.replace(opening, at=0.0)))


def prefix_digest(forked: Forked, prefix: Iterable[AnyRecord]) -> str:
    """What somebody keeps who keeps a fork's answers: these records of that run."""
    head = b""
    for record in prefix:
        head = hashlib.sha256(head + dump(record).encode()).digest()
    return digest("fork", forked.of, forked.at_seq, head)


def message(store: str, run: str, record: Sealed, of: str, seal: DecisionSeal) -> bytes:
    """The 32 bytes that are signed: who decides what, about which `of` (see `shown`), in which run
    of which store, when."""
    match record:
        case Decided():
            about, verdict, value, edit, scope = (
                record.i,
                record.verdict,
                record.value,
                record.edit,
                record.scope,
            )
        case Emitted():
            about, verdict, value, edit, scope = record.event, "emit", record.value, None, ""
        case Forked():
            about, verdict, value, edit, scope = record.of, "keep", record.at_seq, None, ""
    groups = () if isinstance(record, Forked) else record.groups
    # A value stands in a list: the text "true" and the value true would be the same bytes
    # otherwise.
    text = digest(
        "decision/1",
        store,
        run,
        about,
        of,
        verdict,
        [value],
        [edit],
        scope,
        record.by,
        list(groups),
        seal.at,
        seal.nonce,
        seal.kid,
    )
    return bytes.fromhex(text)


# Who may sign


class Decider(msgspec.Struct, frozen=True):
    """A key that is trusted: an authority's, which signs for its users, or one person's. `until`:
    signatures before then."""

    kid: str
    public: bytes
    name: str
    person: bool = False
    groups: tuple[str, ...] = ()
    until: float = 0.0


Ring = dict[str, Decider]
"""Who is trusted, by the name of their key."""


def key_id(public: bytes) -> str:
    """How a public key is named."""
    return hashlib.sha256(b"adjourn/decider\0" + public).hexdigest()[:16]


def decider_line(
    public: bytes, name: str, *, person: bool = False, groups: Sequence[str] = ()
) -> str:
    """The line of a deciders file for this key."""
    from shlex import quote

    key = base64.b64encode(public).decode()
    if not person:
        return f"{ALGORITHM} {key} authority {quote(name)}"
    of = f" groups={quote(','.join(groups))}" if groups else ""
    return f"{ALGORITHM} {key} person={quote(name)}{of}"


def read_ring(text: str, source: str) -> Ring:
    """The deciders of a text, one a line; raises `InvalidDefinition` naming `source` and the
    line."""
    from shlex import split

    ring: Ring = {}
    if "PRIVATE KEY" in text:
        raise InvalidDefinition(
            f"{source} holds a signing key, which only its owner should have",
            advice="deciders are lines with public keys: `adjourn keys show FILE` prints the line of a key",
        )
    for number, line in enumerate(text.splitlines(), 1):
        where = f"{source}, line {number}"
        try:
            words = split(line, comments=True)
        except ValueError as e:
            raise InvalidDefinition(f"{where}: {e}", advice=f"write it as {_FORM}") from None
        if not words:
            continue
        decider = _decider(words, where)
        if decider.kid in ring:
            raise InvalidDefinition(
                f"{where}: the key of {ring[decider.kid].name!r} is already in the list",
                advice="keep one line",
            )
        ring[decider.kid] = decider
    if not ring:
        raise InvalidDefinition(
            f"{source} has no deciders, so no decision would count",
            advice=f"add lines such as {_FORM}",
        )
    return ring


_FORM = (
    f"`{ALGORITHM} BASE64 authority NAME [until=DATE]` or `{ALGORITHM} BASE64 "
    f"person=NAME [groups=A,B] [until=DATE]`"
)


def _decider(words: list[str], where: str) -> Decider:
    algorithm, *rest = words
    if algorithm != ALGORITHM:
        raise InvalidDefinition(
            f"{where}: {algorithm!r:.40} is not a supported kind of key",
            advice=f"write it as {_FORM}",
        )
    if len(rest) < 2:
        raise InvalidDefinition(f"{where}: the line of a decider is incomplete: {_FORM}")
    public = _public(rest[0], where)
    role, name, options = _named(rest[1:], where)
    found: dict[str, str] = {}
    for word in options:
        key, given, value = word.partition("=")
        if not given or key not in ("until", "groups") or key in found or not value:
            raise InvalidDefinition(
                f"{where}: {word!r:.60} is not understood", advice=f"write it as {_FORM}"
            )
        found[key] = value
    if "groups" in found and role == "authority":
        raise InvalidDefinition(
            f"{where}: groups= is for a person",
            advice="an authority signs with the groups of its users",
        )
    groups = tuple(group.strip() for group in found.get("groups", "").split(",") if group.strip())
    until = _time(found["until"], where) if "until" in found else 0.0
    return Decider(key_id(public), public, name, role == "person", groups, until)


def _public(text: str, where: str) -> bytes:
    try:
        public = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        public = b""
    if len(public) != KEY_BYTES:
        raise InvalidDefinition(
            f"{where}: {text!r:.60} is not a public key: {KEY_BYTES} bytes in base64"
        )
    return public


def _named(words: list[str], where: str) -> tuple[str, str, list[str]]:
    """What a decider is, its name, and the words after that."""
    first, *rest = words
    if first == "authority" and rest and "=" not in rest[0]:
        return "authority", rest[0], rest[1:]
    name = first.removeprefix("person=")
    if first != name and name and not name.startswith("@"):
        return "person", name, rest
    raise InvalidDefinition(
        f"{where}: it must have `authority NAME` or `person=NAME`",
        advice=f"write it as {_FORM}",
    )


def _time(text: str, where: str) -> float:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidDefinition(
            f"{where}: until={text!r:.40} is not a date", advice="write it as until=2027-01-01"
        ) from None
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()


# What is wrong with it


def flaw(ring: Ring, store: str, run: str, record: Sealed, of: str, check: Check) -> str:
    """Why nobody in the ring stands behind this record; "" if somebody does."""
    seal = record.seal
    if seal is None:
        return "it is not signed"
    decider = ring.get(seal.kid)
    if decider is None:
        return f"it is signed with key {seal.kid[:16]!r}, which does not belong to a decider"
    if decider.until and seal.at >= decider.until:
        return f"the key of {decider.name!r} had expired when it was signed"
    if abs(record.at - seal.at) > LEEWAY:
        return "its signature has a different time than the record"
    if decider.person and (why := _not_theirs(decider, record)):
        return why
    try:
        signature = base64.b64decode(seal.sig, validate=True)
    except (binascii.Error, ValueError):
        return "its signature is malformed"
    if not check(decider.public, signature, message(store, run, record, of, seal)):
        return f"it differs from what {decider.name!r} signed for this run of this store"
    return ""


def _not_theirs(decider: Decider, record: Sealed) -> str:
    if record.by != decider.name:
        return f"it is signed with the key of {decider.name!r}, but says that {record.by!r} decided"
    more = set(() if isinstance(record, Forked) else record.groups) - set(decider.groups)
    if more:
        return f"{decider.name!r} is not in {', '.join(sorted(more))}, say the deciders"
    return ""


def unsigned(what: str, run: str) -> str:
    """Why a store that asks for seals does not take a record without one. `what`: what somebody
    does with it."""
    return (
        f"decisions in this store must be signed, and this one is not: a person who {what} in "
        f"run {run!r} must use the server, or a signing key of their own (--signing-key FILE, "
        "in Python signing_key=). Nothing was recorded"
    )


class Trust(Protocol):
    """Whom a worker believes, in one store. Asked again each time: a key may have been taken out
    since."""

    def flaw(self, run: str, record: Sealed, of: str) -> str:
        """Why this record does not count; "" if it does."""
        ...


def is_genuine(
    trust: Trust | None, run: str, asked: Asked, decided: Decided, standing: Known = NONE_STANDS
) -> bool:
    """Whether somebody whom `trust` believes has decided about what `asked` shows, or about what it
    carries over; of a decision that follows a standing one: whether they have made that."""
    if trust is None:
        return True
    if under(decided):
        behind = backing(standing, decided)
        return behind is not None and is_genuine(trust, run, *behind)
    return decided.i in (asked.i, *asked.carries) and not trust.flaw(
        run, decided, shown(run, asked)
    )


# Where it is looked at

_FACTS = (
    Replied,
    Broke,
    Summarised,
    Returned,
    Suspended,
    Stepped,
    Yielded,
    Faulted,
    Doubted,
    Verified,
)
_MOVES = (Intended, Asked, Closed, Reminded, Parked, RunCompleted, RunCancelled, Forked)


def was_accepted(records: Sequence[tuple[int, AnyRecord]], place: int) -> bool:
    """Whether a worker that knew the record at `place` went on from it: it counted then, and what
    followed is history.

    A move lands only if its worker had seen everything, and a worker that takes a run begins with
    what it disowns. So the first of them after a decision says that it was accepted. Whoever can
    write the file can write such a record as well; therefore a call that needs an agreement is
    judged by the signatures themselves, whatever was accepted.
    """
    seq, claimed = records[place][0], False
    for behind in range(place + 1, len(records)):
        later = records[behind][1]
        if isinstance(later, Claimed):
            claimed = True
        elif isinstance(later, _MOVES):
            return True
        elif isinstance(later, _FACTS):
            read = isinstance(later, Replied | Broke) and later.upto >= seq
            if claimed or read:
                return True
    return False
