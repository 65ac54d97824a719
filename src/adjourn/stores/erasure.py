"""What is said about runs that go, and about those that must stay."""

from collections.abc import Mapping

import msgspec

from adjourn.core.records import Erased
from adjourn.errors import InvalidDefinition


class Erasure(msgspec.Struct, frozen=True):
    """That a run was erased: by whom, why and when, and the record that says so.

    `scrubbed`: whether it is out of the bytes of the store's files, too. `others`: later runs of
        the same session, which may have
    been given its conversation; what they have of it is erased with them. `turns`: the runs of its
    conversation that were erased with it.
    """

    run: str
    by: str
    reason: str
    at: float
    seq: int
    scrubbed: bool = False
    others: tuple[str, ...] = ()
    turns: tuple[str, ...] = ()


class Pruning(msgspec.Struct, frozen=True):
    """How a run is to be pruned: as it is at record `seq`, if its last record was written no later
    than `before`.

    `by` and `reason`: who wants it, and why. `archive`: where it was put before, and the SHA-256 of
    that, for the audit.
    """

    seq: int
    before: float
    by: str = ""
    reason: str = ""
    archive: str = ""
    digest: str = ""


class Hold(msgspec.Struct, frozen=True):
    """A legal hold that is on: nothing in its scope is erased or pruned."""

    scope: str
    by: str
    reason: str
    at: float


def scopes_of(run: str, labels: Mapping[str, str]) -> frozenset[str]:
    """Every hold that would cover this run: one of its own, and one of each of its labels."""
    return frozenset({f"run:{run}", *(f"label:{key}={value}" for key, value in labels.items())})


def run_of(scope: str) -> str:
    """The run that a hold names; "" if it names a label."""
    kind, _, name = scope.partition(":")
    return name if kind == "run" else ""


def check_hold(scope: str) -> str:
    """A well-formed scope, or `InvalidDefinition`."""
    kind, _, name = scope.partition(":") if isinstance(scope, str) else ("", "", "")  # pyright: ignore[reportUnnecessaryIsInstance]
    key, equals, _ = name.partition("=")
    if name and (kind == "run" or (kind == "label" and key and equals)):
        return scope
    raise InvalidDefinition(
        f"a hold's scope must be 'run:ID' or 'label:KEY=VALUE', got {scope!r:.80}"
    )


def tombstone(record: Erased) -> str:
    """What is said of an erased run wherever its content would be."""
    return f"erased by {record.by or 'an unknown person'}" + (
        f": {record.reason}" if record.reason else ""
    )
