"""What every record is, and what several of them are made of."""

from enum import StrEnum
from typing import Any, Literal, TypeVar

import msgspec
from msgspec.structs import force_setattr

RecordedWord = Literal["approve", "deny", "value"]
"""What a decision is recorded as."""


class Record(
    msgspec.Struct,
    frozen=True,
    omit_defaults=True,
    kw_only=True,
    tag_field="t",
    forbid_unknown_fields=True,
    gc=False,
):
    """One line. `at` is the store's time in seconds since 1970. JSON has no circles: the garbage
    collector need not look for any."""

    at: float = 0.0


Stamped = TypeVar("Stamped", bound=Record)


def stamped(record: Stamped, now: float) -> Stamped:
    """The record with its time, if it has none yet."""
    if not record.at:
        force_setattr(record, "at", round(now, 3))  # ours alone until it is appended
    return record


NEVER = 0.0
"""A time or a duration that is not there. Where it is this very object it is not written:
`omit_defaults` knows an object, no value."""


RINGS = "@response "
"""How the event of a model's provider begins; nobody but the server can send one."""


class CancelCause(StrEnum):
    """Why a worker cancels a run: the `by` of its `CancelAsked`, in the place of a person's name.
    The values are those of records and snapshots."""

    NONE = ""
    EXPIRY = "@expiry"
    IN_DOUBT = "@in_doubt"
    ERROR = "@error"


class ApprovalSlot(
    msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, gc=False
):
    """So many different people of one of these groups (none: of anybody) must agree, says the
    rule."""

    rule: str
    groups: tuple[str, ...] = ()
    count: int = 1
    not_requester: bool = False


class DecisionSeal(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """A signature of what somebody decided: which key, when, a number used once, and the signature
    in base64."""

    kid: str
    at: float
    nonce: str
    sig: str


class Sent(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, gc=False):
    """What a model call was sent, as far as the records before it do not say so.

    `messages`: how they were put together, of stretches `[from, to]` and of messages as they are.
        The stretches are of what the
    call before was sent, and of what came to the conversation since. Without it: the whole
    conversation. `terms`: by `instructions`, `model`, `settings` and `tools`, the names of their
    `bodies`; without it: those of the call before."""

    messages: list[Any] | None = None
    terms: dict[str, str] = {}
    bodies: dict[str, Any] = {}


class BackgroundRequest(
    msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, gc=False
):
    """What is submitted to be worked on in the background: to which `model`, under which idempotency
    `key`. `upto`, `heard`, `request`, `sent`: what of it a `Replied` will say."""

    key: str
    model: str
    upto: int = 0
    heard: tuple[str, ...] = ()
    request: str = ""
    sent: Sent | None = None


class Ref(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """A place in another run's journal: its first `seq` records, whose chain ends in `head` (in
    hex).

    The conversation that they come to has so many `messages`, of which so many are `replies`: with
    these a journal is folded also where nobody wants to read what was said before it."""

    run: str
    seq: int
    head: str
    messages: int = 0
    replies: int = 0


class Summary(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """What stands for the first `covers` messages of a conversation where its model is sent a
    summary."""

    covers: int
    text: str
