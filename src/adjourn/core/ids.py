"""Ids: which ones people may choose, and how an interrupt is named. Only this module builds or splits them.

An interrupt has three names. Its *local* id tells it apart inside its run: generated (`2.0?0`: the call, and the number of
its question) or given by its author (`ticket-7`). Its `id` is what people are shown first: `RUN:2.0?0` for a generated
one, as written for a given one, which other runs may have given too. Its `ref`, `RUN:local`, is unique in the store.
"""

import re
from typing import Any

from adjourn.errors import Invalid

CHOSEN = "[A-Za-z0-9][A-Za-z0-9_.~ -]{0,199}"
"""The ids that people choose, for runs and for interrupts: nothing in them means something to a shell, a URL or a ref."""
_RESERVED = ":?/!#\\"


def check_chosen(id: Any, name: str) -> str:
    """The id that somebody chose; raises `Invalid` if it cannot be one.

    Args:
        id: what was given.
        name: the argument it was given as, for the message.
    """
    if not isinstance(id, str) or not re.fullmatch(CHOSEN, id):
        raise Invalid(
            f"{name} must be a short text of letters (a-z), digits, spaces and _ . ~ - that begins with a letter or a digit, "
            f"at most 200 characters, got {id!r:.80}"
        )
    return id


def check_imported(run: str) -> str:
    """A run's id as earlier versions allowed it, for journals from elsewhere; raises `Invalid`."""
    if not 0 < len(run) <= 200 or not run.isprintable() or any(c in _RESERVED for c in run):
        raise Invalid(f"{run!r:.80} cannot be the id of a run; nothing was imported")
    return run


def ref_of(run: str, local: str) -> str:
    """An interrupt's name that is unique in the store.

    Args:
        run: its run's id.
        local: its id inside the run.
    """
    return f"{run}:{local}"


def public_id(run: str, local: str) -> str:
    """An interrupt's `id`: qualified by its run if it was generated , as its author wrote it if it was given."""
    return local if is_given(local) else ref_of(run, local)


def local_of(run: str, id: str) -> str:
    """An interrupt's local id, from any of its names.

    Args:
        run: its run's id.
        id: its local id, its `id` or its `ref`.
    """
    return id.removeprefix(f"{run}:")


def split_ref(text: str) -> tuple[str, str] | None:
    """A ref as (run, local id); None if it is none.

    A run's id has no colon; a local id may have one (`model:?0`).
    """
    run, _, local = text.partition(":")
    return (run, local) if run and local else None


def is_given(local: str) -> bool:
    """Whether an interrupt's local id was given by its author; a generated one means nothing outside of its run."""
    return bool(local) and "?" not in local and ":" not in local


def places_of(name: str, run: str | None = None) -> list[tuple[str, str]]:
    """Where an interrupt of this name may be, as (run, local id), in the order in which to look; run "": in any.

    Args:
        name: its ref or its `id`; with `run`, also its local id.
        run: the only run in which to look.
    """
    if run is not None:
        return list(dict.fromkeys((run, local) for local in (name, local_of(run, name)) if run and local))
    if ref := split_ref(name):
        return [ref]
    return [("", name)] if is_given(name) else []


def local_event(event: str) -> str:
    """An event's own name: a sub-flow's are recorded behind the flow's path, so that each flow has its own events."""
    return event.rpartition("/")[2]
