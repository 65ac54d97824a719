"""What a running step has in hand."""

import asyncio
import os
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from adjourn.core.messages import Message
from adjourn.core.plan import Step
from adjourn.core.records import Broke, Fact, Summarised
from adjourn.core.request_digest import Outgoing
from adjourn.core.state import State
from adjourn.core.usage import Usage
from adjourn.driver.live_feed import Published, TextArrived
from adjourn.driver.process_identity import end_if_forked
from adjourn.errors import LeaseLost

LEFT = "the run was cancelled while this call was running"


if TYPE_CHECKING:
    from adjourn.driver.loop import Drive


class RunningStep:
    """See `program.Desk`."""

    def __init__(
        self, drive: "Drive", step: Step, began: float, loop: asyncio.AbstractEventLoop
    ) -> None:
        self._drive, self.began = drive, began
        self.step = step
        self.run_id, self.place = drive.state.run, drive.place
        self.epoch = drive.lease.epoch
        self.loop = loop
        self.process = os.getpid()
        self.cut = self.left = self.had_thread = self._in_thread = False
        self.lost: BaseException | None = None
        self.settle = 0.0
        self.partial = ""
        self.first_word = 0.0
        self.upto = drive.state.seq
        thread = None
        if step.kind == "model" or step.kind == "background":
            thread = drive.state.threads.get(step.path)
        # Taken now: the fold goes on while the model works, and `upto` must say what this request
        # contained.
        self.request: Sequence[Message] = ()
        self.heard: tuple[str, ...] = ()
        if thread is None:
            self.outgoing = Outgoing()
            return
        self.request = thread.request()
        self.outgoing = Outgoing(thread.instruction(), thread.transcript.running)
        if thread.pending:
            self.heard = tuple(p.call for p in thread.pending if p.call)

    @property
    def in_thread(self) -> bool:
        return self._in_thread

    @in_thread.setter
    def in_thread(self, is_so: bool) -> None:
        self._in_thread, self.had_thread = is_so, self.had_thread or is_so

    async def files(self, digests: Collection[str]) -> dict[str, bytes]:
        from adjourn.driver.run_files import run_files  # most runs have none

        return await run_files(self._drive.store, self.state.started, digests)

    @property
    def state(self) -> State:
        return self._drive.state

    @property
    def resources(self) -> Mapping[str, Any]:
        return self._drive.resources

    def now(self) -> float:
        return self._drive.time.now()

    def ended(self, task: "asyncio.Task[Fact]") -> None:
        self._drive.ended(task, self)

    def failed(self, error: BaseException) -> None:
        self._drive.errors[self.step.id] = error

    def post(self, fact: Fact) -> None:
        if self.step.id in self._drive.in_flight:
            self._drive.post(fact)

    def _ask_whether_left(self) -> None:
        """What nobody waits for any more does nothing more that is recorded."""
        if self.left:
            self.lost = LeaseLost(LEFT)
            raise self.lost

    async def fence(self) -> None:
        end_if_forked(self.process)
        self._ask_whether_left()
        try:
            await self._drive.check()
        except Exception as e:
            self.lost = e
            raise

    async def record(self, fact: Fact) -> None:
        end_if_forked(self.process)
        self._ask_whether_left()
        durable: asyncio.Future[None] = self.loop.create_future()
        self._drive.post(fact, durable)
        try:
            await durable
        except Exception as e:
            self.lost = e
            raise

    def publish(self, item: Any, *, path: str | None = None, thinking: bool = False) -> None:
        if path is None:
            self._drive.feed.send(Published(self.run_id, self.step.id, item))
        else:
            if not self.first_word:
                self.first_word = self.now()
            if not thinking:
                self.partial += item
            self._drive.feed.send(TextArrived(self.run_id, path, item, thinking, upto=self.upto))

    def broken_off(self) -> Broke | Summarised:
        """The fact of a model call that was cut off, with what it had said."""
        path, usage, sent = self.step.path, self.estimate(), self.outgoing
        if self.step.kind == "summary":
            return Summarised(path=path, usage=usage, request=sent.digest, sent=sent.sent)
        return Broke(
            path=path,
            upto=self.upto,
            heard=self.heard,
            text=self.partial,
            usage=usage,
            request=sent.digest,
            sent=sent.sent,
        )

    def estimate(self) -> Usage:
        """A cut-off call reports no usage; four characters are about a token, at what the run's
        tokens have cost so far."""
        asked, said = sum(len(str(m)) for m in self.request) // 4, len(self.partial) // 4
        used = self.state.usage
        price = used.cost / used.total_tokens if used.total_tokens else 0.0
        return Usage(1, asked, said, cost=round(price * (asked + said), 6), estimated=True)
