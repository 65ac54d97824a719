"""The kill switch: always there, chosen from what exists, and true about what it holds."""

import re

import pytest
from playwright.async_api import Browser, Locator, Page, Route, ViewportSize, expect
from tests.browser.world import Visit, World, eventually, visit

PHONE: ViewportSize = {"width": 390, "height": 844}


async def open_dialog(page: Page, kind: str = "") -> Locator:
    await page.get_by_role("button", name="Halt…").locator("visible=true").click()
    dialog = page.get_by_role("dialog")
    if kind:
        await dialog.get_by_role("radio", name=kind).click()
    return dialog


async def halt(page: Page, kind: str, name: str, reason: str) -> None:
    """Halt one agent or tool, chosen from the list."""
    dialog = await open_dialog(page, kind)
    await dialog.get_by_role("combobox").fill(name[:-1])
    await dialog.get_by_role("option", name=re.compile(rf"^{name}\b")).first.click()
    await expect(dialog.get_by_label("Reason")).to_be_focused()
    await dialog.get_by_label("Reason").fill(reason)
    await dialog.get_by_role("button", name=re.compile("^Halt ")).click()
    await expect(dialog).to_have_count(0)


async def lift_all(on: World) -> None:
    for halt in await on.rt.halts():
        await on.rt.unhalt(halt.scope, by="ana", reason="over")


@pytest.mark.parametrize("phone", [False, True], ids=["desk", "phone"])
async def test_halts_are_widened_during_a_halt(browser: Browser, on: World, phone: bool) -> None:
    await on.waiting("refunds", "one")
    await on.waiting("asker", "another")
    await lift_all(on)
    async with visit(browser, on) as ana:
        page = ana.page
        if phone:
            await page.set_viewport_size(PHONE)
        await halt(page, "One tool", "refund", "incident 7")
        strip = page.locator("[data-halt='tool:refund']")
        await expect(strip).to_contain_text(re.compile(r"Halted: tool refund\..*\d+ runs? held.*incident 7"))
        held = int(await strip.locator("[data-held]").get_attribute("data-held") or "")
        dialog = await open_dialog(page)
        more = dialog.locator("[data-holds]")
        await expect(more).to_contain_text(re.compile(r"This holds \d+ more runs? now"))
        total = int(await more.get_attribute("data-holds") or "")
        assert total > held >= 1
        await dialog.get_by_label("Reason").fill("it is wider than refunds")
        await dialog.get_by_role("button", name="Halt everything").click()
        await eventually(on.rt.halts, lambda halts: [h.scope for h in halts] == ["tool:refund", "*"])
        await expect(page.locator("[data-halt='*'] [data-held]")).to_have_text(re.compile(rf"^{total} runs held"))
        await expect(page.locator(".halt")).to_have_count(2)
        again = await open_dialog(page)
        await expect(again).to_contain_text(re.compile(rf"Already halted: everything.*{total} runs held"))
        await again.get_by_label("Reason").fill("once more")
        await expect(again.locator(".why-off")).to_have_text("It is halted already.")
        await page.keyboard.press("Escape")
        await page.get_by_role("button", name="Unhalt everything…").click()
        await expect(page.get_by_role("dialog")).to_contain_text("except those that the halt of tool refund holds")
        await page.get_by_label("Reason").fill("refunds only")
        await page.get_by_role("button", name="Unhalt everything", exact=True).click()
        await eventually(on.rt.halts, lambda halts: [h.scope for h in halts] == ["tool:refund"])
    await lift_all(on)


@pytest.mark.parametrize("width", [390, 1440])
async def test_it_is_on_every_page_once_also_where_a_phone_has_another_bar(
    browser: Browser, on: World, width: int
) -> None:
    run = await on.waiting("refunds", "everywhere")
    async with visit(browser, on) as ana:
        page = ana.page
        await page.set_viewport_size({"width": width, "height": 844})
        for at in (*await ana.menu(), f"/runs/{run}", f"/runs/{run}/journal", "item", "/compare"):
            await (ana.inbox(run) if at == "item" else ana.go(at))
            button = page.get_by_role("button", name="Halt…").locator("visible=true")
            await expect(button).to_have_count(1)
            box = await button.bounding_box()
            assert box is not None and (width > 640 or min(box["width"], box["height"]) >= 40), f"{at}: {box}"
            await button.click()
            dialog = page.get_by_role("dialog")
            await expect(dialog.locator(".why-off")).to_have_text("Say why: it is shown on every page.")
            await page.keyboard.press("Escape")
            await expect(dialog).to_have_count(0)


async def test_a_name_that_nothing_has_is_not_halted_before_it_was_insisted_on(ana: Visit) -> None:
    page, on = ana.page, ana.world
    await on.waiting("refunds", "a refund")
    dialog = await open_dialog(page, "One tool")
    name = dialog.get_by_role("combobox")
    await name.fill("refnd")
    await dialog.get_by_label("Reason").fill("odd refunds")
    await expect(dialog).to_contain_text(
        "No tool here is called refnd. Halting it would hold nothing. Did you mean refund?"
    )
    button = dialog.get_by_role("button", name="Halt tool refnd")
    await expect(button).to_have_attribute("aria-disabled", "true")
    await dialog.get_by_role("button", name="Use refund").click()
    await expect(name).to_have_value("refund")
    await expect(dialog.locator("[data-holds]")).to_contain_text(re.compile(r"This holds \d+ runs? now"))
    await name.fill("refnd")
    await dialog.get_by_role("button", name="Halt refnd all the same").click()
    await expect(button).not_to_have_attribute("aria-disabled", "true")
    await button.click()
    await expect(page.locator("[data-halt='tool:refnd']")).to_contain_text("0 runs held. No tool here is called refnd.")
    await lift_all(on)


async def test_an_agent_that_holds_nothing_says_so_and_the_list_goes_by_keyboard(ana: Visit) -> None:
    page = ana.page
    dialog = await open_dialog(page)
    await expect(dialog.get_by_role("radio", name="Everything")).to_be_focused()
    await dialog.get_by_role("radio", name="One agent").press("Enter")
    name = dialog.get_by_role("combobox")
    await name.focus()
    await page.keyboard.type("limi")
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("Enter")
    await expect(name).to_have_value("limited")
    await expect(dialog).to_contain_text(
        "This holds no run now. The next run that starts is held before its first step."
    )
    await expect(dialog.get_by_label("Reason")).to_be_focused()
    await page.keyboard.type("why")
    await page.keyboard.press("Enter")
    await expect(dialog).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(dialog).to_have_count(0)
    assert not await ana.world.rt.halts()


async def test_only_what_a_halt_touches_says_approve_after_the_unhalt(ana: Visit) -> None:
    page, on = ana.page, ana.world
    touched = await on.waiting("refunds", "touched")
    other = await on.waiting("asker", "not touched")
    await on.rt.halt("tool:refund", reason="incident 7", by="ben")
    words = "approve after the unhalt: tool refund is halted"
    await ana.go("/runs")
    await expect(page.locator(f"[data-run='{touched}']")).to_contain_text(words)
    await expect(page.locator(f"[data-run='{other}']")).to_be_visible()
    await expect(page.locator(f"[data-run='{other}']")).not_to_contain_text("unhalt")
    await expect(page.get_by_text("take effect when unhalted")).to_have_count(0)
    await ana.inbox(touched)
    await expect(page.locator(".who")).to_contain_text(f"A{words[1:]}. Deny is possible now.")
    await expect(page.locator("[data-verb=approve]")).to_have_attribute("aria-disabled", "true")
    await expect(page.locator("[data-verb=deny]")).not_to_have_attribute("aria-disabled", "true")
    await ana.inbox(other)
    await expect(page.locator("[data-verb=answer]")).not_to_have_attribute("aria-disabled", "true")
    await expect(page.locator(".who")).not_to_contain_text("unhalt")
    await lift_all(on)


async def test_a_halt_that_the_server_does_not_answer_is_not_said_to_be_on_and_is_sent_again(
    browser: Browser, on: World
) -> None:
    async with visit(browser, on) as ana:
        page = ana.page
        lost = 2

        async def lose(route: Route) -> None:
            nonlocal lost
            lost -= 1
            if lost >= 0:
                await route.abort()
            else:
                await route.continue_()

        await page.route(re.compile(r"/api/v1/halts$"), lose)
        dialog = await open_dialog(page)
        await dialog.get_by_label("Reason").fill("a cable is loose")
        await dialog.get_by_role("button", name="Halt everything").click()
        await expect(dialog).to_contain_text("Not halted: the server did not answer in 3 s. Still trying.")
        await expect(dialog).to_contain_text("adjourn halt '*' --reason 'a cable is loose'")
        await expect(dialog).to_have_count(0)
        [halt] = await on.rt.halts()
        assert halt.reason == "a cable is loose"
    await lift_all(on)


async def test_three_halts_at_once_leave_a_phone_its_page(browser: Browser, on: World) -> None:
    await lift_all(on)
    for scope in ("*", "agent:refunds", "tool:refund"):
        await on.rt.halt(scope, by="ana", reason="incident 7: a reason that takes several lines where there is no room")
    try:
        async with visit(browser, on) as ana:
            page = ana.page
            for width in (390, 320):
                await page.set_viewport_size({"width": width, "height": 844})
                await expect(page.locator(".halt")).to_have_count(3)
                box = await page.locator(".halts").bounding_box()
                assert box is not None and box["height"] <= 844 / 4, width
                lift = page.get_by_role("button", name="Unhalt everything…")
                await expect(lift).to_be_visible()
                size = await lift.bounding_box()
                assert size is not None and size["height"] >= 44
    finally:
        await lift_all(on)


async def test_what_a_halt_and_an_unhalt_need_is_said_at_the_field_before_one_tries(ana: Visit) -> None:
    page, on = ana.page, ana.world
    await lift_all(on)
    dialog = await open_dialog(page, "One tool")
    await expect(dialog.get_by_role("combobox")).to_have_attribute("aria-required", "true")
    reason = dialog.get_by_label("Reason required")
    await expect(reason).to_have_attribute("aria-required", "true")
    await page.keyboard.press("Escape")
    await on.rt.halt("tool:refund", by="ana", reason="incident 8")
    await page.get_by_role("button", name="Unhalt tool refund…").click()
    await expect(dialog.locator(".why-off")).to_have_text("Say why it may continue: it is recorded.")
    reason = dialog.get_by_label("Reason, for the record required")
    await expect(reason).to_be_focused()
    await expect(reason).to_have_attribute("aria-required", "true")
    await page.keyboard.type("over")
    await expect(dialog.locator(".why-off")).to_be_empty()
    await page.keyboard.press("Enter")
    await eventually(on.rt.halts, lambda halts: not halts)
