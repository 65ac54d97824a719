"""A record that is encrypted: what kind it is, and which run it goes on with, stays readable; what
it says does not.

It is JSON as every record is, so that a database can ask it for the few things that it asks
records for. Its time is what no record's is: whoever reads it without opening it fails, and knows
why.
"""

import base64
from collections.abc import Callable
from typing import Any, Protocol

from adjourn.core.codec import decode, encode
from adjourn.core.record_codec import SEALED


class BodyCipher(Protocol):
    """What opens and seals the records of one run."""

    kid: str

    def seal(self, text: bytes) -> bytes:
        """The text, encrypted: the same text is the same bytes, so that a chain can be made
        again."""
        ...

    def open(self, sealed: bytes) -> bytes:
        """The text; raises `KeyMissing` if it was altered."""
        ...


def sealed(cipher: BodyCipher, body: str) -> str:
    """A record's line, encrypted."""
    box = base64.b64encode(cipher.seal(body.encode())).decode()
    tag = body[6 : body.index('"', 6)]
    hollow: dict[str, Any] = {"t": tag, "at": f"sealed {cipher.kid} {box}"}
    if tag == "started":
        hollow |= _readable(decode(body))
    return encode(hollow).decode()


def is_sealed(body: str) -> bool:
    """Whether a line is encrypted."""
    return SEALED in body


def opened(body: str, find: Callable[[str], BodyCipher]) -> str:
    """The line that was encrypted; raises `KeyMissing`. `find`: the cipher of a key, by its id."""
    said: str = decode(body)["at"]
    _, kid, box = said.split(" ")
    return find(kid).open(base64.b64decode(box)).decode()


def _readable(first: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if first.get("after"):
        found["after"] = first["after"]
    if first.get("history") is not None:
        found["history"] = True
    options: dict[str, Any] = first.get("options") or {}
    if options.get("queue"):
        found["options"] = {"queue": options["queue"]}
    return found
