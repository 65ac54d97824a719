"""The console in a real browser behind real proxies, with the files of deploy/proxy: over HTTP/2, and every tab of it live."""

from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page, expect
from tests.browser.conftest import launched
from tests.browser.world import eventually
from tests.deploy.proxies import LIMIT, PROXIES, begun, certificate
from tests.local_server import free_port

from adjourn import Agent
from adjourn.server import Users, serving
from adjourn.testing import ScriptedModel

pytestmark = pytest.mark.anyio

TABS = 8
"""More than the six connections that a browser has with HTTP/1.1."""
FLAGS = ["--ignore-certificate-errors", "--disable-quic"]
"""The certificate is of the test's own making; and no HTTP/3, which needs one that is not."""
USED = (
    """[...new Set(performance.getEntries().filter((one) => one.nextHopProtocol).map((one) => one.nextHopProtocol))]"""
)


async def live(page: Page) -> None:
    await page.locator("[data-connection=live]").first.wait_for(timeout=LIMIT * 1000, state="attached")


async def status(page: Page, url: str) -> int:
    """Of the page there: a proxy may not know yet that the server is up."""
    answer = await page.goto(url)
    assert answer is not None
    return answer.status


@pytest.mark.parametrize("name", PROXIES)
async def test_every_tab_of_the_console_is_live_over_http_2(name: str, tmp_path: Path) -> None:
    port, behind = free_port(), free_port()
    certificate(tmp_path)
    origin = f"https://localhost:{port}"
    users = Users(str(tmp_path / "users"))
    key = users.add("ana", "admin")
    clerk = Agent("clerk", model=ScriptedModel("done"))
    command = PROXIES[name](tmp_path, port, [behind])
    options: dict[str, Any] = {"port": behind, "origins": [origin], "users": users, "proxies": ["127.0.0.1"]}
    async with (
        serving(f"sqlite:///{tmp_path}/runs.db", [clerk], **options) as up,
        begun(command, port),
        launched(more=FLAGS) as chromium,
    ):
        context = await chromium.new_context(viewport={"width": 1440, "height": 900})
        context.set_default_timeout(LIMIT * 1000)
        page = await context.new_page()
        await eventually(lambda: status(page, f"{origin}/runs"), lambda found: found == 200)
        await page.get_by_label("Key").fill(key)
        await page.get_by_role("button", name="Log in").click()
        await live(page)
        pages = [page]
        for _ in range(TABS - 1):
            pages.append(await context.new_page())
            await pages[-1].goto(f"{origin}/runs")
        for each in pages:
            await live(each)
            assert await each.evaluate(USED) == ["h2"]
        await expect(page.locator("[data-connection]").first).to_have_text(f"Live, shared by {TABS} tabs")
        run = await up.runtime.start(clerk, "through the proxy", by="ana")
        await run.wait(LIMIT)
        for each in pages:
            await expect(each.get_by_role("grid", name="Runs")).to_contain_text("through the proxy")
        await context.close()
    users.close()
