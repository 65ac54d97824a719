"""Death at every callback of a run: the next worker converges, and nothing that is recorded runs again."""

import pytest
from tests.driver.lives import Word, World, die, ends, lived, output

from adjourn.core.records import CancelAsked, Command, Intended, PauseAsked, Returned, RunCancelled, RunCompleted, Said

UNDISTURBED, CALLBACKS = lived()


def check(world: World) -> None:
    """What holds for every life, whoever died in it."""
    assert len(ends(world)) == 1
    for call in set(world.effects):
        # Each execution beyond the first needs a person who knew that the one before had not happened.
        assert world.effects.count(call) == 1, f"the effect of {call} was repeated"
    intended = [r.call for _, r in world.records if isinstance(r, Intended)]
    assert set(world.began) <= set(intended), "a body without an intent"
    for call in set(world.began):
        assert world.began.count(call) <= intended.count(call)
    returned = [r.call for _, r in world.records if isinstance(r, Returned)]
    assert len(returned) == len(set(returned))


def mend(world: World) -> None:
    die()


def test_death_at_every_callback_converges_to_the_same_end() -> None:
    doubted = 0
    for at in range(CALLBACKS):
        world, _ = lived((at, mend))
        check(world)
        [end] = ends(world)
        assert isinstance(end, RunCompleted), f"death at callback {at}"
        assert output(world) == "done; heard []"
        assert sorted(world.did) == sorted(UNDISTURBED.did)
        assert set(world.steps) == set(UNDISTURBED.steps)
        doubted += bool(world.consents)
    assert doubted > 3, "no call was ever in flight: the enumeration proves nothing"


def test_the_recovery_may_die_too() -> None:
    for at in range(0, CALLBACKS, 4):
        for again in range(1, 30, 7):
            world, _ = lived((at, mend), (at + again, mend), (at + 2 * again, mend))
            check(world)
            assert isinstance(ends(world)[0], RunCompleted)
            assert sorted(world.did) == sorted(UNDISTURBED.did)


@pytest.mark.parametrize("later", [0, 1, 4])
@pytest.mark.parametrize(
    "command", [PauseAsked(), PauseAsked(now=True), CancelAsked(), Said(text="word")], ids=lambda c: type(c).__name__
)
def test_a_word_that_was_acknowledged_survives_the_death_of_the_worker(command: Command, later: int) -> None:
    for at in range(0, CALLBACKS, 1 if later == 1 else 3):
        word = Word(command)

        def speak_and_die(world: World, word: Word = word) -> None:
            word(world)
            die()

        world, _ = lived((at, word), (at + later, mend)) if later else lived((at, speak_and_die))
        check(world)
        [end] = ends(world)
        if isinstance(command, CancelAsked):
            assert isinstance(end, RunCancelled) == bool(word.seq), f"at callback {at}"
            settled = {r.call for _, r in world.records if isinstance(r, Returned) and r.call in world.effects}
            assert not word.seq or settled <= set(world.undone), f"at callback {at}"
        else:
            heard = ["word"] if isinstance(command, Said) and word.seq else []
            assert isinstance(end, RunCompleted)
            assert output(world) == f"done; heard {heard}", f"at callback {at}"
