"""A store, a server and a worker, each a process, and what a test needs to look behind the page."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
from playwright.async_api import Browser, BrowserContext, Page
from tests.again import TooSlow
from tests.browser.cast import FOLDER

from adjourn import Runtime
from adjourn.core.records import AnyRecord
from adjourn.server import Users, users_path

LIMIT = 30.0


class Process:
    """One of the processes."""

    def __init__(self, process: asyncio.subprocess.Process, up: dict[str, str]) -> None:
        self.process, self.up = process, up

    @classmethod
    async def begin(cls, folder: Path, *args: str) -> "Process":
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tests.browser.process", *args, env={**os.environ, FOLDER: str(folder)},
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        )  # fmt: skip
        assert process.stdout is not None
        async with asyncio.timeout(LIMIT):
            line = await process.stdout.readline()
        assert line, f"{args} did not come up"
        return cls(process, json.loads(line))

    async def end(self) -> None:
        if self.process.returncode is None and self.process.stdin is not None:
            self.process.stdin.close()
        try:
            async with asyncio.timeout(10):
                await self.process.wait()
        except TimeoutError:
            self.process.kill()
            await self.process.wait()

    async def kill(self) -> None:
        self.process.kill()
        await self.process.wait()


class World:
    """What is up, and what is behind it."""

    def __init__(self, folder: Path, server: Process, worker: Process, rt: Runtime) -> None:
        self.folder, self.server, self.worker, self.rt = folder, server, worker, rt

    @property
    def url(self) -> str:
        return self.server.up["url"]

    @property
    def link(self) -> str:
        return self.server.up["link"]

    def key_of(self, name: str, role: str) -> str:
        """A new user, and the key."""
        users = Users(users_path(f"sqlite:///{self.folder / 'runs.db'}"))
        try:
            return users.add(name, role)
        finally:
            users.close()

    def tell(self, name: str = "end") -> None:
        """Make the file that a program waits for."""
        (self.folder / name).touch()

    def ledger(self) -> list[str]:
        path = self.folder / "ledger"
        return path.read_text().splitlines() if path.exists() else []

    async def start(self, program: str, input: Any = "go", **more: Any) -> str:
        """Start a run, as a client of the API would."""
        headers = {"Authorization": f"Bearer {self.server.up['token']}"}
        async with httpx.AsyncClient(
            base_url=f"{self.url}/api/v1/", headers=headers, timeout=LIMIT, trust_env=False
        ) as client:
            answer = await client.post("runs", json={"agent": program, "input": input, **more})
            assert answer.status_code == 200, answer.text
            return answer.json()["run_id"]

    async def waiting(self, program: str, input: Any = "go", **more: Any) -> str:
        """Start a run that waits for a person."""
        run = await self.start(program, input, **more)
        await self.status(run, "waiting", "failed")
        return run

    async def status(self, run: str, *wanted: str) -> str:
        """The run's status, once it is one of these."""
        handle = await self.rt.get(run)
        return await eventually(handle.status, lambda s: s in wanted)

    async def records(self, run: str, kind: type[AnyRecord] | None = None) -> list[Any]:
        found = [record for _, record in await self.rt.store.load(run)]
        return [x for x in found if kind is None or isinstance(x, kind)]

    async def restart_server(self) -> None:
        """The same server again, at the same port."""
        port = self.url.rpartition(":")[2]
        await self.server.end()
        self.server = await Process.begin(self.folder, "serve", str(self.folder / "runs.db"), port)


async def eventually(look: Callable[[], Awaitable[Any]], so: Callable[[Any], bool] = bool) -> Any:
    """What `look` gives once it is so. A limit that passes is a want of time: the test is tried again."""
    seen: Any = None
    try:
        async with asyncio.timeout(LIMIT):
            while True:
                seen = await look()
                if so(seen):
                    return seen
                await asyncio.sleep(0.02)
    except TimeoutError:
        raise TooSlow(f"it stayed {seen!r}") from None


@asynccontextmanager
async def world(folder: Path) -> AsyncGenerator[World]:
    database = str(folder / "runs.db")
    server, worker = await asyncio.gather(
        Process.begin(folder, "serve", database, "0"), Process.begin(folder, "work", database)
    )
    async with Runtime(f"sqlite:///{database}", work=False) as rt:
        made = World(folder, server, worker, rt)
        try:
            yield made
        finally:
            await asyncio.gather(made.server.end(), made.worker.end())


class Visit:
    """A person at the console. What the browser complains about is kept: a test fails on any of it."""

    def __init__(self, page: Page, on: World) -> None:
        self.page, self.world = page, on
        self.complaints: list[str] = []
        page.on("pageerror", lambda e: self.complaints.append(f"error: {e}"))
        page.on(
            "console", lambda m: self.complaints.append(m.text) if m.type == "error" and not _expected(m.text) else None
        )

    async def log_in(self, key: str = "", at: str = "/") -> None:
        """By the link of this start, or with a key at the login page: a link takes nobody's key."""
        if key:
            await self.page.goto(f"{self.world.url}{at}")
            await self.page.get_by_label("Key").fill(key)
            await self.page.get_by_role("button", name="Log in").click()
        else:
            await self.page.goto(f"{self.world.url}{at}#token={self.world.server.up['token']}")
        await self.page.locator("[data-connection=live]").first.wait_for(timeout=LIMIT * 1000, state="attached")

    async def go(self, at: str) -> None:
        await self.page.goto(self.world.url + at)
        await self.page.locator("[data-connection=live]").first.wait_for(timeout=LIMIT * 1000, state="attached")

    async def menu(self) -> list[str]:
        """The addresses of all pages in the menu: what is there, not what a test knows of."""
        found = await self.page.locator("nav.side [data-place]").evaluate_all("all => all.map((a) => a.pathname)")
        assert len(found) >= 6
        return found

    async def inbox(self, run: str) -> None:
        """The inbox, at the item of this run."""
        found = await self.world.rt.inbox(run=run)
        ref = found[0].id if found[0].id.startswith(f"{run}:") else f"{run}:{found[0].id}"
        await self.go(f"/inbox/{quote(ref, safe='')}")

    async def button(self, name: str) -> None:
        await self.page.get_by_role("button", name=name, exact=True).click()


def _expected(text: str) -> bool:
    """What a browser writes about answers and connections that a test provokes."""
    return "Failed to load resource" in text or "net::ERR" in text


async def closed(what: Browser | BrowserContext) -> None:
    """Close it. A browser that does not answer any more is left: it ends with its driver."""
    with suppress(TimeoutError):
        async with asyncio.timeout(LIMIT):
            await what.close()


@asynccontextmanager
async def visit(browser: Browser, on: World, key: str = "", at: str = "/", **options: Any) -> AsyncGenerator[Visit]:
    async with asyncio.timeout(LIMIT):  # Playwright has no limit of its own for these
        context = await browser.new_context(viewport={"width": 1440, "height": 1000}, **options)
        context.set_default_timeout(LIMIT * 1000)
        page = await context.new_page()
    try:
        one = Visit(page, on)
        await one.log_in(key, at)
        yield one
        assert one.complaints == []
    finally:
        await closed(context)
