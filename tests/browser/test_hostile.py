"""Whatever an agent writes: nothing runs, nothing is hidden, nothing leaves the page."""

import re
from urllib.parse import quote

from playwright.async_api import Browser, Page, Request
from tests.browser.cast import parrot
from tests.browser.world import World, visit
from tests.hostile import MEGABYTE, STRINGS

from adjourn.views.visible import _positions  # pyright: ignore[reportPrivateUsage]

GO = "(to) => { history.pushState(null, '', to); dispatchEvent(new PopStateEvent('popstate')); }"
FOREIGN = "main script, main iframe, main object, main embed, main base, main form[action]"


def bare(text: str) -> str:
    """What is left of a text when spaces and quoting are not compared."""
    return re.sub(r"[\s⟨⟩]+", "", text)


def pieces(text: str) -> list[str]:
    """What must be on the page: the runs of ordinary characters, and the number of each that hides."""
    hide = _positions(text)
    parts = ["" if c in "\n\t" else f"U+{ord(c):04X}" if n in hide else None for n, c in enumerate(text)]
    shown = "".join(c if part is None else f"\0{part}\0" for c, part in zip(text, parts, strict=True))
    return [bare(part) for part in re.split('\0|\\\\|"', shown) if bare(part)]


async def nothing_ran(page: Page, asked: list[str], url: str) -> None:
    assert await page.evaluate("window.hacked") is None
    assert [a for a in asked if not a.startswith(url) and not a.startswith(("data:", "blob:"))] == []
    assert (
        await page.evaluate(
            "document.querySelectorAll('main script, main iframe, main object, main embed, main base, main form[action]').length"
        )
        == 0
    )


async def test_hostile_strings_in_every_field_run_nothing_and_hide_nothing(browser: Browser, own: World) -> None:
    assert len(STRINGS) >= 60
    runs = {name: await own.start("parrot", text, session=name[:40]) for name, text in STRINGS.items()}
    for run in runs.values():
        await own.status(run, "waiting")
    async with visit(browser, own) as ana:
        page = ana.page
        asked: list[str] = []

        def note(request: Request) -> None:
            asked.append(request.url)

        page.on("request", note)
        for name, run in runs.items():
            text = STRINGS[name]
            await ana.page.evaluate(
                "(to) => { history.pushState(null, '', to); dispatchEvent(new PopStateEvent('popstate')); }",
                f"/runs/{run}",
            )
            await page.locator(f"main.run-page[data-run='{run}']").wait_for()
            await page.locator("[data-step]").nth(3).wait_for()
            seen = bare(await page.locator("body").inner_text())
            assert all(part[:60] in seen for part in pieces(text)[:1]), (name, "run")  # the rest is one click away
            found = {i.kind: i for i in await own.rt.inbox(run=run)}
            for kind in ("approval", "question"):
                ref = found[kind].id if found[kind].id.startswith(f"{run}:") else f"{run}:{found[kind].id}"
                await page.evaluate(GO, f"/inbox/{quote(ref, safe='')}")
                await page.locator(f"article[data-kind={kind}][data-ref='{ref}']").wait_for()
                seen = bare(await page.locator("article").inner_text())
                missing = [part for part in pieces(text) if part not in seen]
                assert not missing, (name, kind, missing)
            await nothing_ran(page, asked, own.url)
        for at in ("/runs", "/inbox", "/audit"):
            await ana.go(at)
            await page.wait_for_timeout(300)
            await nothing_ran(page, asked, own.url)
            assert await page.locator("h1").count() == 1


async def test_a_megabyte_is_shown_whole_where_it_is_approved(browser: Browser, own: World) -> None:
    run = (await own.rt.start(parrot, MEGABYTE)).id  # a request of the API could not be that large
    await own.status(run, "waiting")
    async with visit(browser, own) as ana:
        await ana.inbox(run)
        item = ana.page.locator("article")
        await item.wait_for()
        approve = ana.page.locator("[data-verb=approve]")
        assert await approve.get_attribute("aria-disabled") == "true", "its end was not reached"
        await ana.go(f"/runs/{run}")
        await ana.page.locator("[data-step]").first.wait_for()
        assert await ana.page.evaluate("window.hacked") is None
