"""Holds over HTTP, and what is left of a run that was pruned."""

import pytest
from tests.server.world import Client

from adjourn.server import Serving, Users


async def ended(client: Client) -> str:
    run = (await client.waiting("refunds", labels={"customer": "42"}))["run_id"]
    await client.post(f"runs/{run}/cancel", json={})
    await client.until(run, "cancelled")
    return run


async def test_what_is_on_hold_is_not_erased_and_its_page_says_so(server: Serving, admin: Client) -> None:
    run = await ended(admin)
    assert (await admin.get(f"runs/{run}")).json()["holds"] == []
    for scope in (f"run:{run}", "label:customer=42"):
        said = await admin.post("holds", json={"scope": scope, "reason": "case 7"})
        assert said.status_code == 200 and said.json()["items"][-1]["scope"] == scope
    shown = (await admin.get(f"runs/{run}")).json()["holds"]
    assert [(x["scope"], x["by"], x["reason"]) for x in shown] == [
        (f"run:{run}", "ana", "case 7"), ("label:customer=42", "ana", "case 7"),
    ]  # fmt: skip
    refused = await admin.post(f"runs/{run}/erase", json={"reason": "request 311"})
    assert (refused.status_code, refused.json()["code"]) == (409, "run_held") and "case 7" in refused.json()["detail"]
    for scope in (f"run:{run}", "label:customer=42"):
        assert (await admin.post("holds/lift", json={"scope": scope, "reason": "settled"})).status_code == 200
    assert (await admin.get("holds")).json()["items"] == []
    assert (await admin.post(f"runs/{run}/erase", json={"reason": "request 311"})).status_code == 200


async def test_who_has_a_run_already_is_told_of_a_hold(admin: Client) -> None:
    run = await ended(admin)
    tag = (await admin.get(f"runs/{run}")).headers["etag"]
    assert (await admin.get(f"runs/{run}", headers={"If-None-Match": tag})).status_code == 304
    await admin.post("holds", json={"scope": f"run:{run}", "reason": "case 7"})
    assert (await admin.get(f"runs/{run}", headers={"If-None-Match": tag})).status_code == 200


@pytest.mark.parametrize("role", ["viewer", "operator", "approver"])
async def test_only_an_admin_holds(
    server: Serving, people: tuple[Users, dict[str, str]], admin: Client, role: str
) -> None:
    run = await ended(admin)
    async with Client(server, people[1][role]) as client:
        for path in ("holds", "holds/lift"):
            answer = await client.post(path, json={"scope": f"run:{run}", "reason": "x"})
            assert answer.status_code == 403
        assert (await client.get("holds")).status_code == 200


async def test_what_is_no_scope_or_no_run_is_refused(admin: Client) -> None:
    assert (await admin.post("holds", json={"scope": "everything", "reason": "x"})).status_code == 422
    assert (await admin.post("holds", json={"scope": "run:nothing", "reason": "x"})).status_code == 404


async def test_of_a_pruned_run_only_the_audit_is_shown(server: Serving, admin: Client) -> None:
    run = await ended(admin)
    assert (await admin.get(f"runs/{run}/timeline")).status_code == 200, "the server keeps it from now on"
    await server.runtime.prune(older=0, by="ann", status="cancelled")
    for page in ("", "/status", "/records", "/timeline", "/messages", "/checkpoint", "/events?follow=false"):
        assert (await admin.get(f"runs/{run}{page}")).status_code == 404, page
    assert (await admin.get(f"runs/{run}/audit")).json()["items"][-1]["verb"] == "prune"
    assert run not in (await admin.get("runs")).text and (await admin.get("audit/verify")).json()["broken"] == []
    for never in ("nothing", "@security", "%40security"):
        assert (await admin.get(f"runs/{never}/audit")).status_code == 404
