"""Undo, exhaustively: whatever each undo does, all are tried, in reverse, with one key each, and nothing is lost."""

# pyright: reportArgumentType=false

import asyncio
import itertools
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.control.lives import Stage, stage
from tests.control.world import call, does, says, script
from tests.places import place

from adjourn.core.records import CancelAsked, Intended, RunCancelled, RunCompleted

PLANS = {
    "ok": ["ok"],
    "fail once": ["fail", "ok"],
    "fail always": ["fail"],
    "crash": ["crash", "ok"],
    "hang": ["hang"],
}
"""What an undo does, attempt by attempt."""

GIVES_UP = ("fail always", "hang")
ANSWERS = ("retry", "done", "leave")
EVERY = list(itertools.product(PLANS, repeat=3))


async def campaign(on: Stage, how: tuple[str, ...], answers: tuple[str, ...], *, again: bool = False) -> None:
    """So many effects, then a cancel; their undos go as `how` says, and a person answers as `answers` says."""
    names = [chr(ord("a") + n) for n in range(len(how))]
    for name, plan in zip(names, how, strict=True):
        on.ledger.plan("r", name, *PLANS[plan])
    await on.start(script("r", *(does(call("brief", name=name)) for name in names), says("", gate="never")))
    await on.until(lambda: f"model asked {len(names)}" in on.ledger.lines("r"))
    await on.store.deliver("r", CancelAsked(by="ann"))
    crashes = 0
    while True:
        crashed = len(on.ledger.lines("r", "crashing"))
        if crashed > crashes:
            crashes = crashed
            await on.die()
        rt = on.rt or await on.live()
        if again:
            await on.store.deliver("r", CancelAsked(by="bob"))
        row = await on.store.get("r")
        if row.status == "cancelled":
            break
        if row.status == "stuck" and (waiting := await rt.inbox(run="r")):
            [question] = waiting
            assert question.kind == "undo"
            name = names[int(question.id.partition(":")[2].partition(".")[0]) - 1]
            answer = answers[names.index(name)]
            if answer == "retry":
                on.ledger.plan("r", name, "ok")
            await rt.answer(question.id, answer, by="carl")
        on.clock.advance(0.2)
        await asyncio.sleep(0.002)
    await check(on, names, how, answers)


async def check(on: Stage, names: list[str], how: tuple[str, ...], answers: tuple[str, ...]) -> None:
    records = await on.records("r")
    [end] = [x for x in records if isinstance(x, RunCancelled | RunCompleted)]
    assert isinstance(end, RunCancelled)
    tries = [tuple(line.split()[1:]) for line in on.ledger.lines("r", "undo")]
    in_turn = [name for name, _ in itertools.groupby(name for name, _ in tries)]
    assert in_turn == list(reversed(names)), "each begins when the one after it is settled"
    for n, (name, plan) in enumerate(zip(names, how, strict=True)):
        keys = [key for tried, key in tries if tried == name]
        assert len(set(keys)) == 1
        intents = [x for x in records if isinstance(x, Intended) and x.call == f"{n + 1}.0!undo"]
        assert len(keys) == len(intents), "no attempt without an intent"
        least = {"ok": 1, "fail once": 2, "crash": 2}.get(plan, 3) + (plan in GIVES_UP and answers[n] == "retry")
        assert len(keys) >= least
    left = [f"{n + 1}.0" for n, plan in enumerate(how) if plan in GIVES_UP and answers[n] == "leave"]
    assert [x["call"] for x in end.residue] == left
    assert [x["why"] for x in end.residue] == ["left: its undo failed"] * len(left)
    assert list(end.undone) == [c for c in (f"{n + 1}.0" for n in reversed(range(len(names)))) if c not in left]
    assert len([x for x in records if isinstance(x, CancelAsked)]) == 1
    assert await on.store.verify() == []


async def of_three(folder: Path, how: tuple[str, ...]) -> None:
    turn = EVERY.index(how) % len(ANSWERS)
    async with stage(folder) as on:
        await campaign(on, how, ANSWERS[turn:] + ANSWERS[:turn])


@pytest.mark.parametrize("how", EVERY[::7], ids=" / ".join)
async def test_g14_three_effects_are_undone_whatever_their_undos_do(folder: Path, how: tuple[str, ...]) -> None:
    await of_three(folder, how)


@pytest.mark.crash
@pytest.mark.parametrize("how", EVERY, ids=" / ".join)
async def test_three_effects_are_undone_for_every_way_their_undos_can_go(folder: Path, how: tuple[str, ...]) -> None:
    await of_three(folder, how)


def of_five(how: tuple[str, ...], answers: tuple[str, ...], again: bool) -> None:
    async def work() -> None:
        with tempfile.TemporaryDirectory(dir=place()) as folder:
            async with stage(Path(folder)) as on:
                await campaign(on, how, answers, again=again)

    asyncio.run(work())


_five = given(st.tuples(*[st.sampled_from(list(PLANS))] * 5), st.tuples(*[st.sampled_from(ANSWERS)] * 5), st.booleans())


@_five
@settings(max_examples=8, suppress_health_check=list(HealthCheck))
def test_five_effects_are_undone_also_if_they_are_cancelled_again_and_again(
    how: tuple[str, ...], answers: tuple[str, ...], again: bool
) -> None:
    of_five(how, answers, again)


@pytest.mark.crash
@_five
@settings(max_examples=300, suppress_health_check=list(HealthCheck))
def test_five_effects_are_undone_in_a_long_campaign(
    how: tuple[str, ...], answers: tuple[str, ...], again: bool
) -> None:
    of_five(how, answers, again)
