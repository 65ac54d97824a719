"""A tenant's runtime: with its own runs it works as one without a tenant, another's run is not there, and what is about all
tenants is refused. The law is about every public name of `Run` and of `Runtime`."""

import asyncio
import inspect
import logging
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.logs import ours
from tests.runtime.conftest import on_both
from tests.runtime.world import LIMIT

import adjourn
from adjourn import (
    Agent,
    Completed,
    Decision,
    Flow,
    FlowContext,
    Paused,
    Policy,
    Run,
    RunFailed,
    Runtime,
    Standing,
    ask,
    ask_human,
    tool,
)
from adjourn.core.records import PauseAsked, Resumed, Said
from adjourn.errors import AdjournError, InvalidDefinition, NotAllowed, NotFound, RunExists
from adjourn.runtime.schedules import Schedule, Scheduler
from adjourn.secrets import KeyRing
from adjourn.stores.fleet import Misfit, WorkerCard
from adjourn.stores.memory import MemoryStore
from adjourn.stores.postgres.store import PostgresStore
from adjourn.stores.protocol import Store
from adjourn.stores.sqlite import SQLiteStore
from adjourn.stores.tenant_store import ABOUT_ALL as ABOUT_ALL_TENANTS
from adjourn.stores.tenant_store import HANDED_ON, OF_ONE_RUN, TenantStore
from adjourn.testing import ScriptedModel, call

NOW = 1_900_000_000.0


@tool(effect="unsafe")
async def pay(to: str) -> str:
    """Pay somebody."""
    return f"paid {to}"


def paying(name: str, *to: str) -> Agent[str]:
    turns = [[call("pay", to=one)] for one in to]
    return Agent(name, model=ScriptedModel(*turns, "done"), tools=[pay], policy=Policy([ask("pay")]))


payer = paying("payer", "ana")
twice = paying("twice", "ana", "bo")
clerk = Agent("clerk", model=ScriptedModel("done"))
failing = Agent("failing", model=ScriptedModel(ValueError("not today"), "well again"))
asker = Agent("asker", model=ScriptedModel([call("ask_human", question="sure?")], "good"), tools=[ask_human])
inner = Agent("inner", model=ScriptedModel("inside"))
outer = Agent("outer", model=ScriptedModel([call("inner", input="go")], "outside"), tools=[inner.as_tool()])
steps = Flow("steps")


@steps.chunk
async def only(ctx: FlowContext) -> None: ...


steps.to(only)

PROGRAMS: dict[str, Any] = {
    "waits": payer, "ended": clerk, "failed": failing, "asks": asker, "nested": outer, "flow": steps, "stood": twice, "unfit": payer,
}  # fmt: skip
"""The runs of each tenant, by what they are for."""
OWN, OTHER, NOBODY = "own", "77777", "88888"
"""How the ids of the tenant's runs begin, those of another, and those that nobody has."""
ITEM = "1.0?0"

Handle = Run[Any]


def of(owner: str, what: str) -> str:
    return f"{owner}-{what}"


async def _stood(run: Handle) -> None:
    await run.approve(ITEM, by="ana", stands=Standing(where=("*",)))


async def furnish(store: Store) -> None:
    async with Runtime(store, set(PROGRAMS.values())) as rt:
        for owner, tenant in ((OWN, "acme"), (OTHER, "globex")):
            for what, program in PROGRAMS.items():
                labels = {"tenant": tenant, "team": "eu"}
                given = 1 if what == "flow" else "x"
                run = await rt.start(program, given, run_id=of(owner, what), labels=labels, by="shop")
                try:
                    await run.wait(LIMIT)
                except RunFailed:
                    pass
    async with Runtime(store) as rt:
        for owner in (OWN, OTHER):
            await _stood(Run(rt, of(owner, "stood")))
            run = of(owner, "unfit")
            await rt.approve(f"{run}:{ITEM}", by="ana")
            row = await store.get(run)
            await store.misfits(Misfit(run, row.seq, "tools are gone", {"name": row.program, "tools": {}}))


@pytest.fixture(params=["memory", "sqlite", "postgres"])
async def store(request: pytest.FixtureRequest, folder: Path) -> AsyncIterator[Store]:
    made: Store = MemoryStore(lambda: NOW)
    if request.param == "sqlite":
        made = SQLiteStore(str(folder / "a.db"), lambda: NOW)
    elif request.param == "postgres":
        made = PostgresStore(request.getfixturevalue("postgres").fresh(), lambda: NOW)
    await furnish(made)
    yield made
    await made.close()


async def first(items: AsyncIterator[Any]) -> Any:
    return await anext(items)


async def rested(run: Handle) -> Any:
    outcome = await run.wait(LIMIT)
    return type(outcome), outcome.checkpoint.to_json()


async def child(run: Handle) -> Any:
    one = run.child("1.0")
    return await one.agent(), await one.messages(), await one.interrupts(), await one.output()


async def saved(run: Handle) -> str:
    return (await run.checkpoint()).to_json()


OF_RUN: dict[str, tuple[str, Callable[[Handle], Awaitable[Any]]]] = {
    "again_preview": ("ended", lambda run: run.again_preview()),
    "audit": ("waits", lambda run: run.audit()),
    "cancel_preview": ("waits", lambda run: run.cancel_preview()),
    "checkpoint": ("waits", saved),
    "child": ("nested", child),
    "messages": ("waits", lambda run: run.messages()),
    "picture": ("flow", lambda run: run.picture()),
    "requests": ("waits", lambda run: run.requests()),
    "state": ("waits", lambda run: run.state()),
    "status": ("waits", lambda run: run.status()),
    "wait": ("waits", rested),
    "watch": ("waits", lambda run: first(run.watch())),
}
"""What looks at a run."""
ON_RUN: dict[str, tuple[str, Callable[[Handle], Awaitable[Any]]]] = {
    "accept": ("unfit", lambda run: run.accept(by="ana")),
    "again": ("ended", lambda run: run.again(by="ana")),
    "answer": ("asks", lambda run: run.answer(ITEM, "yes", by="ana")),
    "approve": ("waits", lambda run: run.approve(ITEM, by="ana")),
    "cancel": ("waits", lambda run: run.cancel(by="ana")),
    "continue_as_new": ("waits", lambda run: run.continue_as_new(by="ana")),
    "deny": ("waits", lambda run: run.deny(ITEM, by="ana")),
    "emit": ("waits", lambda run: run.emit("paid", by="ana")),
    "erase": ("ended", lambda run: run.erase(by="ana", reason="asked to")),
    "fork": ("ended", lambda run: run.fork(by="ana")),
    "hold": ("ended", lambda run: run.hold(by="ana", reason="court")),
    "pause": ("waits", lambda run: run.pause(by="ana")),
    "resume": ("failed", lambda run: run.resume(by="ana")),
    "say": ("waits", lambda run: run.say("hello", by="ana")),
}
"""What changes a run."""
NAMES = {"id", "run_id"}

Asked = Callable[[Runtime, str], Awaitable[Any]]


async def resumed(rt: Runtime, owner: str) -> Any:
    """A checkpoint of a run that is there; of one that is not, there is none."""
    run = await rt.get(of(owner, "failed"))
    return await rt.resume(await run.checkpoint(), "retry", by="ana")


async def decided(rt: Runtime, owner: str) -> Any:
    [done] = await rt.decide_all([await rt.interrupt(f"{of(owner, 'waits')}:{ITEM}")], Decision.deny(), by="ana")
    assert done.refused is None


async def commanded(rt: Runtime, owner: str) -> Any:
    [done] = await rt.bulk("cancel", [of(owner, "waits")], by="ana")
    if done.refused is not None:
        raise done.refused


async def previewed(rt: Runtime, owner: str) -> Any:
    [done] = await rt.bulk("cancel", [of(owner, "waits")], by="ana", dry_run=True)
    if done.refused is not None:
        raise done.refused
    return done.preview


def on(owner: str, what: str) -> str:
    return f"{of(owner, what)}:{ITEM}"


async def handle(rt: Runtime, owner: str, what: str) -> Handle:
    return Run(rt, of(owner, what))


OF_RUNTIME: dict[str, Asked] = {
    "again": lambda rt, owner: rt.again(Run(rt, of(owner, "ended")), by="ana"),
    "alike": lambda rt, owner: rt.alike(f"{of(owner, 'failed')}:model:?0"),
    "answer": lambda rt, owner: rt.answer(on(owner, "asks"), "yes", by="ana"),
    "approve": lambda rt, owner: rt.approve(on(owner, "waits"), by="ana"),
    "assign": lambda rt, owner: rt.assign(on(owner, "waits"), "zoe", by="ana"),
    "bulk": commanded,
    "bulk, looked at": previewed,
    "comment": lambda rt, owner: rt.comment(on(owner, "waits"), "hm", by="ana"),
    "compare": lambda rt, owner: rt.compare(of(OWN, "waits"), of(owner, "ended")),
    "decide_all": decided,
    "deliver": lambda rt, owner: rt.deliver(of(owner, "waits"), PauseAsked(by="ana")),
    "deliver_together": lambda rt, owner: rt.deliver_together(
        of(owner, "waits"), [Said(text="a"), Said(text="b")], Resumed(by="ana")
    ),
    "deny": lambda rt, owner: rt.deny(on(owner, "waits"), by="ana"),
    "erase": lambda rt, owner: rt.erase(of(owner, "ended"), by="ana", reason="asked to", whole=True),
    "fork": lambda rt, owner: rt.fork(Run(rt, of(owner, "ended")), by="ana"),
    "get": lambda rt, owner: rt.get(of(owner, "waits")),
    "hold": lambda rt, owner: rt.hold(f"run:{of(owner, 'ended')}", by="ana", reason="court"),
    "interrupt": lambda rt, owner: rt.interrupt(on(owner, "waits")),
    "resume": resumed,
    "retry_all": lambda rt, owner: rt.retry_all(f"{of(owner, 'failed')}:model:?0", by="ana"),
    "revoke": lambda rt, owner: rt.revoke(on(owner, "stood"), by="ana"),
    "row": lambda rt, owner: rt.row(of(owner, "waits")),
    "snooze": lambda rt, owner: rt.snooze(on(owner, "waits"), NOW + 60, by="ana"),
    "standing": lambda rt, owner: rt.standing(of(owner, "stood")),
    "start": lambda rt, owner: rt.start(clerk, "y", after=of(owner, "ended")),
    "watch": lambda rt, owner: first(rt.watch(of(owner, "waits"))),
}
"""What a runtime does about the runs of one owner."""
LISTS: dict[str, Callable[[Runtime], Awaitable[Any]]] = {
    "audit": lambda rt: rt.audit(),
    "halted": lambda rt: rt.halted(),
    "halts": lambda rt: rt.halts(),
    "holds": lambda rt: rt.holds(),
    "inbox": lambda rt: rt.inbox(),
    "numbers": lambda rt: rt.numbers(people="all"),
    "prune": lambda rt: rt.prune(older=0.0, by="ana", dry_run=True),
    "runs": lambda rt: rt.runs(),
    "scrub": lambda rt: rt.scrub(),
}
"""What is about the tenant's runs, or says nothing of any."""


async def called(what: Callable[[], Any]) -> Any:
    return what()


ABOUT_ALL: dict[str, Callable[[Runtime], Awaitable[Any]]] = {
    "advance": lambda rt: rt.advance(of(OWN, "waits")),
    "audit, of security": lambda rt: rt.audit(security=True),
    "audit_anchor": lambda rt: rt.audit_anchor(),
    "audit_export": lambda rt: first(rt.audit_export()),
    "audit_seal": lambda rt: rt.audit_seal(),
    "fleet": lambda rt: rt.fleet(),
    "halt": lambda rt: rt.halt("*", by="ana", reason="x"),
    "hold, on a label": lambda rt: rt.hold("label:team=eu", by="ana", reason="x"),
    "keep_sealed": lambda rt: called(rt.keep_sealed),
    "lend_worker": lambda rt: called(rt.lend_worker),
    "unhalt": lambda rt: rt.unhalt("*", by="ana"),
    "verification": lambda rt: rt.verification(),
    "verify": lambda rt: rt.verify(),
}
"""What is about the runs of all tenants, or advances them."""
PLAIN = {"address", "archive", "origin", "secret", "store", "worker"}


def public(kind: type[Any]) -> set[str]:
    return {name for name, _ in inspect.getmembers(kind) if not name.startswith("_")}


def verbs(*tables: dict[str, Any]) -> set[str]:
    return {name.partition(",")[0] for table in tables for name in table}


def for_acme(store: Store) -> Runtime:
    return Runtime(store, set(PROGRAMS.values()), work=False, tenant="acme")


def test_the_law_is_about_every_public_name() -> None:
    assert public(Run) - NAMES == {*OF_RUN, *ON_RUN}
    assert public(Runtime) - PLAIN == verbs(OF_RUNTIME, LISTS, ABOUT_ALL)


USED = re.compile(r"""store\)?(?:\(\w+\))?\.([a-z_]+)|attr\([\w.]*store, "(\w+)\"""")
"""What is asked of something that is called a store."""
NOT_A_TENANT_S = {"adopt", "knows", "length", "peek", "heard", "offset", "send_test"}
"""Asked of the memory of a run without a store, of a clock and of a sender."""
SHOWN = ("agent", "bodies", "cli", "driver", "flow", "runtime", "views")


def test_whatever_is_asked_of_a_store_has_a_place_in_one_of_the_tables() -> None:
    tables = {*vars(TenantStore), *OF_ONE_RUN, *HANDED_ON, *ABOUT_ALL_TENANTS}
    found: dict[str, str] = {}
    for part in SHOWN:
        for file in (Path(adjourn.__file__).parent / part).rglob("*.py"):
            code = re.sub(r"adjourn\.stores?[\w.]*|memory\.store\b", "", file.read_text(encoding="utf-8"))
            found |= {a or b: file.name for a, b in USED.findall(code)}
    assert {"load", "snapshots", "wraps_with", "tell_of_archive"} <= set(found)
    assert {name: file for name, file in found.items() if name not in tables | NOT_A_TENANT_S} == {}


async def outcome(work: Callable[[], Awaitable[Any]], owner: str) -> Any:
    """What came of it, and what it said, without the id of whose run it was about."""
    try:
        return repr(await work()).replace(owner, "?")
    except AdjournError as e:
        return type(e), str(e).replace(owner, "?")


def is_not_found(found: Any) -> bool:
    return isinstance(found, tuple) and issubclass(found[0], NotFound) and "not found" in found[1]


async def everything(store: Store) -> Any:
    """What the store has of the runs of others."""
    runs = [of(OTHER, what) for what in PROGRAMS]
    return [(await store.get(run), await store.load(run), await store.audit(run)) for run in runs]


async def test_what_looks_at_a_run_of_the_tenant_sees_what_others_see(store: Store) -> None:
    async with for_acme(store) as acme, Runtime(store, set(PROGRAMS.values()), work=False) as everybody:
        for name, (what, look) in OF_RUN.items():
            seen = await look(await acme.get(of(OWN, what)))
            assert seen == await look(Run(everybody, of(OWN, what))), name


@pytest.mark.parametrize("name", ON_RUN)
@pytest.mark.parametrize("store", ["memory", "sqlite"], indirect=True)
async def test_what_changes_a_run_of_the_tenant_works_with_a_tenant(name: str, store: Store) -> None:
    what, change = ON_RUN[name]
    async with for_acme(store) as acme:
        before = await everything(store)
        await change(await acme.get(of(OWN, what)))
        assert await everything(store) == before


async def test_a_handle_of_another_tenant_s_run_is_that_of_no_run(store: Store) -> None:
    async with for_acme(store) as acme:
        before = await everything(store)
        for name, (what, act) in {**OF_RUN, **ON_RUN}.items():
            [other, nobody] = [await outcome(partial(act, Run(acme, of(o, what))), o) for o in (OTHER, NOBODY)]
            assert other == nobody and await everything(store) == before, name
            assert name == "audit" or is_not_found(other), (name, other)


@pytest.mark.parametrize("name", OF_RUNTIME)
@pytest.mark.parametrize("store", ["memory", "sqlite"], indirect=True)
async def test_a_verb_of_the_runtime_works_with_the_tenant_s_run(name: str, store: Store) -> None:
    async with for_acme(store) as acme:
        before = await everything(store)
        await OF_RUNTIME[name](acme, OWN)
        assert await everything(store) == before


async def test_a_verb_of_the_runtime_finds_no_run_of_others(store: Store) -> None:
    async with for_acme(store) as acme:
        before = await everything(store)
        for name, act in OF_RUNTIME.items():
            [other, nobody] = [await outcome(partial(act, acme, o), o) for o in (OTHER, NOBODY)]
            assert other == nobody and await everything(store) == before, name
            assert name == "row" or is_not_found(other), (name, other)


async def test_a_list_has_nothing_of_others(store: Store) -> None:
    async with for_acme(store) as acme, Runtime(store) as everybody:
        await everybody.hold(f"run:{of(OTHER, 'ended')}", by="ana", reason="court")
        for name, look in LISTS.items():
            assert OTHER not in repr(await look(acme)), name


async def test_what_is_about_all_tenants_is_refused_and_nobody_is_sent_around_it(store: Store) -> None:
    async with for_acme(store) as acme, Runtime(store) as everybody:
        before = await everything(store)
        for name, work in ABOUT_ALL.items():
            with pytest.raises(NotAllowed, match="all tenants") as refused:
                await work(acme)
            assert "without a tenant" not in refused.value.advice and "ask" in refused.value.advice, name
            assert await everything(store) == before and await everybody.halts() == [], name


async def test_a_hold_that_covers_the_tenant_s_runs_is_seen_whoever_set_it(store: Store) -> None:
    async with for_acme(store) as acme, Runtime(store) as everybody:
        await everybody.hold("label:team=eu", by="ana", reason="court")
        await everybody.hold("label:team=us", by="ana", reason="court")
        await everybody.hold("label:tenant=globex", by="ana", reason="court")
        assert [hold.scope for hold in await acme.holds()] == ["label:team=eu"]
        assert [hold.scope for hold in (await (await acme.get(of(OWN, "ended"))).state()).holds] == ["label:team=eu"]
        assert (await acme.prune(older=0.0, by="ana", dry_run=True)).runs == 0


# Ids


async def test_an_id_of_another_tenant_is_taken_and_nothing_else_is_said(store: Store) -> None:
    async with for_acme(store) as acme, Runtime(store) as everybody:
        before = await everything(store)
        for what in ("ended", "waits"):
            with pytest.raises(RunExists, match="is taken") as same:
                await acme.start(PROGRAMS[what], "x", run_id=of(OTHER, what), by="shop", labels={"team": "eu"})
            assert "different" not in str(same.value) and "globex" not in str(same.value)
        with pytest.raises(RunExists, match="is taken"):
            await acme.fork(await acme.get(of(OWN, "ended")), run_id=of(OTHER, "ended"), by="ana")
        assert await everything(store) == before
        await everybody.erase(of(OTHER, "ended"), by="zoe", reason="secret reason", scrub=False)
        await everybody.prune(older=0.0, by="zoe", reason="secret reason", status="completed")
        for what in ("ended", "flow"):
            with pytest.raises(RunExists, match="is taken") as gone:
                await acme.start(clerk, "x", run_id=of(OTHER, what))
            assert "zoe" not in str(gone.value) and "secret" not in str(gone.value)


async def test_the_same_start_again_gives_the_tenant_s_run(store: Store) -> None:
    async with for_acme(store) as acme:
        assert (await acme.start(clerk, "x", run_id=of(OWN, "ended"))).id == of(OWN, "ended")
        with pytest.raises(RunExists, match="different input or agent"):
            await acme.start(clerk, "y", run_id=of(OWN, "ended"))


async def test_a_fork_with_an_id_that_is_taken_says_so(store: Store) -> None:
    async with Runtime(store, set(PROGRAMS.values()), work=False) as rt:
        run = await rt.get(of(OWN, "ended"))
        for again in (run.fork, run.again):
            with pytest.raises(RunExists, match="is taken") as taken:
                await again(run_id=run.id, by="ana")
            assert "different" not in str(taken.value)


# Who advances


@on_both
async def test_a_run_that_a_tenant_starts_is_advanced_by_a_worker_without_one(
    address: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "adjourn"):
        async with Runtime(address, tenant="acme") as acme:
            run = await acme.start(payer, "x")
            await acme.start(payer, "y")
            await asyncio.sleep(0)
            assert (await run.state()).status == "ready"
            async with Runtime(address, [payer]):
                assert isinstance(await run.wait(LIMIT), Paused)
                await run.approve(ITEM, by="ana")
                assert isinstance(await run.wait(LIMIT), Completed)
    lines = [line.getMessage() for line in ours(caplog)]
    assert not [line for line in ours(caplog) if line.exc_info or line.levelno > logging.WARNING]
    assert len([line for line in lines if "a worker without a tenant" in line]) == 1


def test_a_tenant_s_runtime_that_is_to_work_is_refused_with_what_to_do() -> None:
    with pytest.raises(InvalidDefinition, match="advances no runs") as refused:
        Runtime("memory://", [payer], tenant="acme")
    assert "work=False" in refused.value.advice and "a worker without a tenant" in refused.value.advice


async def test_a_schedule_of_a_tenant_starts_its_runs(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    async with for_acme(store) as acme:
        scheduler = Scheduler(acme, [Schedule("often", clerk, "x", every=3600, catch_up=3600)])
        [run] = await scheduler.tick()
        assert (await acme.get(run)).id == run
        assert not [line for line in ours(caplog) if line.levelno >= logging.WARNING]
        row = await store.get(run)
        await store.misfits(Misfit(run, row.seq, "tools are gone", {"name": "clerk"}))
        other = of(OTHER, "stood")
        await store.misfits(Misfit(other, (await store.get(other)).seq, "others", {"name": "clerk"}))
        again = Scheduler(acme, [Schedule("more", clerk, "x", every=3600, catch_up=3600)])
        await again.tick()
        [line] = [line.getMessage() for line in ours(caplog) if line.levelno >= logging.WARNING]
        assert "1 runs of clerk wait: tools are gone" in line


async def test_a_schedule_of_a_tenant_hears_that_no_worker_has_its_agent(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    for run, tenant in (("a", "acme"), ("g", "globex"), ("h", "globex")):
        async with Runtime(store, [clerk], work=False, tenant=tenant) as rt:
            await rt.start(clerk, "x", run_id=run)
    async with for_acme(store) as acme:
        schedules = [Schedule("often", clerk, "x", every=3600, catch_up=3600)]
        await store.roster(WorkerCard("w1", programs={"clerk": "1"}, every=10.0))
        await Scheduler(acme, schedules).tick()
        assert not [line for line in ours(caplog) if line.levelno >= logging.WARNING]
        await store.roster(drop=["w1"])
        await Scheduler(acme, [Schedule("more", clerk, "x", every=3600, catch_up=3600)]).tick()
        [line] = [line.getMessage() for line in ours(caplog) if line.levelno >= logging.WARNING]
        assert "2 runs of clerk wait: no worker has this agent or flow" in line


# Encrypted runs, and archives


async def test_an_encrypted_run_of_a_tenant_is_archived_and_its_archive_erased(folder: Path) -> None:
    store = MemoryStore()
    async with Runtime(store, [clerk], encrypt=KeyRing({"k1": b"k" * 32})) as rt:
        for tenant in ("acme", "globex"):
            run = await rt.start(clerk, "x", run_id=tenant, labels={"tenant": tenant})
            await run.wait(LIMIT)
        async with Runtime(store, tenant="acme") as acme:
            assert (await Run(acme, "acme").wait(LIMIT)).checkpoint.key
            assert (await acme.prune(older=0.0, by="ana", archive=folder / "old")).runs == 1
            assert (await acme.erase("acme", by="ana", reason="asked to", scrub=False)).run == "acme"
            await rt.prune(older=0.0, by="ana", archive=folder / "old")
            with pytest.raises(NotFound):
                await acme.erase("globex", by="ana", reason="asked to", scrub=False)
        assert (await rt.erase("globex", by="ana", reason="asked to", scrub=False)).run == "globex"
