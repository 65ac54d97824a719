"""What the console gives to be pasted works when it is pasted, with ids as strange as an earlier version allowed them."""

import asyncio
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from playwright.async_api import Browser, Locator, Page, Route, expect
from tests.browser.world import LIMIT, Visit, World, visit, world
from tests.cli.test_hints import ODD, any_id, in_shell

from adjourn import Runtime
from adjourn.core.records import Started
from adjourn.runtime import runtime

HARDEST = (
    "a separator",
    "a substitution",
    "quotes",
    "an option",
    "a long option",
    "two spaces",
    "another alphabet",
    "what cannot be seen",
)
PROGRAM = """
from adjourn import Agent, tool
from adjourn.testing import ScriptedModel, call

@tool(effect="unsafe", policy="ask")
def wipe(path: str) -> str:
    return path

agent = Agent("stranger", model=ScriptedModel([call("wipe", path="/")], "Done."), tools=[wipe])
plain = Agent("plain", model=ScriptedModel("Done."))
"""
SOURCE = Path(__file__).parents[2] / "console/src"
GIVEN = {
    "halting.tsx": 1,
    "run/again.tsx": 1,
    "run/checkpoint.tsx": 3,
    "runs/index.tsx": 1,
    "pages/workers.tsx": 2,  # one of them is copied by a click
    "demo.tsx": 2,  # tests/demo/test_guide.py pastes these
    "pages/people.tsx": 1,  # a key, and a secret: no commands
    "pages/notices.tsx": 1,
}
"""How many commands each file of the console gives to be pasted: those are pasted below."""


async def asked(on: World, run: str) -> None:
    """A run that waits for a person, and whose program the server does not have."""
    stranger = runpy.run_path("mine.py", run_name="mine")["agent"]
    async with Runtime(f"sqlite:///{on.folder / 'runs.db'}", [stranger]) as rt:
        await (await rt.start(stranger, "go", run_id=run, by="shop")).wait(LIMIT)


async def commands(part: Page | Locator) -> list[str]:
    """Those that can be copied, as they are copied."""
    return await part.locator(".cmd > .grow").all_inner_texts()


async def of_the_run(page: Page, url: str, run: str) -> list[str]:
    """What its dialogs and tabs give."""
    await page.goto(f"{url}/runs?q=agent%3Astranger")
    await page.locator(f"[data-run={_attribute(run)}] a").first.click()
    await expect(page.locator("main[data-status=waiting]")).to_be_visible()
    await page.locator("[data-verb=again]").click()
    await expect(page.get_by_role("dialog").locator(".cmd")).to_be_visible()
    found = await commands(page)
    await page.keyboard.press("Escape")
    await page.get_by_role("tab", name="Checkpoint").click()
    await expect(page.locator(".cmd")).to_have_count(2)
    async with page.expect_download() as got:
        await page.get_by_role("button", name="Download the checkpoint").click()
    file = await got.value
    shutil.copy(await file.path(), file.suggested_filename)
    return [*found, *await commands(page)]


def _attribute(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


async def of_a_halt(page: Page, reason: str) -> list[str]:
    """What is given while the server does not answer."""

    async def lose(route: Route) -> None:
        await route.abort()

    await page.route(re.compile(r"/api/v1/halts$"), lose)
    await page.get_by_role("button", name="Halt…").locator("visible=true").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("Reason").fill(reason)
    await dialog.get_by_role("button", name="Halt everything").click()
    await expect(dialog.locator(".cmd")).to_be_visible()
    found = await commands(dialog)
    await page.keyboard.press("Escape")
    await page.unroute(re.compile(r"/api/v1/halts$"))
    return found


def adjourn(words: list[str], program: str) -> list[str]:
    """The command line, with the visitor's file where a file stands for it."""
    command = str(Path(sys.executable).parent / "adjourn")
    return [command, *(program if word in ("APP.PY:NAME", "app.py:agent") else word for word in words)]


def pasted(words: list[str], program: str) -> subprocess.CompletedProcess[str]:
    """The command itself, and what it says."""
    return subprocess.run(adjourn(words, program), capture_output=True, text=True, timeout=LIMIT, check=False)


@pytest.mark.parametrize("name", HARDEST)
async def test_a_command_about_a_run_works_as_it_is_pasted(
    browser: Browser, on: World, name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(runtime, "check_chosen", any_id)
    (tmp_path / "mine.py").write_text(PROGRAM)
    run = ODD[name]
    await asked(on, run)
    async with visit(browser, on) as ana:
        found = await of_the_run(ana.page, on.url, run)
        found += await of_a_halt(ana.page, run)
    verbs = [shlex.split(text.replace("$'", "'"))[1] for text in found]
    assert verbs == ["again", "checkpoint", "checkpoint", "halt"]
    for text in found:
        words = await asyncio.to_thread(in_shell, text)
        said = await asyncio.to_thread(pasted, words, "mine.py:agent")
        assert said.returncode == 0, (text, said.stderr)
    assert not (tmp_path / "pwned").exists()
    [halt] = await on.rt.halts()
    assert halt.reason == run
    await on.rt.unhalt("*", by="ana", reason="over")
    begun = [await on.records(one.run_id, Started) for one in await on.rt.runs(limit=100)]
    assert [started.again_of for [started] in begun].count(run) == 1


def test_no_command_of_the_console_is_left_out() -> None:
    found = {
        file.relative_to(SOURCE).as_posix(): len(
            re.findall(r"<Command text|<CopyText text=\{here", file.read_text("utf-8"))
        )
        for file in SOURCE.rglob("*.tsx")
    }
    assert {file: many for file, many in found.items() if many} == GIVEN


async def of_an_empty_console(ana: Visit) -> tuple[str, str, str]:
    """What starts a run, what starts a worker, and what shows the workers, where there is neither."""
    page = ana.page
    [start] = await commands(page)

    async def nobody(route: Route) -> None:
        answer = await route.fetch()
        await route.fulfill(response=answer, json={**await answer.json(), "workers": [], "alive": 0})

    await page.route(re.compile("/api/v1/workers"), nobody)
    await ana.go("/workers")
    await expect(page.locator(".cmd")).to_have_count(1)
    [work] = await commands(page)
    shown = await page.get_by_role("button", name="Copy the command adjourn workers").get_attribute("title")
    await page.unroute(re.compile("/api/v1/workers"))
    return start, work, (shown or "").removeprefix("Copy ")


async def test_what_an_empty_console_gives_starts_a_run_and_a_worker_wherever_the_runs_are(
    browser: Browser, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "mine.py").write_text(PROGRAM)
    place = Path(tempfile.mkdtemp(prefix="a'b  $(touch pwned) "))
    async with world(place) as on, visit(browser, on, at="/runs") as ana:
        await expect(ana.page.get_by_text("No runs yet")).to_be_visible()
        start, work, look = await of_an_empty_console(ana)
        monkeypatch.chdir(tmp_path)
        said = await asyncio.to_thread(pasted, in_shell(start), "mine.py:agent")
        assert said.returncode == 0, (start, said.stderr)
        [run] = await on.rt.runs()
        worker = await asyncio.create_subprocess_exec(*adjourn(in_shell(work), "mine.py:agent"))
        await on.status(run.run_id, "waiting")
        await ana.go("/workers")
        await expect(ana.page.locator("[data-worker]").filter(has_text="stranger")).to_have_count(1)
        told = await asyncio.to_thread(pasted, in_shell(look), "")
        assert told.returncode == 0 and "stranger" in told.stdout, (look, told.stderr)
        worker.terminate()
        assert await asyncio.wait_for(worker.wait(), LIMIT) == 0
    assert not (tmp_path / "pwned").exists()
    shutil.rmtree(place)


async def test_the_checkpoint_of_a_run_that_can_go_on_goes_on_elsewhere(
    browser: Browser, on: World, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(runtime, "check_chosen", any_id)
    (tmp_path / "mine.py").write_text(PROGRAM)
    plain, run = runpy.run_path("mine.py", run_name="mine")["plain"], ODD["quotes"] + " ready"
    async with Runtime(f"sqlite:///{on.folder / 'runs.db'}", work=False) as rt:
        await rt.start(plain, "go", run_id=run, by="shop")
    async with visit(browser, on, at="/runs?q=agent%3Aplain") as ana:
        page = ana.page
        await page.locator(f"[data-run={_attribute(run)}] a").first.click()
        await page.get_by_role("tab", name="Checkpoint").click()
        async with page.expect_download() as got:
            await page.get_by_role("button", name="Download the checkpoint").click()
        file = await got.value
        shutil.copy(await file.path(), file.suggested_filename)
        given = [in_shell(text) for text in await commands(page)]
    assert [words[:2] for words in given] == [["checkpoint", "verify"], ["checkpoint", "resume"]]
    said = [await asyncio.to_thread(pasted, words, "mine.py:plain") for words in given]
    assert [one.returncode for one in said] == [0, 0], said
    assert "Done." in said[1].stdout
