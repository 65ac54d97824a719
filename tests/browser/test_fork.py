"""A fork says what it has of its origin: what is inherited as done, and what may be done a second time."""

import re
from urllib.parse import quote

from playwright.async_api import Browser, Page, expect
from tests.browser.test_told import seen_by_axe
from tests.browser.world import Visit, World, visit

from adjourn.core.records import Asked


async def asked_at(on: World, run: str) -> int:
    """The record that asked for the refund: where the fork is cut."""
    records = await on.records(run)
    return next(seq for seq, record in enumerate(records, 1) if isinstance(record, Asked))


async def forked(on: World, cents: int | None = None, decide: bool = True) -> tuple[str, str]:
    """A run that has refunded, and a fork that was cut before that and asks again."""
    run = await on.waiting("refunds", "order 4417")
    cut = await asked_at(on, run)
    [item] = await on.rt.inbox(run=run)
    assert item.call is not None
    if decide:
        edit = None if cents is None else {**item.call.arguments, "cents": cents}
        await on.rt.approve(item.id, by="ana", edit=edit)
        await on.status(run, "completed")
    fork = await (await on.rt.get(run)).fork(cut, by="ben")
    await on.status(fork.id, "waiting")
    return run, fork.id


async def test_an_approval_in_a_fork_says_that_the_origin_already_ran_exactly_this(ana: Visit) -> None:
    page = ana.page
    run, fork = await forked(ana.world)
    await ana.inbox(fork)
    twice = page.locator("[data-twice=exactly]")
    await expect(twice).to_contain_text("The origin already ran exactly this.")
    await expect(twice).to_contain_text("cents 48250")
    await expect(twice).to_contain_text("approved by ana")
    await expect(twice).to_contain_text("a second time")
    await expect(page.locator(f"[data-origin='{run}']")).to_contain_text("fork of")
    assert await seen_by_axe(page) == []


async def test_with_other_arguments_it_says_which(ana: Visit) -> None:
    _, fork = await forked(ana.world, cents=39900)
    await ana.inbox(fork)
    twice = ana.page.locator("[data-twice=alike]")
    await expect(twice).to_contain_text("already ran this, with other arguments")
    await expect(twice).to_contain_text("cents 39900 (here 48250)")


async def test_while_the_origin_waits_it_says_that_approving_both_does_it_twice(ana: Visit) -> None:
    page, on = ana.page, ana.world
    run, fork = await forked(on, decide=False)
    await ana.inbox(fork)
    twice = page.locator("[data-twice=exactly]")
    await expect(twice).to_contain_text("The same action waits in the run this was forked from.")
    await expect(twice).to_contain_text("Approving both does it twice.")
    [item] = await on.rt.inbox(run=run)
    await on.rt.approve(item.id, by="ana")
    await expect(twice).to_contain_text("The origin already ran exactly this.")


async def test_a_forks_page_tells_what_it_inherited_and_what_may_be_done_twice(ana: Visit) -> None:
    page = ana.page
    run, fork = await forked(ana.world)
    await ana.go(f"/runs/{fork}")
    origin = page.locator("[data-origin]")
    await expect(origin.locator("[data-inherited]")).to_contain_text("Nothing")
    await expect(origin.locator("[data-later] [data-left=final]")).to_contain_text("refund")
    await origin.get_by_role("link", name="Compare the two").click()
    await expect(page).to_have_url(re.compile(f"left={run}&right={fork}"))
    await expect(page.get_by_role("heading", name="A fork beside its origin")).to_be_visible()


async def deployed(on: World) -> str:
    run = await on.start("patient", "go")
    await on.status(run, "waiting")
    [item] = await on.rt.inbox(run=run)
    await on.rt.approve(item.id, by="ana")
    on.tell()
    await on.status(run, "completed")
    return run


async def step_of(page: Page, call: str) -> None:
    await page.locator(f"[data-step='{call}']").click()
    await page.locator("[data-verb=fork-here], [name=fork-here], button:has-text('Fork from here')").first.click()


async def test_the_dialog_says_what_would_be_inherited_before_anything_is_forked(browser: Browser, own: World) -> None:
    run = await deployed(own)
    async with visit(browser, own, at=f"/runs/{run}") as ana:
        page = ana.page
        await page.locator("[role=treegrid] [data-kind=tool]").wait_for()
        await page.keyboard.press("f")
        dialog = page.get_by_role("dialog")
        await expect(dialog.locator("[data-inherited] [data-left=not_undone]")).to_contain_text('lock name "door"')
        await expect(dialog.locator("[data-later]")).to_contain_text("Nothing")
        await expect(dialog).to_contain_text("No approval is inherited")
        assert await seen_by_axe(page) == []
        await page.keyboard.press("Escape")
        await step_of(page, "1.0")
        await expect(dialog.locator("[data-later] [data-left=not_undone]")).to_contain_text("lock")
        await expect(dialog.locator("[data-inherited]")).to_contain_text("Nothing")
        await dialog.get_by_role("button", name=re.compile("^Fork from record")).click()
        await expect(page.locator("[data-origin]")).to_be_visible()


async def test_on_a_phone_the_warning_stands_before_the_decision(browser: Browser, on: World) -> None:
    _, fork = await forked(on)
    [item] = await on.rt.inbox(run=fork)
    async with visit(browser, on, color_scheme="dark") as ana:
        await ana.page.set_viewport_size({"width": 390, "height": 844})
        ref = item.id if item.id.startswith(f"{fork}:") else f"{fork}:{item.id}"
        await ana.go(f"/inbox/{quote(ref, safe='')}")
        await expect(ana.page.locator("[data-twice=exactly]")).to_be_visible()
        assert await seen_by_axe(ana.page) == []
        wide = await ana.page.evaluate("document.documentElement.scrollWidth")
        assert wide <= 390
