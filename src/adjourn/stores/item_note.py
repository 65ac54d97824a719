"""What people leave on an item of the inbox, beside its decision: to whom it is given, until when
somebody does not want to see it, and comments. Nothing here changes what the item asks for, its
digest, or when it expires."""

from collections.abc import Mapping
from typing import Literal

import msgspec

NoteVerb = Literal["assign", "snooze", "comment"]
GROUP = "group:"
"""How the name of a group begins to which an item is given."""
BEFORE_EXPIRY = 900.0
"""So many seconds before it expires, an item is shown to everybody again."""


class ItemNote(msgspec.Struct, frozen=True):
    """What somebody leaves on an item.

    Attributes:
        verb: assign, snooze or comment.
        interrupt: its id inside its run.
        by: who leaves it.
        to: the person, or `group:NAME`, to whom it is given; empty: it is taken back.
        until: when `by` wants to see it again; 0: now.
        text: the comment.
    """

    verb: NoteVerb
    interrupt: str
    by: str
    to: str = ""
    until: float = 0.0
    text: str = ""


class ItemMark(msgspec.Struct, frozen=True):
    """What is on an item now: to whom it is given, and who does not want to see it until when."""

    assigned: str = ""
    snoozed: Mapping[str, float] = {}


NO_MARK = ItemMark()
