"""`adjourn watch`: a run that another process advances, as it goes by; with keys to steer it."""

import asyncio
import sys
import threading
from collections.abc import Awaitable, Callable
from typing import Annotated, Any

import typer
from rich.text import Text

from adjourn.cli.commands.cancel import preview_lines
from adjourn.cli.error_report import report, says
from adjourn.cli.interrupt_lookup import find_run
from adjourn.cli.loaded_run import status_of
from adjourn.cli.opened_database import with_runtime
from adjourn.cli.options import By, Db, Json, RunId
from adjourn.cli.person import person
from adjourn.cli.terminal.console import out, print_line, remark, say
from adjourn.cli.terminal.ctrl_c import on_interrupt
from adjourn.cli.terminal.format import DIM, EXIT, count
from adjourn.cli.terminal.hints import command
from adjourn.cli.terminal.keyboard import Keyboard
from adjourn.cli.terminal.live_view import JsonView, LiveView, TextView
from adjourn.cli.terminal.prompt import DecideLater, NoLongerOpen, confirm, read, withdrawable
from adjourn.cli.terminal.screen import Screen
from adjourn.driver.threads import in_thread
from adjourn.errors import AdjournError
from adjourn.runtime.run import Run
from adjourn.runtime.runtime import Runtime
from adjourn.views.cancel_preview import undo_words
from adjourn.views.visible import visible

app = typer.Typer()
KEYS = "p pause  P pause now  r resume  s say  c cancel  q leave"
EARLIER = 20
"""Steps of the past that are shown at a terminal; `adjourn show` has all."""
FRAME, TICK = 0.05, 1.0


@app.command()
@says("Not watched")
def watch(
    run: RunId,
    db: Db = None,
    as_json: Json = False,
    by: By = None,
    after: Annotated[
        int, typer.Option(metavar="RECORD", min=0, help="Only events after this record.")
    ] = 0,
    rest: Annotated[
        bool, typer.Option("--rest", help="Also exit when it waits for a person.")
    ] = False,
) -> None:
    """Follow a run until it ends, from any process. Leaving does not stop it.

    At a terminal, single keys pause, resume, cancel and send messages. The exit code says how it
    ended, 0 if you left.
    """

    name = person(db, by).name

    async def work(rt: Runtime) -> int:
        if as_json:
            view = JsonView()
        else:
            view = TextView(Screen(out()), {"": KEYS} if sys.stdin.isatty() else {})
        found = await rt.get((await find_run(rt, run)).id)
        return await Watcher(rt, found, view, name, rest, db).follow(after, keys=not as_json)

    raise typer.Exit(with_runtime(db, work))


class Watcher:
    """Follows one run and does what the keys say."""

    def __init__(
        self, rt: Runtime, run: Run[Any], view: LiveView, by: str, rest: bool, db: str | None
    ) -> None:
        self._rt, self._run, self._view = rt, run, view
        self._by, self._rest, self._db = by, rest, db
        self._news, self._leaves = asyncio.Event(), asyncio.Event()
        self._busy: asyncio.Task[None] | None = None
        self._asks: threading.Event | None = None
        self._keys = Keyboard(self._pressed, on=False)

    async def follow(self, after: int, *, keys: bool) -> int:
        """Until the run ends, rests (if that was wanted) or the person leaves; the code to exit
        with."""
        loop = asyncio.get_running_loop()
        after = await self._begin(after)
        watcher, painter = loop.create_task(self._watch(after)), loop.create_task(self._paint())
        leaver = loop.create_task(self._leaves.wait())
        self._keys = Keyboard(self._pressed, on=keys and sys.stdout.isatty())
        try:
            with self._keys, on_interrupt(lambda: loop.call_soon_threadsafe(self._leave)):
                await asyncio.wait({watcher, painter, leaver}, return_when=asyncio.FIRST_COMPLETED)
            for task in (watcher, painter):
                if task.done():
                    task.result()  # what went wrong is said
        finally:
            tasks: list[asyncio.Task[Any]] = [
                watcher,
                painter,
                leaver,
                *([self._busy] if self._busy else []),
            ]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self._view.rest()
        return await self._left()

    async def _begin(self, after: int) -> int:
        """Take in what was; at a terminal show the end of it. Everything later is followed."""
        view, records = self._view, await self._rt.store.load(self._run.id)
        if isinstance(view, TextView) and view.screen.moves and not after:
            if earlier := view.recall(records, EARLIER):
                typed = command(self._db, "show", self._run.id)
                view.screen.write(Text(f"{count(earlier, 'earlier step')}: {typed}", style=DIM))
            return view.timeline.seq
        for seq, record in records[:after]:
            view.know(seq, record)
        return after

    async def _watch(self, after: int) -> None:
        async for event in self._run.watch(after):
            self._view.take(event)
            self._news.set()

    async def _paint(self) -> None:
        """Draw; ends when the run rests, if that was wanted."""
        while True:
            self._view.status, _ = await status_of(self._rt, self._run.id)
            row = await self._rt.store.get(self._run.id)
            if self._rest and self._view.status in EXIT and self._view.timeline.seq >= row.seq:
                return
            if self._asks is None:
                self._view.paint(self._rt.store.now())
            await asyncio.sleep(FRAME)
            try:
                async with asyncio.timeout(TICK):
                    self._news.clear()
                    await self._news.wait()
            except TimeoutError:
                pass

    def _leave(self) -> None:
        if self._asks is not None:
            self._asks.set()
        self._leaves.set()

    async def _left(self) -> int:
        status = await self._run.status()
        if isinstance(self._view, JsonView):
            ended: Any = self._view.state.ended
            output = getattr(ended, "output", None)
            print_line({"event": "end", "run_id": self._run.id, "status": status, "output": output})
        if self._leaves.is_set():
            remark(f"Left. {visible(self._run.id)} is {status}; leaving did not stop it.")
            return 0
        return EXIT.get(status, 0)

    # Keys

    def _pressed(self, key: str) -> None:
        if key == "q":
            self._leave()
            return
        verbs: dict[str, Callable[[], Awaitable[Any]]] = {
            "p": lambda: self._run.pause(by=self._by),
            "P": lambda: self._run.pause(by=self._by, now=True),
            "r": lambda: self._run.resume(by=self._by),
            "s": self._say,
            "c": self._cancel,
        }
        if key in verbs and (self._busy is None or self._busy.done()):
            self._busy = asyncio.get_running_loop().create_task(self._do(verbs[key], key))

    async def _do(self, verb: Callable[[], Awaitable[Any]], key: str) -> None:
        try:
            await verb()
        except AdjournError as e:
            self._view.rest()
            report(
                e,
                {"s": "Not said", "c": "Not cancelled", "r": "Not resumed"}.get(key, "Not paused"),
                db=self._db,
            )
        except (DecideLater, NoLongerOpen):
            pass
        finally:
            self._asks = None
            self._news.set()

    async def _say(self) -> None:
        text = await self._typed(lambda: read(Text.assemble("Say ", ("› ", DIM))))
        await self._run.say(text, by=self._by)

    async def _cancel(self) -> None:
        preview = await self._run.cancel_preview()
        self._view.rest()
        say(*preview_lines(preview))
        if undos := undo_words(preview):
            question = f"Cancel and undo {undos}?"
        else:
            question = "Cancel? There is nothing to undo."
        if await self._typed(lambda: confirm(question)):
            await self._run.cancel(by=self._by)

    async def _typed(self, ask: Callable[[], Any]) -> Any:
        """Ask for a line while the picture stands still."""
        asks = self._asks = threading.Event()
        self._view.rest()
        with self._keys.lines():
            return await in_thread(lambda: withdrawable(ask, asks))
