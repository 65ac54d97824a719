"""Which kinds of interrupts there are, which of them are whose, and what an interrupt that nobody
has decided in time comes to."""

from typing import Literal, get_args

AskedKind = Literal["approval", "limit", "error", "in_doubt", "undo"]
"""What the program asks by itself."""
SuspendedKind = Literal["question", "event", "timer"]
"""What a body waits for."""
Kind = Literal[AskedKind, SuspendedKind]

KINDS: tuple[Kind, ...] = get_args(Kind)
NOT_FOR_PEOPLE: tuple[Kind, ...] = ("timer", "event")
"""Kinds that no person answers."""
FOR_PEOPLE = tuple(kind for kind in KINDS if kind not in NOT_FOR_PEOPLE)
OF_CALLS: tuple[Kind, ...] = ("approval", "in_doubt")
"""Kinds that are about a call of a tool."""
TROUBLE = tuple(kind for kind in get_args(AskedKind) if kind != "approval")
"""Kinds that open because something does not go as it should."""

ExpiryAction = Literal["deny", "cancel", "escalate"]
"""What a question comes to that nobody has answered in its time."""
EXPIRY_ACTIONS: tuple[ExpiryAction, ...] = get_args(ExpiryAction)

InterruptState = Literal[
    "open", "decided", "revoked", "expired", "event", "due", "void", "abandoned"
]
"""Whether an interrupt can still be decided, and if not, what closed it. `revoked`: a standing
decision that was taken back."""
