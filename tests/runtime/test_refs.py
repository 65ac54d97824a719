"""Which run, which interrupt: ids are exact, refs are unique, and two of a kind are never mistaken for each other."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import msgspec
import pytest
from tests.runtime.world import LIMIT, Ledger, notes, paused, refunds

from adjourn import Agent, Invalid, Runtime, StaleDecision, UnknownInterrupt, UnknownRun, pause_for, tool
from adjourn.core.interrupt import Interrupt
from adjourn.core.records import CancelAsked, Decided, PauseAsked, Started
from adjourn.runtime import similar_ids as near
from adjourn.runtime.run import Run
from adjourn.stores.protocol import Filter
from adjourn.stores.run_row import RunRow
from adjourn.testing.scripted import ScriptedModel, call

Verb = Callable[[Runtime, str], Awaitable[Any]]


@pytest.fixture(params=["memory", "sqlite"])
async def rt(request: pytest.FixtureRequest, address: str, ledger: Ledger) -> AsyncIterator[Runtime]:
    where = "memory://" if request.param == "memory" else address
    async with Runtime(where, resources={"ledger": ledger}) as runtime:
        yield runtime


def asking(id: str | None = "confirm", schema: Any = None) -> Agent:
    """An agent that waits under an id of its author's."""

    @tool(effect="read")
    async def ask_somebody() -> Any:
        """Ask."""
        pause_for("question", {"question": "sure?"}, interrupt_id=id, answer_schema=schema)

    model = ScriptedModel([call("ask_somebody")], lambda m: f"they said {m[-1]}")
    return Agent("asking", model=model, tools=[ask_somebody])


async def two(rt: Runtime, agent: Agent) -> tuple[Run[Any], Run[Any]]:
    runs = [await rt.start(agent, "go", run_id=id) for id in ("one", "two")]
    for run in runs:
        await paused(run)
    return runs[0], runs[1]


# Runs


VERBS: dict[str, Verb] = {
    "get": lambda rt, id: rt.get(id),
    "pause": lambda rt, id: rt.deliver(id, PauseAsked(by="ana")),
    "cancel": lambda rt, id: rt.deliver(id, CancelAsked(by="ana")),
    "load": lambda rt, id: rt.store.load(id),
    "approve": lambda rt, id: rt.approve(f"{id}:1.0?0", by="ana"),
    "deny": lambda rt, id: rt.deny(f"{id}:1.0?0", by="ana"),
    "answer": lambda rt, id: rt.answer(f"{id}:1.0?0", True, by="ana"),
    "fork": lambda rt, id: rt.fork(Run(rt, id)),
    "interrupt": lambda rt, id: rt.interrupt(f"{id}:1.0?0"),
    "messages": lambda rt, id: Run(rt, id).messages(),
    "cancel through a handle": lambda rt, id: Run(rt, id).cancel(by="ana"),
    "approve through a handle": lambda rt, id: Run(rt, id).approve("1.0?0", by="ana"),
}
NEARLY = ["order-1", "order-", "o", "ORDER-12", "order-12 ", "order-123", "order_12", "order-1%", ""]


@pytest.mark.parametrize("verb", VERBS)
async def test_no_verb_takes_another_run_for_the_one_that_was_named(rt: Runtime, ledger: Ledger, verb: str) -> None:
    run = await rt.start(refunds(ledger), "go", run_id="order-12")
    await paused(run)
    before = await rt.store.load("order-12")
    for id in NEARLY:
        with pytest.raises((UnknownRun, UnknownInterrupt)):
            await VERBS[verb](rt, id)
    assert await rt.store.load("order-12") == before and ledger.lines() == []
    await VERBS[verb](rt, "order-12")


async def test_who_names_a_run_that_is_not_there_is_told_which_ones_are_like_it(rt: Runtime, ledger: Ledger) -> None:
    for id in ("order-12", "order-120", "invoice-7", "ORDER-9"):
        await rt.start(notes(ledger), "go", run_id=id)
    near = {
        "order-1": {"order-12", "order-120"},
        "ordre-12": {"order-12"},
        "order-9": {"ORDER-9"},
        "invoice-77": {"invoice-7"},
    }
    for wrong, meant in near.items():
        with pytest.raises(UnknownRun, match="did you mean") as told:
            await rt.get(wrong)
        assert meant <= set(told.value.near) and len(told.value.near) <= 3
        assert all(id in told.value.advice for id in told.value.near)
    for nothing_like in ("zebra", "", "x" * 5000):
        with pytest.raises(UnknownRun) as told:
            await rt.get(nothing_like)
        assert told.value.near == () and "did you mean" not in str(told.value) and len(str(told.value)) < 300


async def test_looking_for_ids_that_are_alike_reads_few_rows_of_many(
    rt: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(300):
        await rt.store.create(Started(run=f"order-{n:04}", kind="agent", program="p", input=n))
    read: list[int] = []
    runs = rt.store.runs

    async def counted(filter: Filter) -> list[RunRow]:
        found = await runs(filter)
        read.append(len(found))
        assert filter.prefix or filter.limit <= near.NEWEST, "no search by text, which looks at every run"
        return found

    monkeypatch.setattr(rt.store, "runs", counted)
    with pytest.raises(UnknownRun, match="did you mean"):
        await rt.get("order-02")
    assert sum(read) <= near.NEWEST + 4 * near.ALIKE


# Ids that people choose


ODD = ["-rf", "order 1; touch pwned", "a$(id)b", "a`id`", "a'b", "ünï", "a/b", "a:b", "a\nb", ""]


@pytest.mark.parametrize("id", ODD)
async def test_no_way_in_takes_an_id_outside_of_the_alphabet(rt: Runtime, ledger: Ledger, id: str) -> None:
    with pytest.raises(Invalid, match="run_id must be"):
        await rt.start(refunds(ledger), "go", run_id=id)
    run = await rt.start(refunds(ledger), "go", run_id="order 1.a~b_c-2")
    await paused(run)
    with pytest.raises(Invalid, match="run_id must be"):
        await run.fork(run_id=id)
    assert [row.id for row in await rt.runs()] == ["order 1.a~b_c-2"]
    told = await rt.start(asking(id), "go", run_id="told")
    assert "interrupt_id must be" in str((await told.wait(LIMIT)).output)


@pytest.mark.parametrize("id", ["-rf", "order 1; touch pwned", "a$(id)`b`'c\"d", "ünï", "日本", "*"])
async def test_a_run_from_before_with_another_id_is_read_and_controlled(rt: Runtime, ledger: Ledger, id: str) -> None:
    agent = refunds(ledger)
    await rt.store.create(Started(run=id, kind="agent", program="refunds", fingerprint=agent.fingerprint, input="go"))
    twin = await rt.start(agent, "go", run_id="twin")  # it also brings the program
    await paused(twin)
    run = await rt.get(id)
    rt.worker.wake(id)
    await paused(run)
    [i] = await rt.inbox(run=id)
    assert i.ref == f"{id}:1.0?0"
    await run.pause(by="ana")
    await run.resume(by="ana")
    await rt.approve(i.ref, by="ana")
    assert (await run.wait(LIMIT)).status == "completed"
    assert ledger.lines() == [f"refund {id} A1 500"]
    assert (await twin.state()).status == "waiting"
    assert (await run.fork()).id != id


def any_id(id: Any, name: str) -> Any:
    """What an earlier version allowed."""
    return id


async def test_a_body_that_runs_again_keeps_the_id_that_it_gave_before(
    rt: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An id that an earlier version allowed is recorded: the body that gave it must get its answer."""
    from adjourn.bodies import tool_context as context

    @tool(effect="read")
    async def twice() -> Any:
        """Ask."""
        first = pause_for("question", 1, interrupt_id="a/b", resume_to="self")
        return first + pause_for("question", 2, interrupt_id="c d", resume_to="self")

    agent = Agent("twice", model=ScriptedModel([call("twice")], lambda m: str(m[-1])), tools=[twice])
    with monkeypatch.context() as earlier:
        earlier.setattr(context, "check_chosen", any_id)
        run = await rt.start(agent, "go")
        await paused(run)
    await run.answer("a/b", 10, by="ana")
    await paused(run)
    await run.answer("c d", 20, by="ana")
    assert "30" in str((await run.wait(LIMIT)).output)


# Interrupts


Namer = Callable[[Interrupt], Any]
NAMES: dict[str, Namer] = {"ref": lambda i: i.ref, "the interrupt itself": lambda i: i}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("verb", ["approve", "deny", "answer"])
async def test_two_runs_that_wait_under_one_given_id_are_decided_apart(rt: Runtime, name: str, verb: str) -> None:
    first, second = await two(rt, asking())
    items = {i.run_id: i for i in await rt.inbox()}
    assert {i.id for i in items.values()} == {"confirm"} and {i.ref for i in items.values()} == {
        "one:confirm",
        "two:confirm",
    }
    given = (True,) if verb == "answer" else ()
    await getattr(rt, verb)(NAMES[name](items["two"]), *given, by="ana")
    assert (await second.wait(LIMIT)).status == "completed"
    assert [i.ref for i in await rt.inbox()] == ["one:confirm"]
    await getattr(first, verb)("confirm", *given, by="ben")  # in its own run it needs no more
    assert (await first.wait(LIMIT)).status == "completed"
    for run, by in ((first, "ben"), (second, "ana")):
        [said] = [x for _, x in await rt.store.load(run.id) if isinstance(x, Decided)]
        assert (said.i, said.by) == ("confirm", by)


async def test_an_id_that_two_runs_have_is_refused_naming_both(rt: Runtime) -> None:
    runs = await two(rt, asking())
    for verb in (rt.interrupt("confirm"), rt.approve("confirm", by="ana"), rt.answer("confirm", 1, by="ana", note="x")):
        with pytest.raises(Invalid, match="several runs have an interrupt 'confirm'.*'one:confirm', 'two:confirm'"):
            await verb
    assert len(await rt.inbox()) == 2
    await runs[0].cancel(by="ana")
    await runs[0].wait(LIMIT)
    with pytest.raises(Invalid, match="several runs"):  # who means one that is decided is not given another
        await rt.interrupt("confirm")


async def test_a_handle_knows_only_what_is_its_own(rt: Runtime, ledger: Ledger) -> None:
    first, second = await two(rt, refunds(ledger))
    [mine] = await rt.inbox(run="one")
    for name in ("1.0?0", "one:1.0?0", mine.id, mine):
        assert (await rt.interrupt(name, run_id="one")).ref == "one:1.0?0"
    [other] = await rt.inbox(run="two")
    with pytest.raises(Invalid, match="'two:1.0\\?0' is in another run"):
        await first.approve(other, by="ana")
    with pytest.raises(UnknownInterrupt, match="open interrupts: one:1.0\\?0"):
        await first.deny("two:1.0?0", by="ana")
    with pytest.raises(UnknownInterrupt):
        await first.approve("9.9?0", by="ana")
    for wrong in (None, 7, ["one:1.0?0"]):
        with pytest.raises(Invalid, match="must be its ref, its id or an Interrupt"):
            await rt.approve(wrong, by="ana")  # type: ignore[arg-type]
    assert ledger.lines() == []
    await first.approve("1.0?0", by="ana")
    await second.deny(other, by="ana", note="too much")
    assert (await first.wait(LIMIT)).status == (await second.wait(LIMIT)).status == "completed"
    assert ledger.lines() == ["refund one A1 500"]


async def test_a_run_called_like_a_part_of_an_id_is_not_mistaken(rt: Runtime) -> None:
    agent = Agent("failing", model=ScriptedModel(ValueError("no"), "well again"))
    for id in ("model", "x"):
        await rt.start(agent, "go", run_id=id)
    runs = {id: await rt.get(id) for id in ("model", "x")}
    for run in runs.values():
        with pytest.raises(Exception, match="no"):
            await run.wait(LIMIT)
    assert {i.ref for i in await rt.inbox()} == {"model:model:?0", "x:model:?0"}
    assert (await rt.interrupt("model:model:?0")).run_id == "model"
    assert (await rt.interrupt("model:?0", run_id="x")).run_id == "x"
    assert (await rt.interrupt("model:?0", run_id="model")).run_id == "model"
    await runs["x"].answer("model:?0", "retry", by="ana")
    assert (await runs["x"].wait(LIMIT)).status == "completed"
    assert await runs["model"].status() == "failed"


@pytest.mark.parametrize(
    "changes",
    [{"payload": {"question": "really?"}}, {"type": "fraud check"}, {"seq": 99}, {"answer_schema": {"type": "null"}}],
)
async def test_a_decision_about_an_interrupt_is_about_what_it_shows(rt: Runtime, changes: dict[str, Any]) -> None:
    run = await rt.start(asking(), "go")
    await paused(run)
    [i] = await rt.inbox()
    with pytest.raises(StaleDecision):
        await rt.answer(msgspec.structs.replace(i, **changes), True, by="ana")
    with pytest.raises(StaleDecision):
        await rt.answer(i.ref, True, by="ana", digest="0" * 64)
    assert [x.ref for x in await rt.inbox()] == [i.ref]
    await rt.answer(i, True, by="ana")
    assert (await run.wait(LIMIT)).status == "completed"


async def test_an_action_that_is_shown_otherwise_is_not_approved(rt: Runtime, ledger: Ledger) -> None:
    run = await rt.start(refunds(ledger), "go")
    await paused(run)
    [i] = await rt.inbox()
    assert i.call is not None
    forged = msgspec.structs.replace(i, call=msgspec.structs.replace(i.call, digest="0" * 64))
    with pytest.raises(StaleDecision):
        await run.approve(forged, by="ana")
    assert ledger.lines() == []
    await run.approve(i, by="ana")
    assert (await run.wait(LIMIT)).status == "completed"


@pytest.mark.parametrize("name", ["a", "abc", "ab"])
async def test_a_fork_is_given_answers_by_any_name_of_what_is_open(rt: Runtime, name: str) -> None:
    """A given id that begins as its run's id does is not cut."""
    run = await rt.start(asking(name), "go", run_id="a")
    await paused(run)
    for given in (name, f"a:{name}"):
        fork = await run.fork(answers={given: True}, by="ana")
        assert (await fork.wait(LIMIT)).status == "completed"
    assert [i.ref for i in await rt.inbox()] == [f"a:{name}"]
