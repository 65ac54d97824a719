"""An interrupt as a row."""

import msgspec

from adjourn.core.interrupt_kind import InterruptState, Kind


class InterruptRow(msgspec.Struct, gc=False):
    """An interrupt as a row: people's compare-and-set point and the inbox's index."""

    i: str
    seq: int
    kind: Kind
    state: InterruptState = "open"
    digest: str = ""
    event: str = ""
    expires: float = 0.0
    undoing: bool = False
    approvers: int = 1
    by: str = ""
    votes: dict[str, int] = {}  # who agreed, by which record
    lives: str = ""  # the call whose execution lives on what was agreed
    # whose decisions did not count, because nobody trusted signed them
    disowned: tuple[str, ...] = ()
    rank: int = 1  # where it stands in an inbox: 0 for what was escalated
    opened_at: float = 0.0
    type: str = ""
    tool: str = ""
    groups: tuple[str, ...] = ()  # to whom it is given; none: to everybody
    assigned: str = ""  # whom people have asked to look at it; a person, or `group:NAME`
    snoozed: dict[str, float] = {}  # who does not want to see it until when
    # how many calls its decision has answered, if that is a standing one
    uses: int = 0
