"""Other sites, mail scanners, frames and names that resolve here change nothing."""

import asyncio
from collections.abc import AsyncIterator

import httpx
import pytest
from playwright.async_api import Browser
from tests.browser.world import World, visit

from adjourn.core.records import Decided


@pytest.fixture
async def elsewhere() -> AsyncIterator[str]:
    """Another site, on another port: its page tries to approve, to read, and to frame the console."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        body = b"<!doctype html><title>elsewhere</title><body>hello</body>"
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s"
            % (len(body), body)
        )
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def test_a_page_of_another_site_can_neither_read_nor_decide_nor_frame(
    browser: Browser, on: World, elsewhere: str
) -> None:
    run = await on.waiting("refunds", "elsewhere")
    [interrupt] = await on.rt.inbox(run=run)
    assert interrupt.call is not None
    async with visit(browser, on) as ana:
        page = await ana.page.context.new_page()  # with ana's session in the same browser
        await page.goto(elsewhere)
        target = f"{on.url}/api/v1/interrupts/{interrupt.id.replace('?', '%3F')}/approve"
        for mode in ("cors", "no-cors"):
            for kind in ("application/json", "text/plain"):
                await page.evaluate(
                    """([url, mode, kind, digest]) => fetch(url, { method: "POST", mode, credentials: "include",
                       headers: { "Content-Type": kind }, body: JSON.stringify({ digest }) }).then((r) => r.text(), (e) => String(e))""",
                    [target, mode, kind, interrupt.call.digest],
                )
        read = await page.evaluate(
            "(url) => fetch(url, { credentials: 'include' }).then((r) => r.text(), () => 'refused')",
            f"{on.url}/api/v1/runs",
        )
        assert read == "refused"
        framed = await page.evaluate(
            """(url) => new Promise((done) => {
              const frame = document.createElement("iframe");
              frame.src = url;
              frame.onload = () => { try { done(frame.contentDocument ? "readable" : "blocked"); } catch { done("blocked"); } };
              document.body.append(frame);
              setTimeout(() => done("nothing loaded"), 3000);
            })""",
            f"{on.url}/inbox",
        )
        assert framed in ("blocked", "nothing loaded")
        for frame in page.frames[1:]:
            assert "Adjourn" not in (await frame.content())
    assert await on.records(run, Decided) == []


@pytest.mark.parametrize("method", ["GET", "HEAD"])
async def test_a_mail_scanner_that_follows_every_link_changes_nothing(on: World, method: str) -> None:
    run = await on.waiting("refunds", f"scanner {method}")
    [interrupt] = await on.rt.inbox(run=run)
    before = (await on.rt.store.get(run)).seq
    ref = interrupt.id.replace("?", "%3F")
    async with httpx.AsyncClient(base_url=on.url, trust_env=False) as scanner:
        for path in (
            f"/inbox/{ref}",
            f"/inbox/{ref}?approve=1",
            f"/runs/{run}",
            f"/api/v1/interrupts/{ref}/approve",
            "/",
        ):
            await scanner.request(method, path)
            await scanner.request(method, path, headers={"Authorization": f"Bearer {on.server.up['token']}"})
    assert (await on.rt.store.get(run)).seq == before and await on.records(run, Decided) == []


async def test_a_name_that_resolves_here_is_not_answered(on: World) -> None:
    async with httpx.AsyncClient(base_url=on.url, trust_env=False, headers={"Host": "evil.example"}) as client:
        for path in ("/", "/api/v1/runs", "/console.js"):
            answer = await client.get(path, headers={"Authorization": f"Bearer {on.server.up['token']}"})
            assert answer.status_code == 403 and "evil.example" in answer.text
