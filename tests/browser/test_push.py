"""Messages to a browser: the settings subscribe it, the service worker shows what came, and nothing in a message decides."""

import asyncio
import json
from typing import Any

from playwright.async_api import Browser, Page, expect
from tests.browser.test_access import AXE, complaints_in_both
from tests.browser.test_settings import users_of
from tests.browser.world import LIMIT, World, eventually, visit
from tests.server.push_service import Subscription

MS = LIMIT * 1000
URL = "https://push.example.com/send/1"
SUBSCRIBED = """({ url, p256dh, auth }) => {
  // Chromium's own push service cannot be reached from here: what it would answer
  const bytes = (t) => Uint8Array.from(atob(t.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0)).buffer;
  let made = null;
  PushManager.prototype.subscribe = async (options) => {
    const keys = { p256dh: bytes(p256dh), auth: bytes(auth) };
    made = { endpoint: url, options, getKey: (name) => keys[name], unsubscribe: async () => ((made = null), true) };
    return made;
  };
  PushManager.prototype.getSubscription = async () => made;
}"""
SHOWN = """async () => {
  const found = await (await navigator.serviceWorker.ready).getNotifications();
  return found.map((n) => [n.title, n.body, n.tag, n.data.url, n.actions?.length ?? 0]);
}"""


async def registration(session: Any) -> str:
    """The id of the page's service worker, once it is there."""
    found: list[str] = []

    def heard(event: dict[str, Any]) -> None:
        found.extend(one["registrationId"] for one in event["registrations"] if not one["isDeleted"])

    session.on("ServiceWorker.workerRegistrationUpdated", heard)
    await session.send("ServiceWorker.enable")

    async def look() -> str:
        return found[-1] if found else ""

    return await eventually(look)


async def delivered(page: Page, session: Any, to: dict[str, str], messages: list[str]) -> Any:
    """What the browser shows of these messages. One that comes while its worker starts may be lost, as everywhere: then they come
    again, and replace those that were shown."""
    for _ in range(20):
        for message in messages:
            await session.send("ServiceWorker.deliverPushMessage", {**to, "data": message})
        until = asyncio.get_running_loop().time() + 2.0
        while asyncio.get_running_loop().time() < until:
            shown = await page.evaluate(SHOWN)
            if len(shown) == len(messages):
                return shown
            await asyncio.sleep(0.05)
    return await page.evaluate(SHOWN)


async def test_a_browser_is_told_and_what_comes_opens_the_item_behind_the_login(browser: Browser, own: World) -> None:
    with users_of(own) as users:
        key = users.add("ana", "approver", ["finance"])
    service = Subscription()
    options = {"url": URL, "p256dh": service.p256dh, "auth": service.auth}
    async with visit(browser, own, key=key, at="/settings", permissions=["notifications"]) as ana:
        page = ana.page
        await page.evaluate(SUBSCRIBED, options)
        await page.get_by_role("button", name="Tell this browser").click()
        dialog = page.get_by_role("dialog")
        await expect(dialog).to_contain_text("Told when", timeout=MS)
        if AXE.exists():
            assert await complaints_in_both(page, "[role=dialog]") == []
        await dialog.get_by_label("What you call it").fill("my desk")
        await dialog.get_by_label("A halt was lifted").uncheck()
        await dialog.get_by_label("Only these tools, separated by commas; empty: all").fill("refund, send")
        await dialog.get_by_label("Send nothing at night").check()
        await dialog.get_by_role("button", name="Save").click()
        row = page.locator("[data-own]")
        await expect(row).to_contain_text("my desk", timeout=MS)
        for said in ("this browser", "only of the tools refund, send", "quiet from 20:00 to 07:00"):
            await expect(row).to_contain_text(said)
        await expect(row).not_to_contain_text("a halt was lifted")
        assert await page.get_by_role("button", name="Tell this browser").count() == 0
        [kept] = [e for e in await own.rt.store.endpoints() if e.url]
        assert (kept.kind, kept.url, "halt.lifted" in kept.topics) == ("push", URL, False)

        # what the push service would hand to the browser, decrypted
        run = await own.waiting("refunds")
        session: Any = await page.context.new_cdp_session(page)
        worker = await registration(session)
        messages: list[str] = []
        for path in (f"/inbox/{run}%3A1.0%3F0", "https://evil.example/x", "//evil.example/x"):
            messages.append(
                json.dumps(
                    {"title": "refund needs approval", "text": f"digest: 0123\n{path}", "path": path, "tag": path}
                )
            )
        shown = await delivered(page, session, {"origin": own.url, "registrationId": worker}, messages)
        assert {title for title, *_ in shown} == {"refund needs approval"}
        assert {url for *_, url, _ in shown} == {f"{own.url}/inbox/{run}%3A1.0%3F0", f"{own.url}/"}
        assert [actions for *_, actions in shown] == [0, 0, 0]

        # who logs out takes the browser along
        await page.get_by_role("button", name="Log out").click()
        await expect(page.get_by_label("Key")).to_be_visible(timeout=MS)
        assert [e for e in await own.rt.store.endpoints() if e.url] == []
        await page.goto(f"{own.url}/inbox/{run}%3A1.0%3F0")
        await expect(page.get_by_label("Key")).to_be_visible(timeout=MS)


async def test_who_came_by_the_link_reads_why_this_browser_is_not_told(browser: Browser, own: World) -> None:
    async with visit(browser, own, at="/settings") as ana:
        card = ana.page.locator("[aria-labelledby=set-own]")
        await expect(card).to_contain_text("log in with a key of your own", timeout=MS)
        button = card.get_by_role("button", name="Tell this browser")
        assert await button.get_attribute("aria-disabled") == "true"
