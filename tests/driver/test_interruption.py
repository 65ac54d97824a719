"""A person's word at every callback of a run: never lost, never overtaken by a call, one end."""

import pytest
from tests.driver.lives import Word, World, ends, lived, output

from adjourn.core.messages import UserMessage
from adjourn.core.records import (
    CancelAsked,
    Intended,
    PauseAsked,
    Replied,
    Resumed,
    Returned,
    RunCancelled,
    RunCompleted,
    Said,
)
from adjourn.errors import InterruptClosed, Refused

UNDISTURBED, CALLBACKS = lived()
POINTS = range(CALLBACKS + 1)


def check(world: World) -> None:
    """What holds for every life in which nobody died."""
    assert len(ends(world)) == 1
    for call in set(world.began):
        assert world.began.count(call) <= (2 if world.tools[call] == "order" else 1)  # it runs again after the answer
    assert len(world.effects) == len(set(world.effects))
    assert len(world.steps) == len(set(world.steps))
    assert not world.consents
    returned = [r.call for _, r in world.records if isinstance(r, Returned)]
    assert len(returned) == len(set(returned))


def test_the_life_that_is_disturbed_below_is_a_real_one() -> None:
    check(UNDISTURBED)
    assert output(UNDISTURBED) == "done; heard []"
    assert UNDISTURBED.did == ["book", "pay", "book"]
    assert UNDISTURBED.steps == ["cart", "order"]
    assert CALLBACKS > 40


@pytest.mark.parametrize("now", [False, True])
def test_after_a_pause_is_acknowledged_nothing_starts_until_it_is_lifted(now: bool) -> None:
    acknowledged = 0
    for at in POINTS:
        pause = Word(PauseAsked(now=now, by="ada"))
        world, _ = lived((at, pause))
        check(world)
        assert output(world) == "done; heard []"
        assert world.did == UNDISTURBED.did
        if pause.refused:
            assert isinstance(pause.refused, Refused)
            continue
        if not pause.seq:
            continue
        acknowledged += 1
        lifted = next(seq for seq, r in world.records if isinstance(r, Resumed))
        between = [r for seq, r in world.records if pause.seq < seq < lifted]
        assert not [r for r in between if isinstance(r, Intended)], f"at callback {at}"
        assert not [r for r in between if isinstance(r, RunCompleted | RunCancelled)]
    assert acknowledged > 0.8 * CALLBACKS


def test_after_a_cancel_is_acknowledged_only_undos_start_and_the_run_ends_cancelled() -> None:
    acknowledged = 0
    for at in POINTS:
        cancel = Word(CancelAsked(by="ada"))
        world, _ = lived((at, cancel))
        check(world)
        [end] = ends(world)
        if not cancel.seq:
            assert isinstance(end, RunCompleted)
            continue
        acknowledged += 1
        assert isinstance(end, RunCancelled), f"at callback {at}"
        later = [r.call for seq, r in world.records if seq > cancel.seq and isinstance(r, Intended)]
        assert all(call.endswith("!undo") for call in later), f"at callback {at}: {later}"
        done = [r.call for _, r in world.records if isinstance(r, Returned) and r.call in world.effects]
        assert set(done) <= set(world.undone), f"at callback {at}"
        assert world.undone == list(dict.fromkeys(world.undone))
        order = [c for c in world.undone if c in done]
        assert order == sorted(order, key=done.index, reverse=True), f"at callback {at}"
    assert acknowledged > 0.8 * CALLBACKS


def test_a_message_is_read_exactly_once_whenever_it_comes() -> None:
    acknowledged = 0
    for at in POINTS:
        said = Word(Said(text="word", by="ada"))
        world, _ = lived((at, said))
        check(world)
        if not said.seq:
            assert output(world) == "done; heard []"
            continue
        acknowledged += 1
        assert output(world) == "done; heard ['word']", f"at callback {at}"
        assert [m for m in world.state().messages if m == UserMessage("word")] == [UserMessage("word")]
        assert any(isinstance(r, Replied) and r.upto >= said.seq for _, r in world.records)
        assert world.did == UNDISTURBED.did
    assert acknowledged > 0.8 * CALLBACKS


def test_two_words_at_two_callbacks_are_both_settled() -> None:
    for first in range(0, CALLBACKS, 7):
        for later in range(1, 40, 6):
            pause, cancel = Word(PauseAsked(now=later % 2 == 0)), Word(CancelAsked())
            world, _ = lived((first, pause), (first + later, cancel))
            check(world)
            [end] = ends(world)
            assert isinstance(end, RunCancelled) == bool(cancel.seq)
            assert all(isinstance(x.refused, Refused | InterruptClosed | None) for x in (pause, cancel))
