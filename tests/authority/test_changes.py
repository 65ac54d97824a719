"""Whatever changed since people agreed × everybody who may not × memory and SQLite; then all of them, against two of each."""

import json
from typing import Any

import pytest
from tests.authority.bodies import doubts_first
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

from adjourn import AdjournError, register_upgrader
from adjourn.runtime.checked_answers import MISSING

pytestmark = pytest.mark.filterwarnings("ignore:'clerk' has changed since the run started")


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


@pytest.mark.parametrize("store", STORES)
async def test_g33_what_an_upgrader_changes_while_it_is_asked_is_asked_again(store: str) -> None:
    """Nobody speaks to the run in between: it must not wait for an item that was taken back."""
    async with an_office("memory") as old:
        tools = pay_tool(paying(old.ledger), name="transfer")
        run = await old.start(clerk(tools, [pays(1, "transfer")], gated("transfer")))
        saved = (await run.checkpoint()).to_json()
    async with an_office(store) as office:
        await office.open(clerk(pay_tool(paying(office.ledger)), [pays(1)]))
        with upgrading("transfer", "pay"):
            run = await office.rt.resume(saved, by="ada")
        await office.rest(run)
        [item] = await office.items(run, "approval")
        assert item.call is not None and item.call.tool == "pay"
        await office.all_agree(run, DAN, DORA)
        assert len(office.ledger) == 1


@pytest.mark.parametrize("change", ["amount", "for the run"])
async def test_g33_an_upgrader_agrees_to_nothing_in_somebody_s_name(change: str) -> None:
    """Another amount for a call that has not ended is refused; what was agreed to for the run was agreed to as it was."""
    async with an_office("memory") as old:
        body = doubts_first(old) if change == "amount" else paying(old.ledger)
        agent = clerk(pay_tool(body), [pays(1), ASKING, pays(1)], gated(approvers=1))
        run = await old.start(agent)
        [item] = await old.items(run, "approval")
        assert await old.agree(item, DAN, scope="run" if change != "amount" else "once") is None
        await old.rest(run)
        saved = (await run.checkpoint()).to_json()

    def upgrade(records: list[dict[str, Any]], changes: list[str]) -> list[dict[str, Any]]:
        text = json.dumps(records).replace('"cents": 5', '"cents": 500')
        return json.loads(text.replace('"Pay somebody."', '"Pay somebody well."'))

    register_upgrader("clerk", upgrade)
    try:
        async with an_office("memory") as office:
            other = pay_tool(paying(office.ledger), description="Pay somebody well.")
            await office.open(clerk(other, [pays(1), ASKING, pays(1)], gated(approvers=1)))
            try:
                run = await office.rt.resume(saved, "yes" if change != "amount" else MISSING, by="ada")
            except AdjournError:
                assert change == "amount"
            else:
                await office.rest(run)
                assert [item.kind for item in await office.items(run)] == ["approval"]
            assert len(office.ledger) == 0
    finally:
        register_upgrader("clerk", None)
