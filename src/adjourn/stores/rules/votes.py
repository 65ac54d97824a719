"""Who agrees to an interrupt so far, read in a store's transaction."""

from adjourn.core.approval_votes import Vote
from adjourn.core.record_codec import parse
from adjourn.core.records import Decided
from adjourn.stores.rules.interrupt_row import InterruptRow
from adjourn.stores.rules.sheet import Sheet


def agreed(sheet: Sheet, found: InterruptRow) -> list[Decided]:
    """The decisions that agree so far."""
    decisions: list[Decided] = []
    for seq in found.votes.values():
        decided = parse(sheet.record(seq))
        if isinstance(decided, Decided):
            decisions.append(decided)
    return decisions


def votes_of(sheet: Sheet, found: InterruptRow) -> list[Vote]:
    """Who agrees so far, and in which groups they are."""
    return [Vote(decided.by, decided.groups) for decided in agreed(sheet, found)]
