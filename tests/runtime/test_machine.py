"""Random lives of a run, on a memory store and on SQLite or PostgreSQL in lockstep, against a small model of what may happen."""

import shutil
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from tests.places import new_folder
from tests.runtime.simulation import RUN, TOOLS, Simulation
from tests.stores.postgres.server import PostgresServer

from adjourn import Decision, Interrupt
from adjourn.core.messages import UserMessage
from adjourn.core.records import (
    AnyRecord,
    CancelAsked,
    Decided,
    Intended,
    PauseAsked,
    Resumed,
    Returned,
    RunCancelled,
    RunCompleted,
)
from adjourn.core.status import ENDED, Status
from adjourn.errors import AdjournError, AlreadyDecided, AlreadyResumed, Halted, InterruptClosed, Refused
from adjourn.runtime.checkpoint import Checkpoint
from adjourn.runtime.runtime import Runtime
from adjourn.testing.scripted import ScriptedModel

FREE = ("look", "step one", "step two")
"""What needs no intent of its own."""
ONCE = ("pay", "pay_gated", "send", "book")
"""Tools that a call must not have run twice, unless a frozen worker thawed."""

ADMITS: dict[str, set[Status]] = {
    "say": {Status.READY, Status.WAITING, Status.PAUSING, Status.PAUSED},
    "pause": {Status.READY, Status.WAITING, Status.PAUSING},
    "resume": {Status.PAUSING, Status.PAUSED},
    "cancel": set(Status) - {Status.COMPLETED},
}
"""In which statuses a command is taken: the model's own words, not the table of the package."""

scripts = st.lists(st.lists(st.sampled_from(sorted(TOOLS)), min_size=1, max_size=4), min_size=1, max_size=4)
turns = st.lists(st.integers(min_value=0, max_value=3), min_size=1, max_size=25)
soon = st.integers(min_value=1, max_value=12)
scopes = st.sampled_from(["*", "agent:simulated", "tool:pay", "tool:book"])


class Life(RuleBasedStateMachine):
    """Both stores see the same commands and the same turns; after every rule they must tell the same story."""

    server: PostgresServer | None = None
    """Where the second store is, if that is not a file."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = new_folder()
        self.sims: list[Simulation] = []
        self.said: list[str] = []
        self.halts: dict[str, list[tuple[int, int]]] = {}
        self.old: list[tuple[str, Any]] = []
        self.crashes = 0

    @initialize(script=scripts)
    def start(self, script: list[list[str]]) -> None:
        place = self.server.fresh() if self.server else f"{self.folder}/runs.db"
        self.sims = [Simulation(script, None), Simulation(script, place)]

    # The same for both

    def tell(self, work: Callable[[Runtime], Awaitable[Any]]) -> Any:
        """A command: what both stores say to it must be the same."""
        results = [sim.tell(work) for sim in self.sims]
        shown = [(type(r).__name__, str(r) if isinstance(r, AdjournError) else r) for r in results]
        assert shown[0] == shown[1] or not isinstance(results[0], int | AdjournError), shown
        return results[0]

    def each(self, work: Callable[[Simulation], Any]) -> None:
        for sim in self.sims:
            work(sim)

    @property
    def status(self) -> Status:
        status = self.sims[0].check().status
        assert status is not None
        return status

    def seq(self) -> int:
        return self.sims[0].check().seq

    def inbox(self) -> list[Interrupt]:
        found = self.tell(lambda rt: rt.inbox())
        assert isinstance(found, list)
        return found  # pyright: ignore[reportUnknownVariableType]

    # Workers

    def step(self, choices: list[int], commits: int = 0) -> None:
        self.each(lambda sim: sim.step(choices, commits))

    @rule(choices=turns)
    def work(self, choices: list[int]) -> None:
        self.step(choices)

    @rule()
    def go_on(self) -> None:
        """Nobody is in the way, and a question is answered."""
        for scope in list(self.halts):
            self.unhalt(scope)
        if self.status in (Status.PAUSED, Status.PAUSING):
            self.resume()
        self.step([0] * 60)
        for interrupt in self.inbox()[:1]:
            self.answer(interrupt, self.answers(interrupt)[0])
        self.step([0] * 10)

    @rule(choices=turns)
    def crash(self, choices: list[int]) -> None:
        """After so many turns: somewhere in the middle of something."""
        self.step(choices)
        self.crashes += {sim.crash() for sim in self.sims} == {True}

    @precondition(lambda self: self.sims and len(self.sims[0].zombies) < 2)
    @rule(choices=turns)
    def steal(self, choices: list[int]) -> None:
        self.step(choices)
        self.each(Simulation.steal)

    @rule(
        n=soon, verb=st.sampled_from(["say", "pause", "pause now", "cancel", "halt"]), later=st.sampled_from([0, 1, 12])
    )
    def speak_before_a_commit(self, n: int, verb: str, later: int) -> None:
        """The worst moment there is: the worker has drawn its conclusions and is about to record them."""
        self.step([0] * 60, n)
        self.halt("*") if verb == "halt" else self.speak(verb)
        self.step([0] * later)

    @rule(n=soon, later=st.integers(min_value=0, max_value=3), speak=st.booleans())
    def die_around_a_commit(self, n: int, later: int, speak: bool) -> None:
        self.step([0] * 60, n)
        if speak:
            self.say()
        self.crash([0] * later)

    @rule(n=st.integers(min_value=1, max_value=25))
    def thaw(self, n: int) -> None:
        self.each(lambda sim: sim.thaw(n))

    @rule(seconds=st.sampled_from([1.0, 15.0, 101.0]))
    def pass_time(self, seconds: float) -> None:
        self.each(lambda sim: sim.pass_time(seconds))

    # People

    def command(self, verb: str, work: Callable[[Runtime], Awaitable[Any]]) -> bool:
        """Whether it was taken, which the model knows beforehand."""
        taken = self.status in ADMITS[verb]
        result = self.tell(work)
        assert (not isinstance(result, AdjournError)) == taken, (verb, self.status, result)
        assert taken or isinstance(result, Refused)
        return taken

    @rule(verb=st.sampled_from(["say", "say", "pause", "pause now", "resume", "cancel"]))
    def speak(self, verb: str) -> None:
        """Whether or not it makes sense now."""
        if verb == "say":
            self.say()
        elif verb.startswith("pause"):
            self.pause(verb == "pause now")
        elif verb == "resume":
            self.resume()
        else:
            self.cancel()

    def say(self) -> None:
        text = f"word {len(self.said)}"
        if self.command("say", lambda rt: _run(rt, lambda run: run.say(text, by="ann"))):
            self.said.append(text)

    def pause(self, now: bool) -> None:
        self.command("pause", lambda rt: _run(rt, lambda run: run.pause(by="ann", now=now)))

    def resume(self) -> None:
        self.command("resume", lambda rt: _run(rt, lambda run: run.resume(by="ann")))

    def cancel(self) -> None:
        self.command("cancel", lambda rt: _run(rt, lambda run: run.cancel(by="ann")))

    @rule(scope=scopes, on=st.booleans())
    def switch(self, scope: str, on: bool) -> None:
        self.halt(scope) if on else self.unhalt(scope)

    def halt(self, scope: str) -> None:
        if scope not in self.halts or self.halts[scope][-1][1]:
            self.tell(lambda rt: rt.halt(scope, reason="test", by="ann"))
            self.halts.setdefault(scope, []).append((self.seq(), 0))

    def unhalt(self, scope: str) -> None:
        if scope in self.halts and not self.halts[scope][-1][1]:
            self.tell(lambda rt: rt.unhalt(scope, by="ann"))
            self.halts[scope][-1] = (self.halts[scope][-1][0], self.seq())

    @rule(data=st.data())
    def decide(self, data: st.DataObject) -> None:
        """Also what has expired, though nobody is shown that any more."""
        found = [i for i in self.sims[0].check().interrupts if i.kind not in ("timer", "event")]
        if not found:
            return
        interrupt = data.draw(st.sampled_from(found))
        self.answer(interrupt, data.draw(st.sampled_from(self.answers(interrupt))))

    def answer(self, interrupt: Interrupt, answer: Any) -> None:
        result = self.tell(lambda rt: rt.answer(interrupt.id, answer, by="ann"))
        if interrupt.expires_at and interrupt.expires_at <= self.sims[0].clock.now():
            assert isinstance(result, InterruptClosed), result
        elif not isinstance(result, AdjournError):
            self.old.append((interrupt.id, answer))
        else:
            assert isinstance(result, Halted), result
            assert self.halts

    def answers(self, interrupt: Interrupt) -> list[Any]:
        """What a person may say who looks at the world before saying anything about a call in doubt."""
        if interrupt.kind == "approval":
            return [True, False, Decision.approve(edit={"x": 1})]
        if interrupt.kind == "in_doubt":
            assert interrupt.call is not None
            happened = self.sims[0].effects.happened(interrupt.call.call_id)
            if "run" in interrupt.choices:
                return [{"choice": "happened", "result": "seen"} if happened else "run", "cancel"]
            return ["happened" if happened else "not", "leave"]
        return {"question": ["yes"], "error": ["retry"], "undo": ["retry", "done", "leave"]}[interrupt.kind]

    @rule()
    def decide_too_late(self) -> None:
        for interrupt in [i for i in self.sims[0].check().interrupts if i.kind == "approval"][:1]:
            self.pass_time(101.0)
            self.answer(interrupt, False)

    @precondition(lambda self: self.old)
    @rule(data=st.data())
    def decide_again(self, data: st.DataObject) -> None:
        id, answer = data.draw(st.sampled_from(self.old))
        result = self.tell(lambda rt: rt.answer(id, answer, by="bob"))
        assert isinstance(result, AlreadyDecided), result

    @rule(back=st.integers(min_value=1, max_value=10))
    def replay(self, back: int) -> None:
        """An old checkpoint: only the run's very last record can be gone on from."""
        records = self.sims[0].records()[:-back]
        if not records:
            return
        saved = Checkpoint.from_json(Checkpoint(records).to_json())
        result = self.tell(lambda rt: rt.resume(saved, instruction="again", by="ann"))
        assert isinstance(result, AlreadyResumed), result

    # What must hold after every rule

    @invariant()
    def promises(self) -> None:
        self.each(Simulation.check)  # the rows equal the fold
        self.both_stores_tell_the_same_story()
        self.nothing_starts_that_must_not()
        self.nothing_is_done_twice()
        self.what_was_said_is_read_at_most_once()
        self.undos_run_backwards()

    def both_stores_tell_the_same_story(self) -> None:
        one, two = (sim.records() for sim in self.sims)
        assert one == two
        assert self.sims[0].effects.done == self.sims[1].effects.done

    def nothing_starts_that_must_not(self) -> None:
        records = self.sims[0].records()
        stopped, cancelled = False, False
        for seq, x in enumerate(records, 1):
            stopped = isinstance(x, PauseAsked) or (stopped and not isinstance(x, Resumed))
            cancelled |= isinstance(x, CancelAsked)
            if isinstance(x, Intended):
                undo = x.call.endswith("!undo")
                assert not stopped or cancelled, "G11: an intent after an acknowledged pause"
                assert not cancelled or undo, "G11: an intent after an acknowledged cancel"
                assert not self._halted(seq, x), "G15: an intent while halted"
        ends = [x for x in records if isinstance(x, RunCompleted | RunCancelled)]
        assert len(ends) == (self.status in ENDED), "G13: exactly one end"
        assert not ends or records[-1] is ends[0]

    def _halted(self, seq: int, x: Intended) -> bool:
        named = {"*", "agent:simulated", f"tool:{x.tool}"} & set(self.halts)
        return any(begin < seq and (not end or seq <= end) for scope in named for begin, end in self.halts[scope])

    def nothing_is_done_twice(self) -> None:
        sim, records = self.sims[0], self.sims[0].records()
        results = Counter(x.call for x in records if isinstance(x, Returned))
        assert all(n == 1 for n in results.values()), "a call has one result"
        thawed = len(sim.zombies)
        times = Counter((tool, call) for tool, call, _ in sim.effects.done)
        for (name, call), n in times.items():
            lives = 1 + (thawed if name in ONCE else self.crashes + thawed)
            assert n <= lives + _retries(records, call), f"G4: {name} of call {call} was done {n} times"
        intents = Counter(x.call for x in records if isinstance(x, Intended))
        for (name, call), n in times.items():
            assert name in FREE or n <= intents[call], f"G2: {name} of call {call} was done without an intent"
        for call in {c for _, c, _ in sim.effects.done}:
            assert len({key for _, c, key in sim.effects.done if c == call}) == 1, "one key for a call"
        assert sim.zombies_wrote_nothing(), "G6: a worker that was replaced wrote"

    def what_was_said_is_read_at_most_once(self) -> None:
        state = self.sims[0].state
        assert state is not None
        texts = Counter(m.text for m in state.messages if isinstance(m, UserMessage))
        assert all(texts[word] <= 1 for word in self.said)
        if isinstance(state.ended, RunCompleted):
            model = self.sims[0].agent.model
            assert isinstance(model, ScriptedModel)
            shown = {m.text for request in model.requests for m in request.messages if isinstance(m, UserMessage)}
            assert all(texts[word] == 1 and word in shown for word in self.said), "a message was lost"

    def undos_run_backwards(self) -> None:
        state, records = self.sims[0].state, self.sims[0].records()
        assert state is not None
        intents = (
            x.call.removesuffix("!undo") for x in records if isinstance(x, Intended) and x.call.endswith("!undo")
        )
        undone = dict.fromkeys(call for call in intents if call in state.effects)
        assert list(undone) == [call for call in reversed(state.effects) if call in undone], (
            "G14: undone in another order"
        )

    # The end: whatever happened, the run comes to its end when it is let

    def teardown(self) -> None:
        try:
            if self.sims:
                self._finish()
        finally:
            self.each(Simulation.close)
            shutil.rmtree(self.folder)

    def _finish(self) -> None:
        for scope in list(self.halts):
            self.unhalt(scope)
        for _ in range(200):
            self.each(Simulation.check)
            if self.status in ENDED:
                break
            if self.status in (Status.PAUSED, Status.PAUSING):
                self.resume()
            for interrupt in self.inbox():
                self.answer(interrupt, self.answers(interrupt)[0])
            self.step([0] * 100)
            self.each(lambda sim: sim.pass_time(11.0))
        assert self.status in ENDED, f"the run does not come to its end: it is {self.status}"
        self.promises()


def _retries(records: list[AnyRecord], call: str) -> int:
    """How often a person said that it had not happened and should be run, or that a failed undo should be tried again."""
    words = ({"choice": "run"}, {"choice": "retry"})
    return sum(isinstance(x, Decided) and x.i.partition("?")[0] == call and x.value in words for x in records)


async def _run(rt: Runtime, work: Callable[[Any], Awaitable[Any]]) -> Any:
    return await work(await rt.get(RUN))


def _live(examples: int, steps: int, server: PostgresServer | None = None) -> None:
    slow = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]
    run_state_machine_as_test(  # pyright: ignore[reportUnknownMemberType]
        type("Life", (Life,), {"server": server}),
        settings=settings(max_examples=examples, stateful_step_count=steps, deadline=None, suppress_health_check=slow),
    )


def test_random_lives_break_no_promise() -> None:
    _live(examples=60, steps=30)


def test_random_lives_on_postgresql_break_no_promise(postgres: PostgresServer) -> None:
    _live(examples=15, steps=30, server=postgres)


@pytest.mark.crash
def test_many_random_lives_on_postgresql_break_no_promise(postgres: PostgresServer) -> None:
    _live(examples=500, steps=50, server=postgres)


@pytest.mark.crash
def test_many_random_lives_break_no_promise() -> None:
    _live(examples=3_000, steps=50)
