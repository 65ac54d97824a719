"""Every dialog of the console: axe finds nothing in it, in light and dark; it has a name, takes the focus and gives it back."""

import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from playwright.async_api import Browser, Page, expect
from tests.browser.conftest import missing
from tests.browser.test_access import AXE, complaints_in_both
from tests.browser.test_settings import users_of
from tests.browser.world import LIMIT, Visit, World, visit

from adjourn.core.records import Started
from adjourn.stores.fleet import Misfit

MS = LIMIT * 1000
SOURCE = Path(__file__).parents[2] / "console/src"
DIALOGS: dict[str, tuple[str, ...]] = {
    "help.tsx": ("^Keys$",),
    "runs/start.tsx": ("^Start a run$",),
    "runs/bulk.tsx": ("^Deny 2 runs", "^Denied 2 of 2$"),
    "run/misfit.tsx": ("^Accept the changed program",),
    "run/dialogs.tsx": ("^Fork", "^Resume"),
    "run/again.tsx": ("^Run (it )?again",),
    "run/cancel.tsx": ("^Cancel",),
    "inbox/answering.tsx": ("^Give the result yourself",),
    "inbox/retry_all.tsx": ("^Retry 2 runs",),
    "inbox/several.tsx": ("^Deny 1 item", "^Denied 1 of 1$"),
    "halting.tsx": ("^Halt$", "^Unhalt tool refund"),
    "pages/people.tsx": ("^Add a person", "^A key for dora$", "^Groups of dora$", "^Keys of dora$", "^Remove dora"),
    "pages/notices.tsx": ("^Add an endpoint$", "^ops is told from now on$"),
}
"""The titles of the dialogs in each file of the console."""
ELSEWHERE = {"run/request.tsx": "test_told.py", "pages/own_notices.tsx": "test_push.py"}
"""Those that another test looks at in the same way."""


class Dialogs:
    """Somebody who opens dialogs. `seen`: the titles, and what axe said of each."""

    def __init__(self, ana: Visit) -> None:
        self.page: Page = ana.page
        self.seen: dict[str, list[str]] = {}

    async def look(self, title: str) -> None:
        """Look at the dialog that is open."""
        dialog = self.page.get_by_role("dialog", name=re.compile(title))
        await expect(dialog).to_be_visible(timeout=MS)
        assert await dialog.evaluate("(box) => box.contains(document.activeElement)"), f"{title}: no focus"
        assert title not in self.seen
        self.seen[title] = await complaints_in_both(self.page, "[role=dialog]")

    async def closed(self) -> None:
        await self.page.keyboard.press("Escape")
        await expect(self.page.get_by_role("dialog")).to_have_count(0)

    async def verb(self, name: str, title: str) -> None:
        """Open one by its button, look at it, and leave it: the focus is back at the button."""
        button = self.page.locator(f"[data-verb='{name}']").locator("visible=true").first
        await button.click()
        await self.look(title)
        await self.closed()
        await expect(button).to_be_focused()


@asynccontextmanager
async def opening(browser: Browser, on: World, *files: str, key: str = "") -> AsyncGenerator[tuple[Visit, Dialogs]]:
    """Open all dialogs of these files."""
    if not AXE.exists():
        missing("axe-core is not installed: run `npm ci` in console")
    async with visit(browser, on, key=key, reduced_motion="reduce") as ana:
        dialogs = Dialogs(ana)
        yield ana, dialogs
        said = [f"{title} {line}" for title, lines in dialogs.seen.items() for line in lines]
        assert not said, "\n".join(said)
        assert dialogs.seen.keys() == {title for file in files for title in DIALOGS[file]}


async def test_those_of_runs(browser: Browser, on: World) -> None:
    paused = await on.start("writer", "paused by and by")
    refunds = [await on.waiting("refunds", f"many {number}") for number in (1, 2)]
    old = {"name": "elsewhere", "tools": {"pay": "of before"}}
    assert await on.rt.store.create(
        Started(run="old", kind="agent", program="elsewhere", fingerprint=old, input="go"), ()
    )
    seq = (await on.rt.store.get("old")).seq
    await on.rt.store.misfits(Misfit("old", seq, "tool 'pay' is gone", {"name": "elsewhere", "tools": {}}))
    files = [file for file in DIALOGS if file.startswith(("run", "help"))]
    async with opening(browser, on, *files) as (ana, dialogs):
        page = ana.page
        await ana.go("/runs")
        await page.keyboard.press("?")
        await dialogs.look("^Keys$")
        await dialogs.closed()
        await page.get_by_role("button", name="Start a run…").click()
        await dialogs.look("^Start a run$")
        await dialogs.closed()
        for run in refunds:
            await page.locator(f"[data-run='{run}'] .pick-run").check()
        await page.locator("[data-verb=bulk-deny]").click()
        await dialogs.look("^Deny 2 runs")
        await page.get_by_role("dialog").get_by_role("textbox").fill("not this week")
        await page.locator("[data-verb=bulk-send]").click()
        await dialogs.look("^Denied 2 of 2$")
        await dialogs.closed()
        await ana.go("/runs/old")
        await dialogs.verb("accept", "^Accept the changed program")
        await ana.go(f"/runs/{paused}")
        await dialogs.verb("fork", "^Fork")
        await dialogs.verb("again", "^Run (it )?again")
        await dialogs.verb("cancel", "^Cancel")
        await page.locator("[data-verb=pause-now]").click()
        await on.status(paused, "paused")
        await expect(page.locator("main[data-status=paused]")).to_be_visible(timeout=MS)
        await dialogs.verb("resume", "^Resume")


async def test_those_of_the_inbox(browser: Browser, on: World) -> None:
    refund = await on.waiting("refunds", "a result")
    failed = [await on.waiting("failing") for _ in range(2)]
    files = [file for file in DIALOGS if file.startswith("inbox/")]
    async with opening(browser, on, *files) as (ana, dialogs):
        page = ana.page
        await ana.inbox(refund)
        await page.locator("[data-verb=edit]").click()
        await dialogs.verb("instead", "^Give the result yourself")
        await ana.inbox(failed[0])
        await dialogs.verb("retry-all", "^Retry 2 runs")
        await ana.inbox(refund)
        await page.locator(f".il-at:has([href*='{refund}'])").get_by_role("checkbox").check()
        await page.locator("[data-verb=several-deny]").click()
        await dialogs.look("^Deny 1 item")
        await page.locator("[data-verb=several-send]").click()
        await dialogs.look("^Denied 1 of 1$")
        await dialogs.closed()


async def test_those_of_a_halt(browser: Browser, on: World) -> None:
    async with opening(browser, on, "halting.tsx") as (ana, dialogs):
        page = ana.page
        await ana.go("/runs")
        await dialogs.verb("halt", "^Halt$")
        await on.rt.halt("tool:refund", by="ana", reason="looked at")
        await dialogs.verb("unhalt", "^Unhalt tool refund")
        await on.rt.unhalt("tool:refund", by="ana", reason="over")
        await expect(page.locator(".halt")).to_have_count(0, timeout=MS)


async def test_those_of_the_settings(browser: Browser, on: World) -> None:
    with users_of(on) as users:
        if users.get("boss") is None:
            users.add("boss", "admin")
        key = users.new_key("boss")
        if users.get("dora") is not None:
            users.remove("dora")
    async with opening(browser, on, "pages/people.tsx", "pages/notices.tsx", key=key) as (ana, dialogs):
        page = ana.page
        await ana.go("/settings")
        await page.get_by_role("button", name="Add a person…").click()
        await dialogs.look("^Add a person")
        await page.get_by_label("Name, under which decisions are recorded").fill("dora")
        await page.get_by_role("button", name="Add", exact=True).click()
        await dialogs.look("^A key for dora$")
        await dialogs.closed()
        await page.get_by_role("button", name="Groups of dora").click()
        await dialogs.look("^Groups of dora$")
        await dialogs.closed()
        await page.get_by_role("button", name="Keys of dora").click()
        await dialogs.look("^Keys of dora$")
        await dialogs.closed()
        await page.get_by_role("button", name="Remove dora").click()
        await dialogs.look("^Remove dora")
        await dialogs.closed()
        await page.get_by_role("button", name="Add…", exact=True).click()
        await dialogs.look("^Add an endpoint$")
        await page.get_by_label("A webhook").check()
        await page.get_by_label("Name").fill("ops")
        await page.get_by_role("textbox", name="Address").fill("https://hooks.example.com/adjourn")
        await page.locator("[data-verb=add-endpoint]").click()
        await dialogs.look("^ops is told from now on$")
        await dialogs.closed()


def test_no_dialog_is_left_out() -> None:
    """What is written in the source, and not only what somebody remembered."""
    written = {
        path.relative_to(SOURCE).as_posix(): len(re.findall(r"<Dialog\b", path.read_text("utf-8")))
        for path in SOURCE.rglob("*.tsx")
    }
    known = {file: len(titles) for file, titles in DIALOGS.items()} | dict.fromkeys(ELSEWHERE, 1)
    assert {file: count for file, count in written.items() if count} == known
