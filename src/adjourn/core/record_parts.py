"""What several records are made of."""

from typing import Any

import msgspec


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
