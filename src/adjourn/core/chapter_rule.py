"""What a chapter may be: it says what the records before it mean, and nothing else."""

from collections.abc import Iterator, Sequence

import msgspec

from adjourn.core.chapter import FORMATS, content, format_of, hindrance, meant
from adjourn.core.records import AnyRecord, Chapter
from adjourn.core.state import State


def flaw(before: Sequence[AnyRecord], chapter: Chapter) -> str:
    """Why this cannot follow these records as their chapter; "" if it can. One that says nothing is
    only a mark."""
    if not chapter.state:
        return ""
    if chapter.format not in FORMATS:
        return f"its format is {chapter.format}, which this version does not support"
    try:
        state = State().fold_all(list(enumerate(before, 1)))
        why, means, says = hindrance(state), content(state), content(meant(chapter, State))
        if not why and chapter.format != format_of(state):
            why = f"its format is {chapter.format}, and must be {format_of(state)}"
    except Exception as e:  # whatever a forged one makes the fold stumble over
        return f"its records are not a valid run: {type(e).__name__}: {e}"
    # As texts: what was done is undone in its order, so the order counts too.
    changed = [
        name
        for name in means
        if msgspec.json.encode(means[name]) != msgspec.json.encode(says[name])
    ]
    return why or (f"it differs from the records before it: {changed[0]}" if changed else "")


def objections(records: Sequence[AnyRecord]) -> Iterator[str]:
    """The chapters of a journal that say something else than the records before them, in words."""
    for place, record in enumerate(records):
        if isinstance(record, Chapter) and (why := flaw(records[:place], record)):
            yield f"record {place + 1} is not a valid chapter: {why}"
