"""The key that signs seals: Ed25519, or a shared secret (HMAC). Which of them is the caller's
choice, never the file's."""

import base64
import hashlib
import os
from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING, Protocol, cast

from adjourn.errors import InvalidDefinition

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (
        Ed25519PrivateKey,
        Ed25519PublicKey,
    )

SECRET = "ADJOURN_AUDIT_SECRET"
LENGTH = 32
"""Bytes that a secret has at least."""


class AuditKey(Protocol):
    """What signs seals and checks their signatures. `kid` names it; `can_sign` is False for a
    public key."""

    kid: str
    can_sign: bool

    def sign(self, hash: bytes) -> bytes:
        """The signature of a seal's hash; raises `InvalidDefinition` if this key only checks."""
        ...

    def fits(self, hash: bytes, sig: bytes) -> bool:
        """Whether this key made the signature."""
        ...


class SecretKey:
    """HMAC-SHA256 with a secret that whoever checks must have as well."""

    can_sign = True

    def __init__(self, secret: bytes) -> None:
        """`secret`: at least 32 bytes."""
        if len(secret) < LENGTH:
            raise InvalidDefinition(
                f"{SECRET} has {len(secret)} bytes, and must have at least {LENGTH}",
                advice=f'make one: export {SECRET}="$(openssl rand -hex 32)"',
            )
        self._secret = secret
        self.kid = self._mac(b"adjourn/audit-kid\0").hex()[:16]

    def _mac(self, message: bytes) -> bytes:
        import hmac

        return hmac.digest(self._secret, message, "sha256")

    def sign(self, hash: bytes) -> bytes:
        """See `AuditKey.sign`."""
        return self._mac(b"adjourn/seal\0" + hash)

    def fits(self, hash: bytes, sig: bytes) -> bool:
        """See `AuditKey.fits`."""
        from hmac import compare_digest

        return compare_digest(self.sign(hash), sig)


class Ed25519Key:
    """A pair, or its public half, which is all that an auditor needs. Takes the extra
    `adjourn[signing]`."""

    def __init__(
        self, public: "Ed25519PublicKey", private: "Ed25519PrivateKey | None" = None
    ) -> None:
        self._public, self._private = public, private
        self.can_sign = private is not None
        self.kid = hashlib.sha256(b"adjourn/decider\0" + public.public_bytes_raw()).hexdigest()[:16]

    def sign(self, hash: bytes) -> bytes:
        """See `AuditKey.sign`."""
        if self._private is None:
            raise InvalidDefinition(
                f"the key {self.kid} is a public key: it can verify seals but not make them"
            )
        return self._private.sign(hash)

    def fits(self, hash: bytes, sig: bytes) -> bool:
        """See `AuditKey.fits`."""
        from cryptography.exceptions import InvalidSignature

        try:
            self._public.verify(sig, hash)
        except InvalidSignature:
            return False
        return True


KeySource = str | os.PathLike[str] | AuditKey
"""The file of a private key (PEM) or of public lines, a public line itself (`ed25519 BASE64 …`), or
a key."""


def audit_keys(given: KeySource | Sequence[KeySource] | None = None) -> tuple[AuditKey, ...]:
    """The keys that are meant: those `given`, else those of the environment's secret, else none.

    The first that can sign signs, all of them verify. Raises `InvalidDefinition`.
    """
    secrets = _secrets()
    sources: list[KeySource] = []
    if given is not None:
        if isinstance(given, list | tuple):
            sources = list(given)
        else:
            sources = [cast("KeySource", given)]
    if secrets and any(isinstance(source, str | os.PathLike) for source in sources):
        raise InvalidDefinition(
            f"both an audit key and {SECRET} are set: a store's seals use one kind of key",
            advice="remove one of them",
        )
    return tuple(chain.from_iterable(map(_keys, sources))) or secrets


def _secrets() -> tuple[AuditKey, ...]:
    """Comma-separated: the first signs, all verify. Read at each call."""
    text = os.environ.get(SECRET)
    if text is None:
        return ()
    return tuple(SecretKey(part.strip().encode()) for part in text.split(","))


def _keys(source: KeySource) -> list[AuditKey]:
    if not isinstance(source, str | os.PathLike):
        return [source]
    text = os.fspath(source)
    if text.startswith("ed25519 "):
        return [_public(text)]
    try:
        with open(source, encoding="utf-8") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError) as e:
        raise InvalidDefinition(
            f"the audit key {os.fspath(source)!r} cannot be read: {e}"
        ) from None
    if text.startswith("-----BEGIN"):
        return [_private(text, os.fspath(source))]
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    if not lines:
        raise InvalidDefinition(
            f"no key found in {os.fspath(source)!r}", advice="make one: adjourn keys new FILE"
        )
    return list(map(_public, lines))


def _private(text: str, where: str) -> AuditKey:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        key = load_pem_private_key(text.encode(), None)
    except (ValueError, TypeError) as e:
        raise InvalidDefinition(
            f"{where!r} is not a private key in PEM without a password: {e}"
        ) from None
    if not isinstance(key, Ed25519PrivateKey):
        raise InvalidDefinition(
            f"{where!r} is not an Ed25519 key", advice="make one: adjourn keys new FILE"
        )
    return Ed25519Key(key.public_key(), key)


def _public(line: str) -> AuditKey:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    words = line.split()
    try:
        if words[0] != "ed25519":
            raise ValueError(words[0])
        return Ed25519Key(
            Ed25519PublicKey.from_public_bytes(base64.b64decode(words[1], validate=True))
        )
    except (ValueError, IndexError):
        raise InvalidDefinition(
            f"a public key must be a line like 'ed25519 BASE64 NAME', got {line!r:.80}"
        ) from None
