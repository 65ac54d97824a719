"""G36: with deciders set, no unsigned decision runs anything, whatever path led there.

Every path × every way a decision can be written into the store by somebody who has the file and no key.
"""

from collections.abc import Callable
from typing import NamedTuple

import pytest
from msgspec.structs import replace
from tests.authority.changes import CHANGES
from tests.authority.forks import FORKS
from tests.authority.paths import APPROVALS, ASKING, EXECUTIONS, Path
from tests.authority.world import (
    GATES,
    STORES,
    Office,
    Person,
    Scene,
    an_office,
    clerk,
    nobody_else_runs_it,
    pay_tool,
    paying,
    pays,
)

from adjourn import Flow, FlowContext
from adjourn.core.fork import boundaries
from adjourn.core.records import Asked, Decided, Emitted, Parked
from adjourn.core.signatures import shown
from adjourn.driver.decider_keys import SigningKey

PATHS: dict[str, Path] = {
    **APPROVALS,
    **EXECUTIONS,
    **{f"a fork {name}": path for name, path in FORKS.items()},
    **{f"after {name}": path for name, path in CHANGES.items()},
}
for apart in (
    "after a checkpoint imported",
    "paused",
):  # a vote of it was signed in no store; while it rests nobody looks
    del PATHS[apart]


class Forger(NamedTuple):
    """Somebody who can write the file of a store, and has seen what its people signed."""

    server: SigningKey
    own: SigningKey
    store: str
    now: float

    def honest(self, run: str, asked: Asked, yes: Decided) -> Decided:
        return self.server.sealed(yes, store=self.store, run=run, of=shown(run, asked), now=self.now)


Forge = Callable[[Forger, str, Asked, Decided], Decided]

FORGERIES: dict[str, Forge] = {
    "no seal": lambda forger, run, asked, yes: yes,
    "a stranger's key": lambda forger, run, asked, yes: forger.own.sealed(
        yes, store=forger.store, run=run, of=shown(run, asked), now=forger.now
    ),
    "another store's": lambda forger, run, asked, yes: forger.server.sealed(
        yes, store="another store", run=run, of=shown(run, asked), now=forger.now
    ),
    "another run's": lambda forger, run, asked, yes: forger.server.sealed(
        yes, store=forger.store, run="another-run", of=shown("another-run", asked), now=forger.now
    ),
    "of what was not shown": lambda forger, run, asked, yes: forger.server.sealed(
        yes, store=forger.store, run=run, of="0" * 64, now=forger.now
    ),
    "somebody else's": lambda forger, run, asked, yes: replace(
        forger.honest(run, asked, replace(yes, by="nora", groups=())), by=yes.by, groups=yes.groups
    ),
    "a denial's": lambda forger, run, asked, yes: replace(
        forger.honest(run, asked, replace(yes, verdict="deny", value=None)), verdict=yes.verdict, value=yes.value
    ),
}


async def written(office: Office, run: str, asked: Asked, who: Person, forger: Forger, forge: Forge) -> None:
    """A decision in the store's file, as whoever can write it writes it."""
    chosen = asked.kind == "in_doubt"
    yes = Decided(
        i=asked.i, verdict="value" if chosen else "approve", value={"choice": "run"} if chosen else None, by=who.name,
        groups=who.groups, digest=asked.digest,
    )  # fmt: skip
    await office.store.signed(False)  # they can do that, too
    await office.store.deliver(run, forge(forger, run, asked, yes))


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("path", PATHS)
async def test_g36_no_decision_that_is_not_signed_runs_anything(path: str, store: str) -> None:
    server, own = SigningKey.new(), SigningKey.new()

    async def everything_is_forged(scene: Scene) -> None:
        office = scene.office
        forger = Forger(server, own, await office.store.identity(), office.clock.now())
        for forge in FORGERIES.values():
            for run in scene.runs:
                records = await office.records(run)
                gates = {item.seq for item in await office.items(run, *GATES)}
                for asked in [record for seq, record in enumerate(records, 1) if seq in gates]:
                    assert isinstance(asked, Asked)
                    for who in scene.right:
                        await written(office, run.id, asked, who, forger, forge)
                office.rt.worker.wake(run.id)
            await scene.rest()

    async with an_office(store, deciders=[server.line("desk")], signing_key=server) as office:
        await nobody_else_runs_it(await PATHS[path](office, 1), everything_is_forged)


@pytest.mark.parametrize("store", STORES)
async def test_g36_what_was_forged_while_a_run_is_paused_is_disowned_when_it_goes_on(store: str) -> None:
    server, own = SigningKey.new(), SigningKey.new()
    async with an_office(store, deciders=[server.line("desk")], signing_key=server) as office:
        scene = await APPROVALS["paused"](office, 2)
        forger = Forger(server, own, await office.store.identity(), office.clock.now())
        asked = [record for record in await office.records(scene.run) if isinstance(record, Asked)]
        for item in asked:
            for who in scene.right:
                await written(office, scene.run.id, item, who, forger, FORGERIES["no seal"])
        await scene.run.resume(by="ada")
        await scene.rest()
        assert len(office.ledger) == 0
        await office.all_agree(scene.run, *scene.right)
        assert len(office.ledger) == 2


@pytest.mark.parametrize("store", STORES)
async def test_g36_a_fork_keeps_nothing_that_was_disowned(store: str) -> None:
    """Wherever it is cut: an answer that nobody signed is asked for again, and a fork that keeps answers has it not."""
    server = SigningKey.new()
    async with an_office(store, deciders=[server.line("desk")], signing_key=server) as office:
        run = await office.start(clerk(pay_tool(paying(office.ledger)), [ASKING, pays(1)]))
        [item] = await office.items(run, "question")
        await office.store.signed(False)
        await office.store.deliver(run.id, Decided(i=item.local, verdict="value", value="to eve", by="ana"))
        office.rt.worker.wake(run.id)
        await office.rest(run)
        records = await office.records(run)
        assert [type(x).__name__ for x in records][-3:] == ["Claimed", "Disowned", "Parked"]
        places = boundaries(records)
        forged, disowned = len(records) - 3, len(records) - 1
        assert not [at for at in places if forged <= at < disowned]
        for at in places:
            for answers in ("reopen", "keep"):
                fork = await run.fork(at, answers=answers, by="ada")
                await office.rest(fork)
                assert [x.local for x in await office.items(fork, "question")] == [item.local]
        assert len(office.ledger) == 0


@pytest.mark.parametrize("store", STORES)
async def test_g36_a_signed_event_answers_once_whoever_sends_it_again(store: str) -> None:
    """Also to a worker that was started since, and if somebody pretends that a worker has gone on from it."""
    server = SigningKey.new()
    flow = Flow("loop")

    async def first(ctx: FlowContext) -> None:
        ctx.pause_for("approval", {"question": "pay 5?"}, resume_event="go")

    async def pays_and_asks(ctx: FlowContext) -> None:
        ctx.state["paid"] = ctx.state.get("paid", 0) + 1
        paid.append(ctx.state["paid"])
        ctx.pause_for("approval", {"question": f"pay {ctx.state['paid'] * 100} as well?"}, resume_event="go")

    paid: list[int] = []
    flow.to(flow.chunk(first))
    flow.when("go").to(flow.chunk(pays_and_asks))
    async with an_office(store, deciders=[server.line("desk")], signing_key=server) as office:
        run = await office.start(flow)
        await run.emit("go", True, by="bob")
        await office.rest(run)
        assert paid == [1]
        [sent] = [record for record in await office.records(run) if isinstance(record, Emitted)]
        for pretends in (False, True):
            await office.close()
            await office.store.signed(False)
            await office.store.deliver(run.id, replace(sent, at=0.0))
            if pretends:
                lease = await office.store.acquire(run.id, "forger", 0.001)
                assert lease is not None
                await office.store.commit(lease, [], [Parked()], seen=lease.seq)
            await office.open(flow)
            run = await office.rt.get(run.id)
            await run.say(
                "are you there?", by="ada"
            )  # whoever can write the file can also leave it waiting for nothing
            await office.rest(run)
            assert paid == [1]
