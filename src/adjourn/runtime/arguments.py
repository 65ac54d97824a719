"""What a runtime's verbs are given, checked."""

from collections.abc import Iterable, Mapping
from typing import Any, cast

from adjourn.core.record_codec import dump
from adjourn.core.records import MOST_URGENT, AnyRecord, Command, Emitted, Resumed, Said
from adjourn.errors import AlreadyResumed, Invalid, InvalidDefinition, RunErased
from adjourn.runtime.checkpoint import Checkpoint
from adjourn.stores.audit import chain
from adjourn.stores.run_row import RunRow


def limited(limit: Any) -> int:
    """How many things a list may have; raises `Invalid`."""
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= 1000:
        raise Invalid(f"limit must be an integer from 1 to 1000, got {limit!r}")
    return limit


def whole(name: str, number: Any) -> int:
    """A setting that counts something; raises `InvalidDefinition`."""
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        raise InvalidDefinition(f"{name} must be an integer of at least 1, got {number!r}")
    return number


def checked_labels(labels: Mapping[str, str] | None) -> dict[str, str]:
    """A run's labels; raises `Invalid` for what is no string."""
    found = dict(labels or {})
    if not all(isinstance(k, str) and isinstance(v, str) for k, v in found.items()):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise Invalid("labels must be strings: {name: string}")
    return found


def checked_groups(groups: Any) -> tuple[str, ...]:
    """Somebody's groups; raises `Invalid` for what is no list of names. One text would be read
    letter by letter."""
    if isinstance(groups, str) or not isinstance(groups, Iterable):
        raise Invalid(
            f"groups= must be names in a list, for example ['finance'], got {groups!r:.80}"
        )
    found: list[Any] = list(cast("Iterable[Any]", groups))
    if not all(isinstance(group, str) and group for group in found):
        raise Invalid(
            f"groups= must be names in a list, for example ['finance'], got {found!r:.80}"
        )
    return tuple(found)


def check_same(row: RunRow, saved: Checkpoint) -> None:
    """The run is where the checkpoint is: as many records, and the same ones."""
    if row.erased:
        raise RunErased(row.id, row.title)
    heads = {head_of(row.salt, saved.records), head_of(row.salt, saved.by_itself().records)}
    if row.seq != saved.seq or row.head not in heads:
        raise AlreadyResumed(row.id, saved.seq, row.seq, row.status.value)


def head_of(salt: bytes, records: Iterable[AnyRecord]) -> bytes:
    """The hash that the chain of these records ends in, in a journal that begins with this salt."""
    head = salt
    for record in records:
        head = chain(head, dump(record))
    return head


def has_words(command: Command) -> bool:
    """Whether a run goes by what somebody says with this."""
    return isinstance(command, Said | Emitted) or (
        isinstance(command, Resumed) and bool(command.instruction)
    )


def checked_priority(priority: Any) -> dict[str, Any]:
    """What `priority=` adds to a run's options; raises `Invalid`.

    Args:
        priority: what was given.
    """
    most = MOST_URGENT
    if isinstance(priority, bool) or not isinstance(priority, int) or abs(priority) > most:
        raise Invalid(f"priority= must be an integer from -{most} to {most}, got {priority!r:.80}")
    if priority:
        return {"priority": priority}
    return {}


def checked_queue(queue: Any, session: str) -> dict[str, Any]:
    """What `queue=` adds to a run's options; raises `Invalid`.

    Args:
        queue: what was given: None or `"session"`.
        session: the session of the run.
    """
    if queue is None:
        return {}
    if queue != "session":
        raise Invalid(f"queue= must be 'session' or None, got {queue!r:.80}")
    if not session:
        raise Invalid(
            "queue='session' needs session=: the session whose runs go one after the other"
        )
    return {"queue": queue}
