"""Every way an execution goes on, or begins again × everybody who may not × memory and SQLite; then all of them, against two of each."""

import pytest
from tests.authority.paths import EXECUTIONS
from tests.authority.people import PEOPLE
from tests.authority.world import STORES, an_office, nobody_else_runs_it


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("who", PEOPLE)
@pytest.mark.parametrize("path", EXECUTIONS)
async def test_g33_a_body_goes_on_or_runs_again_only_if_the_right_people_agree(path: str, who: str, store: str) -> None:
    async with an_office(store) as office:
        await nobody_else_runs_it(await EXECUTIONS[path](office, 1), PEOPLE[who])


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("path", EXECUTIONS)
async def test_g33_two_of_each_and_everybody_tries(path: str, store: str) -> None:
    async with an_office(store) as office:
        await nobody_else_runs_it(await EXECUTIONS[path](office, 2), *PEOPLE.values())
