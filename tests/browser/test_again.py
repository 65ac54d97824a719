"""Run again from a run's page: with the same or another input, once, and the new run says of which."""

from playwright.async_api import Browser, expect
from tests.browser.test_access import AXE, complaints
from tests.browser.world import World, eventually, visit

from adjourn.core.records import Started


async def test_an_edited_input_starts_one_new_run_that_names_the_other(browser: Browser, own: World) -> None:
    own.tell()
    old = await own.start("deployer", "go", labels={"team": "eu"})
    await own.status(old, "completed")
    async with visit(browser, own, at=f"/runs/{old}") as ana:
        page = ana.page
        await page.locator("[data-verb=again]").click()
        dialog = page.get_by_role("dialog")
        await expect(dialog.locator("[data-repeated]")).to_contain_text("done, and not undone")
        field = dialog.get_by_role("textbox")
        await expect(field).to_have_value("go")
        if AXE.exists():
            assert await complaints(page) == []
        await field.fill("go there")
        await expect(dialog).to_contain_text("changed")
        await dialog.locator("[data-verb=again-now]").dblclick()
        await expect(page.locator("[data-again]")).to_contain_text(old)
        new = page.url.rpartition("/")[2].partition("?")[0]
        [started] = await own.records(new, Started)
        assert (started.again_of, started.input, started.by) == (old, "go there", "ana")
        assert started.labels == {"team": "eu"}
        await eventually(lambda: own.rt.runs(), lambda runs: len(runs) == 2)
