"""Erasing over HTTP: for an admin; afterwards no page of the server shows what was in the run, also not from what it keeps."""

import pytest
from tests.server.world import Client

from adjourn.server import Serving, Users

PAGES = (
    "",
    "/status",
    "/records",
    "/timeline",
    "/messages",
    "/audit",
    "/cancel-preview",
    "/again-preview",
    "/fork-preview",
    "/events?follow=false",
)


async def everything(client: Client, run: str) -> str:
    """Whatever the server says about a run."""
    texts = [(await client.get(f"runs/{run}{page}")).text for page in PAGES]
    texts += [(await client.get(path)).text for path in ("runs", f"glances?runs={run}", "inbox", "audit")]
    return "\n".join(texts)


async def test_no_page_shows_what_was_in_an_erased_run(server: Serving, admin: Client) -> None:
    kept = await admin.waiting("refunds", input="canary input", labels={"customer": "canary label"})
    run = kept["run_id"]
    assert "canary" in await everything(admin, run), "else nothing is shown here; and the server keeps it from now on"
    early = await admin.post(f"runs/{run}/erase", json={"reason": "request 311"})
    assert early.status_code == 409 and "cancel it first" in early.json()["detail"]
    await admin.post(f"runs/{run}/cancel", json={})
    await admin.until(run, "cancelled")
    done = await admin.post(f"runs/{run}/erase", json={"reason": "request 311"})
    assert done.status_code == 200 and done.json()["scrubbed"] is True and done.json()["others"] == []
    said = await everything(admin, run)
    assert "canary" not in said and "erased by ana: request 311" in said
    row = (await admin.get(f"runs/{run}/status")).json()
    assert row["status"] == "cancelled" and row["erased_at"] > 0
    for answer in (
        await admin.get(f"runs/{run}/checkpoint"),
        await admin.post(f"runs/{run}/say", json={"text": "more"}),
        await admin.post(f"runs/{run}/fork", json={}),
    ):
        assert (answer.status_code, answer.json()["code"]) == (409, "run_erased")
    assert (await admin.get(f"interrupts/{kept['ref'].replace(':', '%3A').replace('?', '%3F')}")).status_code == 404
    assert (await admin.get("audit/verify")).json()["broken"] == []
    again = await admin.post(f"runs/{run}/erase", json={"reason": "again"})
    assert again.json()["seq"] == done.json()["seq"]


@pytest.mark.parametrize("role", ["viewer", "operator", "approver"])
async def test_only_an_admin_erases(
    server: Serving, people: tuple[Users, dict[str, str]], admin: Client, role: str
) -> None:
    item = await admin.waiting("refunds")
    await admin.post(f"runs/{item['run_id']}/cancel", json={})
    await admin.until(item["run_id"], "cancelled")
    async with Client(server, people[1][role]) as client:
        refused = await client.post(f"runs/{item['run_id']}/erase", json={"reason": "request 311"})
    assert refused.status_code == 403
    assert (await admin.get(f"runs/{item['run_id']}/status")).json()["erased_at"] is None


async def test_a_reason_is_needed(admin: Client) -> None:
    item = await admin.waiting("refunds")
    assert (await admin.post(f"runs/{item['run_id']}/erase", json={})).status_code == 422
