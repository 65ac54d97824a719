"""Whatever changed since people agreed × everybody who may not × memory and SQLite; then all of them, against two of each."""

import pytest
from tests.authority.changes import CHANGES, upgrading
from tests.authority.paths import ASKING
from tests.authority.people import PEOPLE
from tests.authority.world import (
    DAN,
    DORA,
    STORES,
    an_office,
    clerk,
    gated,
    nobody_else_runs_it,
    pay_tool,
    paying,
    pays,
)

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


@pytest.mark.parametrize("fork", [False, True])
@pytest.mark.parametrize("edit", [None, {"cents": 7}])
@pytest.mark.parametrize("store", STORES)
async def test_g33_what_an_upgrader_renames_stays_agreed_to_where_it_has_run(
    store: str, edit: dict[str, int] | None, fork: bool
) -> None:
    """All agreed to `transfer`, and it ran. The upgrader calls it `pay`: its journal stays whole, here and elsewhere."""
    async with an_office("memory") as old:
        tools = pay_tool(paying(old.ledger), name="transfer")
        run = await old.start(clerk(tools, [pays(1, "transfer"), ASKING], gated("transfer", approvers=1)))
        [item] = await old.items(run, "approval")
        assert await old.agree(item, DAN, edit=edit) is None
        await old.rest(run)
        if edit:  # it is asked about as it is now
            await old.all_agree(run, DORA)
        if fork:
            run = await run.fork(by="ada")
            await old.rest(run)
        saved = (await run.checkpoint()).to_json()
        assert len(old.ledger) == 1
    async with an_office(store) as office:
        await office.open(clerk(pay_tool(paying(office.ledger)), [pays(1), ASKING]))
        with upgrading("transfer", "pay"):
            run = await office.rt.resume(saved, "yes", by="ada")
        await office.rest(run)
        assert await run.status() == "completed"
        assert len(office.ledger) == 0
        assert await office.rt.verify() == []
