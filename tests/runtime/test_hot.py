"""States that are kept after a park: as many as fit, the latest; whoever takes one has it alone."""

from adjourn.core.state import State
from adjourn.runtime.hot import HotStates


def state(seq: int) -> State:
    made = State()
    made.seq = seq
    return made


def test_what_is_taken_is_gone() -> None:
    hot, kept = HotStates(), state(5)
    hot.keep("a", kept)
    assert hot.take("a") is kept
    assert hot.take("a") is None


def test_the_oldest_make_room_by_the_records_they_hold() -> None:
    hot = HotStates(limit=10)
    for run in "abc":
        hot.keep(run, state(4))
    assert [run for run in "abc" if hot.take(run)] == ["b", "c"]


def test_a_run_is_kept_once_and_counts_once() -> None:
    hot = HotStates(limit=10)
    for _ in range(5):
        hot.keep("a", state(6))
    hot.keep("b", state(4))
    assert len(hot) == 2


def test_a_state_larger_than_everything_is_not_kept() -> None:
    hot = HotStates(limit=10)
    hot.keep("a", state(11))
    assert len(hot) == 0
    hot.keep("b", state(10))
    assert hot.take("b") is not None
