"""No exception keeps a run alive: it says where it was raised, and holds nothing of what was there."""

import gc
import traceback
import weakref
from typing import Any

import pytest
from tests.runtime.world import LIMIT

from adjourn import Agent, ModelError, Run, RunFailed, Runtime
from adjourn.driver.loop import Drive
from adjourn.runtime.kept_errors import KeptErrors
from adjourn.testing import ScriptedModel


class Large:
    """Something that a body has in its hands."""


def inside(held: Large) -> None:
    raise ValueError(type(held).__name__)


def outside(held: Large) -> None:
    try:
        inside(held)
    except ValueError as e:
        raise ExceptionGroup("both", [RuntimeError("outside"), e]) from e


def raised(large: Large) -> BaseException:
    with pytest.raises(ExceptionGroup) as found:
        outside(large)
    return found.value


def test_what_was_in_the_frames_is_let_go_and_the_place_is_not() -> None:
    large = Large()
    alive, error = weakref.ref(large), raised(large)
    kept = KeptErrors[BaseException]()
    kept.keep("r", error)
    del large
    gc.collect()
    assert alive() is None
    assert "in inside" in "".join(traceback.format_exception(error))


def test_the_oldest_makes_room_and_a_run_has_one() -> None:
    kept = KeptErrors[BaseException](most=2)
    for run in ("a", "b", "a", "c"):
        kept.keep(run, ValueError(run))
    assert ["a" in kept, "b" in kept, "c" in kept, len(kept)] == [True, False, True, 2]
    kept.forget("a")
    assert kept.get("a") is None


async def cause_of(run: Run[Any]) -> type | None:
    try:
        await run.wait(LIMIT)
    except RunFailed as e:
        return type(e.__cause__)
    return None


async def test_a_run_that_failed_is_not_in_memory_because_of_its_error(address: str) -> None:
    agent = Agent("unlucky", model=ScriptedModel(ModelError("no")))
    async with Runtime(address, [agent]) as rt:
        for n in range(2):
            run = await rt.start(agent, "go", run_id=f"unlucky-{n}")
            assert await cause_of(run) is ModelError, "whoever waits is told why"
        gc.collect()
        drives = [x for x in gc.get_objects() if isinstance(x, Drive)]
        assert [x for x in drives if x.state.run.startswith("unlucky-")] == []


@pytest.mark.parametrize("transient", [False, True])
async def test_the_advice_resumes_the_run_that_failed_and_no_copy_of_it(address: str, transient: bool) -> None:
    """`agent.resume(error.checkpoint)` would be a second run beside the one in the store: both would act."""
    agent = Agent("unlucky", model=ScriptedModel(ModelError("no", transient=transient)), retries=1)
    alone = "" if transient else "a retry alone will not help"
    async with Runtime(address, [agent]) as rt:
        run = await rt.start(agent, "go")
        with pytest.raises(RunFailed, match=rf"{alone}.*call run\.resume\(\)"):
            await run.wait(LIMIT)
    with pytest.raises(RunFailed, match=rf"{alone}.*call agent\.resume\(error\.checkpoint\)"):
        await agent.run("go")


def test_errors_that_say_a_lot_are_fewer() -> None:
    kept = KeptErrors[Exception](limit=1_000_000)
    for n in range(20):
        error = ValueError("x" * 200_000)
        error.__cause__ = KeyError("y" * 10)
        kept.keep(f"r{n}", error)
        kept.keep(f"r{n}", error)
    assert len(kept) == 4
    for n in range(20):
        kept.forget(f"r{n}")
    kept.keep("big", ValueError("x" * 900_000))
    assert len(kept) == 1
