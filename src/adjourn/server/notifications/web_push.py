"""Messages to a browser, through its maker's push service: encrypted for that browser alone (RFC 8291),
and from a sender that the service knows again (VAPID, RFC 8292). Needs `adjourn[push]`."""

import base64
import os
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from adjourn.core.codec import encode
from adjourn.errors import Invalid, Misused

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import (
        EllipticCurvePrivateKey,
        EllipticCurvePublicKey,
    )

POINT, SECRET = 65, 16
"""Bytes of a public key, and of what a browser shares with its sender."""
RECORD = 4096
LARGEST = RECORD - 86 - 16 - 1
"""Bytes of a message: every push service takes a record of 4096, less its header, tag and end."""
JWT_LIFE = 12 * 3600
NOBODY = "mailto:nobody@adjourn.invalid"


def _crypto() -> Any:
    try:
        from cryptography.hazmat.primitives.asymmetric import ec
    except ImportError:
        raise Misused("messages to browsers need: pip install 'adjourn[push]'") from None
    return ec


def to_base64(value: bytes) -> str:
    """As browsers write bytes: for addresses, without padding."""
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()


def from_base64(text: str) -> bytes:
    """Bytes that a browser wrote; raises `Invalid`."""
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except ValueError:
        raise Invalid(f"{text!r:.40} is not base64url") from None


class VapidKey:
    """The sender's key. A browser that has subscribed takes messages from its holder only."""

    def __init__(self, private: "EllipticCurvePrivateKey") -> None:
        self._private = private
        self.public = to_base64(_point(private.public_key()))
        """As a browser wants it, to subscribe."""

    @classmethod
    def new(cls) -> "VapidKey":
        """Another key."""
        ec = _crypto()
        return cls(ec.generate_private_key(ec.SECP256R1()))

    @classmethod
    def kept(cls, text: str) -> "VapidKey":
        """The key that `str` wrote.

        Args:
            text: what it wrote.
        """
        ec = _crypto()
        return cls(ec.derive_private_key(int(text, 16), ec.SECP256R1()))

    def __str__(self) -> str:
        return f"{self._private.private_numbers().private_value:064x}"

    def authorization(self, url: str, subject: str, now: float) -> str:
        """The header by which a push service knows the sender again.

        Args:
            url: the browser's address there.
            subject: where the sender can be asked: an address of mail or of a page.
            now: the time.
        """
        from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
        from cryptography.hazmat.primitives.hashes import SHA256

        parts = urlsplit(url)
        claims = {
            "aud": f"{parts.scheme}://{parts.netloc}",
            "exp": int(now) + JWT_LIFE,
            "sub": subject if subject.startswith(("https:", "mailto:")) else NOBODY,
        }
        head = to_base64(encode({"typ": "JWT", "alg": "ES256"}))
        signed = f"{head}.{to_base64(encode(claims))}"
        der = self._private.sign(signed.encode(), _crypto().ECDSA(SHA256()))
        signature = b"".join(part.to_bytes(32) for part in decode_dss_signature(der))
        return f"vapid t={signed}.{to_base64(signature)}, k={self.public}"


def check_keys(p256dh: str, auth: str) -> None:
    """Raise `Invalid` if these are not the keys of a browser.

    Args:
        p256dh: its public key.
        auth: its shared secret.
    """
    _browser_key(p256dh)
    if len(from_base64(auth)) != SECRET:
        raise Invalid(f"a browser's secret has {SECRET} bytes")


def encrypted(message: bytes, p256dh: str, auth: str) -> bytes:
    """A message that one browser can read, and nobody on the way (RFC 8291).

    Args:
        message: at most `LARGEST` bytes.
        p256dh: the browser's public key.
        auth: its shared secret.
    """
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    if len(message) > LARGEST:
        raise Invalid(f"a message to a browser has at most {LARGEST} bytes, got {len(message)}")
    ec = _crypto()
    browser, mine, salt = (
        _browser_key(p256dh),
        ec.generate_private_key(ec.SECP256R1()),
        os.urandom(16),
    )
    point = _point(mine.public_key())
    context = b"WebPush: info\0" + _point(browser) + point
    shared = _derived(mine.exchange(ec.ECDH(), browser), from_base64(auth), context, 32)
    key = _derived(shared, salt, b"Content-Encoding: aes128gcm\0", 16)
    nonce = _derived(shared, salt, b"Content-Encoding: nonce\0", 12)
    header = salt + RECORD.to_bytes(4) + len(point).to_bytes(1) + point
    return header + AESGCM(key).encrypt(nonce, message + b"\x02", None)


def _derived(material: bytes, salt: bytes, info: bytes, length: int) -> bytes:
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    return HKDF(SHA256(), length, salt, info).derive(material)


def _browser_key(text: str) -> "EllipticCurvePublicKey":
    ec, point = _crypto(), from_base64(text)
    try:
        if len(point) != POINT:
            raise ValueError(f"it has {len(point)} bytes")
        return ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), point)
    except ValueError as e:
        raise Invalid(f"{text!r:.40} is not a browser's public key: {e}") from None


def _point(key: "EllipticCurvePublicKey") -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    return key.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
