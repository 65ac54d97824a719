"""A run in the foreground: it is watched, asked about and steered at one terminal, until it
rests."""

import asyncio
import threading
from contextlib import suppress
from typing import Any

from rich.text import Text

from adjourn.cli.decision_result import VERB_WORDS, record
from adjourn.cli.error_report import report
from adjourn.cli.loaded_run import status_of
from adjourn.cli.person import Person
from adjourn.cli.terminal.console import Line, err, say
from adjourn.cli.terminal.ctrl_c import leave, on_interrupt
from adjourn.cli.terminal.format import DIM, count, duration, sentence_mark
from adjourn.cli.terminal.hints import command
from adjourn.cli.terminal.interrupt import look, render
from adjourn.cli.terminal.live_view import LiveView
from adjourn.cli.terminal.prompt import Choice, DecideLater, NoLongerOpen, decide, withdrawable
from adjourn.cli.terminal.summary import EndReport, OutputTarget
from adjourn.core.interrupt import Interrupt
from adjourn.core.interrupt_kind import NOT_FOR_PEOPLE
from adjourn.core.status import Status
from adjourn.driver.threads import in_thread
from adjourn.errors import AdjournError, Conflict, Refused, RunFailed
from adjourn.runtime.outcome import Paused
from adjourn.runtime.run import Run
from adjourn.runtime.runtime import Runtime
from adjourn.stores.protocol import Halt
from adjourn.views.cancel_preview import cancel_preview, undo_words
from adjourn.views.visible import visible

FRAME = 0.05
"""Seconds between two pictures at most often."""
TICK = 1.0
"""Seconds between two pictures if nothing happens."""
KILLED = 130


class Foreground:
    """Follows one run of this process to its rest, asking at the terminal what it waits for.

    The first Ctrl-C pauses it, the second cancels it, the third ends this process; the journal is
    safe in any case.
    """

    def __init__(
        self,
        rt: Runtime,
        run: Run[Any],
        view: LiveView,
        place: OutputTarget,
        *,
        by: str,
        decider: Person | None,
    ) -> None:
        """`by`: who steers it. `decider`: who decides what it waits for; None: nobody here, or
        nobody is asked."""
        self._rt, self._run, self._view, self._place, self._by = rt, run, view, place, by
        self._decider = decider
        self._ending = EndReport(run.id, view, place)
        self._presses = 0
        self._news = asyncio.Event()
        self._asks: threading.Event | None = None
        self._left = False
        self._held: Halt | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def follow(self) -> int:
        """Until the run rests and nobody here will change that; the code to exit with."""
        loop = asyncio.get_running_loop()
        shows = {loop.create_task(self._watch()), loop.create_task(self._paint())}
        rests = loop.create_task(self._to_its_rest())
        try:
            with on_interrupt(lambda: self._pressed(loop)):
                while not rests.done():
                    waiting: set[asyncio.Task[Any]] = {
                        rests,
                        *(task for task in shows if not task.done()),
                    }
                    await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                    for task in shows:
                        if task.done():
                            task.result()  # nobody reads any more, for example
                return rests.result()
        finally:
            tasks: list[asyncio.Task[Any]] = [rests, *shows, *self._tasks]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            with suppress(OSError):
                self._view.rest()

    async def _to_its_rest(self) -> int:
        while True:
            try:
                outcome = await self._run.wait()
            except RunFailed as failed:
                await self._catch_up((await self._rt.store.get(self._run.id)).seq)
                return self._ending.failed(failed)
            await self._catch_up(outcome.checkpoint.seq)
            if (
                isinstance(outcome, Paused)
                and outcome.status != "paused"
                and await self._ask(outcome)
            ):
                continue
            return self._ending.tell(outcome, self._rt.store.now())

    # Watching

    async def _watch(self) -> None:
        async for event in self._run.watch(self._view.timeline.seq):
            self._view.take(event)
            self._news.set()

    async def _paint(self) -> None:
        while True:
            self._view.status, halt = await status_of(self._rt, self._run.id)
            if halt is not None and halt != self._held:
                self._tell_held(halt)
            self._held = halt
            if self._asks is None:
                self._view.paint(self._rt.store.now())
            await asyncio.sleep(FRAME)
            try:
                async with asyncio.timeout(TICK):
                    await self._next()
            except TimeoutError:
                pass

    async def _next(self) -> None:
        self._news.clear()
        await self._news.wait()

    async def _catch_up(self, seq: int) -> None:
        """Until everything up to a record was shown."""
        while self._view.timeline.seq < seq:
            try:
                async with asyncio.timeout(TICK):
                    await self._next()
            except TimeoutError:
                pass

    def _say(self, *said: Line) -> None:
        self._view.rest()
        say(*said)

    def _tell_held(self, halt: Halt) -> None:
        said = (
            f"{sentence_mark('held').plain}: {halt.scope} is halted by {halt.by}: "
            f"{halt.reason}. The run is saved."
        )
        lift = command(self._place.db, "unhalt", halt.scope, options=("--reason", "…"))
        self._say(visible(said), Text.assemble(("   lift it ", DIM), lift))

    # Asking

    async def _ask(self, outcome: Paused) -> bool:
        """Ask about each open item, in order; True if the run may go on because of that."""
        if self._decider is None or self._left:
            return False
        for interrupt in outcome.interrupts:
            if interrupt.kind in NOT_FOR_PEOPLE:
                continue
            choice = await self._decision(interrupt)
            if self._left:
                return False
            if choice == "gone":
                return True
            if isinstance(choice, Choice) and await self._settle(interrupt, choice, self._decider):
                return True
        return False

    async def _settle(self, interrupt: Interrupt, choice: Choice, by: Person) -> bool:
        """Record a decision; also true if somebody else's was first, because the run goes on then
        too."""
        try:
            await record(self._rt, interrupt, choice, by, interrupt.digest)
        except Conflict as e:
            report(e, VERB_WORDS[choice.verb].not_done, db=self._place.db)
        return True

    async def _decision(self, interrupt: Interrupt) -> Choice | str:
        """What the person decided; `later`, or `gone` if the question was answered elsewhere
        meanwhile."""
        asks = self._asks = threading.Event()
        self._view.rest()
        terminal = err()
        item = await look(self._rt, interrupt)
        terminal.print("", *render(item, terminal.width), "")
        prompt = asyncio.ensure_future(
            in_thread(lambda: withdrawable(lambda: decide(interrupt), asks))
        )
        try:
            while not prompt.done():
                news = asyncio.ensure_future(self._next())
                await asyncio.wait({prompt, news}, return_when=asyncio.FIRST_COMPLETED)
                news.cancel()
                if not self._still_asks(interrupt):
                    asks.set()
            return prompt.result()
        except DecideLater:
            return "later"
        except NoLongerOpen:
            say("")
            return "gone"
        finally:
            self._asks = None

    def _still_asks(self, interrupt: Interrupt) -> bool:
        """Whether the run waits for this; not if it was decided elsewhere, or the run was
        paused."""
        state = self._view.state
        return state.status not in (Status.PAUSED, Status.PAUSING) and any(
            x.ref == interrupt.ref for x in state.interrupts
        )

    # Ctrl-C

    def _pressed(self, loop: asyncio.AbstractEventLoop) -> None:
        """Called by the signal itself, so that the third press works even if the loop is stuck."""
        self._presses += 1
        if self._presses > 2:
            self._kill()
        loop.call_soon_threadsafe(self._begin, self._presses)

    def _begin(self, press: int) -> None:
        if self._asks is not None:  # it waits already; there is nothing to stop
            self._left = True
            self._asks.set()
            return
        task = asyncio.get_running_loop().create_task(self._stop(press))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _stop(self, press: int) -> None:
        try:
            await (self._pause() if press == 1 else self._cancel())
        except Refused:  # it has come to its end by itself
            pass
        except AdjournError as e:
            self._view.rest()
            report(e, "Not paused" if press == 1 else "Not cancelled", db=self._place.db)

    async def _pause(self) -> None:
        await self._run.pause(by=self._by, reason="Ctrl-C")
        now = self._rt.store.now()
        flying = [
            f"{visible(s.name)} ({duration(now - s.since)} so far)" for s in self._view.running()
        ]
        undos = undo_words(await self._run.cancel_preview())
        if undos:
            cancel = f"cancel and undo {undos}"
        else:
            cancel = "cancel; there is nothing to undo"
        self._say(
            Text.assemble(
                sentence_mark("pausing"),
                f" finishing {', '.join(flying) or 'the model call'}, nothing new starts.",
            ),
            Text(f"   Ctrl-C again: {cancel}. Or wait: it will pause.", style=DIM),
        )

    async def _cancel(self) -> None:
        undos = undo_words(await self._run.cancel_preview())
        await self._run.cancel(by=self._by, reason="Ctrl-C")
        if undos:
            what = f"undoing {undos}, last action first."
        else:
            what = "there is nothing to undo."
        self._say(
            Text.assemble(sentence_mark("cancelling"), f" {what}"),
            Text("   Ctrl-C again: stop this process now. The list of undos is saved.", style=DIM),
        )

    def _kill(self) -> None:
        try:
            cancelling = self._view.state.cancel is not None
            owed = len(cancel_preview(self._view.state).undo) if cancelling else 0
        except Exception:  # the signal came in the middle of a fold
            owed = 0
        self._view.rest()
        if not self._place.saved:
            left = f"{count(owed, 'undo was', 'undos were')} not run. " if owed else ""
            say(Text.assemble(("✗ Killed. ", "red"), f"{left}The resumed checkpoint is unchanged."))
            leave(KILLED)
        what, goes = "The run is saved.", "It continues when a worker starts"
        if owed:
            what = f"{count(owed, 'undo is', 'undos are')} still owed."
            goes = "They run when a worker starts"
        say(Text.assemble(("✗ Killed. ", "red"), what))
        say(
            Text.assemble(
                (f"   {goes}  ", DIM), command(self._place.db, "worker", self._place.program)
            )
        )
        leave(KILLED)
