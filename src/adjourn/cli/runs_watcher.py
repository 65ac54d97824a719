"""`adjourn runs --watch`: the list as it changes. At a terminal it is drawn again; in a pipe there
is a line for every run that has changed."""

import asyncio
from collections.abc import Awaitable, Callable

from rich.text import Text

from adjourn.cli.terminal.console import Terminal, out, print_line
from adjourn.cli.terminal.ctrl_c import on_interrupt
from adjourn.cli.terminal.format import DIM
from adjourn.cli.terminal.run_table import run_table
from adjourn.runtime.runtime import Runtime
from adjourn.views.run_view import RunView

PACE = 0.2
"""Seconds between two looks at least."""
TICK = 1.0
"""Seconds after which ages are drawn again."""
HOME = "\x1b[H\x1b[J"
"""To the upper left, and everything below is gone."""

Look = Callable[[], Awaitable[list[RunView]]]


class RunsWatcher:
    """Shows a list of runs until the person leaves with Ctrl-C."""

    def __init__(self, rt: Runtime, look: Look, *, as_json: bool) -> None:
        self._rt, self._look, self._as_json = rt, look, as_json
        self._terminal: Terminal = out()
        self._told: dict[str, int] = {}

    async def follow(self) -> None:
        """Until Ctrl-C."""
        loop = asyncio.get_running_loop()
        bell, leaves = asyncio.Event(), asyncio.Event()
        end = self._rt.store.subscribe("", bell.set)
        painter = loop.create_task(self._paint(bell))
        leaver = loop.create_task(leaves.wait())
        try:
            with on_interrupt(lambda: loop.call_soon_threadsafe(leaves.set)):
                await asyncio.wait({painter, leaver}, return_when=asyncio.FIRST_COMPLETED)
            if painter.done():
                painter.result()  # what went wrong is said
        finally:
            end()
            for task in (painter, leaver):
                task.cancel()
            await asyncio.gather(painter, leaver, return_exceptions=True)

    async def _paint(self, bell: asyncio.Event) -> None:
        while True:
            bell.clear()
            self._show(await self._look())
            await asyncio.sleep(PACE)
            try:
                async with asyncio.timeout(TICK if self._draws else None):
                    await bell.wait()
            except TimeoutError:
                pass

    @property
    def _draws(self) -> bool:
        return self._terminal.moves and not self._as_json

    def _show(self, seen: list[RunView]) -> None:
        if self._draws:
            self._draw(seen)
            return
        changed = [view for view in reversed(seen) if self._told.get(view.run_id) != view.seq]
        self._told.update({view.run_id: view.seq for view in changed})
        if self._as_json:
            for view in changed:
                print_line(view)
        elif changed:
            self._terminal.print(*run_table(changed, self._rt.store.now(), self._terminal)[1:])
            self._terminal.flush()

    def _draw(self, seen: list[RunView]) -> None:
        room = max(3, self._terminal.rows - 3)
        table = run_table(seen[:room], self._rt.store.now(), self._terminal)
        more = f"{len(seen) - room} more. " if len(seen) > room else ""
        self._terminal.control(HOME)
        self._terminal.print(*table, Text(f"{more}Live. Ctrl-C exits.", style=DIM))
        self._terminal.flush()
