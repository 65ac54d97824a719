"""Keys for secrets: what seals a value before it is recorded, and opens it for a body.

`cryptography` is loaded when a ring is made. A sealed value is a string that may stand anywhere. It
says a digest, which only a holder of the key can make, and which key sealed it.
"""

import base64
import hmac
import os
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from hashlib import sha256

from adjourn.errors import Invalid, InvalidDefinition

VARIABLE = "ADJOURN_SECRET_KEYS"
"""Keys as `name:base64`, separated by commas: the first one seals, all of them open."""
NONCE = 12
SEALED = r"^••• [0-9a-f]{8} \[[A-Za-z0-9_-]{1,32}\.[A-Za-z0-9_-]{38,}\]$"
"""What a sealed value looks like."""
_PARTS = re.compile(r"••• ([0-9a-f]{8}) \[([A-Za-z0-9_-]{1,32})\.([A-Za-z0-9_-]{38,})\]")


class KeyRing:
    """Keys that seal and open secrets. The first one seals, all of them open.

    Args:
        keys: by a short name, 32 random bytes each.

    Raises `InvalidDefinition` for keys that are none, and if `cryptography` is not installed.
    """

    def __init__(self, keys: Mapping[str, bytes]) -> None:
        try:
            from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
        except ImportError:
            raise InvalidDefinition(
                "secrets need the package cryptography: pip install 'adjourn[signing]'"
            ) from None
        if not keys:
            raise InvalidDefinition("a key ring needs at least one key")
        self._keys = dict(keys)
        for name, key in self._keys.items():
            if not re.fullmatch(r"[A-Za-z0-9_-]{1,32}", name) or len(key) != 32:
                raise InvalidDefinition(
                    f"the key {name!r:.40} must have 32 bytes, and a name of letters, digits, '_' and '-'"
                )
        self._ciphers = {name: ChaCha20Poly1305(key) for name, key in self._keys.items()}
        self._first = next(iter(self._keys))

    @classmethod
    def parse(cls, text: str) -> "KeyRing":
        """A ring out of `name:base64,name:base64`, as in `ADJOURN_SECRET_KEYS`.

        Args:
            text: the keys.
        """
        keys: dict[str, bytes] = {}
        for part in text.split(","):
            name, _, key = part.strip().partition(":")
            try:
                keys[name] = base64.b64decode(key, validate=True)
            except ValueError:
                raise InvalidDefinition(f"{VARIABLE}: the key {name!r:.40} is not base64") from None
        return cls(keys)

    @classmethod
    def unwrapped(cls, wrapped: Mapping[str, bytes], unwrap: Callable[[bytes], bytes]) -> "KeyRing":
        """A ring of keys that a key service keeps wrapped: each is unwrapped once, here.

        Args:
            wrapped: by name, the wrapped keys.
            unwrap: asks the key service for the key itself.
        """
        return cls({name: unwrap(key) for name, key in wrapped.items()})

    @staticmethod
    def new_key(name: str = "k1") -> str:
        """A new key as `ADJOURN_SECRET_KEYS` takes it.

        Args:
            name: the key's name.
        """
        return f"{name}:{base64.b64encode(os.urandom(32)).decode()}"

    def seal(self, value: str, name: str = "", *, once: str = "") -> str:
        """A sealed value: `••• digest [key.ciphertext]`.

        Args:
            value: the secret.
            name: for what it is; only `Secret(name)` of the same name opens it.
            once: what it is given to: sealed for the same again, it is the same string. Without it,
                every seal is another.
        """
        text = value.encode("utf-8", "surrogatepass")
        if once:
            nonce = self._derived(once, name, value)
        else:
            nonce = os.urandom(NONCE)
        box = self._ciphers[self._first].encrypt(nonce, text, _bound(self._first, name))
        written = base64.urlsafe_b64encode(nonce + box).decode().rstrip("=")
        return f"••• {self.digest(value)} [{self._first}.{written}]"

    def open(self, sealed: str, name: str = "") -> str:
        """The secret; raises `Invalid` if it was altered, is for something else, or no key fits.

        Args:
            sealed: what `seal` gave.
            name: for what it is.
        """
        found = _PARTS.fullmatch(sealed)
        if found is None:
            raise Invalid("this is not a sealed secret")
        cipher = self._ciphers.get(found[2])
        if cipher is None:
            raise Invalid(
                f"the secret {found[1]} was sealed with the key {found[2]!r}, which is not available here"
            )
        raw = base64.urlsafe_b64decode(found[3] + "=" * (-len(found[3]) % 4))
        try:
            text = cipher.decrypt(raw[:NONCE], raw[NONCE:], _bound(found[2], name))
        except Exception:
            raise Invalid(
                f"the secret {found[1]} cannot be opened: it was modified, or belongs to something else"
            ) from None
        return text.decode("utf-8", "surrogatepass")

    def _derived(self, *parts: str) -> bytes:
        """A nonce that only the same parts have, and that says nothing of them."""
        key = hmac.new(self._keys[self._first], b"adjourn/secret/nonce", sha256).digest()
        made = hmac.new(key, digestmod=sha256)
        for part in parts:
            text = part.encode("utf-8", "surrogatepass")
            made.update(len(text).to_bytes(8) + text)
        return made.digest()[:NONCE]

    def digest(self, value: str) -> str:
        """What people may compare: it says nothing to a person without the key.

        Args:
            value: the secret.
        """
        key = hmac.new(self._keys[self._first], b"adjourn/secret/digest", sha256).digest()
        text = value.encode("utf-8", "surrogatepass")
        return hmac.new(key, text, sha256).hexdigest()[:8]


def _bound(key: str, name: str) -> bytes:
    """What a ciphertext is bound to."""
    return b"\0".join((b"adjourn/secret/1", key.encode(), name.encode()))


def ring_from_environment() -> KeyRing:
    """The ring of `ADJOURN_SECRET_KEYS`; raises `InvalidDefinition` if there is none."""
    text = os.environ.get(VARIABLE, "")
    if not text:
        raise InvalidDefinition(
            f"there is no key for secrets, so secrets cannot be recorded: set {VARIABLE}",
            advice='make a key with python -c "from adjourn.secrets import KeyRing; '
            'print(KeyRing.new_key())"',
        )
    return _parsed(text)


@lru_cache(maxsize=8)
def _parsed(text: str) -> KeyRing:
    return KeyRing.parse(text)


def seal(value: str, name: str = "") -> str:
    """A value sealed with the key of `ADJOURN_SECRET_KEYS`, for an input or an answer: neither the
    model nor the journal sees it, and the body of a tool that takes a `Secret` does.

    Args:
        value: the secret.
        name: for what it is; only `Secret(name)` of the same name opens it.
    """
    return ring_from_environment().seal(value, name)
