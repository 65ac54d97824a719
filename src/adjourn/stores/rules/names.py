"""Names as every store can hold them: texts that can be encoded, and some databases take no NUL in
one."""

from collections.abc import Mapping
from typing import Any

from adjourn.core.records import AnyRecord, Asked, Started, Suspended
from adjourn.errors import Invalid

NUL = "\0"
TOLD = ("by", "from", "reason", "scope", "archive")
"""What every line of the audit may say about who did something, and why."""


def check_names(**names: str) -> None:
    """Raise `Invalid` if one of these is no text, or has a NUL or half of a character in it."""
    for what, name in names.items():
        _check(what, name)


def check_line(entry: Mapping[str, Any]) -> None:
    """Raise `Invalid` if a line of the audit does not say in texts who did something, and why."""
    for what in TOLD:
        if what in entry:
            _check(what, entry[what])


def _check(what: str, name: Any) -> None:
    if not isinstance(name, str):
        raise Invalid(
            f"{what} must be a string, got {name!r:.80} ({type(name).__name__})",
            consequence="nothing was changed",
        )
    if NUL in name:
        raise Invalid(f"{what} must not contain a NUL character: {name!r:.80}. Remove it")
    try:
        name.encode()
    except UnicodeEncodeError:
        raise Invalid(
            f"{what} must not contain a lone surrogate: {name!r:.80}. Remove it"
        ) from None


def check_record(record: AnyRecord) -> None:
    """Raise `Invalid` if a name in a record has a NUL in it: who, which run, which interrupt, and
    what is asked."""
    check_names(by=getattr(record, "by", ""), interrupt_id=getattr(record, "i", ""))
    if isinstance(record, Suspended):
        check_names(type=record.type, event=record.event)
    if isinstance(record, Asked):
        check_names(tool=record.tool)
        for group in record.groups:
            check_names(group=group)
    if isinstance(record, Started):
        check_names(run_id=record.run, program=record.program, session=record.session)
        for name, value in record.labels.items():
            check_names(label=name)
            check_names(label=value)


def cleaned(text: str) -> str:
    """A text for people, without what a name must not have."""
    if NUL in text:
        return text.replace(NUL, "")
    return text
