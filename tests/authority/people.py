"""Who tries to let a call run and may not. Each try is by people of the right groups wherever that is not what is wrong."""

from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import quote

import httpx
from tests.authority.world import DAN, DIRECTORS, DIRK, DORA, STARTER, Person, Scene

from adjourn import AdjournError, Interrupt, Run
from adjourn.core.state import State
from adjourn.server import Guard, Users, create_app

Try = Callable[[Scene], Awaitable[None]]
WRONG = "0" * 64
ORIGIN = "http://desk.example"


async def refused(scene: Scene, who: Person, **how: Any) -> None:
    """This person says yes to every gate, and is told why not."""
    for item in await scene.items():
        refusal = await scene.office.agree(item, who, **how)
        assert refusal is not None, f"{who} was allowed to agree to {item.id}"
    await scene.rest()


async def taken(scene: Scene, who: Person) -> None:
    """This person may agree, and does; it is not enough."""
    for item in await scene.items():
        await scene.office.agree(item, who)
    await scene.rest()


# Who is not asked


async def outsiders(scene: Scene) -> None:
    for name in ("nora", "nils"):
        await refused(scene, Person(name))


async def another_group(scene: Scene) -> None:
    for name in ("nora", "nils"):
        await refused(scene, Person(name, ("clerks", "Directors", "directors ")))


async def the_agent(scene: Scene) -> None:
    """The program of the run, and every agent that is at work inside of it."""
    for run in scene.runs:
        state = State().fold_all(await scene.office.store.load(run.id))
        for name in {state.started.program, *(thread.agent for thread in state.threads.values())}:
            await refused(scene, Person(name, DIRECTORS))
            await refused(scene, Person(name.title(), DIRECTORS))
    await taken(scene, DAN)


async def the_run(scene: Scene) -> None:
    for run in scene.runs:
        for name in (run.id, f"@{run.id}", "@run", f"@run:{run.id}"):
            for item in await scene.office.items(run):
                assert await scene.office.agree(item, Person(name, DIRECTORS)) is not None, name
    await taken(scene, DAN)


# Too few


async def all_but_one(scene: Scene) -> None:
    for who in scene.right[:-1]:
        await taken(scene, who)


async def the_same_person_twice(scene: Scene) -> None:
    await taken(scene, DAN)
    await refused(scene, DAN)


async def look_alikes(scene: Scene) -> None:
    await taken(scene, DAN)
    for name in ("Dan", "DAN", "\uff44\uff41\uff4e"):  # the last one in fullwidth letters
        await refused(scene, Person(name, DIRECTORS))


# Whoever shaped the run


async def the_starter(scene: Scene) -> None:
    await refused(scene, STARTER)
    await refused(scene, Person(STARTER.name.title(), DIRECTORS))
    await taken(scene, DAN)


async def _shaped_by(scene: Scene, shape: Callable[[Run[Any], str], Awaitable[Any]]) -> None:
    for run in scene.runs:
        await shape(run, DIRK.name)
    await scene.rest()
    await refused(scene, DIRK)
    await taken(scene, DAN)


async def who_said_something(scene: Scene) -> None:
    await _shaped_by(scene, lambda run, by: run.say("a little more", by=by))


async def who_sent_an_event(scene: Scene) -> None:
    await _shaped_by(scene, lambda run, by: run.emit("news", {"cents": 9}, by=by))


async def who_gave_an_instruction(scene: Scene) -> None:
    async def instruct(run: Run[Any], by: str) -> None:
        if await run.status() != "paused":
            await run.pause(by="ada")
            await scene.office.rest(run)
        await run.resume("a little more", by=by)

    await _shaped_by(scene, instruct)


# By another way in


async def with_another_screen(scene: Scene) -> None:
    """They saw something else: the other item, where there is one."""
    for item in await scene.items():
        others = [x.call.digest for x in await scene.items() if x.id != item.id and x.call]
        for who in (DAN, DORA):
            refusal = await scene.office.agree(item, who, digest=(*others, WRONG)[0])
            assert refusal is not None, f"{who} agreed to {item.id} and had seen something else"
    await scene.rest()


async def by_resuming_a_checkpoint(scene: Scene) -> None:
    """A checkpoint in somebody's hands is no right to decide."""
    for run in scene.runs:
        answers: dict[str, Any] = {item.id: _yes(item) for item in await scene.items() if item.run_id == run.id}
        try:
            await scene.office.rt.resume((await run.checkpoint()).to_json(), answers=answers, by="nora")
        except AdjournError:
            pass
        else:
            raise AssertionError(f"nora resumed {run.id} with her own yes")
    await scene.rest()


def _yes(item: Interrupt) -> Any:
    return True if item.kind == "approval" else {"choice": "run"}


async def over_http(scene: Scene) -> None:
    """An operator, an approver of no group, somebody who was removed, a run's own key, and nobody."""
    users = Users()
    gone = users.add(DORA.name, "approver", DIRECTORS)
    users.remove(DORA.name)
    keys = {
        users.add("olga", "operator", DIRECTORS): 403,
        users.add("nora", "approver"): 403,
        users.run_key(scene.runs[0].id): 403,
        gone: 401,
        "adj_nobody": 401,
    }
    app = create_app(scene.office.rt, guard=Guard([ORIGIN], users=users, rate=1e6, burst=1e6))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url=f"{ORIGIN}/api/v1/") as client:
        for item in await scene.items():
            for key, expected in keys.items():
                answer = await _post(client, item, key)
                assert answer.status_code == expected, answer.text
    users.close()
    await scene.rest()


async def _post(client: httpx.AsyncClient, item: Interrupt, key: str) -> httpx.Response:
    assert item.call is not None
    path, headers = f"interrupts/{quote(item.id, safe='')}", {"Authorization": f"Bearer {key}"}
    if item.kind == "approval":
        return await client.post(f"{path}/approve", json={"digest": item.call.digest}, headers=headers)
    body = {"digest": item.call.digest, "value": {"choice": "run"}}
    return await client.post(f"{path}/answer", json=body, headers=headers)


PEOPLE: dict[str, Try] = {
    "outsiders": outsiders,
    "another group": another_group,
    "the agent": the_agent,
    "the run": the_run,
    "all but one": all_but_one,
    "the same person twice": the_same_person_twice,
    "look-alikes": look_alikes,
    "the starter": the_starter,
    "who said something": who_said_something,
    "who sent an event": who_sent_an_event,
    "who gave an instruction": who_gave_an_instruction,
    "with another screen": with_another_screen,
    "by resuming a checkpoint": by_resuming_a_checkpoint,
    "over HTTP": over_http,
    # Signed decisions: unsigned, signed with a key that nobody trusts, signed for another store.
}
"""Everybody who tries. Requesters by an edit, a denial, an answer or a fork are paths of their own (`test_requesters`)."""
