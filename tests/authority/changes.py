"""What changes between the agreement and the payment: the rule, the tool, the program, the store. It is asked for anew."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from tests.authority.bodies import asks_first, doubts_first
from tests.authority.paths import AUDREY, DINA, as_paths
from tests.authority.world import DAN, DORA, Office, Person, Scene, an_office, clerk, gated, pay_tool, paying, pays

from adjourn import Agent, Run, ToolContext, ask, gt, register_upgrader, tool

NORA = Person("nora")
"""Somebody of no group, who may agree where a rule names none."""


async def _redeployed(office: Office, run: Run[Any], agent: Agent) -> Run[Any]:
    """The same run, under another version of its program."""
    await office.open(agent)
    return await office.rt.get(run.id)


async def _agreed_and_changed(office: Office, many: int, before: Agent, after: Agent, *people: Person) -> Scene:
    """They agreed while the run was paused; when it goes on, the program is another one."""
    run = await office.start(before)
    await run.pause(by="ada")
    await office.all_agree(run, *people)
    run = await _redeployed(office, run, after)
    await run.resume(by="ada")
    await office.rest(run)
    return Scene(office, run, due=many)


async def a_tighter_rule(office: Office, many: int) -> Scene:
    pay, words = pay_tool(paying(office.ledger)), [pays(many)]
    return await _agreed_and_changed(office, many, clerk(pay, words, ask("pay")), clerk(pay, words), NORA)


async def a_rule_more(office: Office, many: int) -> Scene:
    pay, words = pay_tool(paying(office.ledger)), [pays(many)]
    more = clerk(pay, words, gated(), ask("pay", when={"cents": gt(0)}, groups=AUDREY.groups))
    scene = await _agreed_and_changed(office, many, clerk(pay, words), more, DINA, DORA)
    return Scene(office, *scene.runs, due=many, right=(DAN, DORA, AUDREY))


async def _another_tool(office: Office, many: int, **options: Any) -> Scene:
    body, words = paying(office.ledger), [pays(many)]
    before, after = clerk(pay_tool(body), words), clerk(pay_tool(body, **options), words)
    return await _agreed_and_changed(office, many, before, after, DINA, DORA)


async def another_description(office: Office, many: int) -> Scene:
    return await _another_tool(office, many, description="Pay anybody, from the company's account.")


async def another_effect(office: Office, many: int) -> Scene:
    return await _another_tool(office, many, effect="idempotent")


async def an_undo(office: Office, many: int) -> Scene:
    async def take_back(ctx: Any, args: dict[str, Any], result: Any) -> None: ...

    return await _another_tool(office, many, undo=take_back)


async def no_undo_any_more(office: Office, many: int) -> Scene:
    async def take_back(ctx: Any, args: dict[str, Any], result: Any) -> None: ...

    body, words = paying(office.ledger), [pays(many)]
    before, after = clerk(pay_tool(body, undo=take_back), words), clerk(pay_tool(body), words)
    return await _agreed_and_changed(office, many, before, after, DINA, DORA)


async def another_timeout(office: Office, many: int) -> Scene:
    return await _another_tool(office, many, timeout=30)


async def an_argument_more(office: Office, many: int) -> Scene:
    @tool(name="pay", description="Pay somebody.")
    async def pay_from(ctx: ToolContext, cents: int, account: str = "the company's") -> str:
        office.ledger.write(ctx.run_id, cents)
        return "paid"

    words = [pays(many)]
    before, after = clerk(pay_tool(paying(office.ledger)), words), clerk(pay_from, words)
    return await _agreed_and_changed(office, many, before, after, DINA, DORA)


async def a_tool_less(office: Office, many: int) -> Scene:
    """Another tool is gone, and the runtime only warns: what was asked for is still what would run."""
    pay = pay_tool(paying(office.ledger))
    run = await office.start(clerk(pay, [pays(many)]))
    fewer = Agent("clerk", model=clerk(pay, [pays(many)]).model, tools=[pay], policy=clerk(pay, []).policy)
    return Scene(office, await _redeployed(office, run, fewer), due=many)


async def a_tighter_rule_while_the_body_waits(office: Office, many: int) -> Scene:
    pay, words = pay_tool(asks_first(office)), [pays(many)]
    run = await office.start(clerk(pay, words, ask("pay")))
    await office.all_agree(run, NORA)
    run = await _redeployed(office, run, clerk(pay, words))
    await office.answer(run)
    return Scene(office, run, due=many)


async def a_tighter_rule_while_in_doubt(office: Office, many: int) -> Scene:
    """Somebody says that it did not happen and shall run: under the rule that there was. Now it needs more people."""
    pay, words = pay_tool(doubts_first(office)), [pays(many)]
    run = await office.start(clerk(pay, words, ask("pay")))
    await office.all_agree(run, NORA)
    run = await _redeployed(office, run, clerk(pay, words))
    await office.all_agree(run, NORA)
    return Scene(office, run, due=many)


# Checkpoints


async def _saved(office: Office, agent: Agent, *people: Person) -> str:
    """A checkpoint of a run in another store that was paused when these people had agreed."""
    async with an_office("memory") as other:
        run = await other.start(agent)
        await run.pause(by="ada")
        await other.all_agree(run, *people)
        return (await run.checkpoint()).to_json()


async def a_checkpoint_resumed(office: Office, many: int) -> Scene:
    """In the store that it is of. One vote of three is in it."""
    run = await office.start(clerk(pay_tool(paying(office.ledger)), [pays(many)], gated(approvers=3)))
    await run.pause(by="ada")
    await office.all_agree(run, DINA)
    run = await office.rt.resume((await run.checkpoint()).to_json(), by="ada")
    await office.rest(run)
    return Scene(office, run, due=many)


async def a_checkpoint_imported(office: Office, many: int) -> Scene:
    """Into another store. One vote of three came with it, and counts: it is this run's, and about these bytes."""
    agent = clerk(pay_tool(paying(office.ledger)), [pays(many)], gated(approvers=3))
    saved = await _saved(office, agent, DINA)
    await office.open(agent)
    run = await office.rt.resume(saved, by="ada")
    await office.rest(run)
    return Scene(office, run, due=many)


async def a_checkpoint_upgraded(office: Office, many: int) -> Scene:
    """All agreed to `transfer`; the upgrader calls it `pay`. That is not what they agreed to."""
    transfer = pay_tool(paying(office.ledger), name="transfer")
    saved = await _saved(office, clerk(transfer, [pays(many, "transfer")], gated("transfer")), DINA, DORA)
    await office.open(clerk(pay_tool(paying(office.ledger)), [pays(many)]))
    with upgrading("transfer", "pay"):
        run = await office.rt.resume(saved, by="ada")
    await office.rest(run)
    return Scene(office, run, due=many)


async def a_checkpoint_upgraded_while_it_asks(office: Office, many: int) -> Scene:
    """One of them had agreed. What is open says `pay` now and shows `transfer`: it is taken back, and asked again."""
    transfer = pay_tool(paying(office.ledger), name="transfer")
    saved = await _saved(office, clerk(transfer, [pays(many, "transfer")], gated("transfer")), DINA)
    await office.open(clerk(pay_tool(paying(office.ledger)), [pays(many)]))
    with upgrading("transfer", "pay"):
        run = await office.rt.resume(saved, by="ada")
    await office.rest(run)
    return Scene(office, run, due=many)


# Runs in the store


async def _upgraded(office: Office, many: int, *people: Person) -> Scene:
    """These people agreed to `transfer` while the run was paused; the upgrader of the next version calls it `pay`."""
    transfer = pay_tool(paying(office.ledger), name="transfer")
    run = await office.start(clerk(transfer, [pays(many, "transfer")], gated("transfer")))
    await run.pause(by="ada")
    await office.all_agree(run, *people)
    with upgrading("transfer", "pay"):
        run = await _redeployed(office, run, clerk(pay_tool(paying(office.ledger)), [pays(many)]))
        await run.resume(by="ada")
        await office.rest(run)
    return Scene(office, run, due=many)


async def a_stored_run_upgraded(office: Office, many: int) -> Scene:
    """All agreed to something else."""
    return await _upgraded(office, many, DINA, DORA)


async def a_stored_run_upgraded_while_it_asks(office: Office, many: int) -> Scene:
    """One of them had agreed: what is open shows `transfer`. It is taken back, and asked again."""
    return await _upgraded(office, many, DINA)


async def a_stored_run_upgraded_while_in_doubt(office: Office, many: int) -> Scene:
    """Somebody says that `transfer` did not happen and shall run. It is `pay` that would."""
    transfer = pay_tool(doubts_first(office), name="transfer")
    run = await office.start(clerk(transfer, [pays(many, "transfer")], ask("transfer")))
    await office.all_agree(run, NORA)
    await run.pause(by="ada")
    await office.all_agree(run, NORA)
    with upgrading("transfer", "pay"):
        run = await _redeployed(office, run, clerk(pay_tool(paying(office.ledger)), [pays(many)]))
        await run.resume(by="ada")
        await office.rest(run)
    return Scene(office, run, due=many)


@contextmanager
def upgrading(old: str, new: str) -> Generator[None]:
    """Meanwhile a tool of the clerk's has another name."""

    def upgrade(records: list[dict[str, Any]], changes: list[str]) -> list[dict[str, Any]]:
        for named in [*records, *(part for record in records for part in record.get("parts", ()))]:
            if named.get("tool") == old:
                named["tool"] = new
        return records

    register_upgrader("clerk", upgrade)
    try:
        yield
    finally:
        register_upgrader("clerk", None)


CHANGES = as_paths(
    a_tighter_rule, a_rule_more, another_description, another_effect, an_undo, no_undo_any_more, another_timeout, an_argument_more,
    a_tool_less, a_tighter_rule_while_the_body_waits, a_tighter_rule_while_in_doubt, a_checkpoint_resumed,
    a_checkpoint_imported, a_checkpoint_upgraded, a_checkpoint_upgraded_while_it_asks,
    a_stored_run_upgraded, a_stored_run_upgraded_while_it_asks, a_stored_run_upgraded_while_in_doubt,
)  # fmt: skip
