"""A step that takes long does not flatten the others: its middle is cut, that is said, and one may look at it to scale."""

import re
from typing import Any

import pytest
from playwright.async_api import Page, Route, expect
from tests.browser.test_told import seen_by_axe
from tests.browser.world import Visit, World

from adjourn import Agent, Runtime, tool
from adjourn.testing import ScriptedModel, call

LOOKS = 5
WIDTH = "one => one.getBoundingClientRect().width"


@tool(effect="idempotent")
def look(at: int) -> str:
    """Look at something."""
    return "seen"


@tool(effect="idempotent")
def build(seconds: float) -> str:
    """Build something."""
    return "built"


async def worked(on: World, run: str, *builds: float) -> None:
    """A run that looks five times, then builds, and looks again after each build."""
    said = [[call("look", at=n)] for n in range(LOOKS)]
    for n, seconds in enumerate(builds):
        said += [[call("build", seconds=seconds)], [call("look", at=LOOKS + n)]]
    agent = Agent("builder", model=ScriptedModel(*said, "built"), tools=[look, build])
    async with Runtime(f"sqlite:///{on.folder / 'runs.db'}", [agent]) as rt:
        await (await rt.start(agent, "build it", run_id=run)).wait()


async def slowly(route: Route) -> None:
    """The same steps as if a look had taken a second, a build as long as it says, and a reply half a second."""
    answer = await route.fetch()
    page: dict[str, Any] = await answer.json()
    steps: list[dict[str, Any]] = page["steps"]
    at = float(steps[0]["at"]) if steps else 0.0
    for step in steps:
        step["at"] = at
        if step["kind"] not in ("model", "tool"):
            continue
        took = 1.0 if step["name"] == "look" else 0.5
        if step["name"] == "build":
            took = float(step["arguments"]["seconds"])
        step |= {"took": took, "spans": [{"kind": "run", "start": at, "end": at + took}]}
        at += took
    await route.fulfill(response=answer, json=page)


async def widths(page: Page, name: str) -> list[float]:
    """Of the bars of all calls of a tool, in pixels."""
    rows = page.locator("[data-step][data-kind=tool]").filter(has_text=name)
    return [await bar.evaluate(WIDTH) for bar in await rows.locator(".bar.tool").all()]


@pytest.mark.parametrize("builds", [(600.0,), (600.0, 540.0, 720.0)], ids=["one", "three"])
async def test_what_took_seconds_is_seen_beside_what_took_minutes(ana: Visit, builds: tuple[float, ...]) -> None:
    page, on, run = ana.page, ana.world, f"long-{len(builds)}"
    await worked(on, run, *builds)
    await page.route(re.compile(rf"/api/v1/runs/{run}/timeline"), slowly)
    await page.goto(f"{on.url}/runs/{run}")
    await expect(page.locator(".bar-cut")).to_have_count(len(builds))
    looks = await widths(page, "look")
    assert len(looks) == LOOKS + len(builds)
    assert min(looks) >= 6, looks
    assert min(await widths(page, "build")) > max(looks)
    words = "A long step is cut, 9 m" if len(builds) == 1 else "Long steps are cut, 30 m"
    await expect(page.locator(".cut-note")).to_contain_text(words)
    await expect(page.locator("[data-kind=tool]").filter(has_text="600")).to_contain_text("10 m 00 s")
    assert await seen_by_axe(page) == []
    await page.get_by_role("switch", name="Cut quiet time").click()
    await expect(page.locator(".bar-cut")).to_have_count(0)
    assert max(await widths(page, "look")) <= 4, "the least that a bar has"
