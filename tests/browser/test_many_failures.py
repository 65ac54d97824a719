"""What an outage and a deployment leave behind, at the console: many failures, items that were escalated, runs that no worker fits."""

from playwright.async_api import Browser, expect
from tests.browser.world import World, visit

from adjourn.core.messages import ToolCall
from adjourn.core.records import Accepted, Asked, Claimed, Decided, Parked, Replied, Started
from adjourn.stores.fleet import Misfit


async def test_all_that_failed_alike_are_retried_after_one_look_and_each_is_recorded(
    own: World, browser: Browser
) -> None:
    runs = [await own.waiting("failing") for _ in range(3)]
    approval = await own.waiting("refunds")
    async with visit(browser, own) as ana:
        page = ana.page
        await ana.inbox(runs[1])
        await page.get_by_label("Note for the record").fill("the provider is back")
        await page.get_by_role("button", name="Retry all 3 like this").click()
        dialog = page.get_by_role("dialog", name="Retry 3 runs?")
        await expect(dialog).to_contain_text("failing")
        assert not [x for run in runs for x in await own.records(run, Decided)], "nothing before it is confirmed"
        await dialog.get_by_role("button", name="Leave them").click()
        await expect(dialog).to_be_hidden()
        await page.locator("[data-verb=retry-all]").click()
        await page.locator("[data-verb=retry-all-now]").dblclick()
        for run in runs:
            await own.status(run, "completed")
            [decided] = await own.records(run, Decided)
            assert (decided.by, decided.note, decided.value) == ("ana", "the provider is back", {"choice": "retry"})
        await expect(page.get_by_text("Retried 3.").first).to_be_visible()
        assert [i.run_id for i in await own.rt.inbox()] == [approval]


async def test_a_single_failure_offers_no_more_than_itself(own: World, browser: Browser) -> None:
    run = await own.waiting("failing")
    async with visit(browser, own) as ana:
        async with ana.page.expect_response(lambda r: r.url.endswith("/alike")):
            await ana.inbox(run)
        await expect(ana.page.locator("[data-verb=answer]")).to_be_visible()
        await expect(ana.page.locator("[data-verb=retry-all]")).to_have_count(0)


async def escalated(on: World, run: str) -> None:
    """A run that nobody's process has the program of, at an approval that was escalated."""
    expires = on.rt.store.now() + 7200
    asked = Asked(
        i="1.0?1", kind="approval", call="1.0", tool="pay", args={"cents": 5}, rules=("ask pay",), groups=("finance", "leads"),
        expires=expires, escalated=True, digest="0" * 64, on_expiry="escalate",
    )  # fmt: skip
    reply = Replied(parts=(ToolCall(id="c", tool="pay", args={"cents": 5}),))
    begun = Started(run=run, kind="agent", program="elsewhere", input="go")
    assert await on.rt.store.create(begun, [Claimed(epoch=1), reply, asked, Parked()])


async def test_what_was_escalated_stands_first_and_says_for_whom_and_until_when(own: World, browser: Browser) -> None:
    ordinary = await own.waiting("refunds")  # it expires sooner
    await escalated(own, "late")
    async with visit(browser, own, at="/inbox") as ana:
        rows = ana.page.locator(".il-list li")
        await expect(rows).to_have_count(2)
        await expect(rows.nth(0)).to_contain_text("Escalated")
        await expect(rows.nth(1)).not_to_contain_text("Escalated")
        assert (await rows.nth(1).get_attribute("data-ref") or "").startswith(ordinary)
        said = ana.page.locator("article [data-escalated]")
        await expect(said).to_contain_text(
            "No one decided it in time. It is now for finance or leads; then denied by expiry"
        )


async def test_a_run_that_no_worker_fits_says_what_differs_and_whoever_may_accepts_it(
    own: World, browser: Browser
) -> None:
    old = {"name": "elsewhere", "tools": {"pay": "of before"}}
    assert await own.rt.store.create(
        Started(run="old", kind="agent", program="elsewhere", fingerprint=old, input="go"), ()
    )
    viewer = own.key_of("vera", "viewer")
    async with visit(browser, own, at="/runs/old") as ana:
        page = ana.page
        await expect(page.locator("main[data-run=old]")).to_be_visible()
        await expect(page.locator("[data-callout=fail]")).to_have_count(0)
        row = await own.rt.store.get("old")
        await own.rt.store.misfits(Misfit("old", row.seq, "tool 'pay' is gone", {"name": "elsewhere", "tools": {}}))
        callout = page.locator("[data-callout=fail]")
        await expect(callout).to_contain_text("No worker fits this run")
        await expect(callout).to_contain_text("tool 'pay' is gone")
        async with visit(browser, own, key=viewer, at="/runs/old") as vera:
            await expect(vera.page.locator("[data-verb=accept]")).to_have_attribute("aria-disabled", "true")
        await page.locator("[data-verb=accept]").click()
        dialog = page.get_by_role("dialog", name="Accept the changed program?")
        await expect(dialog).to_contain_text("tool 'pay' is gone")
        assert await own.records("old", Accepted) == []
        await page.locator("[data-verb=accept-now]").click()
        await expect(page.get_by_text("Accepted.").first).to_be_visible()
        [accepted] = await own.records("old", Accepted)
        assert accepted.by == "ana"
        await expect(callout).to_have_count(0)


async def test_on_a_phone_it_is_marked_as_well_and_fits(own: World, browser: Browser) -> None:
    await escalated(own, "late")
    async with visit(browser, own, at="/runs") as ana:
        await ana.page.set_viewport_size({"width": 390, "height": 844})
        await ana.go("/inbox")
        await expect(ana.page.locator(".il-list li").first).to_contain_text("Escalated")
        await ana.page.locator(".il-list li a").first.click()
        await expect(ana.page.locator("article [data-escalated]")).to_be_visible()
        wide = await ana.page.evaluate("document.documentElement.scrollWidth > innerWidth")
        assert wide is False
