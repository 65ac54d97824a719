"""A number may be larger than a float can hold: JSON allows it, and models and people write it. Wherever one is given it is
refused, or does not fit; nothing that is recorded makes a journal unreadable."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from adjourn import (
    Agent,
    Interrupt,
    MaxCost,
    MaxSteps,
    MaxTime,
    MaxTokens,
    Paused,
    Policy,
    Run,
    Runtime,
    ask,
    gt,
    tool,
)
from adjourn.core.argument_conditions import ge, le, lt
from adjourn.core.codec import is_finite
from adjourn.core.duration import LATEST, moment, seconds
from adjourn.core.standing_decision import Standing, fits
from adjourn.errors import AdjournError, InvalidAnswer
from adjourn.models.prices import Price
from adjourn.runtime.pruner import span
from adjourn.testing import ScriptedModel, call

HUGE = (10**400, -(10**400), 2**1024)
NO_NUMBERS = (float("inf"), float("-inf"), float("nan"), True, "7", None)


@pytest.mark.parametrize("value", HUGE + NO_NUMBERS, ids=lambda value: f"{value!r:.12}")
def test_what_no_float_can_hold_is_no_number_to_count_with(value: Any) -> None:
    assert not is_finite(value)


@pytest.mark.parametrize("value", [0, -1, 1.5, 2**63, 10**300, -(10**300)], ids=lambda value: f"{value!r:.12}")
def test_every_other_number_is_one(value: Any) -> None:
    assert is_finite(value)


def runtime(**options: Any) -> Runtime:
    return Runtime("memory://", **options)


def dict_of(make: Callable[..., object], *names: str, **others: Any) -> dict[str, Callable[[Any], object]]:
    """A definition by each of these names, the others being as they are given."""
    return {f"{make.__name__}({name}=)": partial(defined, make, name, others) for name in names}


def defined(make: Callable[..., object], name: str, others: dict[str, Any], value: Any) -> object:
    return make(**{**others, name: value})


DEFINED: dict[str, Callable[[Any], object]] = {
    **{make.__name__: make for make in (MaxSteps, MaxTokens, MaxCost, MaxTime, gt, ge, lt, le, seconds)},
    **dict_of(span, "given", name="older"),
    **dict_of(Price, "input", "output", input=1, output=1),
    **dict_of(Standing, "lasts", "times"),
    **dict_of(ask, "valid_for", "expires_in", pattern="pay"),
    **dict_of(runtime, "lease", "grace", "concurrency", "hot_bytes"),
}


@pytest.mark.parametrize("value", (10**400, -(10**400)), ids=["huge", "below"])
@pytest.mark.parametrize("define", DEFINED)
def test_a_definition_refuses_it_with_a_sentence(define: str, value: int) -> None:
    try:
        DEFINED[define](value)
    except OverflowError:
        raise
    except (AdjournError, ValueError) as error:
        assert len(str(error)) < 400, "the number is not written out"


@pytest.mark.parametrize("value", HUGE, ids=lambda value: f"{value!r:.12}")
@pytest.mark.parametrize(
    "where", ["cents<=100", "cents<100", "cents>=100", "cents>100", "cents=100", "cents=10*", "cents=1.5"]
)
def test_a_standing_decision_does_not_fit_it(where: str, value: int) -> None:
    assert not fits((where,), {"cents": 1}, {"cents": value})
    assert not fits(("deep.cents<=100",), {}, {"deep": {"cents": value}})


@tool(effect="unsafe")
async def pay(cents: int) -> str:
    """Pay."""
    return "paid"


def payer(*replies: Any, policy: Policy | None = None) -> Agent[str]:
    limit = MaxSteps(3).then("pause")
    return Agent(
        "payer", model=ScriptedModel(*replies), tools=[pay], policy=policy or Policy(default="allow"), stop=limit
    )


async def at_the_limit(rt: Runtime) -> tuple[Run[str], Interrupt]:
    """A run that has paid three times, and its question."""
    agent = payer(*([call("pay", cents=number)] for number in range(4)), "done")
    run = await rt.start(agent, "pay")
    outcome = await run.wait()
    assert isinstance(outcome, Paused)
    return run, outcome.interrupts[0]


@pytest.mark.parametrize("amount", [10**400, 10**16, 1e300, -1, True], ids=lambda value: f"{value!r:.12}")
async def test_a_limit_is_extended_by_what_can_be_added_up(amount: Any) -> None:
    async with Runtime("memory://") as rt:
        run, item = await at_the_limit(rt)
        with pytest.raises(InvalidAnswer, match="amount must be a positive number"):
            await rt.answer(item, {"choice": "extend", "amount": amount}, by="ana")
        await rt.answer(item, {"choice": "extend", "amount": 10}, by="ana")
        assert (await run.wait()).status == "completed"


async def test_a_journal_with_an_amount_that_was_taken_before_is_read_and_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with Runtime("memory://") as rt:
        run, item = await at_the_limit(rt)
        with monkeypatch.context() as before:
            before.setattr("adjourn.core.answer.LARGEST_EXTENSION", 10**500)
            await rt.answer(item, {"choice": "extend", "amount": 10**400}, by="ana")
        assert (await run.wait()).status == "completed"
        assert (await run.state()).status == "completed"


@pytest.mark.parametrize("cents", [10**400, -(10**400)], ids=["huge", "below"])
async def test_a_person_is_asked_about_a_huge_number_beside_a_standing_approval(cents: int) -> None:
    model = ([call("pay", cents=50)], [call("pay", cents=cents)], "done")
    async with Runtime("memory://") as rt:
        run = await rt.start(payer(*model, policy=Policy([ask("pay")], default="allow")), "pay")
        first = await run.wait()
        assert isinstance(first, Paused)
        stands = Standing(where=("cents<=100",))
        await rt.approve(first.interrupts[0], by="ana", stands=stands)
        second = await run.wait()
        assert isinstance(second, Paused)
        assert second.interrupts[0].call is not None
        assert second.interrupts[0].call.arguments == {"cents": cents}
        await rt.deny(second.interrupts[0], by="ana")
        assert (await run.wait()).status == "completed"


@pytest.mark.parametrize("at", [-1.0, 0.0, 1e9, LATEST, LATEST + 1, 1e12, 1e18, 1.7e308])
def test_every_time_can_be_read(at: float) -> None:
    assert 1970 <= moment(at).year <= 9999
