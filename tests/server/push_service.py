"""A push service on loopback, with the browser behind it: it checks who sends, and reads what was sent."""

import base64
import json
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from tests.server.receiver import Told


def unpadded(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()


def padded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def point(key: ec.EllipticCurvePublicKey) -> bytes:
    return key.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


class Subscription:
    """What a browser makes when it subscribes, and its way to read a message (RFC 8291, section 3 and RFC 8188)."""

    def __init__(self, private: ec.EllipticCurvePrivateKey | None = None, auth: bytes = b"0123456789abcdef") -> None:
        self._private, self._auth = private or ec.generate_private_key(ec.SECP256R1()), auth

    @property
    def p256dh(self) -> str:
        return unpadded(point(self._private.public_key()))

    @property
    def auth(self) -> str:
        return unpadded(self._auth)

    def read(self, body: bytes) -> bytes:
        salt, size, length = body[:16], int.from_bytes(body[16:20]), body[20]
        sender, sealed = body[21 : 21 + length], body[21 + length :]
        assert len(sealed) < size
        theirs = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), sender)
        context = b"WebPush: info\0" + point(self._private.public_key()) + sender
        shared = HKDF(SHA256(), 32, self._auth, context).derive(self._private.exchange(ec.ECDH(), theirs))
        key = HKDF(SHA256(), 16, salt, b"Content-Encoding: aes128gcm\0").derive(shared)
        nonce = HKDF(SHA256(), 12, salt, b"Content-Encoding: nonce\0").derive(shared)
        plain = AESGCM(key).decrypt(nonce, sealed, None).rstrip(b"\0")
        assert plain[-1:] == b"\2"
        return plain[:-1]

    def message(self, told: Told) -> dict[str, Any]:
        return json.loads(self.read(told.body))


def sender_of(told: Told) -> tuple[str, dict[str, Any]]:
    """Which key signed a request, and what it claims; raises if it did not (RFC 8292)."""
    scheme, _, rest = told.headers["authorization"].partition(" ")
    assert scheme == "vapid"
    parts = dict(part.strip().split("=", 1) for part in rest.split(","))
    head, claims, signature = parts["t"].split(".")
    assert json.loads(padded(head))["alg"] == "ES256"
    both = padded(signature)
    der = encode_dss_signature(int.from_bytes(both[:32]), int.from_bytes(both[32:]))
    public = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), padded(parts["k"]))
    public.verify(der, f"{head}.{claims}".encode(), ec.ECDSA(SHA256()))
    return parts["k"], json.loads(padded(claims))
