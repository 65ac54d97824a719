"""Every operation of the API, on a real server."""

import asyncio
import json
from typing import Any

import pytest
from tests.server.world import GIVEN, Client, at

from adjourn import Checkpoint
from adjourn.server import Serving, Users


async def test_a_run_is_started_looked_at_approved_and_ends(admin: Client) -> None:
    item = await admin.waiting("refunds", session="s1", labels={"team": "eu"})
    assert (item["kind"], item["agent"], item["call"]["tool"]) == ("approval", "refunds", "refund")
    assert item["call"]["arguments"] == {"order": "A1", "cents": 500}
    run = item["run_id"]
    seen = (await admin.get(f"runs/{run}")).json()
    assert seen["status"] == "waiting"
    assert (seen["session"], seen["labels"], seen["started_by"]) == ("s1", {"team": "eu"}, "ana")
    assert [i["ref"] for i in seen["interrupts"]] == [item["ref"]]
    done = await admin.decide(item, "approve", note="fine")
    assert done.status_code == 200
    await admin.until(run, "completed")
    seen = (await admin.get(f"runs/{run}")).json()
    assert seen["output"] == "refunded"
    assert seen["effects"][0]["result"] == {"order": "A1", "cents": 500}
    assert (await admin.get("inbox")).json()["items"] == []


async def test_an_edit_runs_with_the_new_arguments(admin: Client) -> None:
    item = await admin.waiting("refunds")
    assert (await admin.decide(item, "approve", edit={"order": "A1", "cents": 7})).status_code == 200
    await admin.until(item["run_id"], "completed")
    assert (await admin.get(f"runs/{item['run_id']}")).json()["effects"][0]["arguments"] == {"order": "A1", "cents": 7}


async def test_an_edit_that_does_not_fit_is_refused_and_nothing_is_recorded(admin: Client) -> None:
    item = await admin.waiting("refunds")
    before = (await admin.get(f"runs/{item['run_id']}/status")).json()["seq"]
    refused = await admin.decide(item, "approve", edit={"order": "A1", "cents": "many"})
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid_answer")
    assert (await admin.get(f"runs/{item['run_id']}/status")).json()["seq"] == before


async def test_a_denial_is_read_by_the_model(admin: Client) -> None:
    item = await admin.waiting("refunds")
    assert (await admin.decide(item, "deny", note="not today")).status_code == 200
    await admin.until(item["run_id"], "completed")
    messages = (await admin.get(f"runs/{item['run_id']}/messages")).json()["items"]
    assert "not today" in str(messages)


async def test_a_question_with_a_given_id_is_answered(admin: Client) -> None:
    item = await admin.waiting("desk")
    assert (item["id"], item["kind"], item["ref"]) == (GIVEN, "question", f"{item['run_id']}:{GIVEN}")
    refused = await admin.decide(item, "answer", value={"no": 1})
    assert refused.status_code == 422
    assert (await admin.decide(item, "answer", value={"ok": True}, note="sure")).status_code == 200
    await admin.until(item["run_id"], "completed")


async def test_the_same_given_id_in_two_runs_is_told_apart_by_its_ref(admin: Client) -> None:
    one, two = await admin.waiting("desk"), await admin.waiting("desk")
    assert one["id"] == two["id"]
    vague = await admin.get(f"interrupts/{at(one['id'])}")
    assert vague.status_code == 422
    assert (await admin.get(f"interrupts/{at(two['ref'])}")).json()["run_id"] == two["run_id"]
    assert (await admin.decide(two, "answer", value={"ok": 1})).status_code == 200
    await admin.until(two["run_id"], "completed")
    assert (await admin.get(f"runs/{one['run_id']}/status")).json()["status"] == "waiting"


async def test_an_approval_cannot_be_answered_nor_a_choice_approved(admin: Client) -> None:
    item = await admin.waiting("refunds")
    assert (await admin.decide(item, "answer", value=True)).status_code == 422
    failed = await admin.waiting("failing")
    assert failed["kind"] == "error"
    assert (await admin.decide(failed, "approve")).status_code == 422
    assert (await admin.decide(failed, "deny")).status_code == 422
    assert (await admin.decide(failed, "answer", value="retry")).status_code == 200
    await admin.until(failed["run_id"], "completed")


async def test_pause_say_resume_with_an_instruction(admin: Client) -> None:
    run = await admin.start("talker")
    assert (await admin.post(f"runs/{run}/pause", json={"reason": "look", "now": True})).json() == {"ok": True}
    await admin.until(run, "paused")
    assert (await admin.post(f"runs/{run}/say", json={"text": "and Norway"})).json() == {"dropped": []}
    assert (await admin.post(f"runs/{run}/resume", json={"instruction": "be brief"})).json() == {"ok": True}
    await admin.until(run, "completed")
    messages = str((await admin.get(f"runs/{run}/messages")).json())
    assert "and Norway" in messages
    assert "be brief" in messages


async def test_a_failed_run_is_resumed(admin: Client) -> None:
    run = await admin.start("failing")
    await admin.until(run, "failed")
    assert (await admin.post(f"runs/{run}/resume", json={})).status_code == 200
    await admin.until(run, "completed")


async def test_cancel_says_before_what_it_will_undo_and_then_does(admin: Client) -> None:
    item = await admin.waiting("deployer")
    run = item["run_id"]
    preview = (await admin.get(f"runs/{run}/cancel-preview")).json()
    assert [x["tool"] for x in preview["undo"]] == ["deploy"]
    assert (await admin.post(f"runs/{run}/cancel", json={"reason": "no"})).status_code == 200
    await admin.until(run, "cancelled")
    assert (await admin.get(f"runs/{run}")).json()["undone"] == ["1.0"]
    again = await admin.post(f"runs/{run}/cancel", json={})
    assert again.status_code == 200
    refused = await admin.post(f"runs/{run}/pause", json={})
    assert (refused.status_code, refused.json()["code"]) == (409, "refused")


async def test_a_message_may_drop_the_question(admin: Client) -> None:
    item = await admin.waiting("desk")
    answer = await admin.post(f"runs/{item['run_id']}/say", json={"text": "never mind", "abandon": True})
    assert answer.json() == {"dropped": [item["ref"]]}
    await admin.until(item["run_id"], "completed")


async def test_a_limit_is_extended(admin: Client) -> None:
    item = await admin.waiting("limited")
    assert item["kind"] == "limit"
    assert set(item["choices"]) == {"extend", "stop"}
    assert (await admin.decide(item, "answer", value={"choice": "extend", "amount": 50})).status_code == 200
    await admin.until(item["run_id"], "completed")


async def test_a_flow_waits_for_a_person_and_for_an_event(admin: Client) -> None:
    item = await admin.waiting("approval")
    assert (await admin.decide(item, "answer", value={"approved": True})).status_code == 200
    run = item["run_id"]
    await admin.until(run, "waiting")
    assert (await admin.get(f"runs/{run}")).json()["graph"] is not None
    assert (await admin.post(f"runs/{run}/emit", json={"event": "arrived", "value": 7})).status_code == 200
    await admin.until(run, "completed")
    programs = (await admin.get("programs")).json()["items"]
    assert next(p for p in programs if p["name"] == "approval")["picture"]


async def test_a_fork_goes_its_own_way(admin: Client) -> None:
    item = await admin.waiting("refunds")
    new = (await admin.post(f"runs/{item['run_id']}/fork", json={"input": "another"})).json()["run_id"]
    await admin.until(new, "waiting")
    seen = (await admin.get(f"runs/{new}")).json()
    assert (seen["input"], seen["forked_from"].rpartition("@")[0]) == ("another", item["run_id"])
    wrong = await admin.post(f"runs/{item['run_id']}/fork", json={"at": 999})
    assert (wrong.status_code, wrong.json()["code"], wrong.json()["at_seq"]) == (409, "fork_refused", 999)
    at = wrong.json()["nearest"]
    assert (await admin.post(f"runs/{item['run_id']}/fork", json={"at": at})).status_code == 200


async def test_a_checkpoint_is_what_the_library_reads(admin: Client) -> None:
    item = await admin.waiting("refunds")
    text = (await admin.get(f"runs/{item['run_id']}/checkpoint")).json()["checkpoint"]
    assert Checkpoint.from_json(text).run_id == item["run_id"]


async def test_halt_stops_and_its_lifting_lets_go(admin: Client) -> None:
    item = await admin.waiting("refunds")
    on = await admin.post("halts", json={"scope": "tool:refund", "reason": "incident 7"})
    assert [h["scope"] for h in on.json()["items"]] == ["tool:refund"]
    refused = await admin.decide(item, "approve")
    assert (refused.status_code, refused.json()["code"]) == (423, "halted")
    assert [h["reason"] for h in (await admin.get("halts")).json()["items"]] == ["incident 7"]
    assert (await admin.post("halts/lift", json={"scope": "tool:refund", "reason": "over"})).json()["items"] == []
    assert (await admin.decide(item, "approve")).status_code == 200


async def test_the_audit_says_who_wanted_what_from_where_newest_first(admin: Client) -> None:
    item = await admin.waiting("refunds")
    await admin.decide(item, "approve", note="ok")
    await admin.decide(item, "deny")
    await admin.until(item["run_id"], "completed")
    found: list[dict[str, Any]] = []
    after = ""
    while True:
        page = (await admin.get("audit", params={"limit": 1, "after": after})).json()
        found += page["items"]
        if page["after"] is None or not page["items"]:
            break
        after = page["after"]
    assert [(x["verb"], bool(x["refused"])) for x in found] == [("answer", True), ("answer", False), ("start", False)]
    assert all(x["by"] == "ana" for x in found)
    assert "http 127.0.0.1" in found[0]["origin"]
    lines = (await admin.get(f"runs/{item['run_id']}/audit")).json()["items"]
    assert [x["verb"] for x in lines] == ["start", "answer", "answer"]
    assert (await admin.get("audit/verify")).json()["broken"] == []


async def test_an_interrupt_tells_how_it_was_closed(admin: Client) -> None:
    item = await admin.waiting("refunds")
    first = await admin.get(f"interrupts/{at(item['ref'])}")
    assert (first.json()["status"], first.json()["closed"]) == ("open", None)
    await admin.decide(item, "deny", note="no")
    second = await admin.get(f"interrupts/{at(item['ref'])}")
    assert second.json()["status"] == "decided"
    assert (second.json()["closed"]["why"], second.json()["closed"]["by"]) == ("deny", "ana")
    assert first.headers["etag"] != second.headers["etag"]
    assert second.json()["attempts"][0]["note"] == "no"


async def test_an_unchanged_run_is_not_sent_again(admin: Client) -> None:
    item = await admin.waiting("refunds")
    first = await admin.get(f"runs/{item['run_id']}")
    same = await admin.get(f"runs/{item['run_id']}", headers={"If-None-Match": first.headers["etag"]})
    assert (same.status_code, same.content) == (304, b"")
    await admin.post(f"runs/{item['run_id']}/say", json={"text": "x"})
    other = await admin.get(f"runs/{item['run_id']}", headers={"If-None-Match": first.headers["etag"]})
    assert other.status_code == 200


async def test_head_answers_as_get_does_without_a_body(admin: Client) -> None:
    item = await admin.waiting("refunds")
    for path in (
        "runs",
        f"runs/{item['run_id']}",
        "inbox",
        "inbox/events",
        f"runs/{item['run_id']}/events",
        "openapi.json",
    ):
        answer = await admin.head(path)
        assert (path, answer.status_code, answer.content) == (path, 200, b"")
    assert (await admin.head("runs/nobody")).status_code == 404


async def test_a_group_decides_together_and_not_who_asked(
    server: Serving, people: tuple[Users, dict[str, str]], admin: Client
) -> None:
    keys = people[1]
    async with (
        Client(server, keys["lena"]) as lena,
        Client(server, keys["lars"]) as lars,
        Client(server, keys["approver"]) as other,
    ):
        item = await admin.waiting("careful")
        assert (item["groups"], item["approvers"], item["call"]["reason"]) == (["leads"], 2, "production")
        assert item["expires_at"] is not None
        assert (await admin.decide(item, "approve")).status_code == 403
        assert (await other.decide(item, "approve")).json()["code"] == "not_allowed"
        assert (await lena.decide(item, "approve")).status_code == 200
        twice = await lena.decide(item, "approve")
        assert (twice.status_code, twice.json()["code"]) == (409, "already_decided")
        assert (await lars.decide(item, "approve")).status_code == 200
        await admin.until(item["run_id"], "completed")


async def test_of_two_who_race_one_wins_and_the_other_is_told_who_did(
    server: Serving, people: tuple[Users, dict[str, str]], admin: Client
) -> None:
    keys = people[1]
    async with Client(server, keys["lena"]) as lena, Client(server, keys["lars"]) as lars:
        for _ in range(10):
            item = await admin.waiting("refunds")
            answers = await asyncio.gather(lena.decide(item, "approve"), lars.decide(item, "deny"))
            assert sorted(a.status_code for a in answers) == [200, 409]
            [lost] = [a.json() for a in answers if a.status_code == 409]
            winner = "lena" if answers[0].status_code == 200 else "lars"
            assert lost["code"] == "already_decided"
            assert winner in lost["detail"]
            await admin.until(item["run_id"], "completed")


@pytest.mark.parametrize("verb", ["approve", "deny"])
async def test_a_decision_about_something_else_is_refused(admin: Client, verb: str) -> None:
    item = await admin.waiting("refunds")
    stale = await admin.decide({**item, "digest": "0" * 64}, verb)
    assert (stale.status_code, stale.json()["code"]) == (409, "stale_decision")
    missing = await admin.post(f"interrupts/{at(item['ref'])}/{verb}", json={})
    assert missing.status_code == 422


async def test_an_answer_must_name_the_question_that_was_read(admin: Client) -> None:
    item = await admin.waiting("desk")
    assert (await admin.decide({**item, "digest": "x"}, "answer", value={"ok": 1})).json()["code"] == "stale_decision"
    assert (await admin.post(f"interrupts/{at(item['ref'])}/answer", json={"value": {"ok": 1}})).status_code == 422


async def test_an_export_of_the_audit_has_what_is_wanted_and_is_itself_a_line(admin: Client) -> None:
    item = await admin.waiting("refunds")
    await admin.decide(item, "deny", note="ask for photos")
    answer = await admin.post("audit/export", json={"format": "csv", "verb": "deny"})
    taken = answer.json()
    assert (answer.status_code, taken["lines"], taken["complete"]) == (200, 1, True)
    assert taken["text"].splitlines()[0].startswith("at,by,verb") and "ask for photos" in taken["text"]
    lines = (await admin.post("audit/export", json={"format": "ndjson"})).json()["text"].splitlines()
    assert [json.loads(line)["verb"] for line in lines] == ["answer", "start"]
    noted = (await admin.get("audit", params={"security": True, "verb": "export"})).json()["items"]
    assert [line["by"] for line in noted] == ["ana", "ana"]
    assert noted[1]["more"]["about"] == "1 line of the audit, verb deny"
    assert (await admin.get("audit/verify")).json()["broken"] == []


async def test_the_chain_says_by_itself_what_is_known_and_when_everything_was_checked(admin: Client) -> None:
    item = await admin.waiting("refunds")
    await admin.decide(item, "deny")
    known = (await admin.get("audit/chain")).json()
    assert known["lines"] >= 2 and known["broken"] == [] and (known["whole_at"], known["whole_says"]) == (None, "")
    says = (await admin.get("audit/verify")).json()["says"]
    known = (await admin.get("audit/chain")).json()
    assert known["whole_says"] == says and 0 < known["whole_at"] <= known["at"]
