"""With deciders, no gated call starts without decisions that somebody trusted has signed; the rest is shown, and stays open."""

import asyncio
import base64
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from adjourn import (
    Agent,
    Flow,
    FlowContext,
    Misused,
    NotAllowed,
    NotTrusted,
    Policy,
    RunFailed,
    Runtime,
    StaleDecision,
    Tool,
    ToolContext,
    ask,
    pause_for,
    tool,
)
from adjourn.core import records as r
from adjourn.core.interrupt import Interrupt
from adjourn.core.journal_authority import violations
from adjourn.core.signatures import message, shown
from adjourn.driver.decider_keys import SigningKey
from adjourn.errors import Invalid
from adjourn.runtime.run import Run
from adjourn.stores.memory import MemoryStore
from adjourn.stores.protocol import Store
from adjourn.stores.sqlite import SQLiteStore
from adjourn.testing.oracle import every_transaction
from adjourn.testing.scripted import ScriptedModel, call

LIMIT = 20
paid: list[int] = []


@tool(effect="unsafe")
async def refund(cents: int) -> str:
    """Pay money back."""
    paid.append(cents)
    return f"paid {cents}"


@tool(effect="read")
async def ask_operator(question: str) -> Any:
    """Ask somebody."""
    pause_for("approval", {"question": question})


def clerk(*amounts: int, tool: Tool = refund, **rule: Any) -> Agent:
    replies = [[call("refund", cents=cents)] for cents in amounts or (500,)]
    policy = Policy([ask("refund", **rule)], default="allow")
    return Agent("clerk", model=ScriptedModel(*replies, "done"), tools=[tool], policy=policy)


def asker() -> Agent:
    model = ScriptedModel(
        [call("ask_operator", question="sure?")], lambda m: f"they said {getattr(m[-1], 'content', None)}"
    )
    return Agent("asker", model=model, tools=[ask_operator])


@pytest.fixture(autouse=True)
def checked() -> Iterator[None]:
    """Rows equal the fold in every transaction, whatever was disowned."""
    paid.clear()
    with every_transaction() as oracle:
        yield
    assert not oracle.failures


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    made = MemoryStore() if request.param == "memory" else SQLiteStore(str(tmp_path / "a.db"))
    yield made
    await made.close()


@pytest.fixture
def server() -> SigningKey:
    return SigningKey.new()


@pytest.fixture
def thief() -> SigningKey:
    return SigningKey.new()


async def rest(rt: Runtime, run: Run[Any]) -> Any:
    """How it rests, once its worker has looked at what others said (it would by itself, within a second)."""
    rt.worker.wake(run.id)
    return await Run(rt, run.id).wait(LIMIT)


async def waiting(rt: Runtime, run: Run[Any]) -> Interrupt:
    """What the run waits for, once it rests."""
    await rest(rt, run)
    [found] = await rt.inbox(run=run.id)
    return found


async def disowned(rt: Runtime, run: Run[Any], by: str = "ana") -> Interrupt:
    """The item, once a worker has said that somebody's decision about it does not count."""
    async with asyncio.timeout(LIMIT):
        bell = asyncio.Event()
        end = rt.store.subscribe(run.id, bell.set)
        rt.worker.wake(run.id)
        try:
            while True:
                bell.clear()
                if any(by in i.disowned for i in await rt.inbox(run=run.id)):
                    break
                await bell.wait()
        finally:
            end()
    return await waiting(rt, run)


async def journal(store: Store, run: Run[Any]) -> list[r.AnyRecord]:
    return [record for _, record in await store.load(run.id)]


async def names(store: Store, run: Run[Any]) -> list[str]:
    return [type(record).__name__ for record in await journal(store, run)]


# A signature that counts


async def test_what_the_server_signs_runs_once(store: Store, server: SigningKey) -> None:
    async with (
        Runtime(store, [clerk()], deciders=[server.line("prod")]) as worker,
        Runtime(store, signing_key=server) as desk,
    ):
        run = await worker.start(clerk(), "go", by="eve")
        item = await waiting(worker, run)
        assert item.call is not None
        await desk.approve(item.id, by="ana", digest=item.call.digest)
        assert (await rest(worker, run)).status == "completed"
        assert list(violations(await journal(store, run))) == []
        [decided] = [x for x in await journal(store, run) if isinstance(x, r.Decided)]
        assert decided.seal is not None and decided.seal.kid == server.kid and len(decided.seal.nonce) == 32
        [line] = [x for x in await worker.audit() if x.verdict]
        assert line.more["kid"] == server.kid
    assert paid == [500]


@pytest.mark.parametrize("verdict", ["deny", "edit"])
async def test_a_denial_and_an_edit_are_signed_as_well(store: Store, server: SigningKey, verdict: str) -> None:
    async with (
        Runtime(store, [clerk()], deciders=[server.line("prod")]) as worker,
        Runtime(store, signing_key=server) as desk,
    ):
        run = await worker.start(clerk(), "go", by="eve")
        item = await waiting(worker, run)
        if verdict == "deny":
            await desk.deny(item.id, by="ana", note="no")
        else:
            await desk.approve(item.id, by="ana", edit={"cents": 7})
        assert (await rest(worker, run)).status == "completed"
        assert "Disowned" not in await names(store, run)
    assert paid == ([] if verdict == "deny" else [7])


async def test_a_person_with_a_key_of_their_own_decides_as_themselves_only(store: Store) -> None:
    key = SigningKey.new()
    line = key.line("ana", person=True, groups=["leads"])
    async with (
        Runtime(store, [clerk(groups=("leads",))], deciders=[line]) as worker,
        Runtime(store, signing_key=key) as ana,
    ):
        run = await worker.start(clerk(groups=("leads",)), "go", by="eve")
        item = await waiting(worker, run)
        await ana.approve(item.id, by="bob", groups=["leads"])
        item = await disowned(worker, run, "bob")
        await ana.approve(item.id, by="ana", groups=["leads", "board"])
        item = await disowned(worker, run, "ana")
        assert item.disowned == ("bob", "ana") and paid == []
        await ana.approve(item.id, by="ana", groups=["leads"])
        assert (await rest(worker, run)).status == "completed"
    assert paid == [500]


async def test_two_of_two_must_be_signed(store: Store, server: SigningKey, thief: SigningKey) -> None:
    async with (
        Runtime(store, [clerk(approvers=2)], deciders=[server.line("prod")]) as worker,
        Runtime(store, signing_key=server) as desk,
        Runtime(store, signing_key=thief) as evil,
    ):
        run = await worker.start(clerk(approvers=2), "go", by="eve")
        item = await waiting(worker, run)
        await desk.approve(item.id, by="ana")
        await evil.approve(item.id, by="bob")
        item = await disowned(worker, run, "bob")
        assert paid == []
        await evil.deny(item.id, by="carl")
        item = await disowned(worker, run, "carl")
        assert paid == [] and item.disowned == ("bob", "carl")
        await desk.approve(item.id, by="bob")  # ana's yes still counts
        assert (await rest(worker, run)).status == "completed"
    assert paid == [500]


# One that does not


async def test_an_unsigned_decision_is_refused_with_what_to_do(store: Store, server: SigningKey) -> None:
    async with Runtime(store, [clerk(), asker()], deciders=[server.line("prod")]) as worker, Runtime(store) as plain:
        run, asks = await worker.start(clerk(), "go", by="eve"), await worker.start(asker(), "go")
        item, question = await waiting(worker, run), await waiting(worker, asks)
        for rt in (plain, worker):
            for refused in (
                rt.approve(item.id, by="ana"), rt.deny(item.id, by="ana"), rt.answer(question.id, "yes", by="ana"),
            ):  # fmt: skip
                with pytest.raises(NotAllowed, match="must be signed, and this one is not.*--signing-key"):
                    await refused
        assert paid == [] and "Decided" not in [*await names(store, run), *await names(store, asks)]


@pytest.mark.parametrize("how", ["a stranger's key", "no seal", "another run's", "a changed groups", "somebody else"])
async def test_a_decision_that_does_not_verify_is_disowned_and_the_item_is_open_again(
    store: Store, server: SigningKey, thief: SigningKey, how: str
) -> None:
    """Written into the store as whoever has the file can write it."""
    async with (
        Runtime(store, [clerk()], deciders=[server.line("prod")]) as worker,
        Runtime(store, signing_key=server) as desk,
    ):
        run, other = await worker.start(clerk(), "go", by="eve"), await worker.start(clerk(), "go", by="eve")
        item, second = await waiting(worker, run), await waiting(worker, other)
        await desk.approve(second.id, by="ana")
        await rest(worker, other)
        [good] = [x for x in await journal(store, other) if isinstance(x, r.Decided)]
        mine = msgspec.structs.replace(good, digest=item.call.digest if item.call else "", at=0.0)
        identity, now = await store.identity(), store.now()
        opening = next(x for x in await journal(store, run) if isinstance(x, r.Asked))
        honest = server.sealed(mine, store=identity, run=run.id, of=shown(run.id, opening), now=now)
        forged = {
            "a stranger's key": thief.sealed(mine, store=identity, run=run.id, of=shown(run.id, opening), now=now),
            "no seal": msgspec.structs.replace(mine, seal=None),
            "another run's": mine,
            "a changed groups": msgspec.structs.replace(honest, groups=("board",)),
            "somebody else": msgspec.structs.replace(honest, by="bob"),
        }[how]
        await store.signed(False)  # they can do that, too
        await store.deliver(run.id, forged)
        item = await disowned(worker, run, forged.by)
        assert paid == [500] and item.disowned == (forged.by,)
        shown_again = (await run.state()).interrupts
        assert [i.disowned for i in shown_again] == [(forged.by,)]
        await desk.approve(item.id, by="ana")
        assert (await rest(worker, run)).status == "completed"
        assert (await names(store, run)).count("Disowned") == 1
        assert list(violations(await journal(store, run))) == []
    assert paid == [500, 500]


async def test_what_was_decided_while_nobody_worked_is_disowned_when_somebody_does(
    store: Store, server: SigningKey, thief: SigningKey
) -> None:
    async with Runtime(store, [clerk()], deciders=[server.line("prod")]) as worker:
        run = await worker.start(clerk(), "go", by="eve")
        item = await waiting(worker, run)
    async with Runtime(store, signing_key=thief) as evil:
        await evil.approve(item.id, by="ana")
        assert await evil.inbox() == []
    async with Runtime(store, [clerk()], deciders=[server.line("prod")]) as worker:
        item = await disowned(worker, await worker.get(run.id))
        assert await names(store, run) == [
            "Started", "Claimed", "Replied", "Asked", "Parked", "Decided", "Claimed", "Disowned", "Parked",
        ]  # fmt: skip
    assert paid == []


async def test_an_answer_is_verified_like_an_approval(store: Store, server: SigningKey, thief: SigningKey) -> None:
    async with (
        Runtime(store, [asker()], deciders=[server.line("prod")]) as worker,
        Runtime(store, signing_key=server) as desk,
        Runtime(store, signing_key=thief) as evil,
    ):
        run = await worker.start(asker(), "go")
        item = await waiting(worker, run)
        await evil.answer(item.id, "delete everything", by="ana")
        item = await disowned(worker, run)
        assert [type(m).__name__ for m in await run.messages()] == ["UserMessage", "AssistantMessage"]
        await desk.answer(item.id, "no", by="ana")
        assert (await rest(worker, run)).output == "they said no"


# Events and forks

waiter = Flow("waiter")


@waiter.chunk
async def wait_for_payment(ctx: FlowContext) -> None:
    ctx.pause_for("payment", {"order": 1}, resume_event="paid")


@waiter.when("paid").to
async def settle(ctx: FlowContext) -> None:
    ctx.state["paid"] = ctx.input


waiter.to(wait_for_payment)


async def test_an_event_that_answers_is_signed_and_used_once(
    store: Store, server: SigningKey, thief: SigningKey
) -> None:
    async with (
        Runtime(store, [waiter], deciders=[server.line("prod")]) as worker,
        Runtime(store, signing_key=server) as desk,
        Runtime(store, signing_key=thief) as evil,
        Runtime(store) as plain,
    ):
        run = await worker.start(waiter, "go", by="eve")
        await waiting(worker, run)
        with pytest.raises(NotAllowed, match="must be signed"):
            await (await plain.get(run.id)).emit("paid", 1, by="ana")
        await (await plain.get(run.id)).emit("noise", 1, by="ana")  # it answers nothing
        await (await evil.get(run.id)).emit("paid", 1, by="ana")
        await disowned(worker, run)
        await (await desk.get(run.id)).emit("paid", 5, by="ana")
        assert (await rest(worker, run)).status == "completed"
        assert (await run.state()).state == {"paid": 5}


async def test_answers_are_kept_in_a_fork_only_by_somebody_who_is_trusted(
    store: Store, server: SigningKey, thief: SigningKey
) -> None:
    async with (
        Runtime(store, [asker()], deciders=[server.line("prod")]) as worker,
        Runtime(store, signing_key=server) as desk,
        Runtime(store, signing_key=thief) as evil,
        Runtime(store) as plain,
    ):
        run = await worker.start(asker(), "go")
        await desk.answer((await waiting(worker, run)).id, "yes", by="ana")
        await rest(worker, run)
        with pytest.raises(NotAllowed, match="keeps people's answers"):
            await (await plain.get(run.id)).fork(answers="keep", by="ana")
        stolen = await (await evil.get(run.id)).fork(answers="keep", by="ana")
        with pytest.raises(Exception, match="keeps people's answers, and it is signed with key"):
            await rest(worker, stolen)
        await (await plain.get(stolen.id)).cancel(by="ana")  # there is a way out
        assert (await rest(worker, stolen)).status == "cancelled"
        kept = await (await desk.get(run.id)).fork(answers="keep", by="ana")
        assert (await rest(worker, kept)).output == "they said yes"
        reopened = await (await plain.get(run.id)).fork(by="olga")  # it keeps nothing
        assert (await waiting(worker, await worker.get(reopened.id))).kind == "question"


# Stores


async def test_a_worker_without_deciders_does_not_start_on_such_a_store(store: Store, server: SigningKey) -> None:
    async with Runtime(store, deciders=[server.line("prod")]) as rt:
        assert await rt.store.signed()
    with pytest.raises(Misused, match="nothing here can verify them: start it with deciders"):
        async with Runtime(store, [clerk()]):
            pass
    async with Runtime(store) as rt:
        with pytest.raises(Misused, match="start it with deciders"):
            await rt.start(clerk(), "go", by="eve")
    async with Runtime(store, [clerk()], work=False) as rt:
        await rt.start(clerk(), "go", by="eve")


async def test_one_that_was_there_before_starts_nothing_gated_either(store: Store, server: SigningKey) -> None:
    async with Runtime(store, [clerk()]) as old, Runtime(store, signing_key=server) as desk:
        run = await old.start(clerk(), "go", by="eve")
        item = await waiting(old, run)
        async with Runtime(store, deciders=[server.line("prod")]):
            pass
        await desk.approve(item.id, by="ana")
        with pytest.raises(RunFailed, match="no deciders to verify them with"):
            await run.wait(10)
    assert paid == []


async def test_a_decision_of_another_store_does_not_count(server: SigningKey) -> None:
    """What it was spent on there is history; what is left of it is asked for again."""
    lines = [server.line("prod")]
    one, two = MemoryStore(), MemoryStore()
    async with Runtime(one, [clerk()], deciders=lines) as there, Runtime(one, signing_key=server) as desk:
        run = await there.start(clerk(), "go", by="eve", run_id="the-run")
        item = await waiting(there, run)
    async with Runtime(one, signing_key=server) as desk:
        await desk.approve(item.id, by="ana")
        saved = await (await desk.get("the-run")).checkpoint()
    async with Runtime(two, [clerk()], deciders=lines) as here:
        run = await here.resume(saved)
        item = await disowned(here, run)
        assert paid == []
        async with Runtime(two, signing_key=server) as desk:
            await desk.approve(item.id, by="ana")
        assert (await rest(here, run)).status == "completed"
    assert paid == [500]


async def test_what_another_store_has_spent_is_history(server: SigningKey) -> None:
    lines = [server.line("prod")]
    one, two = MemoryStore(), MemoryStore()
    async with Runtime(one, [clerk(1, 2)], deciders=lines) as there, Runtime(one, signing_key=server) as desk:
        run = await there.start(clerk(1, 2), "go", by="eve")
        await desk.approve((await waiting(there, run)).id, by="ana")
        await waiting(there, run)
        saved = await run.checkpoint()
    assert paid == [1]
    async with Runtime(two, [clerk(1, 2)], deciders=lines) as here, Runtime(two, signing_key=server) as desk:
        with pytest.raises(NotAllowed, match="must be signed"):
            await here.resume(saved, approved=True, by="ana")
        again = await desk.resume(saved, approved=True, by="ana")
        assert (await rest(here, again)).status == "completed"
    assert paid == [1, 2]


# Time


async def test_a_signature_must_be_made_when_it_is_recorded(store: Store, server: SigningKey) -> None:
    async with Runtime(store, [clerk()], deciders=[server.line("prod")]) as worker:
        run = await worker.start(clerk(), "go", by="eve")
        item = await waiting(worker, run)
        opening = next(x for x in await journal(store, run) if isinstance(x, r.Asked))
        assert item.call is not None
        yes = r.Decided(i=opening.i, verdict="approve", by="ana", digest=item.call.digest)
        for off in (-301.0, 301.0):
            old = server.sealed(
                yes, store=await store.identity(), run=run.id, of=shown(run.id, opening), now=store.now() + off
            )
            with pytest.raises(Invalid, match="30[01] s away from this store's clock, and at most 300 s are allowed"):
                await store.deliver(run.id, old)
            with_its_time = msgspec.structs.replace(old, at=store.now() + off)  # as a forger of the file would
            assert worker.worker.advancer.trust is not None
            assert worker.worker.advancer.trust.flaw(run.id, with_its_time, shown(run.id, opening)) == ""
            assert "a different time" in worker.worker.advancer.trust.flaw(
                run.id, msgspec.structs.replace(old, at=store.now()), shown(run.id, opening)
            )
    assert paid == []


# What was shown


async def test_what_was_shown_is_what_is_signed(store: Store, server: SigningKey) -> None:
    """A record that says it shows one thing and asks for another cannot be agreed to."""
    async with Runtime(store, [clerk()], deciders=[server.line("prod")]) as worker:
        run = await worker.start(clerk(), "go", by="eve")
        item = await waiting(worker, run)
        opening = next(x for x in await journal(store, run) if isinstance(x, r.Asked))
        assert item.call is not None and item.call.digest == shown(run.id, opening) == opening.digest
        async with Runtime(store, signing_key=server) as desk:
            with pytest.raises(StaleDecision):
                await desk.approve(item.id, by="ana", digest="0" * 64)


async def test_the_same_request_again_is_the_same_although_it_is_signed_anew(store: Store, server: SigningKey) -> None:
    async with (
        Runtime(store, [clerk()], deciders=[server.line("prod")]) as worker,
        Runtime(store, signing_key=server) as desk,
    ):
        run = await worker.start(clerk(), "go", by="eve")
        item = await waiting(worker, run)
        first = await desk.approve(item.id, by="ana", request_id="r1")
        assert await desk.approve(item.id, by="ana", request_id="r1") == first
        await rest(worker, run)
    assert paid == [500]


def test_a_signature_is_ed25519_over_the_documented_bytes(server: SigningKey) -> None:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    yes = server.sealed(r.Decided(i="1.0?0", verdict="approve", by="ana"), store="s", run="r", of="d", now=1000.0)
    assert yes.seal is not None
    raw = message("s", "r", yes, "d", yes.seal)
    Ed25519PublicKey.from_public_bytes(server.public).verify(base64.b64decode(yes.seal.sig), raw)


# Records that were never written by a worker


async def forge(store: Store, run: str, *records: r.AnyRecord) -> None:
    """Append records as whoever has the file can: as a worker, with an epoch of its own, and everything consistent."""
    lease = await store.acquire(run, "forger", 0.001)
    assert lease is not None
    facts, moves = [x for x in records if isinstance(x, r.Fact)], [x for x in records if not isinstance(x, r.Fact)]
    await store.commit(lease, facts, [*moves, r.Parked()], seen=lease.seq)  # pyright: ignore[reportArgumentType]


@tool(effect="unsafe")
async def dig(ctx: ToolContext, depth: int) -> str:
    """Dig."""
    await ctx.on_cancel(fill_in, depth)
    ctx.pause_for("deeper", depth, resume_to="self")
    return "dug"


filled: list[int] = []


def fill_in(depth: int) -> None:
    filled.append(depth)


async def take_back(ctx: ToolContext, args: dict[str, Any], result: Any) -> None:
    paid.append(-args["cents"])


@tool(effect="unsafe", undo=take_back)
async def pay(cents: int) -> str:
    """Pay."""
    paid.append(cents)
    return "paid"


def payer() -> Agent:
    policy = Policy([ask("pay")], default="allow")
    return Agent("payer", model=ScriptedModel([call("pay", cents=9)], "done"), tools=[pay], policy=policy)


def digger() -> Agent:
    return Agent("digger", model=ScriptedModel([call("dig", depth=3)], "done"), tools=[dig])


def boss() -> Agent:
    """A nested agent that needs an agreement to begin with."""
    child = Agent("helper", model=ScriptedModel([call("note", text="at work")], "done"), tools=[note])
    policy = Policy([ask("helper")], default="allow")
    model = ScriptedModel([call("helper", input="help")], "done")
    return Agent("boss", model=model, tools=[child.as_tool()], policy=policy)


noted: list[str] = []


@tool(effect="idempotent")
async def note(text: str) -> str:
    """Note it."""
    noted.append(text)
    return "noted"


@pytest.mark.parametrize("effect", ["unsafe", "idempotent", "read"])
@pytest.mark.parametrize("said", ["accepted", "begun", "begun and yielded"])
async def test_what_a_forger_says_that_workers_did_lets_nothing_run(
    store: Store, server: SigningKey, effect: Any, said: str
) -> None:
    """A park behind a decision says that a worker believed it, an intent that the call had begun: both are asked about."""
    agent, lines = clerk(tool=tool(name="refund", effect=effect)(refund.run)), [server.line("prod")]
    async with Runtime(store, [agent], deciders=lines) as worker:
        run = await worker.start(agent, "go", by="eve")
        item = await waiting(worker, run)
    assert item.call is not None
    await store.signed(False)
    await store.deliver(run.id, r.Decided(i="1.0?0", verdict="approve", by="ana", digest=item.call.digest))
    asked = next(x for x in await journal(store, run) if isinstance(x, r.Asked))
    begun = r.Intended(call="1.0", tool="refund", digest=asked.action, effect=effect, gate=asked.gate, grant="1.0?0")
    await forge(store, run.id, *([] if said == "accepted" else [begun]))
    if said == "begun and yielded":
        await store.deliver(run.id, r.Said(text="go on", by="ana"))
        await forge(store, run.id, r.Yielded(call="1.0"))
    await store.deliver(run.id, r.Said(text="go on", by="ana"))
    async with Runtime(store, [agent], deciders=lines) as worker, Runtime(store, signing_key=server) as desk:
        again = await waiting(worker, await worker.get(run.id))
        assert paid == [] and again.id != item.id, "it is asked anew"
        assert again.kind == ("in_doubt" if said == "begun" else "approval")
        if again.kind == "approval":
            await desk.approve(again.id, by="ana")
        else:
            await desk.answer(again.id, "run", by="ana")
        assert (await rest(worker, run)).status == "completed"
    assert paid == [500]


async def test_a_nested_agent_that_nobody_agreed_to_does_not_go_on(store: Store, server: SigningKey) -> None:
    noted.clear()
    agent, lines = boss(), [server.line("prod")]
    async with Runtime(store, [agent], deciders=lines) as worker:
        run = await worker.start(agent, "go", by="eve")
        await waiting(worker, run)
    await store.signed(False)
    await store.deliver(run.id, r.Said(text="go on", by="ana"))
    await forge(store, run.id, r.Intended(call="1.0", tool="helper", agent="helper", input="help"))
    await store.deliver(run.id, r.Said(text="go on", by="ana"))
    async with Runtime(store, [agent], deciders=lines) as worker:
        with pytest.raises(NotTrusted, match="no person whom this worker trusts agreed to the nested agent 'helper'"):
            await rest(worker, run)
        assert noted == []
        await (await worker.get(run.id)).cancel(by="ana")
        assert (await rest(worker, run)).status == "cancelled"
    assert noted == []


async def test_a_nested_agent_that_somebody_signed_for_goes_on_in_another_process(
    store: Store, server: SigningKey
) -> None:
    noted.clear()
    agent, lines = boss(), [server.line("prod")]
    async with Runtime(store, [agent], deciders=lines) as worker, Runtime(store, signing_key=server) as desk:
        run = await worker.start(agent, "go", by="eve")
        await desk.approve((await waiting(worker, run)).id, by="ana")
        await worker.worker.close(0)
    async with Runtime(store, [agent], deciders=lines) as worker:
        assert (await rest(worker, run)).status == "completed"
    assert noted == ["at work"]


async def test_nothing_is_undone_that_nobody_agreed_to(store: Store, server: SigningKey) -> None:
    """An undo needs no agreement of its own; so a call that never was must not have one."""
    agent, lines = payer(), [server.line("prod")]
    async with Runtime(store, [agent], deciders=lines) as worker:
        run, honest = await worker.start(agent, "go", by="eve"), await worker.start(agent, "go", by="eve")
        await waiting(worker, run)
        item = await waiting(worker, honest)
    await store.signed(False)
    await store.deliver(run.id, r.Said(text="go on", by="ana"))
    lease = await store.acquire(run.id, "forger", 0.001)
    assert lease is not None
    await store.commit(lease, [], [r.Intended(call="1.0", tool="pay", undo=True)], seen=lease.seq)
    returned = r.Returned(call="1.0", value="paid")
    await store.commit(lease, [returned], [r.Parked()], seen=lease.seq + 1)
    await store.signed(True)
    async with Runtime(store, [agent], deciders=lines) as worker, Runtime(store, signing_key=server) as desk:
        await (await worker.get(run.id)).cancel(by="ana")
        ended = await rest(worker, run)
        assert ended.status == "cancelled" and paid == []
        assert [
            (x["call_id"], "no person whom this worker trusts agreed to it" in x["why"]) for x in ended.residue
        ] == [("1.0", True)]
        await desk.approve(item.id, by="ana")
        await rest(worker, honest)
        assert paid == [9]


async def test_what_somebody_signed_for_is_undone(store: Store, server: SigningKey) -> None:
    agent = Agent(
        "payer", model=ScriptedModel([call("pay", cents=9)], [call("ask_operator", question="?")], "done"), tools=[pay, ask_operator],
        policy=Policy([ask("pay")], default="allow"),
    )  # fmt: skip
    async with (
        Runtime(store, [agent], deciders=[server.line("prod")]) as worker,
        Runtime(store, signing_key=server) as desk,
    ):
        run = await worker.start(agent, "go", by="eve")
        await desk.approve((await waiting(worker, run)).id, by="ana")
        assert (await waiting(worker, run)).kind == "question"
    async with Runtime(store, [agent], deciders=[server.line("prod")]) as worker:
        await (await worker.get(run.id)).cancel(by="ana")
        assert (await rest(worker, run)).status == "cancelled"
    assert paid == [9, -9]


async def test_a_record_cannot_name_a_function_to_be_run_as_a_compensation(store: Store, server: SigningKey) -> None:
    """After a crash a compensation is found by its name; whoever writes the file could name any function of the module."""
    filled.clear()
    agent, lines = digger(), [server.line("prod")]
    async with Runtime(store, [agent], deciders=lines) as worker:
        run = await worker.start(agent, "go", by="eve")
        await waiting(worker, run)
    from adjourn.bodies.compensations import _registered

    _registered.clear()  # its process is gone
    async with Runtime(store, [agent], deciders=lines) as worker:
        await (await worker.get(run.id)).cancel(by="ana")
        async with asyncio.timeout(LIMIT):
            while await (await worker.get(run.id)).status() != "stuck":
                await asyncio.sleep(0.05)  # until a person is asked
        [asks] = await worker.inbox(run=run.id)
        assert "not run just because a record names it" in asks.payload["error"]
    assert filled == []
