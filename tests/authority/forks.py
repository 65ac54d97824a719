"""Forks of a run in every state it can be in: none of them has agreed to anything, so each comes to its own gate."""

from typing import Any

from tests.authority.bodies import asks_first, doubts_first
from tests.authority.paths import ASKING, DINA, HOUR, as_paths, at_the_gate, emitted, nested, queued
from tests.authority.world import DORA, Body, Office, Scene, clerk, gated, pay_tool, paying, pays

from adjourn import Run
from adjourn.core.records import Intended, Returned


async def _forked(
    office: Office, many: int, run: Run[Any], at: int | None = None, *, rounds: int = 1, **how: Any
) -> Scene:
    """So many forks of it, each by somebody who has no right to decide."""
    forks = [await run.fork(at, by="ada", **how) for _ in range(many)]
    await office.rest(*forks)
    return Scene(office, *forks, due=many, rounds=rounds)


async def _begun(office: Office, body: Body) -> Run[Any]:
    """A run whose body has begun, because everybody agreed."""
    run = await office.start(clerk(pay_tool(body), [pays(1)]))
    await office.all_agree(run, DINA, DORA)
    return run


async def _place(office: Office, run: Run[Any], kind: type, offset: int = 0) -> int:
    """Where the first record of this kind stands."""
    return next(seq for seq, record in await office.store.load(run.id) if isinstance(record, kind)) + offset


async def while_it_waits(office: Office, many: int) -> Scene:
    scene = await at_the_gate(office, 1)
    return await _forked(office, many, scene.run)


async def while_one_has_agreed(office: Office, many: int) -> Scene:
    scene = await at_the_gate(office, 1)
    await office.all_agree(scene.run, DINA)
    return await _forked(office, many, scene.run)


async def when_all_have_agreed(office: Office, many: int) -> Scene:
    """It was paused before it could begin: the agreement is not used yet. It stays the original's."""
    scene = await at_the_gate(office, 1)
    run = scene.run
    await run.pause(by="ada")
    await office.all_agree(run, DINA, DORA)
    forks = await _forked(office, many, run)
    await run.resume(by="ada")
    await office.rest(run)
    assert len(office.ledger) == 1, "the original was agreed to"
    return forks


async def before_it_ran(office: Office, many: int) -> Scene:
    """Of a run that has ended, at the place where it was agreed to and had not begun."""
    run = await _begun(office, paying(office.ledger))
    return await _forked(office, many, run, await _place(office, run, Intended, -1))


async def agreed_for_the_run(office: Office, many: int) -> Scene:
    """Everybody agreed for the whole run, which pays twice. The fork has the first payment behind it."""
    scene = await at_the_gate(office, 1, replies=[pays(1), pays(1)])
    run = scene.run
    await office.all_agree(run, DINA, DORA, scope="run")
    assert len(office.ledger) == 2
    return await _forked(office, many, run, await _place(office, run, Returned))


async def in_doubt(office: Office, many: int) -> Scene:
    """The fork begins before the body did. Its own first body comes into doubt as well: then they are asked once more."""
    run = await _begun(office, doubts_first(office))
    assert [item.kind for item in await office.items(run)] == ["in_doubt"]
    return await _forked(office, many, run, rounds=2)


async def suspended(office: Office, many: int) -> Scene:
    """Its body waits for an answer: the fork begins before the body did, and asks that question too."""
    run = await _begun(office, asks_first(office))
    scene = await _forked(office, many, run)

    async def answer() -> None:
        for fork in scene.runs:
            await office.answer(fork)

    return Scene(office, *scene.runs, due=many, then=answer)


async def queued_up(office: Office, many: int) -> Scene:
    scene = await queued(office, 1)
    return await _forked(office, many, scene.run)


async def inside_of_a_boss(office: Office, many: int) -> Scene:
    scene = await nested(office, 1)
    await office.all_agree(scene.run, DINA)
    return await _forked(office, many, scene.run)


async def after_a_denial(office: Office, many: int) -> Scene:
    scene = await at_the_gate(office, 1, replies=[pays(1), pays(1)])
    run = scene.run
    for item in await office.items(run):
        await office.rt.deny(item.id, by="nora")
    await office.rest(run)
    return await _forked(office, many, run)


async def after_an_expiry(office: Office, many: int) -> Scene:
    scene = await at_the_gate(office, 1, gated(expires_in=HOUR), replies=[pays(1), pays(1)])
    await office.pass_time(HOUR + 1, *scene.runs)
    return await _forked(office, many, scene.run)


async def of_a_cancelled_run(office: Office, many: int) -> Scene:
    scene = await at_the_gate(office, 1)
    run = scene.run
    await office.all_agree(run, DINA)
    await run.cancel(by="ada")
    await office.rest(run)
    return await _forked(office, many, run)


async def of_a_fork(office: Office, many: int) -> Scene:
    scene = await at_the_gate(office, 1)
    fork = await scene.run.fork(by="ada")
    await office.rest(fork)
    await office.all_agree(fork, DINA)
    return await _forked(office, many, fork)


async def after_an_answer(office: Office, many: int) -> Scene:
    """The question is asked again; whoever answers has shaped the fork."""
    scene = await at_the_gate(office, 1, replies=[ASKING, pays(1)])
    await office.answer(scene.run)
    forks = await _forked(office, many, scene.run)
    for fork in forks.runs:
        assert [item.kind for item in await office.items(fork)] == ["question"]
        await office.answer(fork)
    return forks


async def keeping_an_answer(office: Office, many: int) -> Scene:
    """Somebody carries the answer over; the payment that it led to is asked for all the same."""
    scene = await at_the_gate(office, 1, replies=[ASKING, pays(1)])
    await office.answer(scene.run)
    await office.all_agree(scene.run, DINA)
    return await _forked(office, many, scene.run, answers="keep")


async def answering_what_is_open(office: Office, many: int) -> Scene:
    scene = await at_the_gate(office, 1, replies=[ASKING, pays(1)])
    run = scene.run
    [item] = await office.items(run)
    return await _forked(office, many, run, answers={item.id: "for eve"})


async def with_another_input(office: Office, many: int) -> Scene:
    scene = await at_the_gate(office, 1)
    await office.all_agree(scene.run, DINA)
    return await _forked(office, many, scene.run, input="pay somebody else")


async def with_an_instruction(office: Office, many: int) -> Scene:
    scene = await at_the_gate(office, 1)
    await office.all_agree(scene.run, DINA)
    return await _forked(office, many, scene.run, instruction="pay somebody else")


async def of_a_flow_after_an_event(office: Office, many: int) -> Scene:
    """The event answered a question: it is waited for again."""
    scene = await emitted(office, 1)
    forks = await _forked(office, many, scene.run)
    for fork in forks.runs:
        await fork.emit("approved", {"approved": True}, by="quinn")
    await forks.rest()
    return forks


FORKS = as_paths(
    while_it_waits, while_one_has_agreed, when_all_have_agreed, before_it_ran, agreed_for_the_run, in_doubt, suspended, queued_up,
    inside_of_a_boss, after_a_denial, after_an_expiry, of_a_cancelled_run, of_a_fork, after_an_answer, keeping_an_answer,
    answering_what_is_open, with_another_input, with_an_instruction, of_a_flow_after_an_event,
)  # fmt: skip
