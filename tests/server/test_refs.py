"""Which run, which interrupt, over HTTP: ids are exact, refs are unique, and a run's own key learns of no other run."""

from typing import Any

import pytest
from tests.server.place import LOOKING
from tests.server.world import GIVEN, LIMIT, Client, at, programs

from adjourn import Runtime
from adjourn.core.codec import decode
from adjourn.server import Postman, Serving, Users
from adjourn.server.api.operations import OPERATIONS
from adjourn.stores.outbox import Endpoint

OF_A_RUN = [o for o in OPERATIONS if "{run_id}" in o.path]
BODIES: dict[str, dict[str, Any]] = {
    "say_to_run": {"text": "hello"},
    "emit_to_run": {"event": "x"},
    "accept_run": {"digest": "x"},
    "erase_run": {"reason": "x"},
}
NEARLY = ["order-1", "order-", "o", "ORDER-12", "order-12%20", "order-123"]


async def started(rt: Runtime, program: str, *ids: str) -> None:
    for id in ids:
        await (await rt.start(rt.programs[program], "go", run_id=id)).wait(LIMIT)


@pytest.mark.parametrize("operation", OF_A_RUN, ids=lambda o: o.name)
async def test_no_operation_takes_another_run_for_the_one_that_was_named(
    server: Serving, admin: Client, operation: Any
) -> None:
    await started(server.runtime, "refunds", "order-12")
    before = await server.runtime.store.load("order-12")
    for id in NEARLY:
        path = operation.path.replace("{run_id}", id)[1:] + ("?follow=false" if operation.stream else "")
        body = None if operation.body is None else BODIES.get(operation.name, {})
        answer = await admin.request(operation.method, path, json=body)
        assert (answer.status_code, answer.json()["code"]) == (404, "unknown_run"), id
        assert "did you mean order-12?" in answer.json()["detail"] or id == "o"
    assert await server.runtime.store.load("order-12") == before


@pytest.mark.parametrize("operation", [o for o in LOOKING if "{run_id}" in o.path], ids=lambda o: o.name)
async def test_a_run_s_own_key_is_told_of_no_other_run(
    server: Serving, people: tuple[Users, dict[str, str]], operation: Any
) -> None:
    await started(server.runtime, "refunds", "job-12")
    path = operation.path[1:] + ("?follow=false" if operation.stream else "")
    async with Client(server, people[0].run_key("job-1")) as early:  # its run has not begun
        answer = await early.get(path.replace("{run_id}", "job-1"))
        assert answer.status_code == 404 and "job-12" not in answer.text
        other = await early.get(path.replace("{run_id}", "job-12"))
        assert other.status_code == 403 and "refunds" not in other.text


@pytest.mark.parametrize("id", ["a;b", "a/b", "-a", "ünï", "a\n", "", "x" * 201])
async def test_an_id_outside_of_the_alphabet_starts_nothing(server: Serving, admin: Client, id: str) -> None:
    answer = await admin.post("runs", json={"agent": "refunds", "input": "x", "run_id": id})
    assert answer.status_code == 422 and "run_id" in answer.json()["detail"]
    assert await server.runtime.runs() == []


async def test_two_runs_that_wait_under_one_given_id_are_decided_apart(server: Serving, admin: Client) -> None:
    await started(server.runtime, "desk", "one", "two")
    items = {i["run_id"]: i for i in (await admin.get("inbox")).json()["items"]}
    assert {i["id"] for i in items.values()} == {GIVEN}
    assert {i["ref"] for i in items.values()} == {f"one:{GIVEN}", f"two:{GIVEN}"}
    both = await admin.get(f"interrupts/{at(GIVEN)}")
    assert both.status_code == 422 and all(i["ref"] in both.json()["detail"] for i in items.values())
    refused = await admin.post(
        f"interrupts/{at(GIVEN)}/answer", json={"value": {"ok": 1}, "digest": items["one"]["digest"]}
    )
    assert refused.status_code == 422
    swapped = await admin.post(
        f"interrupts/{at(items['two']['ref'])}/answer", json={"value": {"ok": 1}, "digest": items["one"]["digest"]}
    )
    assert (swapped.status_code, swapped.json()["code"]) == (409, "stale_decision"), "what was seen is another's"
    assert (await admin.decide(items["two"], "answer", value={"ok": 1})).status_code == 200
    await (await server.runtime.get("two")).wait(LIMIT)
    assert [i["ref"] for i in (await admin.get("inbox")).json()["items"]] == [f"one:{GIVEN}"]


async def test_what_is_told_of_two_of_one_id_leads_to_each(address: str) -> None:
    async with Runtime(address, programs()) as rt:
        await rt.store.endpoints(Endpoint("hook", "webhook", "https://a.example/", "whsec_x", ()), by="ana")
        await started(rt, "desk", "one", "two")
        told = [decode(letter.body)["data"] for letter in await rt.store.letters()]
        assert [(data["id"], data["ref"]) for data in told] == [
            (GIVEN, f"one:{GIVEN}"),
            (GIVEN, f"two:{GIVEN}"),
        ]
        postman = Postman(rt.store, url="https://ops.example.com")
        links = [postman._link(data) for data in told]
        assert links == [f"https://ops.example.com/inbox/{at(data['ref'])}" for data in told]
        for data in told:
            assert (await rt.interrupt(data["ref"])).run_id == data["run_id"]
        before_refs = {"run_id": told[0]["run_id"], "interrupt_id": told[0]["id"]}
        assert postman._link(before_refs) == f"https://ops.example.com/inbox/{at(GIVEN)}"
