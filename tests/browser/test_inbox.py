"""The inbox: what is shown is what runs; every decision is asserted in the store and in the world."""

import asyncio
import re

from playwright.async_api import Browser, expect
from tests.browser.world import LIMIT, Visit, World, eventually, visit

from adjourn.core.records import Decided

AWAKE = 750
"""Milliseconds: keys are dead for a moment after an item appears."""


TAP = """() => new Promise((done) => {
  const first = document.querySelector("article").dataset.ref;
  const look = () => {
    const article = document.querySelector("article");
    const button = article?.querySelector("[data-verb=approve], [data-verb=answer]");
    if (!button || article.dataset.ref === first) return requestAnimationFrame(look);
    const off = button.getAttribute("aria-disabled");
    button.click();
    done(off);
  };
  look();
})"""
"""Clicks on what stands there, in the first moment in which it is another item."""
TAPS = TAP.replace(
    "button.click();\n    done(off);",
    """const seen = [];
    const tap = () => {
      button.dispatchEvent(new PointerEvent("pointerdown", { bubbles: true }));
      seen.push(button.getAttribute("aria-disabled"));
      button.click();
      if (seen.length < 5) setTimeout(tap, 500);
      else done(seen);
    };
    tap();""",
)
"""Does so five times, longer than the button is off after one of them."""


async def opened(ana: Visit, program: str, input: str = "go") -> str:
    """A run that waits, with its item open."""
    run = await ana.world.waiting(program, input)
    await ana.inbox(run)
    await expect(ana.page.locator("article[data-open=true]")).to_be_visible()
    return run


async def test_the_action_is_first_and_whole_and_the_agents_words_are_last_and_marked(ana: Visit) -> None:
    await opened(ana, "refunds", "Order 4417 arrived broken")
    article = ana.page.locator("article")
    text = await article.inner_text()
    places = [
        text.index(part)
        for part in ("refund", "Pay money back", "unsafe", "48250", "Large refund", "The agent’s own words")
    ]
    assert places == sorted(places), "the order is fixed"
    assert "not checked" in text and "Every glass is broken" in text
    await expect(article).to_contain_text("U+202E")
    await expect(article).to_contain_text("2 characters")
    assert "\u202e" not in text, "nothing turns the text around"


async def test_approve_once_runs_it_once(ana: Visit) -> None:
    page, on = ana.page, ana.world
    run = await opened(ana, "refunds")
    await page.get_by_label("Note for the record").fill("seen the photos")
    await page.locator("[data-verb=approve]").click()
    await on.status(run, "completed")
    [decided] = await on.records(run, Decided)
    assert (decided.verdict, decided.by, decided.note, decided.scope) == ("approve", "ana", "seen the photos", "")
    assert [line for line in on.ledger() if run in line] == [f"refund {run} 4417 48250 True pay \u202e0001\u202c now"]
    await expect(page.get_by_text("Approved.").first).to_be_visible()


async def test_edit_keeps_types_and_only_the_edit_runs(ana: Visit) -> None:
    page, on = ana.page, ana.world
    run = await opened(ana, "refunds")
    await page.locator("[data-verb=edit]").click()
    await page.get_by_role("textbox", name="cents").fill("39900")
    await page.get_by_role("switch", name="notify").click()
    await page.get_by_role("textbox", name="memo").fill("less")
    await page.locator("[data-verb=approve-edited]").click()
    await on.status(run, "completed")
    [decided] = await on.records(run, Decided)
    assert decided.edit == {"order_id": "4417", "cents": 39900, "notify": False, "memo": "less"}
    assert [line for line in on.ledger() if run in line] == [f"refund {run} 4417 39900 False less"]


HOLD = """() => {
  const real = window.requestAnimationFrame.bind(window), held = [];
  window.requestAnimationFrame = (f) => held.push(f);
  window.release = () => { window.requestAnimationFrame = real; held.forEach((f) => real(f)); };
}"""
FRAMES = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"


async def test_who_is_in_a_field_already_is_not_moved_to_the_first_one(ana: Visit) -> None:
    """On a slow machine an amount would be typed into the number of the order."""
    page = ana.page
    await opened(ana, "refunds")
    await page.evaluate(HOLD)
    await page.locator("[data-verb=edit]").click()
    cents = page.get_by_role("textbox", name="cents")
    await cents.focus(timeout=LIMIT * 1000)
    await page.evaluate("() => window.release()")
    await page.evaluate(FRAMES)
    assert await cents.evaluate("(field) => field === document.activeElement")


async def test_a_wrong_edit_is_refused_at_its_field_and_nothing_is_sent(ana: Visit) -> None:
    page, on = ana.page, ana.world
    run = await opened(ana, "refunds")
    await page.locator("[data-verb=edit]").click()
    await page.get_by_role("textbox", name="cents").fill("a lot")
    await expect(page.locator("[data-verb=approve-edited]")).to_have_attribute("aria-disabled", "true")
    await expect(page.locator("[data-field=cents]").get_by_role("alert")).to_be_visible()
    await page.locator("[data-verb=approve-edited]").click(force=True)
    await page.keyboard.press("Escape")
    await expect(page.locator("[data-verb=approve]")).to_be_visible()
    assert await on.records(run, Decided) == []


async def test_deny_with_a_note_is_read_by_the_model(ana: Visit) -> None:
    page, on = ana.page, ana.world
    run = await opened(ana, "refunds")
    await page.get_by_label("Note for the record").fill("too much")
    await page.locator("[data-verb=deny]").click()
    await on.status(run, "completed")
    [decided] = await on.records(run, Decided)
    assert (decided.verdict, decided.note) == ("deny", "too much")
    assert not [line for line in on.ledger() if run in line]
    outcome = await (await on.rt.get(run)).wait(5)
    assert "too much" in str(outcome.output)


async def test_keys_move_the_focus_and_enter_decides(ana: Visit) -> None:
    page, on = ana.page, ana.world
    run = await opened(ana, "refunds")
    await page.wait_for_timeout(AWAKE)
    await page.keyboard.press("2")
    await expect(page.get_by_role("radio", name="This run, these exact arguments")).to_be_checked()
    await page.keyboard.press("a")
    await expect(page.locator("[data-verb=approve]")).to_be_focused()
    await expect(page.locator("[data-verb=approve]")).to_contain_text("Approve refund for this run")
    assert await on.records(run, Decided) == [], "a key alone decides nothing"
    await page.keyboard.press("Enter")
    await on.status(run, "completed")
    [decided] = await on.records(run, Decided)
    assert decided.scope == "run"


async def test_keys_are_dead_just_after_an_item_appears(ana: Visit) -> None:
    page, on = ana.page, ana.world
    first, second = await on.waiting("refunds", "first"), await on.waiting("refunds", "second")
    await ana.inbox(first)
    await expect(page.locator("article[data-open=true]")).to_be_visible()
    await page.wait_for_timeout(AWAKE)
    await page.keyboard.press("d")
    await page.keyboard.press("Enter")
    await page.keyboard.press("d")
    await page.keyboard.press("Enter")
    await on.status(first, "completed")
    assert await on.records(second, Decided) == []


async def test_the_second_of_two_taps_does_not_decide_the_item_that_slid_in(ana: Visit) -> None:
    page, on = ana.page, ana.world
    first, second = await on.waiting("refunds", "tapped"), await on.waiting("refunds", "not read")
    await ana.inbox(first)
    await expect(page.locator("article[data-open=true]")).to_be_visible()
    tap = asyncio.create_task(page.evaluate(TAP))
    await page.locator("[data-verb=approve]").click()
    assert await tap == "true", "it was off"
    await on.status(first, "completed")
    assert await on.records(second, Decided) == []
    assert await page.evaluate("scrollY") == 0, "it is read from its beginning"
    await ana.inbox(second)
    await page.locator("[data-verb=approve]").click()
    await on.status(second, "completed")


async def test_whoever_taps_on_does_not_decide_the_item_that_slid_in(ana: Visit) -> None:
    """A slow phone, a person who taps again and again where the button was: each tap begins the time anew."""
    page, on = ana.page, ana.world
    first, second = await on.waiting("refunds", "tapped"), await on.waiting("refunds", "not read")
    await ana.inbox(first)
    await expect(page.locator("article[data-open=true]")).to_be_visible()
    taps = asyncio.create_task(page.evaluate(TAPS))
    await page.locator("[data-verb=approve]").click()
    assert await taps == ["true"] * 5, "it was off"
    await on.status(first, "completed")
    assert await on.records(second, Decided) == []


async def test_a_question_is_a_form_and_its_answer_has_types(ana: Visit) -> None:
    page, on = ana.page, ana.world
    run = await opened(ana, "asker")
    await expect(page.locator("article h2")).to_contain_text("Keep the accounts?")
    await page.locator("[data-field=keep]").get_by_text("yes", exact=True).click()
    await page.get_by_role("textbox", name="How many").fill("3")
    await page.locator("[data-verb=answer]").click()
    await on.status(run, "completed")
    [decided] = await on.records(run, Decided)
    assert decided.value == {"keep": True, "count": 3}


async def test_reloading_during_a_question_loses_nothing_but_what_was_typed(ana: Visit) -> None:
    page, on = ana.page, ana.world
    run = await opened(ana, "asker")
    await page.get_by_role("textbox", name="How many").fill("3")
    await page.reload()
    await expect(page.locator("article h2")).to_contain_text("Keep the accounts?")
    assert await on.records(run, Decided) == []
    await page.locator("[data-field=keep]").get_by_text("no", exact=True).click()
    await page.get_by_role("textbox", name="How many").fill("4")
    await page.locator("[data-verb=answer]").click()
    await on.status(run, "completed")
    assert (await on.records(run, Decided))[0].value == {"keep": False, "count": 4}


async def test_two_browsers_race_on_one_approval_and_one_wins(browser: Browser, on: World) -> None:
    run = await on.waiting("refunds", "race")
    key = on.key_of("ben", "approver")
    async with visit(browser, on) as ana, visit(browser, on, key) as ben:
        for one in (ana, ben):
            await one.inbox(run)
            await expect(one.page.locator("article[data-open=true]")).to_be_visible()
        await asyncio.gather(
            ana.page.locator("[data-verb=approve]").click(),
            ben.page.locator("[data-verb=deny]").click(),
            return_exceptions=True,
        )
        await on.status(run, "completed")
        [decided] = await on.records(run, Decided)
        loser = ben if decided.by == "ana" else ana
        await expect(loser.page.locator("[data-stale]")).to_contain_text(f"{decided.by} ")
        told = re.compile("nothing ran by it|You have decided nothing")  # where the news was faster than the click
        await expect(loser.page.locator("[data-stale]")).to_contain_text(told)
    assert len([line for line in on.ledger() if run in line]) == (decided.verdict == "approve")


async def test_a_stale_view_says_who_won_and_keeps_the_note(ana: Visit) -> None:
    page, on = ana.page, ana.world
    run = await opened(ana, "refunds")
    await page.get_by_label("Note for the record").fill("my reasons")
    [interrupt] = await on.rt.inbox(run=run)
    await on.rt.deny(interrupt.id, by="ben", note="no")
    banner = page.locator("[data-stale]")
    await expect(banner).to_contain_text("ben")
    await expect(page.locator("article")).not_to_have_attribute("data-open", "true")
    await on.status(run, "completed")
    assert [d.by for d in await on.records(run, Decided)] == ["ben"]


async def test_while_halted_nothing_is_approved_and_a_denial_is_possible(ana: Visit) -> None:
    page, on = ana.page, ana.world
    run = await opened(ana, "refunds")
    await on.rt.halt("*", reason="stop", by="ben")
    try:
        approve = page.locator("[data-verb=approve]")
        await expect(approve).to_have_attribute("aria-disabled", "true")
        await approve.click(force=True)
        await page.locator("[data-verb=deny]").click()
        await eventually(lambda: on.records(run, Decided))
        assert [d.verdict for d in await on.records(run, Decided)] == ["deny"]
    finally:
        await on.rt.unhalt("*", by="ben", reason="over")
    await on.status(run, "completed")


async def test_two_people_must_agree_and_the_page_counts_them(browser: Browser, on: World) -> None:
    run = await on.waiting("pair", "quorum")
    async with visit(browser, on) as ana, visit(browser, on, on.key_of("bea", "approver")) as bea:
        await ana.inbox(run)
        await ana.page.locator("[data-verb=approve]").click()
        await expect(ana.page.locator("[data-quorum]")).to_contain_text("1 of 2")
        assert not [line for line in on.ledger() if run in line]
        await bea.inbox(run)
        await expect(bea.page.locator("[data-quorum]")).to_contain_text("ana")
        await bea.page.locator("[data-verb=approve]").click()
        await on.status(run, "completed")
    assert [d.by for d in await on.records(run, Decided)] == ["ana", "bea"]


async def test_a_batch_is_for_equal_actions_only_and_says_how_many(browser: Browser, own: World) -> None:
    same = [await own.waiting("refunds", "the same") for _ in range(3)]
    other = await own.waiting("pair", "another")
    async with visit(browser, own) as ana:
        page = ana.page
        await ana.inbox(same[0])
        await page.get_by_label("Also the 2 others with exactly the same action").check()
        await page.get_by_role("button", name="Approve 3 once").click()
        for run in same:
            await own.status(run, "completed")
        assert [len(await own.records(run, Decided)) for run in (*same, other)] == [1, 1, 1, 0]
    assert len(own.ledger()) == 3


async def test_a_limit_is_extended_and_a_failure_tried_again(ana: Visit) -> None:
    page, on = ana.page, ana.world
    run = await opened(ana, "limited")
    await page.locator("[data-choice=extend] input[type=radio]").check()
    await page.locator("[data-verb=answer]").click()
    await eventually(lambda: on.records(run, Decided))
    failed = await opened(ana, "failing")
    await page.locator("[data-choice=retry] input[type=radio]").check()
    await page.locator("[data-verb=answer]").click()
    await on.status(failed, "completed")


async def test_what_a_hook_asks_is_called_a_check_and_not_a_limit(ana: Visit) -> None:
    page, on = ana.page, ana.world
    run = await opened(ana, "checked")
    row, article = page.locator(f"li[data-ref^='{run}']"), page.locator("article")
    await expect(row).to_contain_text("Check")
    await expect(row).to_contain_text("let it pass or stop")
    await expect(article).to_contain_text("it may be rude")
    for part in (row, article):
        assert "limit" not in (await part.inner_text()).lower()
    await ana.go(f"/runs/{run}")
    await expect(page.locator("main")).to_contain_text("A check asks a person")
    assert "limit reached" not in (await page.locator("main").inner_text()).lower()
    await ana.inbox(run)
    await page.locator("[data-choice=pass] input[type=radio]").check()
    await page.locator("[data-verb=answer]").click()
    await on.status(run, "completed")


async def test_an_expired_item_says_expiry_and_not_denial(browser: Browser, on: World) -> None:
    run = await on.waiting("refunds", "late")
    async with visit(browser, on) as ana:
        await ana.inbox(run)
        await expect(ana.page.locator("[data-expires]")).to_contain_text("59 min")
        await expect(ana.page.locator("[data-expires]")).to_contain_text("denied by expiry")


async def test_a_viewer_reads_and_cannot_decide(browser: Browser, on: World) -> None:
    run = await on.waiting("refunds", "viewer")
    async with visit(browser, on, on.key_of("vic", "viewer")) as vic:
        await vic.inbox(run)
        await expect(vic.page.locator("[data-verb=approve]")).to_have_attribute("aria-disabled", "true")
        await vic.page.locator("[data-verb=approve]").click(force=True)
        await vic.page.locator("[data-verb=deny]").click(force=True)
    assert await on.records(run, Decided) == []
