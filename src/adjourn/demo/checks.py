"""The tour of the demo: everything that it claims is done and checked, over HTTP or with a runtime
alone."""

import asyncio
import os
import signal
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import TypeVar

from adjourn.demo.controls import Controls, HttpControls, PendingItem, TourChoice, TourStep
from adjourn.demo.intruder import RUN as FORGERY
from adjourn.demo.ledger import LedgerEntry
from adjourn.demo.programs import RETURN, SHELVES
from adjourn.demo.stage import Stage, can_sign

T = TypeVar("T")
PATIENCE = 90.0
"""Seconds for each condition; every one of them takes well under ten."""
REFUND, RESEARCH, DEPLOYMENT, STOCKTAKING = "DEMO-1", "DEMO-2", "DEMO-3", "DEMO-4"
INSTRUCTION = "Finish now, in three lines."
LESS = 39900
CREATED = ["create_dns_record", "create_load_balancer", "create_tls_cert"]
UNDONE = ["revoke_tls_cert", "delete_load_balancer", "delete_dns_record"]

Decider = Callable[[PendingItem, TourChoice], Awaitable[TourChoice]]
"""Decides an item in the place of the tour, which would choose what it is given."""


class CheckFailed(Exception):
    """A claim of the tour does not hold."""


class DemoChecks:
    """The one tour. `count`: how many checks have passed.

    Args:
        stage: what is up.
        controls: the way in which it acts and reads.
        tell: is given each line of the report.
        decider: decides in its place; without one it decides itself.
    """

    def __init__(
        self,
        stage: Stage,
        controls: Controls,
        tell: Callable[[str], None],
        decider: Decider | None = None,
    ) -> None:
        self._stage, self._controls, self._tell, self._decider = stage, controls, tell, decider
        self.count = 0

    async def run(self) -> None:
        """Check everything; raises `CheckFailed` at the first claim that does not hold."""
        await self._page()
        await self._refund()
        await self._research()
        await self._deployment()
        await self._kill()
        await self._forgery()
        self.check(await self._controls.broken() == [], "all journals and the audit verify")

    def check(self, holds: bool, claim: str) -> None:
        """Continue only if the claim holds."""
        if not holds:
            raise CheckFailed(f"check failed: {claim}")
        self.count += 1
        self._tell(f"✓ {claim}")

    async def until(
        self, read: Callable[[], Awaitable[T]], holds: Callable[[T], bool], condition: str
    ) -> T:
        """What `read` gives once it holds."""
        try:
            async with asyncio.timeout(PATIENCE):
                while not holds(value := await read()):  # noqa: ASYNC110 - another process makes it so
                    await asyncio.sleep(0.05)
                return value
        except TimeoutError:
            raise CheckFailed(f"timed out after {PATIENCE:g} s: {condition}") from None

    async def _status(self, run: str, *wanted: str) -> str:
        condition = f"{run} is {' or '.join(wanted)}"
        return await self.until(
            lambda: self._controls.status(run), lambda status: status in wanted, condition
        )

    async def _item(
        self, run: str, holds: Callable[[PendingItem], bool] = lambda item: True
    ) -> PendingItem:
        def is_open(item: PendingItem | None) -> bool:
            return item is not None and holds(item)

        item = await self.until(
            lambda: self._controls.item(run), is_open, f"{run} has an open interrupt"
        )
        assert item is not None
        return item

    async def _running(self, run: str, name: str) -> None:
        await self._step(run, name, "running")

    async def _step(self, run: str, name: str, status: str) -> TourStep:
        async def found() -> list[TourStep]:
            steps = await self._controls.steps(run)
            return [step for step in steps if step.name == name and step.status == status]

        steps = await self.until(found, bool, f"{name} of {run} is {status}")
        return steps[0]

    async def _choose(self, item: PendingItem, choice: TourChoice) -> TourChoice:
        if self._decider is None:
            return choice
        return await self._decider(item, choice)

    async def _ticked(self, task: str) -> None:
        if isinstance(self._controls, HttpControls):
            self.check(
                task in await self._controls.tasks_done(), f"the card has ticked the task {task}"
            )

    def _entries(self, tool: str, *, effects: bool = True) -> list[LedgerEntry]:
        return [
            entry
            for entry in self._stage.ledger
            if entry.tool == tool and (entry.effect or not effects)
        ]

    # Parts

    async def _page(self) -> None:
        if not isinstance(self._controls, HttpControls):
            return
        page, policy = await self._controls.page()
        self.check("<script" in page, "the console is served")
        self.check("script-src 'self'" in policy, "its page runs only its own scripts")

    async def _refund(self) -> None:
        item = await self._item(REFUND)
        self.check(item.arguments["cents"] == 48250, "a refund of 48250 is waiting for approval")
        self.check(self._entries("refund") == [], "nothing has been refunded yet")
        edited = TourChoice("approve", edit={**item.arguments, "cents": LESS}, note="less")
        choice = await self._choose(item, edited)
        decide = self._controls.decide
        taken = await asyncio.gather(
            decide(item, choice), decide(item, choice), decide(item, choice)
        )
        self.check(
            sorted(taken) == [False, False, True],
            "of three simultaneous decisions one was recorded",
        )
        await self._status(REFUND, "completed")
        paid = [entry.args["cents"] for entry in self._entries("refund")]
        if choice.verb == "approve":
            cents = (choice.edit or item.arguments)["cents"]
            self.check(paid == [cents], f"exactly what was approved ran, once: a refund of {cents}")
        else:
            self.check(paid == [], "the denied refund did not run")
        self._tell(f"  {await self._controls.output(REFUND)}")
        await self._ticked("refund")

    async def _research(self) -> None:
        words = (await self._controls.live_text(RESEARCH)).strip()
        self.check(bool(words), f"text is streamed before the reply is complete: “{words[:40]}…”")
        await self._controls.pause(RESEARCH, "a look")
        await self._status(RESEARCH, "paused")
        await self._controls.resume(RESEARCH, INSTRUCTION)
        await self._status(RESEARCH, "completed")
        output = str(await self._controls.output(RESEARCH))
        self.check(INSTRUCTION in output, "paused and resumed, it followed the instruction")
        read = Counter(
            (entry.key, entry.args["supplier"])
            for entry in self._entries("fetch_page", effects=False)
        )
        self.check(set(read.values()) == {1}, "no page was read twice")
        await self._ticked("research")

    async def _deployment(self) -> None:
        await self._running(DEPLOYMENT, "wait_healthy")
        preview = await self._controls.cancel_preview(DEPLOYMENT)
        self.check(
            preview == CREATED[::-1],
            "the preview of a cancel lists three undos, the last action first",
        )
        await self._controls.cancel(DEPLOYMENT, "wrong team")
        await self._status(DEPLOYMENT, "cancelled")
        undone = [entry.tool for entry in self._stage.ledger if entry.tool in UNDONE]
        self.check(undone == UNDONE, "three actions were undone, the last one first, each once")
        self.check(
            await self._controls.residue(DEPLOYMENT) == ["announce"],
            "one action was not undone, and is listed",
        )
        await self._ticked("deployment")

    async def _kill(self) -> None:
        """Kill the worker inside three tools: two have taken effect, and no result is recorded."""
        await self._stage.start_return()
        await self._running(STOCKTAKING, "count_shelf")

        async def both() -> set[str]:
            return {entry.tool for entry in self._stage.ledger} & {"book_courier", "pay_supplier"}

        await self.until(
            both, lambda tools: len(tools) == 2, "book_courier and pay_supplier have taken effect"
        )
        killed = self._stage.pids[-1]
        os.kill(killed, signal.SIGKILL)
        self._tell(f"  kill -9 {killed}")
        await self._recovered()
        await self._counted(killed)

    async def _recovered(self) -> None:
        """By effect: a read that is recorded is not repeated, an idempotent call is, an unsafe one
        is put to a person."""
        item = await self._item(RETURN)
        self.check(
            item.kind == "in_doubt",
            "the unsafe call pay_supplier was not repeated: a person is asked",
        )
        await self._step(RETURN, "book_courier", "completed")
        courier = self._entries("book_courier", effects=False)
        first_key = courier[0].key
        self.check(
            [(entry.key, entry.effect) for entry in courier]
            == [(first_key, True), (first_key, False)],
            "the idempotent call book_courier ran again with the same key and took effect once",
        )
        recorded = [
            entry
            for entry in self._entries("get_order", effects=False)
            if entry.key != self._first_order()
        ]
        self.check(len(recorded) == 1, "the recorded call get_order did not run again")
        happened = TourChoice(
            "answer", value={"choice": "happened", "result": {"paid_cents": 12900}}
        )
        choice = await self._choose(item, happened)
        await self._controls.decide(item, choice)
        await self._status(RETURN, "completed", "cancelled")
        paid = len(self._entries("pay_supplier"))
        if choice.value in ("run", {"choice": "run"}):
            self.check(
                paid == 2,
                "pay_supplier took effect twice, because a person said that it had not happened",
            )
        else:
            self.check(paid == 1, "pay_supplier took effect once")

    def _first_order(self) -> str:
        """The key of the refund's own look at the order."""
        return self._entries("get_order", effects=False)[0].key

    async def _counted(self, killed: int) -> None:
        await self._status(STOCKTAKING, "completed")
        worker = self._stage.pids[-1]
        self.check(
            worker != killed, f"process {worker} continued after process {killed} was killed"
        )
        keys = {(entry.key, entry.args["shelf"]) for entry in self._entries("count_shelf")}
        counted = {shelf for _, shelf in keys}
        self.check(counted == set(range(1, SHELVES + 1)), f"all {SHELVES} shelves were counted")
        results: Counter[int] = Counter()
        for step in await self._controls.steps(STOCKTAKING):
            if step.name == "count_shelf" and step.status == "completed":
                results[step.arguments["shelf"]] += 1
        self.check(
            len(keys) == len(counted) and set(results.values()) == {1},
            "each has one key and one result",
        )
        await self._ticked("worker")

    async def _forgery(self) -> None:
        if not can_sign():
            self._tell(
                "  pip install 'adjourn[signing]' to see an agent fail that approves its own payment"
            )
            return
        await self._stage.start_forger()
        item = await self._item(FORGERY, lambda item: bool(item.disowned))
        shell = await self._step(FORGERY, "shell", "completed")
        refused = "a run cannot decide" in str(shell.result)
        self.check(
            refused, "an agent with a shell ran adjourn approve for its own payment: refused"
        )
        self.check(
            item.disowned == ("ana",) and self._entries("pay_bonus") == [],
            "it wrote an approval by ana into the database file: not signed, so nothing ran",
        )
        await self._controls.decide(item, TourChoice("approve"))
        await self._status(FORGERY, "completed")
        self.check(
            len(self._entries("pay_bonus")) == 1, "approved with a signature, it was paid, once"
        )
