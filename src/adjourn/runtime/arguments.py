"""What a runtime's verbs are given, checked."""

import asyncio
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from typing import Any, cast

from adjourn.core.codec import plain
from adjourn.core.duration import seconds
from adjourn.core.files import File, parts_of, parts_text
from adjourn.core.record_codec import dump
from adjourn.core.records import MOST_URGENT, AnyRecord, Command, Emitted, Resumed, Said
from adjourn.errors import AlreadyResumed, Invalid, InvalidDefinition, RunErased
from adjourn.runtime.checkpoint import Checkpoint
from adjourn.stores.audit import chain
from adjourn.stores.run_row import RunRow, stored


def limited(limit: Any) -> int:
    """How many things a list may have; raises `Invalid`."""
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= 1000:
        raise Invalid(f"limit must be an integer from 1 to 1000, got {limit!r}")
    return limit


def check_filter(label: Any = None, **texts: Any) -> None:
    """Raise `Invalid` for what no run could be found by."""
    for name, text in texts.items():
        if not isinstance(text, str):
            raise Invalid(f"{name}= must be a string, got {text!r:.80}")
    if label is None:
        return
    parts = cast("tuple[Any, ...]", label) if isinstance(label, tuple) else ()
    if len(parts) != 2 or not all(isinstance(part, str) for part in parts):
        raise Invalid(f"label= must be a pair, ('team', 'billing'), got {label!r:.80}")


def check_runtime(store: Any, programs: Any) -> None:
    """Raise `InvalidDefinition` for what is no store, or no list of agents and flows."""
    if not isinstance(store, str) and not callable(getattr(store, "commit", None)):
        raise InvalidDefinition(
            f"a runtime takes the address of a store, or a store, got {store!r:.80}",
            advice="for example 'sqlite:///runs.db'",
        )
    if isinstance(programs, str | Mapping) or not isinstance(programs, Iterable):
        raise InvalidDefinition(
            f"a runtime takes a list of agents and flows, got {programs!r:.80}",
            advice="write Runtime(store, [agent])",
        )


def whole(name: str, number: Any) -> int:
    """A setting that counts something; raises `InvalidDefinition`."""
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        raise InvalidDefinition(f"{name} must be an integer of at least 1, got {number!r:.80}")
    return number


def checked_labels(labels: Mapping[str, str] | None) -> dict[str, str]:
    """A run's labels; raises `Invalid` for what is no string."""
    if labels is not None and not isinstance(labels, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise Invalid(f"labels= must be {{name: value}}, got {labels!r:.80}")
    found = dict(labels or {})
    if not all(isinstance(k, str) and isinstance(v, str) for k, v in found.items()):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise Invalid("labels must be strings: {name: string}")
    return found


def check_by(by: Any, needed: str) -> None:
    """Raise `Invalid` without a name. `needed`: what needs one, and whose it is."""
    if not isinstance(by, str) or not by:
        raise Invalid(needed)


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
        head = chain(head, stored(salt, dump(record)))
    return head


Words = str | File | Sequence[str | File]
"""What is said to an agent."""


def checked_words(given: Any) -> tuple[str, tuple[Any, ...]]:
    """What is said, as text, and as parts if it has files; raises `Invalid`."""
    if isinstance(given, str) and given:
        return given, ()
    value = plain(given, "the message")
    parts = parts_of(value)
    if not parts or parts not in (
        [value],
        value,
    ):  # else it is the JSON of something, and its files
        raise Invalid(
            f"say needs a non-empty string, a file, or a list of strings and files, got {given!r:.80}",
            consequence="nothing was said",
        )
    return parts_text(parts), tuple(parts)


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


def checked_tenant(tenant: str) -> str:
    """A tenant's name. Raises `Invalid`.

    Args:
        tenant: the name; "" for none.
    """
    if len(tenant) > 200 or not tenant.isprintable() or tenant != tenant.strip():
        raise Invalid(f"a tenant's name must be a short string, got {tenant!r:.80}")
    return tenant


FOR_EVER = nullcontext()
"""For whoever waits without a limit: there are thousands of them."""


def within(timeout: float | None, run: str) -> AbstractAsyncContextManager[None]:
    """Raise `TimeoutError`, which says what to do, if a run does not rest within `timeout` seconds;
    None: wait for ever."""
    if timeout is None:
        return FOR_EVER
    return _within(timeout, run)


@asynccontextmanager
async def _within(timeout: float, run: str) -> AsyncGenerator[None]:
    try:
        async with asyncio.timeout(seconds(timeout, "timeout")):
            yield
    except TimeoutError:
        raise TimeoutError(
            f"run {run} did not stop within {timeout:g} seconds; it is still active: wait again"
        ) from None
