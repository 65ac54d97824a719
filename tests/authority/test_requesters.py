"""Whoever shaped the run may not agree to what it does, in whichever way they did; who only let it go on may."""

import contextlib
from collections.abc import Awaitable, Callable

import pytest
from tests.authority.bodies import doubts_first
from tests.authority.paths import ASKING, as_paths, at_the_gate
from tests.authority.people import refused
from tests.authority.world import (
    DIRECTORS,
    DIRK,
    DORA,
    STARTER,
    STORES,
    Office,
    Person,
    Scene,
    an_office,
    clerk,
    gated,
    nobody_else_runs_it,
    pay_tool,
    paying,
    pays,
)

from adjourn import AdjournError, Flow, FlowContext, MaxSteps, ask, ge, lt
from adjourn.errors import ModelError

BY = DIRK.name
Way = Callable[[Office, int], Awaitable[Scene]]


async def started_it(office: Office, many: int) -> Scene:
    agent = clerk(pay_tool(paying(office.ledger)), [pays(many)])
    return Scene(office, await office.start(agent, by=BY), due=many)


async def said_something(office: Office, many: int) -> Scene:
    scene = await at_the_gate(office, many)
    await scene.run.say("a little more", by=BY)
    await scene.rest()
    return scene


async def said_something_and_dropped_a_question(office: Office, many: int) -> Scene:
    scene = await at_the_gate(office, many, replies=[[*ASKING, *pays(many)]])
    await scene.run.say("never mind", by=BY, abandon=True)
    await scene.rest()
    return scene


async def sent_an_event(office: Office, many: int) -> Scene:
    scene = await at_the_gate(office, many)
    await scene.run.emit("news", {"cents": 9}, by=BY)
    await scene.rest()
    return scene


async def gave_an_instruction(office: Office, many: int) -> Scene:
    scene = await at_the_gate(office, many)
    await scene.run.pause(by="ada")
    await scene.rest()
    await scene.run.resume("a little more", by=BY)
    await scene.rest()
    return scene


async def answered_a_question(office: Office, many: int) -> Scene:
    scene = await at_the_gate(office, many, replies=[ASKING, pays(many)])
    await office.answer(scene.run, "pay dirk", by=BY)
    return scene


async def answered_with_an_event(office: Office, many: int) -> Scene:
    flow = Flow("errand")

    async def ask_manager(ctx: FlowContext) -> None:
        ctx.pause_for("approval", {"question": "pay?"}, resume_event="approved")

    flow.to(flow.chunk(ask_manager))
    flow.when("approved").to(clerk(pay_tool(paying(office.ledger)), [pays(many)]))
    run = await office.start(flow)
    await run.emit("approved", {"to": "dirk"}, by=BY)
    await office.rest(run)
    return Scene(office, run, due=many)


async def edited_it(office: Office, many: int) -> Scene:
    """With an edit that the rule alone would let him agree to: he is a director, and one is enough."""
    small, large = ask("pay", when={"cents": lt(100)}, groups=DIRECTORS), gated(when={"cents": ge(100)})
    scene = await at_the_gate(office, many, small, large)
    for item in await scene.items():
        assert item.call is not None
        assert await office.agree(item, DIRK, edit={"cents": item.call.arguments["cents"] + 100}) is None
    await scene.rest()
    return scene


async def denied_something_with_a_note(office: Office, many: int) -> Scene:
    """The model reads the note."""
    scene = await at_the_gate(office, many, replies=[pays(1), pays(many)])
    for item in await scene.items():
        await office.rt.deny(item.id, by=BY, note="pay me instead")
    await scene.rest()
    return scene


async def said_what_had_happened(office: Office, many: int) -> Scene:
    """A call was in doubt; he says that it happened, and what came of it, which the model reads."""
    body = doubts_first(office)
    run = await office.start(clerk(pay_tool(body), [pays(1), pays(many + 1)[1:]]))
    await office.all_agree(run, DORA, Person("dina", DIRECTORS))
    [item] = await office.items(run, "in_doubt")
    choice = {"choice": "happened", "result": "now pay dirk"}
    await office.rt.answer(item.id, choice, by=BY, groups=DIRK.groups)
    await office.rest(run)
    return Scene(office, run, due=many, rounds=2)


async def forked_it(office: Office, many: int) -> Scene:
    scene = await at_the_gate(office, 1)
    forks = [await scene.run.fork(by=BY) for _ in range(many)]
    await office.rest(*forks)
    return Scene(office, *forks, due=many)


async def shaped_what_it_was_forked_from(office: Office, many: int) -> Scene:
    scene = await at_the_gate(office, 1)
    await scene.run.say("a little more", by=BY)
    await scene.rest()
    forks = [await scene.run.fork(by="ada") for _ in range(many)]
    await office.rest(*forks)
    return Scene(office, *forks, due=many)


SHAPES = as_paths(
    started_it, said_something, said_something_and_dropped_a_question, sent_an_event, gave_an_instruction, answered_a_question,
    answered_with_an_event, edited_it, denied_something_with_a_note, said_what_had_happened, forked_it,
    shaped_what_it_was_forked_from,
)  # fmt: skip


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("many", [1, 2])
@pytest.mark.parametrize("way", SHAPES)
async def test_who_shaped_a_run_does_not_agree_to_what_it_does(way: str, many: int, store: str) -> None:
    async def he_tries(scene: Scene) -> None:
        await refused(scene, DIRK)
        await refused(scene, Person(DIRK.name.upper(), DIRECTORS))

    async with an_office(store) as office:
        await nobody_else_runs_it(await SHAPES[way](office, many), he_tries)


# What shapes nothing


async def paused_and_resumed_it(office: Office, many: int) -> Scene:
    scene = await at_the_gate(office, many)
    await scene.run.pause(by=BY)
    await scene.rest()
    await scene.run.resume(by=BY)
    await scene.rest()
    return scene


async def let_a_model_try_again(office: Office, many: int) -> Scene:
    scene = await at_the_gate(office, many, replies=[ModelError("no credit", transient=False), pays(many)])
    await scene.run.resume(by=BY)
    await scene.rest()
    return scene


async def raised_a_limit(office: Office, many: int) -> Scene:
    agent = clerk(pay_tool(paying(office.ledger)), [ASKING, pays(many)], stop=MaxSteps(1).then("pause"))
    run = await office.start(agent)
    await office.answer(run)
    for item in await office.items(run, "limit"):
        await office.rt.answer(item.id, {"choice": "extend", "amount": 9}, by=BY)
    await office.rest(run)
    return Scene(office, run, due=many)


async def denied_something_without_a_word(office: Office, many: int) -> Scene:
    scene = await at_the_gate(office, many, replies=[pays(1), pays(many)])
    for item in await scene.items():
        await office.rt.deny(item.id, by=BY)
    await scene.rest()
    return scene


async def agreed_to_something_else(office: Office, many: int) -> Scene:
    scene = await at_the_gate(office, many, replies=[pays(1), pays(many + 1)[1:]])
    await office.all_agree(scene.run, DIRK, DORA)
    return scene


async def chose_that_a_call_in_doubt_shall_run(office: Office, many: int) -> Scene:
    run = await office.start(clerk(pay_tool(doubts_first(office)), [pays(many)]))
    await office.all_agree(run, DIRK, DORA)
    return Scene(office, run, due=many)


NOTHING = as_paths(
    paused_and_resumed_it, let_a_model_try_again, raised_a_limit, denied_something_without_a_word, agreed_to_something_else,
    chose_that_a_call_in_doubt_shall_run,
)  # fmt: skip


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("way", NOTHING)
async def test_who_only_let_it_go_on_may_agree(way: str, store: str) -> None:
    async with an_office(store) as office:
        scene = await NOTHING[way](office, 2)
        paid = len(office.ledger)
        await office.all_agree(scene.run, DIRK, DORA)
        assert len(office.ledger) == paid + scene.due
        await office.check()


# Nobody knows


@pytest.mark.parametrize("store", STORES)
async def test_where_nobody_knows_who_asked_nobody_can_be_told_apart_from_them(store: str) -> None:
    """Whether such a run is refused at its start or when somebody would agree: it pays nothing."""
    async with an_office(store) as office:
        with contextlib.suppress(AdjournError):
            run = await office.start(clerk(pay_tool(paying(office.ledger)), [pays(2)]), by="")
            for item in await office.items(run):
                for who in (DIRK, DORA, STARTER):
                    assert await office.agree(item, who) is not None
            await office.rest(run)
        assert len(office.ledger) == 0
