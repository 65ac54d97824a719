"""Runs as people look at them: a line of a list, and a timeline that goes on where it was."""

import json
from typing import Any

import httpx
from tests.server.world import Client

from adjourn.server import Serving
from adjourn.server.openapi import openapi


async def steps_of(client: Client, run: str, after: int = 0) -> dict[str, Any]:
    answer = await client.get(f"runs/{run}/timeline", params={"after": after})
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_a_glance_says_what_a_run_waits_for_and_since_when(admin: Client) -> None:
    item = await admin.waiting("careful")
    run = item["run_id"]
    [line] = (await admin.get("glances", params={"runs": f"{run},nobody"})).json()["items"]
    now = line["now"]
    assert (line["run_id"], line["status"], line["open_interrupts"]) == (run, "waiting", 1)
    assert (now["verb"], now["kind"], now["tools"], now["reason"]) == ("waiting", "approval", ["deploy"], "production")
    assert (now["since"], now["until"], now["more"]) == (item["opened_at"], item["expires_at"], 0)
    assert now["interrupt_ref"] == item["ref"]
    assert [bar["kind"] for bar in line["spans"]] == ["model", "wait"] and line["spans"][-1]["end"] is None


async def test_a_glance_follows_its_run_and_a_halt(admin: Client) -> None:
    item = await admin.waiting("refunds")
    params = {"runs": item["run_id"]}
    await admin.post("halts", json={"scope": "tool:refund", "reason": "audit"})
    [line] = (await admin.get("glances", params=params)).json()["items"]
    assert line["status"] in ("waiting", "held")
    await admin.post("halts/lift", json={"scope": "tool:refund", "reason": "over"})
    await admin.decide(item, "approve")
    await admin.until(item["run_id"], "completed")
    [line] = (await admin.get("glances", params=params)).json()["items"]
    now = line["now"]
    assert (line["status"], now["verb"], now["text"], now["until"]) == ("completed", "ended", "refunded", None)
    assert [bar["kind"] for bar in line["spans"]] == ["model", "wait", "tool", "model"]
    assert all(bar["end"] is not None for bar in line["spans"])


async def test_too_many_runs_at_once_are_refused_with_the_number(admin: Client) -> None:
    answer = await admin.get("glances", params={"runs": ",".join(f"r{n}" for n in range(51))})
    assert answer.status_code == 422 and "at most 50" in answer.json()["detail"]
    assert (await admin.get("glances")).json()["items"] == []


async def test_a_timeline_tells_an_approved_call_from_beginning_to_end(admin: Client) -> None:
    item = await admin.waiting("refunds")
    run = item["run_id"]
    before = await steps_of(admin, run)
    assert [s["name"] for s in before["steps"]] == ["started", "model", "refund"]
    call = before["steps"][-1]
    assert (call["status"], call["interrupt_ref"], call["digest"]) == ("waiting", item["ref"], item["digest"])
    assert call["arguments"] == {"order": "A1", "cents": 500} and call["took"] is None
    await admin.decide(item, "approve", edit={"order": "A1", "cents": 400}, note="less")
    await admin.until(run, "completed")
    after = await steps_of(admin, run, before["seq"])
    assert [s["name"] for s in after["steps"]] == ["refund", "model", "completed"], "only what changed"
    done = after["steps"][0]
    assert (done["number"], done["arguments"]["cents"]) == (call["number"], 400)
    assert done["result"] == {"order": "A1", "cents": 400}
    assert [s["kind"] for s in done["spans"]] == ["wait", "run"] and done["interrupt_ref"] == ""
    assert (
        "edited, approved by ana, cents " in done["note"]
        and done["note"].endswith(": less")
        and done["idempotency_key"]
    )
    assert (await steps_of(admin, run, after["seq"]))["steps"] == []


async def test_a_nested_agents_steps_are_below_it(admin: Client) -> None:
    item = await admin.waiting("nested")
    seen = await steps_of(admin, item["run_id"])
    names = [(s["depth"], s["kind"], s["name"]) for s in seen["steps"]]
    assert names == [
        (0, "start", "started"),
        (0, "model", "model"),
        (0, "agent", "refunds"),
        (1, "model", "model"),
        (1, "tool", "refund"),
    ]


async def test_a_cancelled_run_shows_what_was_undone_and_what_was_left(admin: Client) -> None:
    item = await admin.waiting("deployer")
    await admin.post(f"runs/{item['run_id']}/cancel", json={"reason": "wrong"})
    await admin.until(item["run_id"], "cancelled")
    steps = (await steps_of(admin, item["run_id"]))["steps"]
    assert [s["name"] for s in steps if s["kind"] == "undo"] == ["undo deploy"]
    assert [s["text"] for s in steps if s["kind"] == "end"] == ["1 undone, 0 not undone"]


async def test_a_flow_has_a_timeline_too(admin: Client) -> None:
    item = await admin.waiting("approval")
    seen = await steps_of(admin, item["run_id"])
    assert [(s["kind"], s["name"], s["status"]) for s in seen["steps"]][1:] == [("chunk", "ask_manager", "waiting")]


async def test_a_server_that_is_no_demo_knows_of_no_guide(admin: Client, server: Serving) -> None:
    assert (await admin.get("guide")).status_code == 404
    assert "guide" not in json.dumps(openapi("")).lower()
    async with httpx.AsyncClient(base_url=server.url) as browser:
        page = await browser.get("/demo/guide")
    assert "demo.js" not in page.text and "things to try" not in page.text.lower()
