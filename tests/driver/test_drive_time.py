"""The time of a drive: the store's, as far as its answers say, and steady in between."""

from adjourn.driver.clock import DriveTime, StoreTime
from adjourn.testing import FakeClock


def drive_time(now: float, clock: FakeClock, store: StoreTime | None = None) -> DriveTime:
    time = DriveTime(store or StoreTime(clock), clock)
    time.heard(now)
    return time


def test_it_passes_without_asking_anybody() -> None:
    clock = FakeClock(1000.0)
    time = drive_time(5.0, clock)
    clock.advance(2.5)
    clock.set(3600)
    assert time.now() == 7.5


def test_an_answer_that_took_a_while_does_not_take_it_back() -> None:
    """The store's time is of some moment between the question and the answer: at most it is known more exactly."""
    clock = FakeClock(1000.0)
    time = drive_time(5.0, clock)
    asked = clock.steady()
    clock.advance(0.010)
    before = time.now()
    time.heard(5.004, asked)
    assert time.now() == before


def test_a_clock_that_was_set_is_followed_by_the_next_answer() -> None:
    clock = FakeClock(1000.0)
    for step in (3600.0, -3600.0):
        time = drive_time(5000.0, clock)
        asked = clock.steady()
        clock.advance(1.0)
        time.heard(5000.5 + step, asked)
        assert 5000.5 + step <= time.now() <= 5001.5 + step


def test_while_it_is_held_no_answer_changes_it() -> None:
    clock = FakeClock(1000.0)
    time = drive_time(5000.0, clock)
    time.hold(True)
    time.heard(9000.0, clock.steady())
    clock.advance(1.0)
    assert time.now() == 5001.0
    time.hold(False)
    assert time.now() == 9001.0


def test_two_drives_of_a_worker_go_by_one_time_although_their_answers_took_different_times() -> None:
    clock = FakeClock(1000.0)
    store = StoreTime(clock)
    one = drive_time(5.0, clock, store)
    clock.advance(0.5)
    two = drive_time(5.2, clock, store)
    assert one.now() == two.now() == 5.5
    one.hold(True)
    two.heard(9000.0, clock.steady())
    assert (one.now(), two.now()) == (5.5, 9000.0)
