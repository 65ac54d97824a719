"""Every way an approval leads to a payment × everybody who may not × memory and SQLite; then all of them, against two of each."""

import pytest
from tests.authority.paths import APPROVALS
from tests.authority.people import PEOPLE
from tests.authority.world import STORES, an_office, nobody_else_runs_it


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("who", PEOPLE)
@pytest.mark.parametrize("path", APPROVALS)
async def test_g33_an_approval_counts_only_if_it_is_of_the_right_people(path: str, who: str, store: str) -> None:
    async with an_office(store) as office:
        await nobody_else_runs_it(await APPROVALS[path](office, 1), PEOPLE[who])


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("path", APPROVALS)
async def test_g33_two_of_each_and_everybody_tries(path: str, store: str) -> None:
    async with an_office(store) as office:
        await nobody_else_runs_it(await APPROVALS[path](office, 2), *PEOPLE.values())
