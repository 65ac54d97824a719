"""What people have left on an item of the inbox, as data."""

from collections.abc import Iterable

import msgspec

from adjourn.views.audit_entry import AuditEntry

NOTES = ("assign", "unassign", "snooze", "unsnooze", "comment")
"""The verbs of the audit for what is left on an item."""


class ItemNoteView(msgspec.Struct, frozen=True, kw_only=True):
    """Something that a person has left on an item. `text` is a comment, `to` the person or
    `group:NAME` to whom it was given, `until` when the author wants to see it again."""

    verb: str
    by: str
    at: float
    text: str
    to: str
    until: float | None


class ItemMarkView(msgspec.Struct, frozen=True, kw_only=True):
    """What is on an item now. `snoozed_until` is that of the person who asks."""

    assigned_to: str
    snoozed_until: float | None


class DecidersView(msgspec.Struct, frozen=True, kw_only=True):
    """To whom an item can be given: the people who may decide, and their groups."""

    people: tuple[str, ...]
    groups: tuple[str, ...]


def notes_of(lines: Iterable[AuditEntry]) -> list[ItemNoteView]:
    """The notes among the lines of the audit about an item, oldest first; not those that were
    refused."""
    found: list[ItemNoteView] = []
    for line in lines:
        if line.verb in NOTES and not line.refused:
            found.append(
                ItemNoteView(
                    verb=line.verb,
                    by=line.by,
                    at=line.at,
                    text=line.note,
                    to=str(line.more.get("to", "")),
                    until=line.more.get("until") or None,
                )
            )
    return found
