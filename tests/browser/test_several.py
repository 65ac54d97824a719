"""Several items decided at once: each exact action is shown and bound by its digest, and each answers for itself."""

from playwright.async_api import Browser, expect
from tests.browser.test_access import AXE, complaints
from tests.browser.world import World, eventually, visit

from adjourn.core.records import Decided


async def test_several_are_approved_after_a_look_at_each_and_each_is_bound(browser: Browser, own: World) -> None:
    runs = [await own.waiting("pair", "first"), await own.waiting("series"), await own.waiting("asker")]
    async with visit(browser, own, at="/inbox") as ana:
        page = ana.page
        rows = page.locator(".il-at")
        await expect(rows).to_have_count(3)
        for row in await rows.all():
            await row.hover()
            await row.get_by_role("checkbox").check()
        bar = page.get_by_role("region", name="Chosen items")
        await expect(bar).to_contain_text("3 chosen")
        await expect(page.locator("[data-verb=several-approve]")).to_have_attribute("aria-disabled", "true")
        await rows.filter(has_text="Question").get_by_role("checkbox").uncheck()
        await page.locator("[data-verb=several-approve]").click()
        dialog = page.get_by_role("dialog")
        await expect(dialog).to_contain_text("Approve 2 items?")
        shown = dialog.locator("[data-several]")
        await expect(shown).to_have_count(2)
        for part in ("order_id", "cents", "500", "200", "2 people must agree", "Digest"):
            await expect(dialog).to_contain_text(part)
        if AXE.exists():
            assert await complaints(page) == []
        await dialog.get_by_label("One note for all").fill("both are right")
        # one of them is decided elsewhere, after it was shown
        [item] = await own.rt.inbox(run=runs[1])
        await own.rt.deny(item.ref, by="ben")
        await page.locator("[data-verb=several-send]").click()
        await expect(dialog).to_contain_text("Approved 1 of 2")
        await expect(dialog.locator("[data-refused]")).to_contain_text("ben")
        await page.keyboard.press("Escape")
        await expect(dialog).to_have_count(0)
    [decided] = await own.records(runs[0], Decided)
    [asked] = await own.rt.inbox(run=runs[0])
    assert (decided.verdict, decided.by, decided.note, decided.digest) == (
        "approve",
        "ana",
        "both are right",
        asked.digest,
    )
    [other] = await own.records(runs[1], Decided)
    assert other.by == "ben"


LOOK_TO_THE_END = """() => {
  for (const box of document.querySelectorAll("[role=dialog] .whole.scrolls")) box.scrollTop = box.scrollHeight;
}"""


async def test_what_is_long_is_read_to_its_end_before_several_are_approved(browser: Browser, own: World) -> None:
    run = await own.waiting("parrot", "word " * 1_500)
    await own.waiting("pair", "first")
    async with visit(browser, own, at="/inbox") as ana:
        page = ana.page
        await page.set_viewport_size({"width": 390, "height": 800})
        await ana.go("/inbox")
        rows = page.locator(".il-at").filter(has_text="Approval")
        await expect(rows).to_have_count(2)
        for row in await rows.all():
            await row.get_by_role("checkbox").check()
        await page.locator("[data-verb=several-approve]").click()
        dialog, send = page.get_by_role("dialog"), page.locator("[data-verb=several-send]")
        await expect(dialog.locator("[data-several]")).to_have_count(2)
        await expect(send).to_have_attribute("aria-disabled", "true")
        assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")

        async def unread() -> str | None:
            """What is drawn late is read as well."""
            await page.evaluate(LOOK_TO_THE_END)
            return await send.get_attribute("aria-disabled")

        await eventually(unread, lambda disabled: disabled != "true")
        await send.click()
        await expect(dialog).to_contain_text("Approved 2 of 2")
        assert len(await own.records(run, Decided)) == 1
