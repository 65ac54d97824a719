"""A run's page: text that grows, and every verb; each is asserted in the store as well as on the page."""

import json
import re
from typing import Any

from playwright.async_api import Browser, Page, expect
from tests.browser.cast import refunds
from tests.browser.world import Process, Visit, World, eventually, visit

from adjourn import Checkpoint
from adjourn.core.records import Broke, CancelAsked, PauseAsked, Replied, Resumed, Said, Started


async def opened(ana: Visit, program: str, input: str = "go") -> str:
    run = await ana.world.start(program, input)
    await ana.go(f"/runs/{run}")
    await expect(ana.page.locator("main.run-page")).to_be_visible()
    return run


async def status(page: Page, word: str) -> None:
    await expect(page.locator("main.run-page")).to_have_attribute("data-status", word, timeout=30_000)


async def words(page: Page) -> int:
    """How much of a reply that is being written is on the page."""
    return len(await page.locator("[data-live=root]").inner_text())


async def test_text_grows_on_the_page_before_the_model_has_ended(browser: Browser, own: World) -> None:
    async with visit(browser, own) as ana:
        run = await opened(ana, "writer")
        await expect(ana.page.locator("[data-live=root]")).to_contain_text("word", timeout=30_000)
        first = await words(ana.page)
        await eventually(lambda: words(ana.page), lambda n: n > first + 20)
        assert await own.records(run, Replied) == [], "the model has not ended"
        own.tell()
        await status(ana.page, "completed")
        assert len(await own.records(run, Replied)) == 1


async def test_pause_now_keeps_what_was_said_and_resume_with_an_instruction_is_heard(
    browser: Browser, own: World
) -> None:
    async with visit(browser, own) as ana:
        page = ana.page
        run = await opened(ana, "writer")
        await expect(page.locator("[data-live=root]")).to_contain_text("word", timeout=30_000)
        await page.locator("[data-verb=pause-now]").click()
        await status(page, "paused")
        [broke] = await own.records(run, Broke)
        assert broke.text.startswith("word0") and [(p.by, p.now) for p in await own.records(run, PauseAsked)] == [
            ("ana", True)
        ]
        await page.locator("[data-verb=resume]").click()
        await page.get_by_label("Instruction").fill("Stop and sum it up.")
        await page.locator("[data-verb=resume-now]").click()
        await status(page, "completed")
        [resumed] = await own.records(run, Resumed)
        assert (resumed.instruction, resumed.by) == ("Stop and sum it up.", "ana")
        assert (await (await own.rt.get(run)).wait(5)).output == "Heard: Stop and sum it up."


async def test_pause_at_a_boundary_says_what_it_waits_for(browser: Browser, own: World) -> None:
    async with visit(browser, own) as ana:
        page = ana.page
        run = await opened(ana, "deployer")
        await expect(page.locator("[data-step][data-status=running]").filter(has_text="hold")).to_be_visible(
            timeout=30_000
        )
        await page.locator("[data-verb=pause]").click()
        await status(page, "pausing")
        await expect(page.locator("main.run-page")).to_contain_text("hold")
        own.tell()
        await status(page, "paused")
        assert [p.now for p in await own.records(run, PauseAsked)] == [False]
        await expect(page.locator("[data-verb=pause]")).to_have_attribute("aria-disabled", "true")
        await page.locator("[data-verb=resume]").click()
        await page.locator("[data-verb=resume-now]").click()
        await status(page, "completed")


async def test_cancel_shows_what_will_be_undone_and_what_cannot_and_does_it(browser: Browser, own: World) -> None:
    async with visit(browser, own) as ana:
        page = ana.page
        run = await opened(ana, "deployer")
        await expect(page.locator("[data-step][data-status=running]").filter(has_text="hold")).to_be_visible(
            timeout=30_000
        )
        await page.locator("[data-verb=cancel]").click()
        dialog = page.get_by_role("dialog")
        await expect(dialog.get_by_role("button", name="Keep running")).to_be_focused()
        await expect(dialog).to_contain_text("2 things are undone")
        await expect(dialog).to_contain_text("1 thing stays as it is")
        await expect(dialog).to_contain_text("announce")
        await page.keyboard.press("Escape")
        await expect(dialog).to_have_count(0)
        assert await own.records(run, CancelAsked) == []
        await page.locator("[data-verb=cancel]").click()
        await dialog.get_by_label("Reason").fill("wrong team")
        await dialog.get_by_role("button", name="Cancel and undo 2").click()
        await status(page, "cancelled")
        [asked] = await own.records(run, CancelAsked)
        assert (asked.by, asked.reason) == ("ana", "wrong team")
        await expect(page.locator("main.run-page")).to_contain_text("2 undone")
        await expect(page.locator("main.run-page")).to_contain_text("not undone")
        cut = page.locator("[data-step][data-kind=tool]").filter(has_text="hold")
        await expect(cut).to_have_attribute("data-status", "cancelled")
        await expect(cut.locator(".bar.tool")).to_have_count(0)  # it did not finish, and does not look as if
        await page.reload()
        await expect(cut).to_have_attribute("data-status", "cancelled")
        await page.locator("[data-step][data-kind=end]").click()
        await expect(page.locator("[data-panel]").get_by_text("Cancelled", exact=True)).to_have_count(1)
        await ana.go("/audit?verb=cancel")
        await page.locator(".au-row").click()
        await expect(page.locator(".au.open")).to_contain_text("2 undone, 1 not undone: announce")
    assert own.ledger() == ["create dns", "create lb", "announce soon", "delete lb", "delete dns"]


async def test_say_is_read_at_the_next_step(browser: Browser, own: World) -> None:
    async with visit(browser, own) as ana:
        page = ana.page
        run = await opened(ana, "writer")
        await expect(page.locator("[data-live=root]")).to_contain_text("word", timeout=30_000)
        await page.get_by_label("Say something to writer").fill("Be brief.")
        await page.locator("[data-verb=say-now]").click()
        await eventually(lambda: own.records(run, Said))
        own.tell()
        await status(page, "completed")
        [said] = await own.records(run, Said)
        assert (said.text, said.by) == ("Be brief.", "ana")
        assert (await (await own.rt.get(run)).wait(5)).output == "Heard: Be brief."


async def test_fork_from_a_step_reuses_what_was_recorded(browser: Browser, own: World) -> None:
    own.tell()
    async with visit(browser, own) as ana:
        page = ana.page
        run = await opened(ana, "deployer")
        await status(page, "completed")
        await page.locator("[data-step='3.0']").click()
        await page.locator("[data-verb=fork-here]").click()
        dialog = page.get_by_role("dialog")
        await dialog.get_by_role("textbox").fill("again")
        await dialog.locator("[data-verb=fork-now]").click()
        await eventually(lambda: _elsewhere(page, dialog, run))
        new = page.url.rpartition("/")[2].partition("?")[0]
        await own.status(new, "completed", "waiting", "failed")
        [started] = await own.records(new, Started)
        assert started.forked_from.startswith(f"{run}@") and started.by == "ana"
    assert own.ledger().count("create dns") == 1, "what was recorded is not done again"


async def _elsewhere(page: Page, dialog: Any, run: str) -> bool:
    """The page is the new run's; if the step is no boundary, the dialog offers the nearest one."""
    offer = dialog.get_by_role("button", name="Take record")
    if await offer.count():
        await offer.click()
        await dialog.locator("[data-verb=fork-now]").click()
    return run not in page.url


async def test_a_steps_arguments_results_policy_and_digest_are_there(ana: Visit) -> None:
    page, on = ana.page, ana.world
    run = await on.waiting("refunds", "a step")
    [interrupt] = await on.rt.inbox(run=run)
    await ana.go(f"/runs/{run}")
    await page.locator("[data-step='1.0']").click()
    panel = page.locator("[data-panel='1.0']")
    assert interrupt.call is not None
    for text in ("48250", "4417", "U+202E", "large refund", "unsafe", interrupt.call.digest[:4]):
        await expect(panel).to_contain_text(text)
    await panel.get_by_role("button", name="Review refund").click()
    await page.wait_for_url("**/inbox/**")
    await expect(page.locator("article h2")).to_have_text("refund")


async def test_a_result_is_told_by_its_names_as_arguments_are(ana: Visit) -> None:
    page, on = ana.page, ana.world
    run = await on.waiting("refunds", "a result")
    [item] = await on.rt.inbox(run=run)
    await on.rt.approve(item, by="ana")
    await on.status(run, "completed")
    await ana.go(f"/runs/{run}")
    await page.locator("[data-step='1.0']").click()
    result = page.locator("[data-panel='1.0'] .sec").filter(has=page.get_by_role("heading", name="Result"))
    await expect(result.locator("dt")).to_have_text("refunded")
    await expect(result.locator("dd")).to_have_text("48250")


async def test_a_childs_steps_are_below_it_and_its_question_is_found(ana: Visit) -> None:
    page, on = ana.page, ana.world
    run = await on.waiting("boss", "a child")
    await ana.go(f"/runs/{run}")
    await expect(page.locator("[data-callout]")).to_contain_text("refund")
    child = page.locator("[data-kind=agent]")
    await expect(child).to_contain_text("refunds")
    assert await page.get_by_role("treegrid").locator("[role=row][aria-level='2']").count() >= 2
    await page.get_by_role("tab", name="Children").click()
    await expect(page.locator("main.run-page")).to_contain_text("refunds")


async def test_conversation_journal_and_checkpoint(ana: Visit) -> None:
    page, on = ana.page, ana.world
    run = await on.waiting("refunds", "tabs")
    await ana.go(f"/runs/{run}/conversation")
    await expect(page.locator("main.run-page")).to_contain_text("Every glass is broken")
    await ana.go(f"/runs/{run}/journal")
    await expect(page.locator("[data-record='1']")).to_contain_text("started")
    await ana.go(f"/runs/{run}/checkpoint")
    async with page.expect_download() as loading:
        await page.get_by_role("button", name="Download").or_(page.get_by_role("link", name="Download")).first.click()
    path = await (await loading.value).path()
    saved = Checkpoint.from_json(path.read_text("utf-8"))
    assert saved.run_id == run and json.loads(path.read_text("utf-8"))


async def test_a_flows_picture_shows_what_is_done_and_what_waits(ana: Visit) -> None:
    page, on = ana.page, ana.world
    run = await on.waiting("review", "a text")
    await ana.go(f"/runs/{run}/picture")
    await expect(page.locator("[data-box][data-look=done]").filter(has_text="draft")).to_be_visible()
    waits = page.locator("[data-box]").filter(has_text="editor")
    await expect(waits).to_have_attribute("data-look", "waiting")
    [interrupt] = await on.rt.inbox(run=run)
    await on.rt.answer(interrupt.id, True, by="ben")
    await status(page, "completed")
    await expect(page.locator("[data-box]").filter(has_text="publish")).to_have_attribute("data-look", "done")
    await ana.go(f"/runs/{run}/conversation")  # a flow has none
    await expect(page.get_by_role("tab", name="Timeline")).to_have_attribute("aria-selected", "true")
    await expect(page.get_by_role("treegrid")).to_be_visible()


async def test_a_flows_picture_runs_to_the_right_and_on_a_phone_down_and_is_whole(ana: Visit) -> None:
    page, on = ana.page, ana.world
    run = await on.waiting("review", "a text for the phone")
    await ana.go(f"/runs/{run}/picture")
    boxes = page.locator("[data-box]")

    async def places() -> dict[str, tuple[float, float]]:
        found = await boxes.evaluate_all(
            "all => all.map((b) => { const r = b.getBoundingClientRect(); return [b.dataset.box, r.x, r.y, r.right]; })"
        )
        assert len(found) == 4 and max(right for *_, right in found) <= await page.evaluate("innerWidth")
        return {key.rpartition("/")[2]: (x, y) for key, x, y, _ in found}

    await expect(boxes.first).to_be_visible()
    right = await places()
    assert right["draft"][0] < right["proofread"][0] < right["publish"][0]
    assert abs(right["proofread"][0] - right["editor"][0]) < 8 and right["proofread"][1] < right["editor"][1]
    await page.set_viewport_size({"width": 375, "height": 800})
    await expect(page.locator(".picture svg[viewBox]").first).to_be_visible()
    down = await places()
    assert down["draft"][1] < down["proofread"][1] < down["publish"][1]
    assert abs(down["proofread"][1] - down["editor"][1]) < 8 and down["proofread"][0] < down["editor"][0]
    await page.locator("[data-box$=editor]").focus()
    await page.keyboard.press("ArrowLeft")
    await expect(page.locator("[data-box$=proofread]")).to_be_focused()
    await page.keyboard.press("ArrowUp")
    await expect(page.locator("[data-box=draft]")).to_be_focused()


async def test_the_server_restarts_with_the_page_open_and_nothing_is_missed(browser: Browser, own: World) -> None:
    """With a key: what was opened with the link of one start ends with that start."""
    async with visit(browser, own, key=own.key_of("olga", "operator")) as ana:
        page = ana.page
        run = await opened(ana, "deployer")
        await expect(page.locator("[data-step][data-status=running]").filter(has_text="hold")).to_be_visible(
            timeout=30_000
        )
        await own.server.end()
        await expect(page.locator("[data-connection=live]")).to_have_count(0, timeout=30_000)
        own.tell()
        await own.status(run, "completed")
        other = (await own.rt.start(refunds, "while you were away")).id
        await own.status(other, "waiting")
        await own.restart_server()
        await expect(page.locator("[data-connection]").first).to_have_attribute(
            "data-connection", "live", timeout=40_000
        )
        await status(page, "completed")
        for step in ("1.0", "2.0", "3.0", "4.0"):
            await expect(page.locator(f"[data-step='{step}']")).to_have_count(1)
        await ana.go("/inbox")
        await expect(page.locator(f"[data-ref^='{other}']").first).to_be_attached()


async def test_a_worker_that_is_killed_is_replaced_and_the_page_says_so(browser: Browser, own: World) -> None:
    async with visit(browser, own) as ana:
        page = ana.page
        run = await opened(ana, "deployer")
        await expect(page.locator("[data-step][data-status=running]").filter(has_text="hold")).to_be_visible(
            timeout=30_000
        )
        await own.worker.kill()
        own.tell()
        own.worker = await Process.begin(own.folder, "work", str(own.folder / "runs.db"))
        await status(page, "completed")
        await expect(page.get_by_text("taken over", exact=False).first).to_be_visible()
        assert (await own.rt.store.get(run)).epoch == 2
    assert own.ledger() == ["create dns", "create lb", "announce soon"]


async def test_a_cancel_that_is_refused_says_why_in_words_and_no_code(ana: Visit) -> None:
    page, on = ana.page, ana.world
    run = await on.waiting("refunds", "refuse it")
    problem = {"status": 422, "code": "invalid", "detail": "the reason is too long: at most 1000 characters"}
    answer = json.dumps(problem)
    await page.route("**/cancel", lambda route: route.fulfill(status=422, content_type="application/json", body=answer))
    await ana.go(f"/runs/{run}")
    await page.locator("[data-verb=cancel]").click()
    await page.locator("[data-verb=cancel-now]").click()
    toast = page.locator(".toast[data-tone=fail]")
    await expect(toast).to_contain_text("Not cancelled: the reason is too long: at most 1000 characters")
    await expect(toast).to_contain_text("Nothing changed.")
    await expect(toast).not_to_contain_text(re.compile("invalid|422"))
    await page.route("**/cancel", lambda route: route.fulfill(status=502, body="<h1>Bad gateway</h1>"))
    await toast.get_by_role("button", name="Close").click()
    await page.locator("[data-verb=cancel-now]").click()
    await expect(toast).to_contain_text("it may have been done, or not")
    await expect(toast).not_to_contain_text("Nothing changed.")
