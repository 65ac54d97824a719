"""Keys of those who decide: made, kept in files, used to sign, and believed. `cryptography` is
loaded only here, on use."""

from __future__ import annotations

import base64
import logging
import os
from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

import msgspec

from adjourn.core.plan import Planner, distrusted
from adjourn.core.record_parts import DecisionSeal
from adjourn.core.signatures import Ring, Sealed, decider_line, flaw, key_id, message, read_ring
from adjourn.errors import Invalid, InvalidDefinition, Misused, NotTrusted

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from adjourn.core.state import State

log = logging.getLogger("adjourn.keys")

S = TypeVar("S", bound=Sealed)
EXTRA = (
    "signed decisions need adjourn[signing], which is not installed: pip install 'adjourn[signing]'"
)
REMEMBERED = 10_000
"""Signatures whose verification is remembered."""


class SigningKey:
    """The private half of a key: it can sign decisions. Keep it away from every process that runs
    tools.

    Args:
        private: the key's bytes.
    """

    def __init__(self, private: Ed25519PrivateKey) -> None:
        self._private = private

    @classmethod
    def new(cls) -> SigningKey:
        """A new key, kept nowhere yet."""
        try:
            from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        except ImportError as e:
            raise Misused(EXTRA) from e
        return cls(Ed25519PrivateKey.generate())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> SigningKey:
        """The key in a file that `save` wrote; raises `InvalidDefinition` if the file has none, or
        if others can read it.

        Args:
            path: the file.
        """
        try:
            from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
            from cryptography.hazmat.primitives.serialization import load_pem_private_key
        except ImportError as e:
            raise Misused(EXTRA) from e
        try:
            with open(path, "rb") as file:
                data = file.read()
            if os.name == "posix" and os.stat(path).st_mode & 0o007:
                raise InvalidDefinition(
                    f"every user of this machine can read the key {str(path)!r}: chmod 600 it first"
                )
        except OSError as e:
            raise InvalidDefinition(
                f"the signing key {str(path)!r} cannot be read: {e.strerror or e}"
            ) from None
        try:
            private = load_pem_private_key(data, None)
        except (ValueError, TypeError) as e:
            raise InvalidDefinition(
                f"{str(path)!r} is not a signing key ({e})",
                advice="`adjourn keys new FILE` makes one",
            ) from None
        if not isinstance(private, Ed25519PrivateKey):
            raise InvalidDefinition(
                f"{str(path)!r} is a key of another kind, not Ed25519",
                advice="`adjourn keys new FILE` makes one",
            )
        return cls(private)

    def save(self, path: str | os.PathLike[str], line: str = "") -> None:
        """Write it to a new file that only its owner can read. An existing file is not changed.

        Args:
            path: the file.
            line: its public line, written beside it.
        """
        from cryptography.hazmat.primitives.serialization import (
            Encoding,
            NoEncryption,
            PrivateFormat,
        )

        if line:
            data = f"# {line}\n".encode()
        else:
            data = b""
        data += self._private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        try:
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            raise Invalid(
                f"{str(path)!r} already exists, and a key is never replaced",
                advice="choose another name",
            ) from None
        except OSError as e:
            raise Invalid(f"{str(path)!r} cannot be written: {e.strerror or e}") from None
        with os.fdopen(handle, "wb") as file:
            file.write(data)

    def saved_line(self, path: str | os.PathLike[str]) -> str:
        """Its line as it was saved in the file; "" if the file does not say whose key it is."""
        with open(path, encoding="utf-8", errors="replace") as file:
            first = file.readline().removesuffix("\n")
        line = first.removeprefix("# ")
        if first != line and line.startswith("ed25519 ") and self.kid in read_ring(line, str(path)):
            return line
        return ""

    @cached_property
    def public(self) -> bytes:
        """The public half."""
        return self._private.public_key().public_bytes_raw()

    @cached_property
    def kid(self) -> str:
        """How the key is named in signatures."""
        return key_id(self.public)

    def line(self, name: str, *, person: bool = False, groups: Iterable[str] = ()) -> str:
        """Its line for a file of deciders.

        Args:
            name: of the server that signs for its users, or of the person.
            person: whether it is a person's own key.
            groups: the person's groups.
        """
        return decider_line(self.public, name, person=person, groups=tuple(groups))

    def sealed(self, record: S, *, store: str, run: str, of: str, now: float) -> S:
        """The record with its seal: about `of` (see `signatures.shown`), in this run of this
        store."""
        seal = DecisionSeal(self.kid, round(now, 3), os.urandom(16).hex(), "")
        signature = self._private.sign(message(store, run, record, of, seal))
        return msgspec.structs.replace(
            record, seal=msgspec.structs.replace(seal, sig=base64.b64encode(signature).decode())
        )


def signing_key(given: SigningKey | str | os.PathLike[str] | None) -> SigningKey | None:
    """What was given as a signing key: the key, its file, or nothing."""
    if given is None or isinstance(given, SigningKey):
        return given
    if isinstance(given, str | os.PathLike) and str(given):  # pyright: ignore[reportUnnecessaryIsInstance]
        return SigningKey.load(given)
    raise InvalidDefinition(
        f"signing_key= must be the path of a key's file, or a SigningKey, got {given!r:.40}"
    )


class BadDeciders(InvalidDefinition):
    """The file of deciders cannot be read, or a line of it is wrong."""


class Deciders:
    """The people and servers whose decisions count, by their public keys.

    Args:
        source: a file, which is read again whenever it changes, or lines.
    """

    def __init__(self, source: str | os.PathLike[str] | Iterable[str]) -> None:
        self._path: str | None = None
        self._stamp: tuple[int, ...] = ()
        self._error: BadDeciders | None = None
        self._known: dict[tuple[bytes, bytes, bytes], bool] = {}
        self.version = 0
        self._ring: Ring = {}
        _need_cryptography()
        if isinstance(source, os.PathLike) or (isinstance(source, str) and not _is_text(source)):
            self._path = os.fspath(source)
            self.check()
            self._say_if_writable(self._path)
        else:
            if isinstance(source, str):
                lines = [source]
            else:
                lines = list(source)
            if not all(isinstance(line, str) for line in lines):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise InvalidDefinition(
                    "deciders= must be the path of a file, its lines, or a Deciders"
                )
            self._ring = read_ring("\n".join(lines), "deciders=")

    @classmethod
    def of(cls, given: Deciders | str | os.PathLike[str] | Iterable[str] | None) -> Deciders | None:
        """What was given as `deciders=`: a file's path, lines, or a `Deciders`."""
        if given is None or isinstance(given, Deciders):
            return given
        if isinstance(given, str | os.PathLike | Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
            return cls(given)
        raise InvalidDefinition(
            f"deciders= must be the path of a file, its lines, or a Deciders, got {type(given).__name__}"
        )

    def __str__(self) -> str:
        if self._path is None:
            return "deciders="
        return self._path

    def check(self) -> None:
        """Raise `BadDeciders` while the file is not as it must be. No run is taken then; a key may
        have been taken out of it."""
        self.ring()
        if self._error is not None:
            raise self._error

    def ring(self) -> Ring:
        """Who is trusted now: as the file says, or said while it could last be read."""
        if self._path is not None:
            self._look(self._path)
        return self._ring

    def _look(self, path: str) -> None:
        """Read the file again if it is another one than before."""
        stamp: tuple[int, ...] = ()
        try:
            found = os.stat(path)
            stamp = (found.st_mtime_ns, found.st_size, found.st_ino)
            if stamp == self._stamp:
                return
            with open(path, encoding="utf-8") as file:
                self._ring, self._error = read_ring(file.read(), path), None
        except InvalidDefinition as e:
            self._error = BadDeciders(str(e))
        except (OSError, UnicodeDecodeError) as e:
            why = getattr(e, "strerror", "") or str(e)
            stamp, self._error = (), BadDeciders(f"the deciders {path!r} cannot be read: {why}")
        self._stamp = stamp
        self.version += 1

    def _say_if_writable(self, path: str) -> None:
        if os.name == "posix" and os.geteuid() and os.access(path, os.W_OK):
            log.warning(
                (
                    "this process can write to %s, so its tools can add themselves as deciders: "
                    "let another user own the file"
                ),
                path,
            )

    def is_right(self, public: bytes, signature: bytes, text: bytes) -> bool:
        """Whether the signature is this key's of this text; remembered."""
        known = self._known.get((public, signature, text))
        if known is None:
            if len(self._known) >= REMEMBERED:
                self._known.clear()
            known = self._known[public, signature, text] = _verified(public, signature, text)
        return known

    def trusting(self, store: str) -> StoreTrust:
        """What these deciders say about the decisions of one store."""
        return StoreTrust(self, store)


class StoreTrust:
    """See `signatures.Trust`."""

    def __init__(self, deciders: Deciders, store: str) -> None:
        self.deciders, self.store = deciders, store

    def flaw(self, run: str, record: Sealed, of: str) -> str:
        """See `signatures.Trust`."""
        return flaw(self.deciders.ring(), self.store, run, record, of, self.deciders.is_right)

    def check_nested(self, state: State, program: Planner, now: float) -> None:
        """Raise `NotTrusted` if a nested agent has begun to which nobody agreed whom these deciders
        name: it would go on by itself."""
        for id in distrusted(state, program, now) if state.threads else ():
            if id in state.threads:
                why = (
                    f"no person whom this worker trusts agreed to the nested agent "
                    f"{state.threads[id].agent!r} ({id})"
                )
                raise NotTrusted(state.run, why)


def _is_text(source: str) -> bool:
    """Whether this is what a file would hold, and not its path."""
    return "\n" in source or source.lstrip().startswith("ed25519 ")


def _need_cryptography() -> None:
    try:
        import cryptography  # noqa: F401 # pyright: ignore[reportUnusedImport]
    except ImportError as e:
        raise Misused(EXTRA) from e


def _verified(public: bytes, signature: bytes, text: bytes) -> bool:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, text)
    except (InvalidSignature, ValueError):
        return False
    return True
