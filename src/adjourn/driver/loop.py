"""The one loop: what should run, minus what runs. First run, resume and recovery are the same
code."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from adjourn.core import chapter
from adjourn.core.call import Call, OpenInterrupt, Phase
from adjourn.core.halt import scopes
from adjourn.core.plan import Plan, Step, plan, resting, unauthorised
from adjourn.core.quarantine import MAX_DEATHS
from adjourn.core.record_parts import stamped
from adjourn.core.records import (
    Decided,
    Doubted,
    Emitted,
    Fact,
    Faulted,
    Intended,
    Move,
    Parked,
    Released,
    Returned,
    RunCancelled,
    RunCompleted,
    Said,
    Suspended,
)
from adjourn.core.state import State
from adjourn.core.status import Status
from adjourn.core.usage import Usage
from adjourn.driver import unfinished_bodies as flights
from adjourn.driver.clock import Clock, DriveTime, StoreTime, SystemClock, TimedEvent
from adjourn.driver.cold_start import folded
from adjourn.driver.commit_retry import Landing, PendingFact, settle
from adjourn.driver.fence import Fence
from adjourn.driver.late_results import all_recorded, is_end, record_late
from adjourn.driver.live_feed import Feed
from adjourn.driver.located_run import LocatedRun, home_of, located_work
from adjourn.driver.metrics import Meter
from adjourn.driver.program import Program
from adjourn.driver.running_step import RunningStep
from adjourn.driver.tool_limits import RunTickets, ToolLimits
from adjourn.errors import LeaseLost, Unauthorised
from adjourn.stores.protocol import Committed, Lease, Store

log = logging.getLogger("adjourn.driver")

RESTS = (Parked, RunCompleted, RunCancelled)
STUBBORN = 1.0
"""Seconds that a body gets to notice that it was cancelled."""
LEAVE = 0.5
"""Seconds that bodies get to end when their run is handed back."""
LONG = 5_000
"""So many records a run has while it never rests before its state is written down for whoever takes
it over."""
ROUTING = (Decided, Emitted, Said)
"""People's words that may move a flow on. All others commute with facts, also in a flow."""


CONTINUES = "the journal has become long; the run continues as new"
HANDED_BACK = "the run was handed back before this was recorded"
CANCELLED = "the run was cancelled while it was in flight"


class Drive:
    """One worker advancing one run until it rests. Its records land only while its epoch is the
    run's."""

    def __init__(
        self,
        store: Store,
        program: Program,
        lease: Lease,
        state: State,
        *,
        ttl: float,
        grace: float = 5.0,
        resources: Mapping[str, Any] | None = None,
        feed: Feed | None = None,
        clock: Clock | None = None,
        time: StoreTime | None = None,
        fence: Fence | None = None,
        max_deaths: int = MAX_DEATHS,
        cleared: Callable[[], None] | None = None,
        size: int = 0,
        keeps: Callable[[State], Awaitable[None]] | None = None,
    ) -> None:
        self.store, self.program, self.lease, self.state = store, program, lease, state
        self.place = LocatedRun(home_of(store), lease.run)
        self.ttl, self.grace = ttl, grace
        self.resources = resources or {}
        self.feed = feed or Feed()
        self._clock = clock or SystemClock()
        self.time = DriveTime(time or StoreTime(self._clock), self._clock)
        self.time.heard(lease.now)
        self._landing = Landing(store, lease, self._clock, grace, program.name)
        self._halts = lease.halts
        self._posted: list[PendingFact] = []
        self._running: dict[str, tuple[Step, asyncio.Task[Fact], RunningStep]] = {}
        self._bell = TimedEvent()
        self._fence = fence or Fence(store.now, ttl)
        self._gaps = self._fence.gaps
        self._max_deaths, self._cleared = max_deaths, cleared
        self._keeps, self._kept, self._first = keeps, state.seq, state.seq
        self._stopping = self._cuts = self._over = self._gone = False
        self.handed_back = self._rung = False
        self.size = size
        self.left: list[str] = []
        self._aborted = Usage()
        self._fresh = lease.seq == state.seq
        self._broken: BaseException | None = None
        self.errors: dict[str, BaseException] = {}
        self.why = ""
        self._conflicts = 0
        self._cut: dict[str, float] = {}
        self._cancelled: float | None = None
        self._tickets: RunTickets | None = None
        self._disown()

    def _disown(self) -> None:
        """First of all: what the fold did not believe is said to be so, and its questions are open
        again."""
        for fact in self.state.belief.disowns:
            log.warning(
                "run %s: the decision of %s does not count: %s",
                self.state.run,
                fact.by or "an unknown person",
                fact.why,
            )
            self.post(fact)
        self.state.belief.disowns = ()

    def count(self, meter: Meter) -> None:
        """Before it runs: what it does is counted here."""
        self._landing.meter = meter

    def limit(self, limits: ToolLimits) -> None:
        """Before it runs: its calls go by these limits."""
        self._tickets = RunTickets(self.store, self.lease, limits, self._bell.set)

    def post(self, fact: Fact, durable: asyncio.Future[None] | None = None) -> None:
        """Hand in a fact; it is committed with whatever else has landed. Once the run is handed
        back, nothing is."""
        if self._over:
            settle([PendingFact(fact, durable)], LeaseLost(HANDED_BACK))
            return
        self._posted.append(PendingFact(stamped(fact, self.time.now()), durable))
        self._bell.set()

    def hear(self) -> None:
        """Somebody else may have spoken, or taken the run: look. Not before whoever has spoken
        could `cut`, which is more urgent."""
        self._rung = True
        asyncio.get_running_loop().call_soon(self._bell.set)

    def stop(self, why: str = "the worker is closing", *, cut: bool = True) -> None:
        """Start nothing new, and hand the run back, for this reason, as soon as nothing is in
        flight; unless it comes to rest by that. `cut`: do not wait for model calls."""
        self._stopping, self._cuts, self.why = True, self._cuts or cut, why
        self._bell.set()

    def cut(self, seq: int) -> None:
        """Abort the model calls, because of a word at `seq` that this plan has not seen yet and the
        next one will."""
        for step, task, desk in self._running.values():
            if step.asks_model and seq > self.state.seq:
                _cut(task, desk)

    @property
    def in_flight(self) -> list[str]:
        """The steps that run now."""
        return list(self._running)

    async def run(self) -> State:
        """Advance until the run rests: parked, ended, or handed back after `stop`. Raises
        `LeaseLost`."""
        unsubscribe = self.store.subscribe(self.state.run, self.hear, words=True)
        try:
            if self._tickets is not None:
                await self._tickets.begin()
            while not await self._round():
                pass
            return self.state
        finally:
            unsubscribe()
            self._bell.disarm()
            await self._abandon()

    async def _round(self) -> bool:
        """One turn of the loop; True when the run rests."""
        self._bell.clear()
        if self._rung and any(isinstance(posted.fact, Suspended) for posted in self._posted):
            # A word that has come may answer what is about to be asked: then no person is told of
            # the question.
            await self._commit([], [], [])
        own = self._take()
        planned = self._plan(own)
        self._abort(planned)
        if planned.start and self._is_long():
            self.stop(CONTINUES, cut=False)
        halts = self._halts
        if self._stopping:
            start = []
        else:
            start = [step for step in planned.start if step.id not in self._running]
        if self._tickets is not None:
            start = await self._admitted(self._tickets, planned, start)
        moves = self._moves(planned, start)
        if own or moves or self._rung or (start and not self._fresh):
            self._fresh = False
            if await self._commit(own, moves, start):
                return True
            if not self._settled(moves, halts):
                return False
        elif start:  # the transaction in which the run was taken has read every word and every halt
            self._fresh = False
            self._begin(start)
        if self._stopping and not self._running:
            await self.store.release(self.lease, Released(why=self.why, usage=self._aborted))
            self.handed_back = True
            return True
        if self._tickets is not None:
            await self._tickets.give_back()
        await self._wait(planned)
        return False

    async def _admitted(self, tickets: RunTickets, planned: Plan, start: list[Step]) -> list[Step]:
        """Without the calls for which there is no ticket; they are asked for again, soon."""
        withheld = await tickets.admit(start, self._running)
        if not withheld.calls:
            return start
        moves: list[Move] = []
        for move in planned.moves:
            if not isinstance(move, Intended) or move.call not in withheld.calls:
                moves.append(move)
        planned.moves = moves
        planned.hold_until(self.time.now() + withheld.wait)
        return [step for step in start if step.id not in withheld.calls]

    def _is_long(self) -> bool:
        """Whether the run, which never rests, is to be handed back so that it continues as new:
        nothing of it is in flight now. Should no chapter begin then, this is not tried again before
        many more records."""
        if (
            self._keeps is None
            or self._running
            or self._stopping
            or self.state.seq - self._first < chapter.FEW
        ):
            return False
        return chapter.is_due(self.state, self.size)

    def _settled(self, moves: list[Move], halts: frozenset[str]) -> bool:
        """Whether a plan made after this commit would only leave out what has just started: then
        there is no need for it."""
        for move in moves:
            if not isinstance(move, Intended) or move.agent:
                return False
        return not self._bell.is_set() and self._halts == halts

    def _take(self) -> list[PendingFact]:
        own, self._posted = self._posted, []
        for posted in own:
            self.state.fold(0, posted.fact)
        if own and self._cleared and not self.state.deaths:
            self._cleared()
        return own

    def _plan(self, own: list[PendingFact]) -> Plan:
        """Plan until it has no more facts of its own (refusals), which are folded like any
        other."""
        ended: frozenset[str] = frozenset()
        at_work = flights.calls_at_work(self.place, self.state.live)
        while True:
            now, deaths = self.time.now(), self._max_deaths
            planned = plan(self.state, self.program, now, self._halts, deaths, at_work)
            self.time.hold(bool(planned.hold))
            if not planned.facts:
                planned.abort |= ended
                return planned
            ended |= planned.abort
            for fact in planned.facts:
                own.append(PendingFact(stamped(fact, self.time.now())))
                self.state.fold(0, fact)

    def _moves(self, planned: Plan, start: Sequence[Step]) -> list[Move]:
        if self._cuts or (self._stopping and planned.start) or self._has_last_words(planned):
            return []
        if start or self._running or self._posted or planned.hold or planned.rest is None:
            return planned.moves
        if not planned.moves:
            return [planned.rest]
        if rest := resting(planned):
            return [*planned.moves, rest]
        return planned.moves

    def _has_last_words(self, planned: Plan) -> bool:
        """A cancel waits for what it cut off, for a while: a thought that was interrupted is
        kept."""
        ends = self._running and any(isinstance(move, RunCancelled) for move in planned.moves)
        return bool(ends) and self._patience() > 0

    def _patience(self) -> float:
        """Seconds for which a cancel still waits for what is in flight, counted from when this
        drive heard of it."""
        now = self._clock.steady()
        if self._cancelled is None:
            self._cancelled = now
        return self._cancelled + self.grace - now

    async def _commit(self, own: list[PendingFact], moves: list[Move], start: list[Step]) -> bool:
        facts = [posted.fact for posted in own]
        if moves:
            now = self.time.now()
            moves = [stamped(move, now) for move in moves]
        self._rung = False
        asked = self._clock.steady()
        try:
            done = await self._landing.commit(facts, moves, seen=self.state.seq)
        # nothing landed: now the facts do, and a person is asked instead
        except Unauthorised as refusal:
            log.error("%s", refusal)
            self._bell.set()
            return await self._commit(
                own, [unauthorised(self.state, refusal.call, refusal.tool, refusal.why)], []
            )
        except BaseException as e:
            settle(own, e)
            raise
        settle(own, None)
        self.time.heard(done.now, asked)
        self._halts = done.halts
        self.size += done.size
        first = done.seq - len(facts) - (len(moves) if done.clean else 0) + 1
        for seq, fact in enumerate(facts, first):
            if isinstance(fact, Suspended) and fact.i in self.state.open:
                self.state.open[fact.i].seq = seq
        if not done.clean:
            self._conflict(bool(done.records) or bool(facts))
            await self._hear_others(done, facts)
            self._bell.set()
            return False
        self._conflicts = 0
        rests = False
        for seq, move in enumerate(moves, first + len(facts)):
            self.state.fold(seq, move)
            rests = rests or isinstance(move, RESTS)
        self.state.seq, self.state.head = done.seq, done.head
        if rests:
            return True
        self._begin(
            [step for step in start if not self._held(step, moves)] if done.halts else start
        )
        # now: all that is folded is in the journal, too
        if self._keeps and self.state.seq - self._kept >= LONG:
            self._kept = self.state.seq
            await self._keeps(self.state)
        return False

    def _held(self, step: Step, moves: list[Move]) -> bool:
        """Whether a halt that the commit has just read names this step. An intent that landed was
        judged with it."""
        if not self._halts or any(
            isinstance(move, Intended) and move.call == step.id for move in moves
        ):
            return False
        named = scopes((self.program.name, *step.agents), step.call.tool if step.call else "")
        return not named.isdisjoint(self._halts)

    async def _hear_others(self, done: Committed, facts: Sequence[Fact]) -> None:
        """Fold what others said before these facts."""
        routed = any(isinstance(record, ROUTING) for _, record in done.records)
        if self.state.flow is not None and facts and routed:
            # A word of theirs may have begun a chain before one of ours did: read the journal as it
            # was written.
            self.state = await folded(self.store, self.state.run, self.state.trust)
            self._disown()
            return
        # Their words stand before these facts in the journal, so they cannot have closed what the
        # facts opened.
        opened = [fact.i for fact in facts if isinstance(fact, Suspended)]
        mine: dict[str, OpenInterrupt] = {}
        for interrupt in opened:
            if interrupt in self.state.open:
                mine[interrupt] = self.state.open.pop(interrupt)
        self.state.fold_all(done.records)
        self.state.open |= mine
        self.state.seq, self.state.head = done.seq, done.head
        self._disown()

    def _conflict(self, progress: bool) -> None:
        """A refused commit that plans the same thing again would spin for ever; that is a bug, so
        say so."""
        if progress:
            self._conflicts = 0
        else:
            self._conflicts = self._conflicts + 1
        if self._conflicts > 3:
            raise RuntimeError(
                f"run {self.state.run!r}: the store refuses a move that the plan repeats; "
                "please report this bug"
            )

    async def check(self) -> None:
        """Right before a body touches the world: if this process was frozen, or its loop blocked,
        make sure that nobody has taken the run meanwhile. Raises `LeaseLost`."""
        if self._gone:
            raise LeaseLost(HANDED_BACK)
        if self._is_doubtful():
            mark = self._fence.mark()
            await self._landing.renew(self.ttl)
            self._fence.keep(mark)
            self._gaps = self._fence.gaps

    def _is_doubtful(self) -> bool:
        return self._gone or self._fence.gaps != self._gaps or self._fence.is_passed()

    def _begin(self, start: list[Step]) -> None:
        if not start:
            return
        loop = asyncio.get_running_loop()
        for step in start:
            desk = RunningStep(self, step, self._clock.steady(), loop)
            task = loop.create_task(
                self._perform(step, desk), name=f"adjourn:{self.state.run}:{step.id}"
            )
            self._running[step.id] = (step, task, desk)
            task.add_done_callback(desk.ended)

    async def _perform(self, step: Step, desk: RunningStep) -> Fact:
        # here, not when it was scheduled: a neighbour may have blocked the loop in between
        if self._is_doubtful():
            await self.check()
        fact = await self.program.perform(step, desk)
        if (found := self._running.get(step.id)) and found[2] is desk:
            self._ends_cancelled(fact)
            # here already: the callback comes a turn of the event loop later, and has no more to do
            found[1].remove_done_callback(desk.ended)
            self._ends(step)
            self.post(fact)
        return fact

    def _ends_cancelled(self, fact: Fact) -> None:
        """A body has come to its end after the cancel: what it registered is still to be run."""
        call = self.state.live.get(fact.call) if isinstance(fact, Returned) else None
        if call and call.compensations and self.state.status == Status.CANCELLING:
            self.post(Doubted(call=call.id, why=CANCELLED, left=True))

    def _ends(self, step: Step) -> None:
        _, _, desk = self._running.pop(step.id)
        self._landing.meter.steps[step.kind].observe(self._clock.steady() - desk.began)
        self._cut.pop(step.id, None)
        if self._tickets is not None:
            self._tickets.ended(step.id)
        if step.kind == "model":
            self.feed.written(self.state.run, step.path)

    def ended(self, task: asyncio.Task[Fact], desk: RunningStep) -> None:
        """A task did not post by itself; perhaps it was cancelled before its first
        instruction."""
        step, desk.left = desk.step, desk.left or task.cancelled()
        if self._running.get(step.id, (None, None))[1] is not task:
            return  # `_perform` has posted it, or it was left
        self._ends(step)
        self._bell.set()
        if not task.cancelled():
            if error := task.exception():
                self._broken = error
                return
            self.post(task.result())
        elif step.asks_model and self._cuts:
            self._aborted = self._aborted + desk.estimate()
        elif step.asks_model:
            self.post(desk.broken_off())
        elif not desk.cut:
            self._cancelled_by_others(step)
        elif (
            (call := self.state.live.get(step.id))
            and call.phase == Phase.INTENDED
            and self._overdue(call, desk)
        ):
            self.post(Doubted(call=call.id, why=CANCELLED, settle=desk.settle))

    def _cancelled_by_others(self, step: Step) -> None:
        """Before its first instruction: nothing has happened, and it is tried again."""
        why = "its task was cancelled before it began, but not by the run"
        call = self.state.live.get(step.id)
        if step.kind == "call" and call is not None and call.phase == Phase.INTENDED:
            self.post(Doubted(call=step.id, why=why))
        elif step.kind in ("call", "undo"):
            at = self.time.now() + STUBBORN
            self.post(
                Faulted(step=step.id, error=why, kind="interrupted", transient=True, retry_at=at)
            )

    def _abort(self, planned: Plan) -> None:
        if self._broken is not None:
            raise self._broken
        for step, task, desk in list(self._running.values()):
            call = step.call and self.state.live.get(step.call.id)
            has_body = step.kind == "call" or (step.kind == "verify" and desk.in_thread)
            unintended = step.kind == "call" and call is not None and call.phase != Phase.INTENDED
            unintended = unintended or step.kind == "check"
            if step.asks_model:
                wanted = planned.abort.isdisjoint({"model", step.id}) and not self._cuts
            elif unintended:
                wanted = planned.abort.isdisjoint({"read", step.id})
            else:
                wanted = not has_body or call is None or not self._overdue(call, desk)
            if not wanted:
                _cut(task, desk)
                if call is not None and not unintended and has_body:
                    self._let_go(call.id, step, task, desk)

    def _let_go(self, id: str, step: Step, task: asyncio.Task[Fact], desk: RunningStep) -> None:
        """A body that does not end goes on by itself: it stays, whatever anybody says about it,
        until it has ended."""
        now = self._clock.steady()
        if now >= self._cut.setdefault(step.id, now) + (0.0 if desk.in_thread else STUBBORN):
            desk.left = True
            self._ends(step)
            self._leave(step, task)
            self.post(
                Doubted(call=id, why="the run was cancelled, but the call did not stop", left=True)
            )

    def _leave(self, step: Step, task: asyncio.Task[Fact]) -> None:
        """Do not wait for this body any longer; what it comes to is recorded all the same, if it
        still can be."""
        flights.leave(located_work(self.place, step.call, step.id), task)
        task.add_done_callback(self._landed)

    def _landed(self, task: asyncio.Task[Fact]) -> None:
        if task.cancelled() or task.exception() or not is_end(fact := task.result()):
            return
        if not self._over:
            self.post(fact)
            return
        record_late(self.store, self.lease, fact, seen=self.state.seq)

    def _overdue(self, call: Call, desk: RunningStep) -> bool:
        """Whether a cancel has waited long enough for this call: at once if its body said how to
        compensate it, and can be cut."""
        if self.state.status != Status.CANCELLING:
            return False
        return bool(call.compensations and not desk.had_thread) or self._patience() <= 0

    async def _wait(self, planned: Plan) -> None:
        waits: list[float] = []
        if planned.hold:
            waits.append(planned.hold - self.time.now())
        if planned.wake and self._running:
            waits.append(planned.wake - self.time.now())
        if self.state.status == Status.CANCELLING:
            if (left := self._patience()) > 0:
                waits.append(left)
            waits += [first + STUBBORN - self._clock.steady() for first in self._cut.values()]
        await self._clock.wait(self._bell, max(0.0, min(waits)) if waits else None)

    async def _abandon(self) -> None:
        """Wait a moment for what is cut off. What was in flight is in doubt for whoever takes the
        run next."""
        self._over = True
        running, self._running = list(self._running.values()), {}
        settle(self._posted, LeaseLost(HANDED_BACK))
        posted, self._posted = self._posted, []
        left = [call.id for call in self.state.live.values() if call.left]
        late = [one.fact for one in posted if is_end(one.fact, left)]
        for fact in late:  # it ended while the run's last record was written
            record_late(self.store, self.lease, fact, seen=self.state.seq)
        for step, task, desk in running:
            self.feed.written(self.state.run, step.path)  # nobody goes on with what it was writing
            self._leave(step, task)
            _cut(task, desk)
        if cut := [task for _, task, desk in running if not desk.in_thread]:
            await asyncio.wait(cut, timeout=LEAVE)
        if cut or late:
            await all_recorded(LEAVE / 2)
        self._gone = True
        if self._tickets is not None:
            await self._tickets.close()
        for step, task, _ in running:
            if not task.done():
                self.left.append(f"{step.name} ({step.id}) of run {self.state.run}")
        if self.left:
            log.warning("still running, and abandoned: %s", ", ".join(self.left))


def _cut(task: asyncio.Task[Fact], desk: RunningStep) -> None:
    """Cancel a step, so that it can tell that the driver did. A thread cannot be stopped: its
    waiter stays."""
    desk.cut = True
    if not desk.in_thread:
        task.cancel()
