"""Who comes too late is told what they saw, what is there now, and whose doing it was; and it is written down."""

import asyncio
from typing import Any

import httpx
import pytest
from tests.server.world import LIMIT, Client, at

from adjourn import Agent, Policy, ask, ge, lt, pause_for, tool
from adjourn.core.records import Decided, Forked
from adjourn.server import Serving, Users
from adjourn.testing.scripted import ScriptedModel, call

People = tuple[Users, dict[str, str]]


@tool(effect="idempotent")
async def pay(cents: int) -> int:
    """Pay."""
    return cents


def payer(**options: Any) -> Agent:
    small, large = (
        ask("pay", when={"cents": lt(1000)}, reason="small", **options),
        ask("pay", when={"cents": ge(1000)}, reason="large"),
    )
    model = ScriptedModel([call("pay", cents=482)], "paid")
    return Agent("payer", model=model, tools=[pay], policy=Policy([small, large]))


async def parked(server: Serving, admin: Client, agent: Agent) -> dict[str, Any]:
    run = await server.runtime.start(agent, "go")
    await run.wait(LIMIT)
    return await item_of(admin, run.id)


async def item_of(admin: Client, run: str) -> dict[str, Any]:
    [item] = (await admin.get("inbox", params={"run_id": run})).json()["items"]
    return item


def refusal(answer: httpx.Response, code: str) -> dict[str, Any]:
    assert (answer.status_code, answer.headers["content-type"]) == (409, "application/problem+json"), answer.text
    assert answer.json()["code"] == code
    return answer.json()


async def test_an_action_that_was_edited_and_asks_again_is_shown_old_and_new(
    server: Serving, people: People, admin: Client
) -> None:
    item = await parked(server, admin, payer())
    async with Client(server, people[1]["lena"]) as lena:
        assert (await lena.decide(item, "approve", edit={"cents": 5000}, note="all of it")).status_code == 200
        run = await server.runtime.get(item["run_id"])
        await run.wait(LIMIT)
    now = await item_of(admin, item["run_id"])
    said = refusal(await admin.decide(item, "approve"), "stale_decision")
    assert said["was"] == {
        "ref": item["ref"], "digest": item["digest"], "tool": "pay", "arguments": {"cents": 482}, "payload": None,
    }  # fmt: skip
    assert (said["now"]["ref"], said["now"]["digest"]) == (now["ref"], now["digest"])
    assert said["now"]["arguments"] == {"cents": 5000}
    assert said["was"]["digest"] != said["now"]["digest"]
    assert (said["by"], said["how"], said["next"]) == ("lena", "edit", now["ref"])
    assert item["digest"][:16] in said["detail"]
    assert now["digest"][:16] in said["detail"]
    seen = (await admin.get(f"interrupts/{at(said['next'])}")).json()
    assert seen["status"] == "open"
    assert (await admin.decide(seen, "approve")).status_code == 200


async def test_an_action_that_was_edited_and_ran_shows_what_ran(server: Serving, people: People, admin: Client) -> None:
    item = await admin.waiting("refunds")
    async with Client(server, people[1]["lena"]) as lena:
        await lena.decide(item, "approve", edit={"order": "A1", "cents": 7})
    await admin.until(item["run_id"], "completed")
    said = refusal(await admin.decide(item, "deny"), "already_decided")
    assert (said["by"], said["how"], said["next"]) == ("lena", "edit", None)
    assert (said["was"]["arguments"]["cents"], said["now"]["arguments"]["cents"]) == (500, 7)
    assert said["now"]["digest"] not in ("", said["was"]["digest"])
    assert "lena" in said["detail"]


@pytest.mark.parametrize(("verb", "how"), [("approve", "approve"), ("deny", "deny")])
async def test_who_comes_second_is_told_by_whom_it_was_decided(
    server: Serving, people: People, admin: Client, verb: str, how: str
) -> None:
    item = await admin.waiting("refunds")
    async with Client(server, people[1]["lena"]) as lena:
        await lena.decide(item, verb)
    said = refusal(await admin.decide(item, "approve"), "already_decided")
    assert (said["by"], said["how"], said["next"], said["now"]) == ("lena", how, None, said["was"])
    assert said["at"] > 0


async def test_a_digest_that_nothing_ever_had_is_stale_and_the_attempt_is_written_down(admin: Client) -> None:
    item = await admin.waiting("refunds")
    said = refusal(await admin.decide({**item, "digest": "0" * 64}, "approve"), "stale_decision")
    assert (said["was"], said["now"]["digest"], said["by"], said["how"]) == (None, item["digest"], "", "")
    [*_, last] = (await admin.get(f"runs/{item['run_id']}/audit")).json()["items"]
    assert (last["verb"], last["digest"], "changed" in last["refused"]) == ("answer", "0" * 64, True)


async def test_a_question_that_was_answered_says_by_whom(server: Serving, people: People, admin: Client) -> None:
    item = await admin.waiting("desk")
    async with Client(server, people[1]["lena"]) as lena:
        await lena.decide(item, "answer", value={"ok": 1})
    said = refusal(await admin.decide(item, "answer", value={"ok": 2}), "already_decided")
    assert (said["by"], said["how"]) == ("lena", "value")
    assert said["was"]["payload"] == {"question": "sure?"}
    wrong = refusal(await admin.decide({**item, "digest": "x"}, "answer", value={"ok": 2}), "stale_decision")
    assert wrong["was"] is None


async def test_what_expired_was_decided_by_nobody(server: Serving, admin: Client) -> None:
    run = await server.runtime.start(payer(expires_in=0.05), "go")
    await admin.until(run.id, "completed")
    records = [x["record"] for x in (await admin.get(f"runs/{run.id}/records")).json()["items"]]
    [asked] = [x for x in records if x["t"] == "asked"]
    item = {"ref": f"{run.id}:{asked['i']}", "digest": asked["digest"]}
    said = refusal(await admin.decide(item, "approve"), "interrupt_closed")
    assert (said["by"], said["how"], said["was"]["digest"]) == ("", "expired", asked["digest"])


async def test_a_run_that_was_cancelled_meanwhile_says_so(admin: Client) -> None:
    item = await admin.waiting("refunds")
    await admin.post(f"runs/{item['run_id']}/cancel", json={})
    await admin.until(item["run_id"], "cancelled")
    said = refusal(await admin.decide(item, "approve"), "interrupt_closed")
    assert "cancelled" in said["detail"]


async def test_of_a_crowd_that_decides_at_once_one_wins_and_all_others_know_who(
    server: Serving, people: People, admin: Client
) -> None:
    item = await admin.waiting("refunds")
    clients = [Client(server, people[0].add(f"person{n}", "approver")) for n in range(20)]
    answers = await asyncio.gather(*(c.decide(item, "approve" if n % 2 else "deny") for n, c in enumerate(clients)))
    for client in clients:
        await client.aclose()
    [winner] = [n for n, a in enumerate(answers) if a.status_code == 200]
    lost = [refusal(a, "already_decided") for n, a in enumerate(answers) if n != winner]
    assert {x["by"] for x in lost} == {f"person{winner}"}


# Forks: an answer is for its run


@tool(effect="read")
async def ask_operator(question: str) -> Any:
    """Ask an operator."""
    pause_for("approval", {"question": question})


ledger: list[str] = []


@tool(effect="unsafe")
async def refund(order: str) -> str:
    """Refund an order."""
    ledger.append(order)
    return "refunded"


def refunds() -> Agent:
    model = ScriptedModel([call("ask_operator", question="refund 123?")], [call("refund", order="123")], "done")
    return Agent("paybacks", model=model, tools=[ask_operator, refund])


async def test_g35_a_fork_asks_again_what_a_person_answered_and_only_who_may_decide_keeps_it(
    server: Serving, people: People, admin: Client
) -> None:
    ledger.clear()
    item = await parked(server, admin, refunds())
    assert (await admin.decide(item, "answer", value={"approved": True})).status_code == 200
    original = await server.runtime.get(item["run_id"])
    await original.wait(LIMIT)
    assert ledger == ["123"]
    records = [record for _, record in await server.runtime.store.load(original.id)]
    answered = next(n for n, x in enumerate(records, 1) if isinstance(x, Decided))
    path = f"runs/{original.id}/fork"
    async with Client(server, people[1]["operator"]) as olga:  # may control, may not decide
        for body in ({}, {"at": answered}, {"input": "refund order EVE-9"}, {"instruction": "the order is EVE-9"}):
            made = (await olga.post(path, json=body)).json()
            assert made["at_seq"] < answered
            copy = await server.runtime.get(made["run_id"])
            assert (await copy.wait(LIMIT)).status == "waiting"
        refused = await olga.post(path, json={"at": answered, "answers": "keep"})
        assert refused.status_code == 403
        assert "needs the right to decide" in refused.json()["detail"]
    assert ledger == ["123"]
    changed = await admin.post(path, json={"at": answered, "answers": "keep", "input": "EVE-9"})
    assert changed.status_code == 422
    kept = (await admin.post(path, json={"at": answered, "answers": "keep"})).json()
    assert kept["at_seq"] == answered
    copy = await server.runtime.get(kept["run_id"])
    await copy.wait(LIMIT)
    assert ledger == ["123", "123"]
    [forked] = [x for _, x in await server.runtime.store.load(copy.id) if isinstance(x, Forked)]
    assert (forked.answers, forked.of) == ("keep", original.id)
