"""A run that no present worker fits, over HTTP: what differs, and who may accept it; and runs of a session one after the other."""

import asyncio
from typing import Any

from tests.server.verbs import outdated
from tests.server.world import Client, eventually

from adjourn import Agent
from adjourn.server import Serving, Users, serving
from adjourn.stores.fleet import Misfit
from adjourn.testing.scripted import ScriptedModel


def free() -> Agent[Any]:
    """A program of the name that `outdated` has runs of."""
    return Agent("free", model=ScriptedModel("done", "done"))


async def test_a_run_that_no_worker_fits_says_what_differs_and_goes_on_once_that_is_accepted() -> None:
    async with serving("memory://", [free()], port=0, token=True, name="ana") as up, Client(up, up.token) as admin:
        case, other = await outdated(admin), await outdated(admin)
        assert case.item["changes"] == ["tool 'pay' is gone"] and case.item["why"] == "tool 'pay' is gone"
        done = await admin.post(f"runs/{case.run}/accept", json={"digest": case.item["digest"]})
        assert (done.status_code, done.json()) == (200, {"accepted": ["tool 'pay' is gone"]})
        await admin.until(case.run, "completed")
        assert (await admin.get(f"runs/{case.run}")).json()["misfit"] is None
        [line] = [x for x in (await admin.get(f"runs/{case.run}/audit")).json()["items"] if x["verb"] == "accept"]
        assert line["by"] == "ana"
        assert (await admin.get(f"runs/{other.run}/status")).json()["status"] == "ready", "that one nobody accepted"


async def test_only_the_version_that_was_shown_is_accepted() -> None:
    async with serving("memory://", [free()], port=0, token=True) as up, Client(up, up.token) as admin:
        case = await outdated(admin)
        row = await up.runtime.store.get(case.run)
        tag = (await admin.get(f"runs/{case.run}")).headers["etag"]
        later = {**free().fingerprint, "output": "another"}
        await up.runtime.store.misfits(Misfit(case.run, row.seq, "a later version", later))
        seen = await admin.get(f"runs/{case.run}", headers={"If-None-Match": tag})
        assert seen.status_code == 200 and seen.json()["misfit"]["why"] == "a later version"
        refused = await admin.post(f"runs/{case.run}/accept", json={"digest": case.item["digest"]})
        assert (refused.status_code, refused.json()["code"]) == (409, "refused")
        assert "review the changes again" in refused.json()["detail"]


async def test_accepting_twice_is_once_and_the_same_request_has_the_same_answer() -> None:
    async with serving("memory://", [free()], port=0, token=True) as up, Client(up, up.token) as admin:
        case = await outdated(admin)
        body, key = {"digest": case.item["digest"]}, {"Idempotency-Key": "k"}
        first = await admin.post(f"runs/{case.run}/accept", json=body, headers=key)
        await admin.until(case.run, "completed")
        again = await admin.post(f"runs/{case.run}/accept", json=body, headers=key)
        assert (first.status_code, again.status_code) == (200, 200) and first.json() == again.json()
        assert (await admin.post(f"runs/{case.run}/accept", json=body)).status_code == 409
        records = (await admin.get(f"runs/{case.run}/records")).json()["items"]
        assert sum(r["record"]["t"] == "accepted" for r in records) == 1


async def test_two_people_who_accept_at_the_same_time_let_it_go_on_once() -> None:
    users = Users()
    keys = [users.add(name, "approver") for name in ("ana", "ben")]
    async with serving("memory://", [free()], port=0, token=True, users=users) as up, Client(up, up.token) as admin:
        case = await outdated(admin)
        async with Client(up, keys[0]) as ana, Client(up, keys[1]) as ben:
            answers = await asyncio.gather(
                *(c.post(f"runs/{case.run}/accept", json={"digest": case.item["digest"]}) for c in (ana, ben))
            )
        assert {a.status_code for a in answers} <= {200, 409} and 200 in {a.status_code for a in answers}
        await admin.until(case.run, "completed")
    users.close()


async def test_whoever_is_called_like_the_agent_does_not_accept_for_it() -> None:
    users = Users()
    key = users.add("free", "admin")
    async with serving("memory://", [free()], port=0, token=True, users=users) as up, Client(up, up.token) as admin:
        case = await outdated(admin)
        async with Client(up, key) as agent:
            refused = await agent.post(f"runs/{case.run}/accept", json={"digest": case.item["digest"]})
        assert (refused.status_code, refused.json()["code"]) == (403, "not_allowed")
    users.close()


async def test_runs_of_a_session_go_one_after_the_other(server: Serving, admin: Client) -> None:
    first = await admin.waiting("refunds", session="s")
    second = await admin.start("talker", session="s", queue="session")
    elsewhere = await admin.start("talker", session="t", queue="session")

    async def waits() -> bool:
        misfit = (await admin.get(f"runs/{second}")).json()["misfit"]
        return misfit is not None and misfit["queued"] and first["run_id"] in misfit["why"] and misfit["digest"] == ""

    await eventually(waits)
    await admin.until(elsewhere, "completed")
    assert (await admin.get(f"runs/{second}/status")).json()["status"] == "ready"
    await admin.decide(first, "deny")
    await admin.until(second, "completed")


async def test_a_queue_needs_a_session_and_there_is_no_other(admin: Client) -> None:
    for body in ({"queue": "session"}, {"queue": "program", "session": "s"}):
        refused = await admin.post("runs", json={"agent": "talker", "input": "go", **body})
        assert refused.status_code == 422, refused.text
