"""Names as every store can hold them: some databases take no NUL in a text."""

from collections.abc import Iterable

from adjourn.core.records import AnyRecord, Started
from adjourn.errors import Invalid

NUL = "\0"


def check_names(**names: str | Iterable[str]) -> None:
    """Raise `Invalid` if one of these, or one in one of these, has a NUL in it."""
    for what, given in names.items():
        for name in (given,) if isinstance(given, str) else given:
            if NUL in name:
                raise Invalid(f"{what} must not have a NUL character in it: {name!r:.80}. Leave it out")


def check_record(record: AnyRecord) -> None:
    """Raise `Invalid` if a name in a record has a NUL in it: who, which run, which interrupt."""
    check_names(by=getattr(record, "by", ""), interrupt_id=getattr(record, "i", ""))
    if isinstance(record, Started):
        labels = [text for pair in record.labels.items() for text in pair]
        check_names(run_id=record.run, program=record.program, session=record.session, label=labels)


def cleaned(text: str) -> str:
    """A text for people, without what a name must not have."""
    return text.replace(NUL, "") if NUL in text else text
