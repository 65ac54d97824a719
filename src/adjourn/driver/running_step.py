"""What a running step has in hand."""

import asyncio
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from adjourn.core.messages import Message
from adjourn.core.plan import Step
from adjourn.core.records import Broke, Fact, Summarised
from adjourn.core.request_digest import Outgoing
from adjourn.core.state import State
from adjourn.core.usage import Usage
from adjourn.driver.identity import end_if_forked
from adjourn.driver.live_feed import Published, TextArrived

if TYPE_CHECKING:
    from adjourn.driver.loop import Drive


class RunningStep:
    """See `program.Desk`."""

    def __init__(self, drive: "Drive", step: Step) -> None:
        self._drive = drive
        self.step = step
        self.run_id = drive.state.run
        self.epoch = drive.lease.epoch
        self.loop = asyncio.get_running_loop()
        self.process = os.getpid()
        self.cut = self.in_thread = False
        self.lost: BaseException | None = None
        self.settle = 0.0
        self.partial = ""
        self.upto = drive.state.seq
        if step.kind == "model":
            thread = drive.state.threads.get(step.path)
        else:
            thread = None
        # Taken now: the fold goes on while the model works, and `upto` must say what this request
        # contained.
        if thread:
            self.request: Sequence[Message] = thread.request()
        else:
            self.request = ()
        if thread:
            running = thread.transcript.running
        else:
            running = None
        self.outgoing = Outgoing(thread.instruction() if thread else (), running)
        if thread:
            self.heard = tuple(p.call for p in thread.pending if p.call)
        else:
            self.heard = ()

    @property
    def state(self) -> State:
        return self._drive.state

    @property
    def resources(self) -> Mapping[str, Any]:
        return self._drive.resources

    def now(self) -> float:
        return self._drive.time.now()

    def failed(self, error: BaseException) -> None:
        self._drive.errors[self.step.id] = error

    def post(self, fact: Fact) -> None:
        if self.step.id in self._drive.in_flight:
            self._drive.post(fact)

    async def fence(self) -> None:
        end_if_forked(self.process)
        try:
            await self._drive.check()
        except Exception as e:
            self.lost = e
            raise

    async def record(self, fact: Fact) -> None:
        end_if_forked(self.process)
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
        if used.total_tokens:
            price = used.cost / used.total_tokens
        else:
            price = 0.0
        return Usage(1, asked, said, cost=round(price * (asked + said), 6), estimated=True)
