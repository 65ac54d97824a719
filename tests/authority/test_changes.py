"""Whatever changed since people agreed × everybody who may not × memory and SQLite; then all of them, against two of each."""

import pytest
from tests.authority.changes import CHANGES
from tests.authority.people import PEOPLE
from tests.authority.world import STORES, an_office, nobody_else_runs_it

pytestmark = pytest.mark.filterwarnings("ignore:'clerk' changed since the run started")


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("who", PEOPLE)
@pytest.mark.parametrize("path", CHANGES)
async def test_g33_what_changed_is_paid_only_if_the_right_people_agree_to_that(path: str, who: str, store: str) -> None:
    async with an_office(store) as office:
        await nobody_else_runs_it(await CHANGES[path](office, 1), PEOPLE[who])


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("path", CHANGES)
async def test_g33_two_of_each_and_everybody_tries(path: str, store: str) -> None:
    async with an_office(store) as office:
        await nobody_else_runs_it(await CHANGES[path](office, 2), *PEOPLE.values())
