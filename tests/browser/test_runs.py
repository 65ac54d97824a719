"""The list of runs: live, grouped by what needs a person, filters in the address."""

import re

from playwright.async_api import Browser, Locator, Route, expect
from tests.browser.many import multiply
from tests.browser.world import Visit, World, eventually, visit

from adjourn.core.records import Decided, Started


async def test_a_run_that_starts_elsewhere_appears_and_follows_its_status(ana: Visit) -> None:
    page, on = ana.page, ana.world
    run = await on.waiting("refunds", "Order 4417 arrived broken")
    line = page.locator(f"[data-run='{run}']")
    newer = page.locator("[data-newer]")
    await eventually(lambda: _either(line, newer))
    if await newer.count():
        await page.keyboard.press(".")
    await expect(line).to_contain_text("Waiting")
    await expect(line).to_contain_text("refund needs approval")
    await expect(line).to_contain_text("large refund")
    await expect(line).to_contain_text("Order 4417 arrived broken")
    await expect(line.locator("xpath=ancestor::section")).to_have_attribute("data-group", "needs")
    [interrupt] = await on.rt.inbox(run=run)
    await on.rt.deny(interrupt.id, by="ben")
    await on.status(run, "completed")
    await expect(line).to_contain_text("Completed")


async def _either(*locators: Locator) -> bool:
    return any([await x.count() for x in locators])


async def test_filters_are_in_the_address_and_survive_a_reload(ana: Visit) -> None:
    page, on = ana.page, ana.world
    waits, failed = await on.waiting("asker", "A question"), await on.waiting("failing", "It breaks")
    await ana.go("/runs?tab=failed")
    await expect(page.locator(f"[data-run='{failed}']")).to_contain_text("no such model")
    await expect(page.locator(f"[data-run='{waits}']")).to_have_count(0)
    await page.get_by_role("searchbox").fill("agent:asker")
    await page.wait_for_url("**q=*")
    await page.reload()
    await expect(page.get_by_role("searchbox")).to_have_value("agent:asker")
    await expect(page.locator(f"[data-run='{failed}']")).to_have_count(0)
    await ana.go("/runs?q=agent%3Aasker")
    await expect(page.locator(f"[data-run='{waits}']")).to_be_visible()


async def test_a_run_is_started_from_the_page(ana: Visit) -> None:
    page, on = ana.page, ana.world
    await page.get_by_role("button", name="Start a run…").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_role("combobox").select_option("refunds")
    await dialog.get_by_role("textbox").first.fill("Order 99")
    await dialog.get_by_role("button", name="Start").last.click()
    await page.wait_for_url("**/runs/*")
    run = page.url.rpartition("/")[2].partition("?")[0]
    [started] = await on.records(run, Started)
    assert (started.program, started.input, started.by) == ("refunds", "Order 99", "ana")


async def test_a_start_whose_answer_was_lost_is_sent_again_and_starts_one_run(ana: Visit) -> None:
    page, on = ana.page, ana.world
    lost = 1

    async def lose(route: Route) -> None:
        nonlocal lost
        if route.request.method != "POST" or not lost:
            await route.continue_()
            return
        lost -= 1
        await route.fetch()  # it was done
        await route.abort()

    await page.route(re.compile(r"/api/v1/runs$"), lose)
    await page.get_by_role("button", name="Start a run…").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_role("combobox").select_option("refunds")
    await dialog.get_by_role("textbox").first.fill("Order of a lost answer")
    await dialog.get_by_role("button", name="Start").last.click()
    await expect(page.get_by_text("the server does not answer")).to_be_visible()
    await dialog.get_by_role("button", name="Start").last.click()
    await page.wait_for_url("**/runs/*")
    run = page.url.rpartition("/")[2].partition("?")[0]
    assert [found.run_id for found in await on.rt.runs(text="Order of a lost answer")] == [run]


async def test_a_reader_goes_through_the_list_with_the_keyboard(ana: Visit) -> None:
    page = ana.page
    run = await ana.world.waiting("asker", "Keyboard")
    await ana.go("/runs?q=Keyboard")
    await expect(page.locator(f"[data-run='{run}']")).to_be_visible()
    await page.keyboard.press("j")
    await expect(page.locator(f"[data-row-link='{run}']")).to_be_focused()
    await page.keyboard.press("Enter")
    await page.wait_for_url(f"**/runs/{run}")
    await page.keyboard.press("?")
    await expect(page.get_by_role("dialog")).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("dialog")).to_have_count(0)


async def test_nothing_to_see_says_what_will_appear(browser: Browser, own: World) -> None:
    async with visit(browser, own) as ana:
        await expect(ana.page.get_by_text("No runs yet")).to_be_visible()
        await ana.go("/inbox")
        await expect(ana.page.get_by_text("Nothing waits for a person")).to_be_visible()


async def test_runs_are_found_by_what_they_did_and_chosen_ones_are_denied_with_one_note(ana: Visit) -> None:
    page, on = ana.page, ana.world
    refunds = [await on.waiting("refunds", f"Order {n} arrived broken") for n in (1, 2)]
    asks = await on.waiting("asker", "A question")
    await ana.go("/runs?q=tool%3Arefund")
    for run in refunds:
        await expect(page.locator(f"[data-run='{run}']")).to_be_visible()
        await page.locator(f"[data-run='{run}'] .pick-run").check()
    await expect(page.locator(f"[data-run='{asks}']")).to_have_count(0)
    bar = page.get_by_role("region", name="Chosen runs")
    await expect(bar).to_contain_text("2 chosen")
    await expect(bar.locator("[data-verb='bulk-resume']")).to_have_attribute("aria-disabled", "true")
    await bar.get_by_role("button", name="Deny with one note…").click()
    dialog = page.get_by_role("dialog")
    await expect(dialog.locator("[data-bulk]")).to_have_count(2)
    await dialog.get_by_role("textbox").fill("not this week")
    await dialog.locator("[data-verb='bulk-send']").click()
    await expect(dialog.get_by_role("heading")).to_have_text("Denied 2 of 2")
    await dialog.get_by_role("button", name="Close").click()
    await expect(bar).to_have_count(0)
    for run in refunds:
        [decided] = await on.records(run, Decided)
        assert (decided.verdict, decided.note, decided.by) == ("deny", "not this week", "ana")


async def test_all_failed_runs_are_resumed_by_one_button_that_shows_them_first(browser: Browser, own: World) -> None:
    failed = [await own.start("failing", f"Outage {n}") for n in (1, 2)]
    for run in failed:
        await own.status(run, "failed")
    async with visit(browser, own, at="/runs?tab=failed") as ana:
        page = ana.page
        await page.get_by_role("button", name="Resume all 2…").click()
        dialog = page.get_by_role("dialog")
        await expect(dialog.locator("[data-bulk]")).to_have_count(2)
        await dialog.locator("[data-verb='bulk-send']").click()
        await expect(dialog.get_by_role("heading")).to_have_text("Resumed 2 of 2")
    for run in failed:
        await own.status(run, "completed")


async def test_choosing_all_takes_what_the_search_means_not_only_what_is_loaded(browser: Browser, own: World) -> None:
    run = await own.start("failing", "Outage")
    await own.status(run, "failed")
    multiply(own.folder / "runs.db", run, 250)
    async with visit(browser, own, at="/runs?tab=failed") as ana:
        page = ana.page
        await page.locator("[data-run] .pick-run").first.check()
        bar = page.get_by_role("region", name="Chosen runs")
        await expect(bar).to_contain_text("1 chosenof more than 100")
        await bar.get_by_role("button", name="choose all").click()
        await expect(bar).to_contain_text("251 chosenof 251")
        await page.keyboard.press("Escape")
        await page.reload()
        await page.get_by_role("button", name="Resume all…").click()
        await expect(page.get_by_role("dialog")).to_contain_text("Resume 251 runs?")


async def test_the_rows_in_sight_are_drawn_when_what_stands_above_them_is_gone(browser: Browser, own: World) -> None:
    run = await own.start("failing", "Outage")
    await own.status(run, "failed")
    multiply(own.folder / "runs.db", run, 60)
    async with visit(browser, own, at="/runs?tab=failed") as ana:
        page = ana.page
        await expect(page.locator("[data-run]").nth(5)).to_be_visible()
        above = page.locator("#above-the-runs")
        await above.evaluate("(box) => (box.style.height = '3000px')")
        await expect(page.locator("[data-run]")).to_have_count(1)  # the one that Tab comes to
        await above.evaluate("(box) => (box.style.height = '')")
        await expect(page.locator("[data-run]").nth(5)).to_be_in_viewport()
        assert await page.evaluate("scrollY") == 0
