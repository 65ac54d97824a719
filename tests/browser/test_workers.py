"""The page of workers: what fits none of them, who is there, what waits; readable at every width, for everybody."""

import re
from importlib.metadata import version as installed

import pytest
from playwright.async_api import Browser, expect
from tests.browser.conftest import missing
from tests.browser.test_access import AXE, complaints
from tests.browser.world import LIMIT, World, eventually, visit

from adjourn import Agent, Runtime, Tool, tool
from adjourn.stores.fleet import WorkerCard
from adjourn.testing import ScriptedModel, call

WIDTHS = (320, 375, 768, 1440)
FAR = 1e9  # seconds: a card that stays


async def fleet(on: World) -> None:
    """Two that answer, one that drains, one that does not answer; a run that none of them has an agent for."""
    store = on.rt.store
    cards = (
        WorkerCard("app-01:4411:a", "app-01", 4411, "1.4.0", {"refunds": "a1", "asker": "b2"}, 8, 6, every=FAR),
        WorkerCard("app-02:9120:a", "app-02", 9120, "1.4.0", {"refunds": "a1"}, 100, 30, every=FAR),
        WorkerCard("app-03:771:a", "app-03", 771, "1.3.9", {"refunds": "a0"}, 4, 1, draining=True, every=FAR),
        WorkerCard("app-04:3020:a", "app-04", 3020, "1.4.0", {"refunds": "a1"}, 8, every=1e-9),
    )
    for card in cards:
        await store.roster(card)
    pricing = Agent("pricing", model=ScriptedModel("done"))
    async with Runtime(store, work=False) as desk:
        await desk.start(pricing, "a price")


async def test_what_fits_no_worker_comes_first_and_then_who_is_there(browser: Browser, own: World) -> None:
    await fleet(own)
    async with visit(browser, own, at="/workers") as ana:
        page = ana.page
        unfit = page.get_by_role("region", name="1 run fits no worker")
        await expect(unfit).to_contain_text("pricing")
        await expect(unfit).to_contain_text("No worker has this agent or flow.")
        states = page.locator("[data-worker]")
        await expect(page.locator("[data-worker='app-02:9120:a']")).to_contain_text("30 of 100 slots")
        await expect(page.locator("[data-worker='app-03:771:a']")).to_contain_text("takes nothing new")
        await expect(page.locator("[data-worker='app-04:3020:a']")).to_contain_text("Not answering")
        assert await states.count() >= 4
        queue = page.get_by_role("row", name="pricing")
        await expect(queue).to_contain_text("none")
        await page.get_by_role("link", name="pricing").first.click()
        await page.wait_for_url("**/runs?**pricing")
        await expect(page.get_by_text("a price")).to_be_visible()


async def test_it_is_reached_from_the_side_and_on_a_phone_behind_more(browser: Browser, on: World) -> None:
    async with visit(browser, on, at="/runs") as ana:
        page = ana.page
        await page.get_by_role("link", name="Workers").click()
        await expect(page.get_by_role("heading", name="Workers", level=1)).to_be_visible()
        await expect(page).to_have_title("Workers · Adjourn")
        await page.set_viewport_size({"width": 375, "height": 800})
        await page.get_by_role("link", name="More").click()
        await page.get_by_role("link", name="Workers").locator("visible=true").click()
        await page.wait_for_url("**/workers")
        await expect(page.get_by_role("link", name="More")).to_have_class("on")


@tool(effect="idempotent", policy="ask", name="raise_price")
async def by_cents(cents: int) -> str:
    """Ask for more."""
    return f"{cents} more"


@tool(effect="idempotent", policy="ask", name="raise_price")
async def by_share(share: float) -> str:
    """Ask for more."""
    return f"{share} more"


def pricing(raises: Tool, **arguments: float) -> Agent[str]:
    """One version of an agent that waits for a person once."""
    return Agent("pricing", model=ScriptedModel([call("raise_price", **arguments)], "raised"), tools=[raises])


async def approved(own: World, run: str) -> None:
    [item] = await own.rt.inbox(run=run)
    await own.rt.approve(item.ref, by="ana")


async def test_two_workers_of_two_versions_and_a_run_that_fits_only_one(browser: Browser, own: World) -> None:
    """An upgrade: a run goes on at the worker that has the version it began with, and is named when none has."""
    database = f"sqlite:///{own.folder / 'runs.db'}"
    before, after = pricing(by_cents, cents=5), pricing(by_share, share=0.1)
    async with visit(browser, own) as ana, Runtime(database, [after]) as new:
        page = ana.page
        unfit = page.get_by_role("region", name="1 run fits no worker")
        async with Runtime(database, [before]) as old:
            for rt in (old, new):
                rt.worker.announce()
            runs = [(await old.start(before, f"price {number}")).id for number in (1, 2)]
            for run in runs:
                await own.status(run, "waiting")
            await eventually(own.rt.store.roster, lambda cards: len(cards) == 2)
            await ana.go("/workers")
            rows = [page.locator(f"[data-worker='{rt.worker.id}']") for rt in (old, new)]
            versions: set[str] = set()
            for row in rows:
                await expect(row).to_contain_text(installed("adjourn"))
                tag = row.get_by_role("link", name="pricing").locator(".tag")
                await expect(tag).to_have_text(re.compile(r"^version [0-9a-f]{4}$"))
                versions.add(await tag.inner_text())
            assert len(versions) == 2
            await expect(page.locator("[data-mixed]")).to_contain_text(
                "1 agent or flow is here in more than one version"
            )
            await approved(own, runs[0])
            await own.status(runs[0], "completed")
            await expect(unfit).to_have_count(0)
        await approved(own, runs[1])
        await expect(unfit).to_contain_text("pricing", timeout=LIMIT * 1000)
        assert await own.status(runs[1], "ready") == "ready"
        await unfit.get_by_role("link", name="See the oldest run").click()
        await page.wait_for_url(f"**/runs/{runs[1]}")
        async with Runtime(database, [before]):
            await own.status(runs[1], "completed")


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_nothing_is_cut_off_at_any_width_and_axe_finds_nothing(browser: Browser, own: World, scheme: str) -> None:
    if not AXE.exists():
        missing("axe-core is not installed: run `npm ci` in console")
    await fleet(own)
    async with visit(browser, own, at="/workers", color_scheme=scheme, reduced_motion="reduce") as ana:
        page = ana.page
        await expect(page.locator("[data-worker]").first).to_be_visible()
        for width in WIDTHS:
            await page.set_viewport_size({"width": width, "height": 900})
            wide = await page.evaluate("document.documentElement.scrollWidth")
            assert wide <= width, f"{wide} px at {width}"
            assert await complaints(page) == []
