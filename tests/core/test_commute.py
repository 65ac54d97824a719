"""People's records commute with facts: so a worker may fold what it did before it knows what others said meanwhile.

The journals are real: scripted agents, driven, with people who speak at any commit and workers that die at any commit.
"""

import asyncio
import dataclasses
import itertools
from collections.abc import Sequence
from typing import Any, cast

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adjourn import Agent, InDoubt, ModelError, Policy, ToolContext, allow, ask, tool
from adjourn.core import records as r
from adjourn.core.call import OpenInterrupt
from adjourn.core.plan import plan
from adjourn.core.state import State
from adjourn.core.status import ENDED, Status
from adjourn.driver.loop import Drive
from adjourn.errors import AdjournError
from adjourn.stores.memory import MemoryStore
from adjourn.stores.protocol import Committed, Filter, Lease
from adjourn.testing import FakeClock, ScriptedModel, call

PEOPLE = (r.Decided, r.PauseAsked, r.Resumed, r.CancelAsked, r.Said, r.Emitted)
FACTS = (
    r.Replied, r.Broke, r.Returned, r.Suspended, r.Stepped, r.Yielded, r.Faulted, r.Doubted, r.Verified,
)  # fmt: skip
"""Not `Claimed`: it is appended by `acquire`, so nobody folds it ahead of its place."""


# Agents with everything in them that a fold has to take in


@tool(effect="read")
async def look() -> str:
    return "seen"


@tool(effect="unsafe")
async def charge() -> str:
    return "charged"


@tool(effect="unsafe")
async def post() -> str:
    return "posted"


async def unbook(ctx: ToolContext, args: dict[str, Any], result: Any) -> None:
    if ctx.epoch % 2:
        raise ConnectionError("the first worker cannot undo")


@tool(effect="idempotent", undo=unbook)
async def book() -> str:
    return "booked"


async def nobody_knows(ctx: ToolContext, args: dict[str, Any]) -> None:
    return None


@tool(effect="verifiable", verify=nobody_knows)
async def wire() -> str:
    raise InDoubt("no answer")


@tool(effect="unsafe")
async def fail() -> str:
    raise ValueError("broken")


@tool(effect="idempotent")
async def wonder(ctx: ToolContext) -> str:
    await ctx.step("one", lambda: 1)
    first = ctx.pause_for("size", resume_to="self")
    await ctx.save({"at": 1})
    second = ctx.pause_for("colour", resume_to="self")
    return f"{first} {second}"


@tool(effect="idempotent")
async def inquire(ctx: ToolContext) -> str:
    ctx.pause_for("size")


@tool(effect="read")
async def nap(ctx: ToolContext) -> str:
    await ctx.sleep(60)
    return "rested"


HELPER = Agent("helper", model=ScriptedModel([call("book"), call("inquire")], "helped"), tools=[book, inquire])
TOOLS = (look, charge, post, book, wire, fail, wonder, inquire, nap, HELPER.as_tool())
NAMES = [t.name for t in TOOLS]


def agent(script: Sequence[Sequence[str]]) -> Agent[Any]:
    replies: list[Any] = []
    for names in script:
        if not names:
            replies.append(ModelError("busy", transient=True))
            continue
        replies.append([call(n, **({"input": "go"} if n == "helper" else {})) for n in names])
    policy = Policy([allow("*"), ask("charge", approvers=2), ask("post", queue=True), ask("book", expires_in=30)])
    return Agent("clerk", model=ScriptedModel(*replies, *["done"] * 20), tools=TOOLS, policy=policy)


class JumpingClock:
    """Waits for what is running; if nothing rings, lets the time pass at once."""

    def __init__(self, clock: FakeClock) -> None:
        self._clock = clock

    def steady(self) -> float:
        return self._clock.steady()

    async def wait(self, bell: asyncio.Event, seconds: float | None) -> None:
        for _ in range(20):
            if bell.is_set():
                return
            await asyncio.sleep(0)
        self._clock.advance(seconds or 0.0)


class Dead(Exception):
    """The worker died at this commit."""


class Meddled(MemoryStore):
    """A store at whose n-th commit somebody speaks first, or the worker dies."""

    def __init__(self, clock: FakeClock, meddling: dict[int, list[str]]) -> None:
        super().__init__(clock.now)
        self.meddling, self.commits = meddling, 0
        self.ahead: list[tuple[int, int, int]] = []
        """Where a worker was ahead: how many records it had seen, up to where others had spoken, where its facts end."""

    async def commit(self, lease: Lease, facts: Sequence[r.Fact], moves: Sequence[r.Move], *, seen: int) -> Committed:
        self.commits += 1
        for word in self.meddling.get(self.commits, ()):
            await self.speak(word)
        if "die" in self.meddling.get(self.commits, ()):
            raise Dead
        done = await super().commit(lease, facts, moves, seen=seen)
        if done.records and facts:
            self.ahead.append((seen, done.seq - len(facts), done.seq))
        return done

    async def speak(self, word: str) -> None:
        for command in await self._commands(word):
            try:
                await self.deliver("r1", command)
                return
            except AdjournError:
                continue

    async def _commands(self, word: str) -> list[r.Command]:
        simple: dict[str, list[r.Command]] = {
            "say": [r.Said(text="by the way", by="ana")],
            "abandon": [r.Said(text="never mind", by="ana", abandon=True)],
            "emit": [r.Emitted(event="rain")],
            "pause": [r.PauseAsked(), r.Resumed(instruction="go on")],
            "pause now": [r.PauseAsked(now=True), r.Resumed()],
            "cancel": [r.CancelAsked()],
        }
        if word in simple:
            return simple[word]
        found = await self.inbox(Filter(run="r1", limit=100))
        ids = [(i.id.removeprefix("r1:"), i.kind, list(i.choices)) for i in found]
        if word == "last":
            ids.reverse()
        return [self._decision(i, kind, choices, word) for i, kind, choices in ids if word != "die"]

    def _decision(self, i: str, kind: str, choices: list[str], word: str) -> r.Decided:
        by = f"p{self.commits % 3}"
        if kind == "approval":
            return r.Decided(i=i, verdict="deny" if word == "no" else "approve", by=by, scope="run")
        value: Any = {"choice": choices[0 if word != "no" else -1]} if choices else "an answer"
        return r.Decided(i=i, verdict="value", value=value, by=by)


async def lived(script: Sequence[Sequence[str]], meddling: dict[int, list[str]]) -> tuple[Agent[Any], Meddled]:
    """A run from its beginning to its end; at every rest, its people answer what is open."""
    clock = FakeClock()
    program, store = agent(script), Meddled(clock, meddling)
    await store.create(r.Started(run="r1", kind="agent", program="clerk", fingerprint=program.fingerprint, input="go"))
    for n in range(60):
        lease = await store.acquire("r1", f"w{n}", 30.0, replaces=f"w{n - 1}")
        if lease is not None:
            state = State().fold_all(lease.records)
            try:
                await Drive(store, program.program, lease, state, ttl=30.0, clock=JumpingClock(clock)).run()
            except Dead:
                continue
            assert shape(state) == shape(State().fold_all(await store.load("r1"))), "the worker folded another run"
        row = await store.get("r1")
        if row.status in ENDED:
            return program, store
        await store.speak("pause" if row.status == Status.PAUSED else ("yes", "no", "last")[n % 3])
        clock.advance(61.0)
    raise AssertionError("the run does not come to its end")


# The comparison


def shape(value: Any) -> Any:
    """A state as plain data: everything but the places of records (and where the fold stands)."""
    if isinstance(value, State):
        return {k: shape(getattr(value, k)) for k in value.__struct_fields__ if k not in ("seq", "head", "at")}
    if isinstance(value, msgspec.Struct) or dataclasses.is_dataclass(value):
        if isinstance(value, msgspec.Struct):
            fields = value.__struct_fields__
        else:
            fields = tuple(f.name for f in dataclasses.fields(value))
        skipped = "seq" if isinstance(value, OpenInterrupt) else ""
        return (type(value).__name__, {k: shape(getattr(value, k)) for k in fields if k != skipped})
    if isinstance(value, dict):
        return {k: shape(v) for k, v in cast("dict[Any, Any]", value).items()}
    if isinstance(value, set | frozenset):
        return sorted(cast("set[Any]", value))
    if isinstance(value, list | tuple):
        return [shape(v) for v in cast("list[Any]", value)]
    return value


def planned(state: State, program: Agent[Any], now: float) -> Any:
    """What would be done next, whatever the order in which it is listed.

    Two effects of which neither waited for the other may be undone in either order; the intents in the journal say
    which, so what a cancelling run undoes first is not compared.
    """
    if state.status in (Status.CANCELLING, Status.STUCK):
        return sorted(call.id for call in state.effects.values() if not call.undone)
    p = plan(state, program.program, now, frozenset())
    return (
        sorted(map(repr, p.facts)),
        sorted(map(repr, p.moves)),
        sorted(s.id for s in p.start),
        sorted(p.abort),
        (p.wake, p.hold, p.rest),
    )


def as_a_worker(before: list[tuple[int, Any]], words: list[tuple[int, Any]], facts: list[Any]) -> State:
    """Folds its own facts first, and then what stands before them in the journal, as the driver does."""
    state = State().fold_all(before)
    for fact in facts:
        state.fold(0, fact)
    opened = [fact.i for fact in facts if isinstance(fact, r.Suspended)]
    mine = {i: state.open.pop(i) for i in opened}
    state.fold_all(words)
    state.open |= mine
    return state


async def check_that_it_commutes(store: Meddled, program: Agent[Any]) -> int:
    """Wherever a worker was ahead: any of its facts, before any of the words that it had not heard."""
    journal, now, pairs = await store.load("r1"), store.now(), 0
    for seen, middle, last in store.ahead:
        for first, end in itertools.product(range(seen, middle), range(middle + 1, last + 1)):
            words, facts = journal[first:middle], [record for _, record in journal[middle:end]]
            assert all(isinstance(x, PEOPLE) for _, x in words)
            assert all(isinstance(x, FACTS) for x in facts)
            told = State().fold_all(journal[:end])
            ahead = as_a_worker(journal[:first], words, facts)
            what = f"{[type(x).__name__ for _, x in words]} before {[type(x).__name__ for x in facts]}"
            assert shape(ahead) == shape(told), what
            assert planned(ahead, program, now) == planned(told, program, now), what
            pairs += 1
    return pairs


WORDS = ["say", "say", "emit", "pause", "pause now", "yes", "yes", "last", "no", "cancel", "abandon", "die"]
scripts = st.lists(st.lists(st.sampled_from(NAMES), max_size=4), min_size=1, max_size=3)
meddlings = st.dictionaries(st.integers(1, 25), st.lists(st.sampled_from(WORDS), min_size=1, max_size=2), max_size=8)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(scripts, meddlings)
def test_peoples_records_commute_with_facts(script: list[list[str]], meddling: dict[int, list[str]]) -> None:
    async def main() -> None:
        program, store = await lived(script, meddling)
        await check_that_it_commutes(store, program)

    asyncio.run(main())


@pytest.mark.parametrize("word", ["say", "emit", "pause", "pause now", "yes", "no", "cancel", "abandon"])
@pytest.mark.parametrize("names", [["charge", "look", "post"], ["wonder", "inquire", "book"], ["helper", "wire"], []])
async def test_a_word_at_every_commit_commutes_with_the_facts_after_it(word: str, names: list[str]) -> None:
    pairs = 0
    for at in range(1, 40):
        program, store = await lived([names, ["book", "nap"]], {at: [word]})
        pairs += await check_that_it_commutes(store, program)
        if store.commits < at:
            break
    assert pairs > 0 or word in ("yes", "no", "abandon")
