"""Which moments a cron expression means, in zones whose clocks are put forward and back."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adjourn.core.cron import Cron
from adjourn.errors import InvalidDefinition

OSLO = ZoneInfo("Europe/Oslo")


def at(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


def following(cron: str, after: str, zone: ZoneInfo | None = None, count: int = 1) -> list[str]:
    moment, found = at(after), list[str]()
    for _ in range(count):
        moment = Cron.parse(cron).following(moment, zone or UTC)
        found.append(f"{datetime.fromtimestamp(moment, UTC):%Y-%m-%dT%H:%M}")
    return found


@pytest.mark.parametrize(
    ("cron", "after", "expected"),
    [
        ("* * * * *", "2026-11-17T09:00:00", "2026-11-17T09:01"),
        ("*/15 * * * *", "2026-11-17T09:46:00", "2026-11-17T10:00"),
        ("30 9 * * mon-fri", "2026-11-20T09:30:00", "2026-11-23T09:30"),
        ("0 0 1 1 *", "2026-11-17T09:00:00", "2027-01-01T00:00"),
        ("@daily", "2026-11-17T00:00:00", "2026-11-18T00:00"),
        ("@hourly", "2026-11-17T00:59:59", "2026-11-17T01:00"),
        ("5 4 * * 7", "2026-11-17T00:00:00", "2026-11-22T04:05"),
        ("0 12 13 * fri", "2026-11-13T12:00:00", "2026-11-20T12:00"),
        ("0 0 29 2 *", "2026-11-17T00:00:00", "2028-02-29T00:00"),
        ("0 0 29 2 *", "2096-03-01T00:00:00", "2104-02-29T00:00"),
        ("0 22-23,3 * JAN,dec *", "2026-11-17T00:00:00", "2026-12-01T03:00"),
        ("10/20 5 * * *", "2026-11-17T05:10:00", "2026-11-17T05:30"),
        ("0 6 * * fri-sun", "2026-11-21T06:00:00", "2026-11-22T06:00"),
    ],
)
def test_the_next_moment(cron: str, after: str, expected: str) -> None:
    assert following(cron, after) == [expected]


def test_either_day_is_enough_if_both_are_restricted() -> None:
    days = following("0 0 1,15 * wed", "2026-11-30T00:00:00", count=4)
    assert days == ["2026-12-01T00:00", "2026-12-02T00:00", "2026-12-09T00:00", "2026-12-15T00:00"]


def test_the_clock_on_the_wall_is_the_zones() -> None:
    assert following("0 9 * * *", "2026-07-01T00:00:00", OSLO) == ["2026-07-01T07:00"]
    assert following("0 9 * * *", "2026-12-01T00:00:00", OSLO) == ["2026-12-01T08:00"]


def test_a_time_that_the_clock_skips_comes_as_much_later() -> None:
    # On 29 March 2026, two becomes three in Oslo, at 01:00 UTC.
    assert following("30 2 * * *", "2026-03-28T12:00:00", OSLO, 2) == ["2026-03-29T01:30", "2026-03-30T00:30"]


def test_a_time_that_the_clock_shows_twice_is_meant_once() -> None:
    # On 25 October 2026, three becomes two in Oslo, at 01:00 UTC.
    assert following("30 2 * * *", "2026-10-24T12:00:00", OSLO, 2) == ["2026-10-25T00:30", "2026-10-26T01:30"]


def test_what_comes_every_hour_comes_every_hour_whatever_the_clock_does() -> None:
    for begin in ("2026-03-28T22:00:00", "2026-10-24T21:00:00"):
        moments = [at(text + ":00") for text in following("*/30 * * * *", begin, OSLO, 16)]
        assert {later - earlier for earlier, later in pairwise(moments)} == {1800.0}


FIELD = st.sampled_from(["*", "*/7", "3", "1-5", "2,4", "5-6/1"])


@given(
    st.tuples(FIELD, FIELD, FIELD, FIELD, st.sampled_from(["*", "1", "5-7", "sun", "mon-wed"])),
    st.integers(int(at("2026-01-01T00:00:00")), int(at("2028-01-01T00:00:00"))),
    st.sampled_from([UTC, OSLO, ZoneInfo("America/St_Johns"), ZoneInfo("Australia/Lord_Howe")]),
)
@settings(max_examples=60, deadline=None)
def test_between_a_moment_and_the_next_there_is_none(words: tuple[str, ...], after: int, zone: ZoneInfo) -> None:
    cron = Cron.parse(" ".join(words))
    later = cron.following(after, zone)
    assert later > after
    assert cron.latest(later, zone) == later
    earlier = cron.latest(after, zone)
    assert earlier <= after and cron.following(earlier, zone) == later
    assert cron.latest(later - 1, zone) == earlier


@given(st.integers(int(at("2026-01-01T00:00:00")), int(at("2028-01-01T00:00:00"))))
@settings(max_examples=30, deadline=None)
def test_it_agrees_with_looking_at_each_minute(after: int) -> None:
    cron = Cron.parse("*/20 3,4 * * *")
    moment = datetime.fromtimestamp(after, UTC).replace(second=0) + timedelta(minutes=1)
    while moment.minute % 20 or moment.hour not in (3, 4):
        moment += timedelta(minutes=1)
    assert cron.following(after, UTC) == moment.timestamp()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "has 0 fields"),
        ("* * * *", "has 4 fields"),
        ("60 * * * *", "the minute '60'"),
        ("* 24 * * *", "the hour '24'"),
        ("* * 0 * *", "the day of the month '0'"),
        ("* * * 13 *", "the month '13'"),
        ("* * * * 8", "the day of the week '8'"),
        ("* * * * freitag", "the day of the week 'freitag'"),
        ("5-1 * * * *", "ends before it begins"),
        ("*/0 * * * *", "needs an integer step"),
        ("*/ * * * *", "needs an integer step"),
        ("0 0 31 2 *", "matches no day of any year"),
        ("٣ * * * *", "is not from 0 to 59"),
        ("@sometimes", "has 1 fields"),
    ],
)
def test_what_is_no_expression_is_refused(text: str, said: str) -> None:
    with pytest.raises(InvalidDefinition, match=said):
        Cron.parse(text)
