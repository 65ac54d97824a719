"""Settings: people, their keys and sessions, and whether a message arrives, without a shell."""

from collections.abc import AsyncIterator, Generator
from contextlib import contextmanager

import pytest
from playwright.async_api import Browser, Locator, Page, expect
from tests.browser.world import LIMIT, Visit, World, visit

from adjourn.server.users import Users, users_path

MS = LIMIT * 1000


@pytest.fixture
async def boss(browser: Browser, on: World) -> AsyncIterator[Visit]:
    """An admin who logged in with a key."""
    with users_of(on) as users:
        if users.get("cleo") is None:
            users.add("cleo", "admin")
        key = users.new_key("cleo")
    async with visit(browser, on, key=key) as visitor:
        await visitor.page.goto(f"{on.url}/settings")
        await expect(row(visitor.page, "cleo")).to_be_visible(timeout=MS)
        yield visitor


@contextmanager
def users_of(on: World) -> Generator[Users]:
    """The users of a world, whose server is another process."""
    users = Users(users_path(f"sqlite:///{on.folder / 'runs.db'}"))
    yield users
    users.close()


def row(page: Page, name: str) -> Locator:
    return page.locator(f"[data-person='{name}']")


async def test_a_person_is_added_and_comes_in_with_the_key_that_was_shown(
    browser: Browser, boss: Visit, on: World
) -> None:
    page = boss.page
    await page.get_by_role("button", name="Add a person…").click()
    await page.get_by_label("Name, under which decisions are recorded").fill("dora")
    await page.get_by_role("dialog").get_by_label("Role").select_option("approver")
    await page.get_by_label("Groups, separated by commas").fill("finance, leads, finance")
    await page.get_by_role("button", name="Add", exact=True).click()
    shown = page.get_by_role("dialog").filter(has_text="A key for dora")
    await expect(shown).to_be_visible(timeout=MS)
    key = next(word for word in (await shown.inner_text()).split() if word.startswith("adj_"))
    await page.get_by_role("button", name="I have kept it").click()
    await expect(row(page, "dora")).to_contain_text("finance, leads · 1 key", timeout=MS)
    async with visit(browser, on, key=key) as visitor:
        me = await visitor.page.evaluate("() => fetch('/api/v1/me').then((r) => r.json())")
    assert (me["name"], me["role"], me["groups"]) == ("dora", "approver", ["finance", "leads"])


async def test_a_role_changes_in_place_and_the_last_admin_stays(boss: Visit, on: World) -> None:
    page = boss.page
    on.key_of("gus", "viewer")
    await page.reload()
    await page.get_by_label("Role of gus").select_option("operator")
    await expect(page.get_by_text("gus is operator now.")).to_be_visible(timeout=MS)
    with users_of(on) as users:
        assert [user.role for user in users.all() if user.name == "gus"] == ["operator"]
    await page.get_by_label("Role of cleo").select_option("viewer")
    await expect(page.get_by_text("the last admin")).to_be_visible(timeout=MS)
    await expect(page.get_by_label("Role of cleo")).to_have_value("admin", timeout=MS)


async def test_a_key_is_revoked_after_a_question_that_says_what_ends(boss: Visit, on: World) -> None:
    page = boss.page
    key = on.key_of("shop-api", "operator")
    await page.reload()
    await page.get_by_role("button", name="Keys of shop-api").click()
    await page.get_by_role("button", name=f"Revoke the key ending in {key[-4:]}").click()
    await expect(page.get_by_role("dialog").last).to_contain_text("Ends the sessions", timeout=MS)
    await page.get_by_role("button", name="Revoke", exact=True).click()
    await expect(page.get_by_text("is revoked.")).to_be_visible(timeout=MS)
    with users_of(on) as users:
        assert users.by_key(key) is None


async def test_sessions_are_listed_and_all_but_this_one_end(browser: Browser, boss: Visit, on: World) -> None:
    key = on.key_of("hal", "viewer")
    async with visit(browser, on, key=key):
        await boss.page.reload()
        await expect(boss.page.locator("[data-session]").filter(has_text="hal")).to_be_visible(timeout=MS)
        await boss.page.get_by_role("button", name="End all but this").click()
        await expect(boss.page.locator("[data-session]")).to_have_count(1, timeout=MS)
    with users_of(on) as users:
        assert [session.user for session in users.sessions()] == ["cleo"]


async def test_who_is_no_admin_sees_their_own_sessions_and_nobody_else(browser: Browser, on: World) -> None:
    key = on.key_of("ivy", "viewer")
    async with visit(browser, on, key=key) as visitor:
        await visitor.page.goto(f"{on.url}/settings")
        await expect(visitor.page.get_by_text("this one")).to_be_visible(timeout=MS)
        await expect(visitor.page.get_by_role("heading", name="People and programs")).to_have_count(0)


async def test_the_rules_are_listed_with_how_often_each_asked(ana: Visit) -> None:
    await ana.world.waiting("refunds")
    await ana.go("/settings")
    row = ana.page.locator("[data-rule='ask refund when cents > 100']").first
    await expect(row).to_contain_text("refunds")
    assert int(await row.locator("td").first.inner_text()) >= 1


@pytest.mark.parametrize("width", [1440, 390])
async def test_what_an_admin_comes_for_stands_above_the_fold_and_the_rest_is_one_step_away(
    browser: Browser, own: World, width: int
) -> None:
    async with visit(browser, own) as ana:
        page = ana.page
        await page.set_viewport_size({"width": width, "height": 900})
        await ana.go("/settings")
        people = page.get_by_role("heading", name="People and programs")
        messages = page.get_by_role("heading", name="Where messages go")
        for head in (people, messages):
            await expect(head).to_be_in_viewport()
        assert await top_of(people) < await top_of(messages) < await top_of(page.get_by_role("heading", name="You"))
        await page.get_by_role("navigation", name="Settings").get_by_text("Keyboard").click()
        await expect(page.get_by_role("heading", name="Keyboard")).to_be_in_viewport()
        assert await page.evaluate("document.documentElement.scrollWidth") <= width


async def top_of(head: Locator) -> float:
    box = await head.first.bounding_box()
    assert box is not None
    return box["y"]


async def test_a_bar_and_words_say_what_came_of_what_a_rule_asked(ana: Visit) -> None:
    run = await ana.world.waiting("refunds")
    [item] = await ana.world.rt.inbox(run=run)
    await ana.world.rt.deny(item.ref, by="ben")
    await ana.go("/settings")
    row = ana.page.locator("[data-rule='ask refund when cents > 100']").first
    await expect(row).to_contain_text("1 denied")
    await expect(row.locator(".rule-verb")).to_have_text("Ask")
    assert await row.locator(".rule-bar rect").count() >= 1
