"""Cron expressions: minute, hour, day of the month, month, day of the week; and the moments that
they mean in a time zone."""

from bisect import bisect_right
from collections.abc import Iterator
from datetime import date, datetime, timedelta, tzinfo

import msgspec

from adjourn.errors import InvalidDefinition

MACROS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_WEEKDAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
FIELDS: tuple[tuple[str, int, int], ...] = (
    ("minute", 0, 59),
    ("hour", 0, 23),
    ("day of the month", 1, 31),
    ("month", 1, 12),
    ("day of the week", 0, 7),
)
_NAMES: dict[str, dict[str, int]] = {
    "month": {name: number for number, name in enumerate(_MONTHS, 1)},
    "day of the week": {name: number for number, name in enumerate(_WEEKDAYS)},
}
HORIZON = 41 * 366
"""Days in which an expression must mean some moment: a 29 February on a Sunday can be forty years away."""
ADVICE = "write five fields such as '30 9 * * mon-fri', or @daily"


class Cron(msgspec.Struct, frozen=True):
    """What an expression says. If both days are restricted, either is enough, as in every cron."""

    text: str
    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    any_day: bool
    any_weekday: bool

    @classmethod
    def parse(cls, text: str) -> "Cron":
        """An expression as people write it; raises `InvalidDefinition` saying which field is
        wrong."""
        words = MACROS.get(text.strip().lower(), text).split()
        if len(words) != len(FIELDS):
            raise InvalidDefinition(
                f"{text!r:.80} has {len(words)} fields, and a cron expression has {len(FIELDS)}",
                advice=ADVICE,
            )
        minutes, hours, days, months, weekdays = (
            _values(word, *field) for word, field in zip(words, FIELDS, strict=True)
        )
        found = cls(
            text,
            tuple(sorted(minutes)),
            tuple(sorted(hours)),
            frozenset(days),
            frozenset(months),
            frozenset(day % 7 for day in weekdays),
            words[2].startswith("*"),
            words[4].startswith("*"),
        )
        if not any(map(found._means, _days(date(2024, 1, 1), 1))):
            raise InvalidDefinition(f"{text!r:.80} matches no day of any year", advice=ADVICE)
        return found

    def following(self, after: float, zone: tzinfo) -> float:
        """The first moment after this one.

        Args:
            after: seconds since 1970.
            zone: whose clocks the expression speaks of.
        """
        for day in _days(_local_day(after, zone, -1), 1):
            if self._means(day):
                moments = self._moments(day, zone)
                at = bisect_right(moments, after)
                if at < len(moments):
                    return moments[at]
        raise AssertionError(self.text)  # `parse` has seen that it means some day

    def latest(self, until: float, zone: tzinfo) -> float:
        """The last moment that is not after this one.

        Args:
            until: seconds since 1970.
            zone: whose clocks the expression speaks of.
        """
        for day in _days(_local_day(until, zone, 1), -1):
            if self._means(day):
                moments = self._moments(day, zone)
                at = bisect_right(moments, until)
                if at:
                    return moments[at - 1]
        raise AssertionError(self.text)

    def _means(self, day: date) -> bool:
        if day.month not in self.months:
            return False
        in_month, in_week = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        if self.any_day or self.any_weekday:
            return in_month and in_week
        return in_month or in_week

    def _moments(self, day: date, zone: tzinfo) -> list[float]:
        """The moments of a day, in order.

        An expression for every hour follows the time that passes. Any other one speaks of the
        clock on the wall, once a day: what the clock shows twice is meant the first time, and what
        it skips comes as much later as it skips.
        """
        found: set[float] = set()
        every_hour = len(self.hours) == 24
        for hour in self.hours:
            for minute in self.minutes:
                wall = datetime(day.year, day.month, day.day, hour, minute, tzinfo=zone)
                moments = (wall.timestamp(), wall.replace(fold=1).timestamp())
                if every_hour:
                    found.update(moment for moment in moments if _shows(moment, wall, zone))
                else:
                    found.add(moments[0])
        return sorted(found)


def _shows(moment: float, wall: datetime, zone: tzinfo) -> bool:
    """Whether a clock of this zone shows that time at that moment."""
    shown = datetime.fromtimestamp(moment, zone)
    return shown.replace(tzinfo=None, fold=0) == wall.replace(tzinfo=None, fold=0)


def _local_day(moment: float, zone: tzinfo, off: int) -> date:
    return datetime.fromtimestamp(moment, zone).date() + timedelta(days=off)


def _days(start: date, stride: int) -> Iterator[date]:
    for number in range(HORIZON):
        yield start + timedelta(days=number * stride)


def _values(word: str, field: str, low: int, high: int) -> set[int]:
    """What one field means."""
    found: set[int] = set()
    for part in word.split(","):
        span, _, stride = part.partition("/")
        first, last = _span(span, field, low, high, open_ended=bool(stride))
        found.update(range(first, last + 1, _step(stride, part, field)))
    return found


def _span(span: str, field: str, low: int, high: int, *, open_ended: bool) -> tuple[int, int]:
    if span == "*":
        return low, high
    begin, dash, end = span.partition("-")
    first = _number(begin, field, low, high)
    if not dash:
        if open_ended:
            return first, high
        return first, first
    last = _number(end, field, low, high)
    if field == "day of the week" and last == 0:
        last = 7
    if last < first:
        raise InvalidDefinition(
            f"the {field} {span!r:.40} of a cron expression ends before it begins", advice=ADVICE
        )
    return first, last


def _step(text: str, part: str, field: str) -> int:
    if "/" not in part:
        return 1
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise InvalidDefinition(
            f"the {field} {part!r:.40} of a cron expression needs an integer step of at least 1",
            advice="write */15 for every fifteenth",
        )
    return int(text)


def _number(text: str, field: str, low: int, high: int) -> int:
    named = _NAMES.get(field, {}).get(text.lower())
    if named is not None:
        return named
    if not (text.isascii() and text.isdigit() and low <= int(text) <= high):
        raise InvalidDefinition(
            f"the {field} {text!r:.40} of a cron expression is not from {low} to {high}",
            advice=ADVICE,
        )
    return int(text)
