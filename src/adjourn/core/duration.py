"""Durations, as people write them: seconds or a `timedelta`."""

from datetime import timedelta

from adjourn.errors import InvalidDefinition

Duration = float | int | timedelta


def seconds(value: Duration, what: str = "a duration") -> float:
    """A duration in seconds; raises `InvalidDefinition` for anything that is not a finite number of
    them, 0 or more."""
    if isinstance(value, timedelta):
        value = value.total_seconds()
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)  # pyright: ignore[reportUnnecessaryIsInstance]
        or not 0 <= value < float("inf")
    ):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidDefinition(
            f"{what} must be seconds (a number, not negative) or a timedelta, got {value!r}"
        )
    return float(value)


def optional_seconds(value: Duration | None, what: str) -> float:
    """0.0 for None. A duration of zero would read as none, so it is refused."""
    if value is None:
        return 0.0
    length = seconds(value, what)
    if not length:
        raise InvalidDefinition(f"{what} must be longer than 0", advice="leave it out for none")
    return length
