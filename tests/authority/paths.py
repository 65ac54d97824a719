"""Every way a payment can come to be. Each path brings runs to their gate, with so `many` of everything: calls, forks, doubts.

A path ends where somebody must still agree; whoever agreed to something before that did not agree to what is left.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from tests.authority.bodies import (
    asks_first,
    did_not_happen,
    dies_first,
    doubts_first,
    doubts_first_and_lapses,
    time_passes_and_it_did_not_happen,
    yields_first,
)
from tests.authority.world import (
    DAN,
    DIRECTORS,
    DORA,
    Office,
    Person,
    Scene,
    clerk,
    gated,
    pay_tool,
    paying,
    pays,
)

from adjourn import Agent, Flow, FlowContext, MaxSteps, Policy, Run, ask, ge, gt, lt
from adjourn.errors import ModelError
from adjourn.testing.scripted import ScriptedModel, call

Path = Callable[[Office, int], Awaitable[Scene]]

DINA = Person("dina", DIRECTORS)
"""A director who agrees early, to something else or to a part."""
CLEO = Person("cleo", ("clerks",))
AUDREY = Person("audrey", ("auditors",))
ASKING = [call("wonder", question="who is it for?")]
HOUR, LIFE = 3600.0, 60.0


async def at_the_gate(office: Office, many: int, *rules: Any, replies: Any = (), **options: Any) -> Scene:
    """A clerk whose first words, or whose `replies`, want so many payments."""
    agent = clerk(pay_tool(paying(office.ledger), **options), replies or [pays(many)], *rules)
    return Scene(office, await office.start(agent), due=many)


# Approvals


async def approved(office: Office, many: int) -> Scene:
    return await at_the_gate(office, many)


async def edited(office: Office, many: int) -> Scene:
    """A clerk may agree to small payments, and edits them into large ones."""
    small, large = ask("pay", when={"cents": lt(100)}, groups=("clerks",)), gated(when={"cents": ge(100)})
    scene = await at_the_gate(office, many, small, large)
    for item in await scene.items():
        assert item.call is not None
        raised = {"cents": item.call.arguments["cents"] + 100}
        assert await office.agree(item, CLEO, edit=raised) is None
    await scene.rest()
    return scene


async def answered(office: Office, many: int) -> Scene:
    """A person answers a question, and the payment comes of it."""
    scene = await at_the_gate(office, many, replies=[ASKING, pays(many)])
    await office.answer(scene.run)
    return scene


async def emitted(office: Office, many: int) -> Scene:
    """An event answers a flow's question; the flow's next chunk is the clerk."""
    flow = Flow("errand")

    async def ask_manager(ctx: FlowContext) -> None:
        ctx.pause_for("approval", {"question": "pay?"}, resume_event="approved")

    flow.to(flow.chunk(ask_manager))
    flow.when("approved").to(clerk(pay_tool(paying(office.ledger)), [pays(many)]))
    run = await office.start(flow)
    await run.emit("approved", {"approved": True}, by="quinn")
    await office.rest(run)
    return Scene(office, run, due=many)


async def scoped(office: Office, many: int) -> Scene:
    """Everybody agrees for the whole run: the same payments again need nobody else."""
    scene = await at_the_gate(office, many, replies=[pays(many), pays(many)])
    return Scene(office, *scene.runs, due=2 * many, gates=many, rounds=2, scope="run")


async def scoped_by_one(office: Office, many: int) -> Scene:
    """One of two agreed for the whole run, the other once: the same payment is asked for again."""
    scene = await at_the_gate(office, many, replies=[pays(many), pays(many)])
    for item in await scene.items():
        assert await office.agree(item, DAN, scope="run") is None
        assert await office.agree(item, DORA) is None
    await scene.rest()
    return scene


async def queued(office: Office, many: int) -> Scene:
    return await at_the_gate(office, many, gated(queue=True))


async def nested(office: Office, many: int) -> Scene:
    """Clerks inside of a boss, so many at once."""
    inner = clerk(pay_tool(paying(office.ledger)), [pays(1)])
    words = [call("clerk", input=f"errand {n}") for n in range(many)]
    boss = Agent("boss", model=ScriptedModel(words, "done"), tools=[inner.as_tool()])
    return Scene(office, await office.start(boss), due=many)


async def a_gated_agent(office: Office, many: int) -> Scene:
    """People agree to what the clerk is told; what it pays then is not asked about."""
    inner = Agent("clerk", model=ScriptedModel(pays(1), "done"), tools=[pay_tool(paying(office.ledger))])
    words = [call("clerk", input=f"errand {n}") for n in range(many)]
    policy = Policy([gated("clerk")], default="allow")
    boss = Agent("boss", model=ScriptedModel(words, "done"), tools=[inner.as_tool()], policy=policy)
    return Scene(office, await office.start(boss), due=many)


async def nested_under_two_policies(office: Office, many: int) -> Scene:
    """The boss's policy asks about the clerk's payments as well: everybody that either wants."""
    inner = clerk(pay_tool(paying(office.ledger)), [pays(many)])
    policy = Policy([ask("pay", groups=AUDREY.groups)], default="allow")
    model = ScriptedModel([call("clerk", input="errand")], "done")
    boss = Agent("boss", model=model, tools=[inner.as_tool()], policy=policy)
    return Scene(office, await office.start(boss), due=many, right=(DAN, DORA, AUDREY))


async def two_rules(office: Office, many: int) -> Scene:
    scene = await at_the_gate(office, many, gated(), ask("pay", when={"cents": gt(0)}, groups=AUDREY.groups))
    return Scene(office, *scene.runs, due=many, right=(DAN, DORA, AUDREY))


async def one_of_each_group(office: Office, many: int) -> Scene:
    rule = ask("pay", groups=(*DIRECTORS, *AUDREY.groups), each=True, not_requester=True)
    scene = await at_the_gate(office, many, rule)
    return Scene(office, *scene.runs, due=many, right=(DAN, AUDREY))


async def expired(office: Office, many: int) -> Scene:
    """One has agreed when it expires. The model asks for the same again: that vote is over."""
    scene = await at_the_gate(office, many, gated(expires_in=LIFE), replies=[pays(many), pays(many)])
    await office.all_agree(scene.run, DINA)
    await office.pass_time(LIFE + 1, *scene.runs)
    return scene


async def escalated(office: Office, many: int) -> Scene:
    """Three must agree. One has when nobody else answers, and it goes to whoever handles escalations: that vote counts on."""
    scene = await at_the_gate(office, many, gated(approvers=3, expires_in=LIFE, on_expiry="escalate"))
    await office.all_agree(scene.run, DINA)
    await office.pass_time(LIFE + 1, *scene.runs)
    for item in await scene.items():
        assert await office.agree(item, DINA) is not None, "she has agreed already"
    return scene


async def denied(office: Office, many: int) -> Scene:
    """One has agreed when another denies. The model asks for the same again."""
    scene = await at_the_gate(office, many, replies=[pays(many), pays(many)])
    await office.all_agree(scene.run, DINA)
    for item in await scene.items():
        await office.rt.deny(item.id, by="nora")
    await scene.rest()
    return scene


async def abandoned(office: Office, many: int) -> Scene:
    """A message drops a question that is open beside the approvals; those stay."""
    scene = await at_the_gate(office, many, replies=[[*ASKING, *pays(many)]])
    await office.all_agree(scene.run)
    dropped = await scene.run.say("never mind", by="eve", abandon=True)
    assert [item.kind for item in dropped] == ["question"]
    await scene.rest()
    return scene


async def paused(office: Office, many: int) -> Scene:
    """Decided while the run is paused; it goes on when somebody resumes it."""
    scene = await at_the_gate(office, many)
    run = scene.run
    await run.pause(by="ada")
    await scene.rest()
    return Scene(office, run, due=many, then=lambda: _resumed(office, run))


async def retried(office: Office, many: int) -> Scene:
    """The model failed; somebody, who need not be anybody, let it try again."""
    failing = [ModelError("no credit", transient=False), pays(many)]
    scene = await at_the_gate(office, many, replies=failing)
    await scene.run.resume(by="nora")
    await scene.rest()
    return scene


async def extended(office: Office, many: int) -> Scene:
    """A limit was reached; somebody, who need not be anybody, raised it."""
    agent = clerk(pay_tool(paying(office.ledger)), [ASKING, pays(many)], stop=MaxSteps(1).then("pause"))
    run = await office.start(agent)
    await office.answer(run)
    for item in await office.items(run, "limit"):
        await office.rt.answer(item.id, {"choice": "extend", "amount": 9}, by="nora")
    await office.rest(run)
    return Scene(office, run, due=many)


# Executions that go on, and those that begin again


async def _begun(office: Office, many: int, body: Any, *rules: Any, **options: Any) -> Scene:
    """Everybody agreed, and the body has begun."""
    agent = clerk(pay_tool(body, **options), [pays(many)], *rules)
    run = await office.start(agent)
    await office.all_agree(run, DINA, DORA)
    assert len(office.ledger) == 0
    return Scene(office, run, due=many)


async def in_doubt(office: Office, many: int) -> Scene:
    return await _begun(office, many, doubts_first(office))


async def in_doubt_twice(office: Office, many: int) -> Scene:
    scene = await _begun(office, many, doubts_first(office, times=2))
    await office.all_agree(scene.run, DINA, DORA)
    return scene


async def in_doubt_after_a_death(office: Office, many: int) -> Scene:
    """The process died while the bodies were at work."""
    agent = clerk(pay_tool(dies_first(office)), [pays(many)])
    run = await office.start(agent)
    for item in await office.items(run):
        assert await office.agree(item, DINA) is None
        assert await office.agree(item, DORA) is None
    await office.begun.reaches(many)
    await office.close()
    office.clock.advance(HOUR)
    await office.open(agent)
    run = await office.rt.get(run.id)
    await office.rest(run)
    return Scene(office, run, due=many)


async def in_doubt_and_lapsed(office: Office, many: int) -> Scene:
    """An idempotent call would simply go on; but when it came into doubt the agreement's life was over."""
    rule = gated(valid_for=LIFE)
    return await _begun(office, many, doubts_first_and_lapses(office, many, LIFE), rule, effect="idempotent")


async def idempotent_again(office: Office, many: int) -> Scene:
    """In doubt, and tried again with the same key: the same execution, on the same agreement."""
    agent = clerk(pay_tool(doubts_first(office), effect="idempotent"), [pays(many)])
    return Scene(office, await office.start(agent), due=many)


async def verified_not(office: Office, many: int) -> Scene:
    """In doubt, and the world says that it did not happen: the same execution goes on."""
    agent = clerk(pay_tool(doubts_first(office), effect="verifiable", verify=did_not_happen), [pays(many)])
    return Scene(office, await office.start(agent), due=many)


async def verified_not_and_lapsed(office: Office, many: int) -> Scene:
    verify = time_passes_and_it_did_not_happen(office, many, LIFE)
    body = doubts_first(office)
    return await _begun(office, many, body, gated(valid_for=LIFE), effect="verifiable", verify=verify)


async def yielded(office: Office, many: int) -> Scene:
    """The body stops at a save because somebody pauses, and goes on from there."""
    agent = clerk(pay_tool(yields_first(office)), [pays(many)])
    run = await office.start(agent)
    return Scene(office, run, due=many, then=lambda: _resumed(office, run))


async def yielded_and_lapsed(office: Office, many: int) -> Scene:
    scene = await _begun(office, many, yields_first(office), gated(valid_for=LIFE))
    run = scene.run
    office.clock.advance(LIFE)
    await run.resume(by="ada")
    await scene.rest()
    return Scene(office, run, due=many, then=lambda: _resumed(office, run))


async def _resumed(office: Office, run: Run[Any]) -> None:
    """As often as somebody paused it."""
    while await run.status() == "paused":
        await run.resume(by="ada")
        await office.rest(run)


async def suspended(office: Office, many: int) -> Scene:
    """The body asks a question of its own and goes on with the answer."""
    agent = clerk(pay_tool(asks_first(office)), [pays(many)])
    run = await office.start(agent)
    return Scene(office, run, due=many, then=lambda: office.answer(run))


async def suspended_and_lapsed(office: Office, many: int) -> Scene:
    scene = await _begun(office, many, asks_first(office), gated(valid_for=LIFE))
    office.clock.advance(LIFE)
    await office.answer(scene.run)
    return scene


async def suspended_and_shaped(office: Office, many: int) -> Scene:
    """One of those who agreed answers the body's question: now they have shaped it, and somebody else must agree."""
    scene = await _begun(office, many, asks_first(office))
    await office.answer(scene.run, by=DINA.name)
    for item in await scene.items():
        assert await office.agree(item, DINA) is not None
    return scene


def as_paths(*functions: Path) -> dict[str, Path]:
    return {function.__name__.replace("_", " "): function for function in functions}


APPROVALS = as_paths(
    approved, edited, answered, emitted, scoped, scoped_by_one, queued, nested, a_gated_agent, nested_under_two_policies, two_rules,
    one_of_each_group, expired, escalated, denied, abandoned, paused, retried, extended,
)  # fmt: skip
EXECUTIONS = as_paths(
    in_doubt, in_doubt_twice, in_doubt_after_a_death, in_doubt_and_lapsed, idempotent_again, verified_not,
    verified_not_and_lapsed, yielded, yielded_and_lapsed, suspended, suspended_and_lapsed, suspended_and_shaped,
)  # fmt: skip
