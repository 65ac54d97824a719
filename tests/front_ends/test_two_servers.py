"""A thread belongs to no process: it is paused in one and finished in another, and two of them do it once."""

import asyncio
import signal
from pathlib import Path

import httpx
import pytest
from tests.front_ends.dying_server import begun, payer
from tests.front_ends.world import approves, asks, interrupts, ledger_of, place, post

PAYER = "/ag-ui/payer"


async def test_a_thread_pauses_in_one_server_and_finishes_in_another(tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path / 'runs.db'}"
    async with place(tmp_path, address) as first, first.client() as ana:
        found = interrupts(await post(ana, "/ag-ui/cashier", asks()))
    async with place(tmp_path, address) as second, second.client() as ana:
        again = interrupts(await post(ana, "/ag-ui/cashier/connect", asks()))
        assert [i["id"] for i in again] == [i["id"] for i in found]
        done = await post(ana, "/ag-ui/cashier", asks("t1", "r2", resume=approves(*found)))
        assert done[-1]["outcome"] == {"type": "success"}
    assert sorted(ledger_of(tmp_path)) == ["A1 500", "B2 700"]


async def test_the_same_start_and_the_same_resume_at_two_servers_are_one(tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path / 'runs.db'}"
    async with (
        place(tmp_path, address) as one,
        place(tmp_path, address) as two,
        one.client() as ana,
        two.client() as too,
    ):
        both = (ana, too)
        asked = await asyncio.gather(*(post(client, "/ag-ui/cashier", asks()) for client in both))
        assert interrupts(asked[0]) == interrupts(asked[1])
        resume = asks("t1", "r2", resume=approves(*interrupts(asked[0])))
        done = await asyncio.gather(*(post(client, "/ag-ui/cashier", resume) for client in both * 3))
        assert {events[-1]["result"] for events in done} == {"All is settled."}
        assert len((await ana.get("/api/v1/runs")).json()["items"]) == 1
    assert sorted(ledger_of(tmp_path)) == ["A1 500", "B2 700"]


async def test_a_server_that_is_killed_while_it_pays_leaves_a_doubt_and_the_same_resume_pays_nothing(
    tmp_path: Path,
) -> None:
    process, up = await begun(tmp_path)
    headers = {"Authorization": f"Bearer {up['token']}"}
    async with httpx.AsyncClient(base_url=up["url"], headers=headers, timeout=60, trust_env=False) as ana:
        [asked] = interrupts(await post(ana, PAYER, asks()))
        resume = asks("t1", "r2", resume=approves(asked))
        with pytest.raises(httpx.TransportError):
            await post(ana, PAYER, resume)
    assert (await process.wait(), ledger_of(tmp_path)) == (-signal.SIGKILL, ["A1 500"])
    async with (
        place(tmp_path, f"sqlite:///{tmp_path / 'runs.db'}", more=[payer(tmp_path, dies=False)]) as at,
        at.client() as ana,
    ):
        [doubt] = interrupts(await post(ana, PAYER, resume))  # the same once more
        assert doubt["reason"] == "adjourn:in_doubt" and doubt["toolCallId"] == asked["toolCallId"]
        assert ledger_of(tmp_path) == ["A1 500"]
        settled = {
            "interruptId": doubt["id"],
            "status": "resolved",
            "payload": {"choice": "happened", "result": "paid 500"},
        }
        done = await post(ana, PAYER, asks("t1", "r3", resume=[settled]))
    assert (done[-1]["result"], ledger_of(tmp_path)) == ("Settled.", ["A1 500"])
