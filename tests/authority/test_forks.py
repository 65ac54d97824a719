"""G35: a fork owns no authority and no effect of its original.

Forks of a run in every state × everybody who may not × memory and SQLite; then all of them, against two of each. And at every
boundary of a run that has done something: its forks take nothing back.
"""

from typing import Any

import pytest
from tests.authority.forks import FORKS
from tests.authority.paths import ASKING
from tests.authority.people import PEOPLE
from tests.authority.world import STORES, Office, an_office, clerk, nobody_else_runs_it, pay_tool, paying, pays

from adjourn import Run, ToolContext, allow
from adjourn.core.fork import boundaries
from adjourn.core.records import Intended


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("who", PEOPLE)
@pytest.mark.parametrize("path", FORKS)
async def test_g35_a_fork_pays_only_if_the_right_people_agree_to_that(path: str, who: str, store: str) -> None:
    async with an_office(store) as office:
        await nobody_else_runs_it(await FORKS[path](office, 1), PEOPLE[who])


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("path", FORKS)
async def test_g35_two_of_each_and_everybody_tries(path: str, store: str) -> None:
    async with an_office(store) as office:
        await nobody_else_runs_it(await FORKS[path](office, 2), *PEOPLE.values())


async def a_run_with_effects(office: Office, taken_back: list[tuple[str, int]]) -> Run[Any]:
    """Two payments that can be taken back, then two more, then a question."""

    async def take_back(ctx: ToolContext, args: dict[str, Any], result: Any) -> None:
        taken_back.append((ctx.run_id, args["cents"]))

    pay = pay_tool(paying(office.ledger), undo=take_back)
    return await office.start(clerk(pay, [pays(2), pays(4)[2:], ASKING], allow("pay")))


@pytest.mark.parametrize("store", STORES)
async def test_g35_a_fork_at_any_boundary_takes_nothing_back_that_its_original_did(store: str) -> None:
    async with an_office(store) as office:
        taken_back: list[tuple[str, int]] = []
        run = await a_run_with_effects(office, taken_back)
        assert len(office.ledger) == 4
        records = await office.records(run)
        for at in boundaries(records):
            fork = await run.fork(at, by="ada")
            await office.rest(fork)
            inherited = sum(isinstance(record, Intended) for record in records[:at])
            own = [cents for by, cents in office.ledger.lines if by == fork.id]
            assert len(own) == 4 - inherited, "what the original did is not done again"
            preview = await fork.cancel_preview()
            assert sorted(step.arguments["cents"] for step in preview.undo) == sorted(own)
            assert sum(f"inherited: done by {run.id}" in left.why for left in preview.residue) == inherited
            await fork.cancel(by="ada")
            await office.rest(fork)
            assert [cents for by, cents in taken_back if by == fork.id] == own[::-1]
        assert not [cents for by, cents in taken_back if by == run.id]
        await run.cancel(by="ada")
        await office.rest(run)
        assert [cents for by, cents in taken_back if by == run.id] == [8, 7, 6, 5]
        await office.check()
