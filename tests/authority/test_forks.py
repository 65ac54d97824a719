"""Forks of a run in every state × everybody who may not × memory and SQLite; then all of them, against two of each."""

import pytest
from tests.authority.forks import FORKS
from tests.authority.people import PEOPLE
from tests.authority.world import STORES, an_office, nobody_else_runs_it


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("who", PEOPLE)
@pytest.mark.parametrize("path", FORKS)
async def test_a_fork_pays_only_if_the_right_people_agree_to_that(path: str, who: str, store: str) -> None:
    async with an_office(store) as office:
        await nobody_else_runs_it(await FORKS[path](office, 1), PEOPLE[who])


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("path", FORKS)
async def test_two_of_each_and_everybody_tries(path: str, store: str) -> None:
    async with an_office(store) as office:
        await nobody_else_runs_it(await FORKS[path](office, 2), *PEOPLE.values())
