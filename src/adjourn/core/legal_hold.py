"""Legal holds: which runs one covers."""

from collections.abc import Mapping

from adjourn.errors import InvalidDefinition


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
