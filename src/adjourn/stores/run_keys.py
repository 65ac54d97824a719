"""A key for each run: its records, files and snapshots are encrypted with it. Whoever erases the key
erases the run.

The key is random. It is kept beside the run, wrapped by a key ring, which is never in a store. That a
run is encrypted shows in its salt, which is one byte longer: so nothing is asked for of runs that are
not. A key is looked for once, and kept in memory.
"""

import base64
import hashlib
import hmac
import os
import threading
from collections import OrderedDict
from typing import Any, ClassVar, Protocol

from adjourn.core.sealed_body import is_sealed, sealed
from adjourn.errors import AdjournError, Invalid, InvalidDefinition, KeyMissing, StoreError
from adjourn.stores.run_row import MARKED, open_stores
from adjourn.stores.secret_keys import VARIABLE, KeyRing, ring_from_environment

NONCE = 12
KNOWN = 10_000
"""So many keys are kept in memory."""
SETTING = "ADJOURN_ENCRYPT"
"""`yes`: a runtime encrypts the runs that begin in it, unless it is told otherwise."""


class RunCipher:
    """See `BodyCipher`. The nonce follows from the text: the same text is the same bytes, another
    text has another nonce."""

    def __init__(self, kid: str, key: bytes) -> None:
        from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

        self.kid = kid
        self._cipher = ChaCha20Poly1305(key)
        self._nonces = hmac.digest(key, b"adjourn/run/nonce", "sha256")
        self._digests = hmac.digest(key, b"adjourn/run/digest", "sha256")

    def seal(self, text: bytes) -> bytes:
        """See `BodyCipher.seal`."""
        nonce = hmac.digest(self._nonces, text, "sha256")[:NONCE]
        return nonce + self._cipher.encrypt(nonce, text, self.kid.encode())

    def open(self, sealed: bytes) -> bytes:
        """See `BodyCipher.open`."""
        try:
            return self._cipher.decrypt(sealed[:NONCE], sealed[NONCE:], self.kid.encode())
        except Exception:
            raise KeyMissing(
                f"data encrypted with the key {self.kid} was modified and cannot be read"
            ) from None

    def digest(self, text: str) -> str:
        """Tells texts apart, and says nothing of them to whoever lacks the key."""
        return hmac.new(self._digests, text.encode(), "sha256").hexdigest()


class HasRunKeys(Protocol):
    """A store, as far as keys go."""

    wraps_with: KeyRing | None

    def wrapped_key(self, kid: str) -> str | None:
        """The wrapped key of this id; None if it is not here. It waits for the database."""
        ...


class NewRunKey:
    """The key of a run that begins."""

    def __init__(self, ring: KeyRing) -> None:
        key = os.urandom(32)
        self.salt = os.urandom(MARKED)
        self.kid = kid_of(self.salt)
        self.wrapped = ring.seal(base64.b64encode(key).decode(), _purpose(self.kid))
        _Known.put(RunCipher(self.kid, key))


class _Known:
    """The keys that were looked for, and the stores that are open."""

    lock = threading.Lock()
    ciphers: ClassVar[OrderedDict[str, RunCipher]] = OrderedDict()

    @classmethod
    def put(cls, cipher: RunCipher) -> RunCipher:
        with cls.lock:
            cls.ciphers[cipher.kid] = cipher
            if len(cls.ciphers) > KNOWN:
                cls.ciphers.popitem(last=False)
        return cipher


def forget_keys() -> None:
    """Forget all keys that were looked for."""
    with _Known.lock:
        _Known.ciphers.clear()


def kid_of(salt: bytes) -> str:
    """The id of the key of a run that is encrypted."""
    return hashlib.sha256(b"adjourn/run-key" + salt).hexdigest()[:32]


def cipher_of(kid: str) -> RunCipher:
    """The cipher of a key; raises `KeyMissing`, which says what to do."""
    known = _Known.ciphers.get(kid)
    if known is not None:
        return known
    locked: KeyMissing | None = None
    silent: KeyMissing | None = None
    for store in list(open_stores):
        try:
            wrapped = store.wrapped_key(kid)
            if wrapped:
                return _Known.put(RunCipher(kid, _unwrapped(store, kid, wrapped)))
        except KeyMissing as error:  # another one that is open may have the ring
            locked = error
        except StoreError as error:  # the others may have it
            silent = KeyMissing(
                f"the key {kid} of an encrypted run was not found, and one store could not be asked: "
                f"{error.what}",
                advice="try again when that store answers",
            )
    raise (
        locked
        or silent
        or KeyMissing(
            f"the key {kid} of an encrypted run is missing: it was erased, or not copied",
            advice="restore the table of keys with the runs, or erase the run",
        )
    )


def _purpose(kid: str) -> str:
    return f"adjourn/run-key/{kid}"


def _unwrapped(store: HasRunKeys, kid: str, wrapped: str) -> bytes:
    why = ""
    for ring in _rings(store):
        try:
            return base64.b64decode(ring.open(wrapped, _purpose(kid)))
        except AdjournError as error:
            why = error.what
    raise KeyMissing(
        f"the run is encrypted, and its key cannot be unwrapped here: {why or 'there is no key ring'}",
        consequence="nothing was changed",
        advice=f"set {VARIABLE} to the ring that it was encrypted with, or give it to "
        "Runtime(encrypt=…)",
    )


def _rings(store: HasRunKeys) -> list[KeyRing]:
    found: list[KeyRing] = []
    if store.wraps_with is not None:
        found.append(store.wraps_with)
    if os.environ.get(VARIABLE):
        found.append(ring_from_environment())
    return found


def ring_of_copies(store: HasRunKeys, salt: bytes) -> KeyRing | None:
    """The ring for a run that begins with what a run of this salt said; None: that is in clear.
    Raises `KeyMissing`: a copy in clear would outlive the key of what it is a copy of."""
    if len(salt) != MARKED:
        return None
    for other in (store, *open_stores):
        for ring in _rings(other):
            return ring
    raise KeyMissing(
        "this run would contain data of an encrypted run, and there is no key ring here to encrypt it",
        consequence="nothing was started",
        advice=f"set {VARIABLE}, or give the ring to Runtime(encrypt=…)",
    )


def rewrapped(ring: KeyRing, kid: str, wrapped: str) -> str:
    """A key, wrapped by the first key of the ring; raises `Invalid` if none of them fits."""
    try:
        key = ring.open(wrapped, _purpose(kid))
    except Invalid as error:
        raise Invalid(
            f"the key of a run cannot be unwrapped: {error.what}",
            consequence="no key was wrapped",
            advice="keep the old keys in the ring, after the new one, until this is done",
        ) from None
    return ring.seal(key, _purpose(kid))


def cipher_by(salt: bytes) -> RunCipher:
    """The cipher of a run that is encrypted."""
    return cipher_of(kid_of(salt))


def sealed_line(salt: bytes, body: str) -> str:
    """A record's line, encrypted; one that is stays as it is."""
    if is_sealed(body):
        return body
    return sealed(cipher_by(salt), body)


# Who encrypts


def chosen_ring(encrypt: Any) -> KeyRing | None:
    """The ring with which runs are to be encrypted; None: they are not.

    Args:
        encrypt: a ring; True: that of the environment; None: as `ADJOURN_ENCRYPT` says.
    """
    if isinstance(encrypt, KeyRing):
        return encrypt
    if encrypt is None:
        said = os.environ.get(SETTING, "").lower()
        if said not in ("", "yes", "no"):
            raise InvalidDefinition(f"{SETTING} must be yes or no, not {said!r:.40}")
        encrypt = said == "yes"
    if not isinstance(encrypt, bool):
        raise InvalidDefinition(f"encrypt= must be True, False or a KeyRing, got {encrypt!r:.80}")
    if encrypt:
        return ring_from_environment()
    return None


def encrypt_with(store: Any, encrypt: Any) -> None:
    """Let a store encrypt the runs that begin in it, if that is wanted."""
    ring = chosen_ring(encrypt)
    if ring is None:
        return
    if not hasattr(store, "wrapped_key"):
        raise InvalidDefinition(
            f"{type(store).__name__} cannot encrypt runs", advice="leave encrypt= out"
        )
    store.encrypt(ring)
