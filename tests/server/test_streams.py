"""Server-sent events: who leaves and returns gets each once and in order, under load; who does not read holds up nobody."""

import asyncio
import signal
import socket
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.server.process import Process
from tests.server.world import LIMIT, Client, Event, Events, at, chatty, eventually, programs, talker

from adjourn import Runtime
from adjourn.runtime.run import Run
from adjourn.server import Serving, Users, serving


async def read(client: Client, path: str, last: str, most: int) -> tuple[list[Event], str, bool]:
    """Up to `most` events that have an id, where the client is then, and whether the stream said that it is over."""
    found: list[Event] = []
    headers = {"Last-Event-ID": last} if last else {}
    async with asyncio.timeout(LIMIT), client.stream("GET", path, headers=headers) as response:
        if response.status_code == 204:  # it had everything already
            return [], last, True
        assert response.status_code == 200
        events = Events(response)
        async for event in events:
            if event.kind == "end":
                return found, events.last or last, True
            if event.id:
                found.append(event)
            if len(found) == most:
                return found, events.last, False
    return found, found[-1].id if found else last, False


async def everything(client: Client, run: str, step: int) -> list[Event]:
    """A run's records to the end, by a client that goes away after every few."""
    seen: list[Event] = []
    last, over = "", False
    while not over:
        found, last, over = await read(client, f"runs/{run}/events", last, step)
        seen += found
    return seen


async def journal(client: Client, run: str) -> list[Any]:
    found: list[Any] = []
    after = 0
    while True:
        page = (await client.get(f"runs/{run}/records", params={"after": after})).json()
        found += page["items"]
        if page["after"] is None:
            return found
        after = page["after"]


# A run's own stream


async def test_who_leaves_and_returns_gets_each_record_once_and_in_order_under_load(admin: Client) -> None:
    runs = [await admin.start("chatty") for _ in range(6)]
    seen = await asyncio.gather(*(everything(admin, run, 3 + k) for k, run in enumerate(runs)))
    for run, events in zip(runs, seen, strict=True):
        assert [e.id for e in events] == [str(n + 1) for n in range(len(events))]
        assert [e.data for e in events] == await journal(admin, run)
        assert len(events) > 120
    late = await admin.get(f"runs/{runs[0]}/events", headers={"Last-Event-ID": seen[0][-1].id})
    assert (late.status_code, late.content) == (204, b"")  # a browser asks no more


async def test_a_place_that_is_no_number_is_refused(admin: Client) -> None:
    run = await admin.start("chatty")
    for last in ("x", "-1", "1.5", "9" * 17):
        assert (await admin.get(f"runs/{run}/events", headers={"Last-Event-ID": last})).status_code == 422


async def test_a_page_that_gives_a_place_in_its_address_begins_there(admin: Client) -> None:
    run = await admin.start("chatty")
    await admin.until(run, "completed")
    async with admin.events(f"runs/{run}/events?after=5") as events:
        [first, *_] = await events.until(lambda e: e.kind == "record")
    assert first.id == "6"


@asynccontextmanager
async def working(address: str) -> AsyncGenerator[Runtime]:
    """A worker that is not the server's."""
    async with Runtime(address, programs()) as rt:
        yield rt


async def test_a_server_that_restarts_in_the_middle_loses_nothing_and_repeats_nothing(address: str) -> None:
    async with working(address) as rt:
        runs: list[Run[Any]] = [await rt.start(rt.programs["chatty"], "go") for _ in range(3)]
        server = await Process.begin(address=address, programs=[])
        port, seen, last, over = int(server.up["url"].rpartition(":")[2]), list[Event](), "", False
        async with Client(up(server), server.up["token"]) as client:
            found, last, over = await read(client, f"runs/{runs[0].id}/events", last, 20)
            seen += found
            async with client.events(f"runs/{runs[0].id}/events", last) as events:
                seen += await events.until(lambda e: bool(e.id))
                last = events.last
                assert await server.end(signal.SIGKILL) == -signal.SIGKILL
        server = await Process.begin(address=address, programs=[], port=port)
        async with Client(up(server), server.up["token"]) as client:
            while not over:
                found, last, over = await read(client, f"runs/{runs[0].id}/events", last, 50)
                seen += found
            assert [e.data for e in seen] == await journal(client, runs[0].id)
        assert await server.end(signal.SIGTERM) == 0
        for run in runs:
            await run.wait(LIMIT)
    assert [e.id for e in seen] == [str(n + 1) for n in range(len(seen))]


def up(server: Process) -> Any:
    """A server elsewhere, as far as a client needs to know it."""
    return type("Up", (), {"url": server.up["url"]})()


async def test_text_arrives_before_the_model_has_ended_with_the_worker_in_another_process(address: str) -> None:
    server = await Process.begin(address=address, programs=[])
    try:
        async with working(address) as rt, Client(up(server), server.up["token"]) as client:
            run = await rt.start(talker(), "go")
            async with client.events(f"runs/{run.id}/events") as events:
                seen = await events.until(lambda e: e.kind == "record" and e.data["record"]["t"] == "replied")
        text = [e.data["text"] for e in seen if e.kind == "live" and e.data["type"] == "text"]
        assert len(text) > 5  # pieces, not one lump at the end
        heard = ""
        for event in seen:
            if event.kind == "live":  # who begins to watch is told everything so far, and then piece by piece
                heard = event.data["text"] if event.data.get("whole") else heard + event.data["text"]
        whole = "".join(
            f"word{n} " for n in range(40)
        )  # the last of it may be overtaken by the record, which has it all
        assert whole.startswith(heard)
        assert len(heard) > 50
        assert all(
            not e.id for e in seen if e.kind == "live"
        )  # a place is a record's number, never in the middle of text
    finally:
        await server.end(signal.SIGTERM)


# Who does not read


@asynccontextmanager
async def sleepers(server: Serving, count: int, path: str) -> AsyncGenerator[list[asyncio.StreamReader]]:
    """Clients that ask for a stream and do not read it: their buffers are as small as the system lets them be."""
    host, port = server.url.removeprefix("http://").split(":")
    found: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []
    for _ in range(count):
        sock = socket.socket()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
        sock.setblocking(False)
        await asyncio.get_running_loop().sock_connect(sock, (host, int(port)))
        reader, writer = await asyncio.open_connection(sock=sock, limit=1024)
        head = f"GET /api/v1/{path} HTTP/1.1\r\nHost: {host}:{port}\r\nAuthorization: Bearer {server.token}\r\n\r\n"
        writer.write(head.encode())
        found.append((reader, writer))
    try:
        yield [reader for reader, _ in found]
    finally:
        for _, writer in found:
            writer.transport.abort()


async def timed(server: Serving, watchers: int) -> float:
    """How long a run takes while so many watch it and do not read."""
    run = await server.runtime.start(chatty(), "x" * 200_000)
    async with sleepers(server, watchers, f"runs/{run.id}/events"), sleepers(server, watchers, "inbox/events"):
        began = time.perf_counter()
        again = await server.runtime.start(chatty(), "go")
        await again.wait(LIMIT)
        await run.wait(LIMIT)
        return time.perf_counter() - began


async def test_a_client_that_does_not_read_does_not_slow_the_run(server: Serving) -> None:
    await timed(server, 0)
    without = min([await timed(server, 0) for _ in range(3)])
    watched = min([await timed(server, 5) for _ in range(3)])
    assert watched < without * 5 + 5  # it would be for ever, were anybody to wait for them


async def test_a_client_that_was_slow_gets_everything_after_all(server: Serving, admin: Client) -> None:
    run = await server.runtime.start(chatty(), "x" * 200_000)
    async with sleepers(server, 1, f"runs/{run.id}/events") as [reader]:
        await run.wait(LIMIT)
        text = b""
        async with asyncio.timeout(LIMIT):
            while b"event: end" not in text:
                text += await reader.read(65536)
    ids = [int(line.removeprefix(b"id: ")) for line in text.split(b"\n") if line.startswith(b"id: ")]
    assert ids == list(range(1, len(await journal(admin, run.id)) + 1))


async def test_a_client_that_goes_away_stops_nothing_and_leaves_nothing(server: Serving, admin: Client) -> None:
    run = await admin.start("talker")
    async with admin.events(f"runs/{run}/events") as events, admin.events("inbox/events") as other:
        await events.until(lambda e: e.kind == "live")
        await other.until(lambda e: e.kind == "inbox")
        assert sum(server.guard._streams.values()) == 2

    async def gone() -> bool:
        return not server.guard._streams

    await eventually(gone)
    await admin.until(run, "completed")


async def test_streams_are_counted(server: Serving, admin: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adjourn.server.authentication.STREAMS_EACH", 2)
    async with admin.events("inbox/events"), admin.events("inbox/events"):
        refused = await admin.get("inbox/events")
        assert (refused.status_code, refused.json()["code"]) == (429, "too_many_streams")
        assert refused.headers["retry-after"]


async def test_who_is_removed_or_logs_out_sees_no_more(
    server: Serving, people: tuple[Users, dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adjourn.server.sse.PING", 0.05)
    users = people[0]
    async with Client(server, users.add("gone", "viewer")) as gone, Client(server) as browser:
        login = await browser.post("session", json={"key": server.token})
        async with gone.events("inbox/events") as one, browser.events("inbox/events") as two:
            for events in (one, two):
                await events.until(lambda e: e.kind == "inbox")
            users.remove("gone")
            await browser.post("session/end", headers={"X-CSRF-Token": login.json()["csrf"]})
            async with asyncio.timeout(LIMIT):
                for events in (one, two):
                    assert [e async for e in events] == []  # the streams end


# The stream about everything


class Inbox:
    """What a page knows that only ever listened."""

    def __init__(self) -> None:
        self.open: set[str] = set()
        self.ids: list[str] = []
        self.wholes = 0

    def hear(self, event: Event) -> None:
        self.ids.append(event.id)
        if event.kind == "inbox":
            self.open, self.wholes = set(event.data["open"]), self.wholes + 1
            return
        assert not self.open & set(event.data["opened"]), "told twice that something opened"
        assert self.open >= set(event.data["closed"]), "told that something closed of which it did not know"
        self.open = (self.open | set(event.data["opened"])) - set(event.data["closed"])


async def listen(client: Client, page: Inbox, goal: set[str], step: int) -> None:
    """Until the page shows what there is, going away after every few events."""
    last = ""
    async with asyncio.timeout(LIMIT):
        while page.open != goal or not page.ids:
            async with client.events("inbox/events", last) as events:
                heard = 0
                async for event in events:
                    page.hear(event)
                    last, heard = events.last, heard + 1
                    if heard == step or page.open == goal:
                        break


async def refs(client: Client) -> set[str]:
    return {x["ref"] for x in (await client.get("inbox", params={"limit": 200})).json()["items"]}


async def test_the_inbox_s_stream_tells_each_change_once_however_often_one_leaves(admin: Client) -> None:
    page, other = Inbox(), Inbox()
    busy = [await admin.start("chatty") for _ in range(3)]
    listening = asyncio.create_task(listen(admin, other, {"never"}, 1))

    async def decide() -> None:
        for k in range(12):
            item = await admin.waiting("refunds")
            if k % 2:
                await admin.decide(item, "deny")

    await decide()
    goal = await refs(admin)
    assert len(goal) == 6
    await listen(admin, page, goal, 1)

    async def settled() -> bool:
        return other.open == goal

    await eventually(settled)
    listening.cancel()
    await asyncio.gather(listening, return_exceptions=True)
    assert other.wholes == 1  # it never needed to be told everything again
    assert len(set(other.ids)) == len(other.ids)
    numbers = [int(id.rpartition("-")[2]) for id in other.ids]
    assert numbers == sorted(numbers)
    for run in busy:
        await admin.until(run, "completed")


async def test_after_a_restart_or_a_long_absence_the_inbox_is_told_whole(address: str) -> None:
    async with working(address) as rt:
        async with serving(address, port=0) as one, Client(one, one.token) as client:
            run = await rt.start(rt.programs["refunds"], "go")
            await run.wait(LIMIT)
            page = Inbox()
            await listen(client, page, await refs(client), 5)
            last, port = page.ids[-1], int(one.url.rpartition(":")[2])
        second = await rt.start(rt.programs["refunds"], "more")
        await second.wait(LIMIT)
        async with serving(address, port=port) as two, Client(two, two.token) as client:
            async with client.events("inbox/events", last) as events:
                [whole] = await events.until(lambda e: True)
            assert whole.kind == "inbox"
            assert set(whole.data["open"]) == await refs(client)
            assert len(whole.data["open"]) == 2
            for strange in (f"{last}0", "x", "-", at("\u00e9"), f"{last.partition('-')[0]}-99999"):
                async with client.events("inbox/events", strange) as events:
                    assert (await events.until(lambda e: True))[0].kind == "inbox"


async def test_who_was_away_for_longer_than_changes_are_kept_is_told_everything(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("adjourn.server.change_feed.KEPT", 3)
    monkeypatch.setattr("adjourn.server.change_feed.PAUSE", 0.001)
    async with (
        serving("memory://", programs(), port=0, rate=1e6) as server,
        Client(server, server.token) as admin,
        admin.events("inbox/events") as stays,
        admin.events("inbox/events") as leaves,
    ):
        [first] = await leaves.until(lambda e: True)
        for n in range(6):
            await admin.post("halts", json={"scope": f"tool:{n}", "reason": "r"})
            await stays.until(lambda e, n=n: len(e.data["halts"]) == n + 1)
        async with admin.events("inbox/events", first.id) as returns:
            [told] = await returns.until(lambda e: True)
        assert (told.kind, len(told.data["halts"])) == ("inbox", 6)


async def test_a_halt_and_a_run_s_change_are_told(admin: Client) -> None:
    async with admin.events("inbox/events") as events:
        await events.until(lambda e: e.kind == "inbox")
        await admin.post("halts", json={"scope": "tool:x", "reason": "incident"})
        [*_, told] = await events.until(lambda e: bool(e.data["halts"]))
        assert told.data["halts"][0]["reason"] == "incident"
        run = await admin.start("refunds")
        await events.until(lambda e: any(r["run_id"] == run and r["status"] == "waiting" for r in e.data["runs"]))


# One stream for a browser


async def test_one_stream_carries_what_changes_anywhere_and_the_records_of_several_runs(
    server: Serving, admin: Client
) -> None:
    runs = [(await admin.waiting("refunds"))["run_id"] for _ in range(3)]
    query = {"runs": ",".join(runs), "after": "0,0,2"}
    kinds: set[str] = set()
    seen: dict[str, list[Any]] = {run: [] for run in runs}
    wanted = {run: await journal(admin, run) for run in runs}
    async with asyncio.timeout(LIMIT), admin.stream("GET", "events", params=query) as response:
        async for event in Events(response):
            kinds.add(event.kind)
            if event.kind == "run" and event.data["kind"] == "record":
                seen[event.data["run_id"]].append(event.data["data"])
            if all(len(seen[run]) >= len(wanted[run]) - 2 for run in runs) and "inbox" in kinds:
                break
    assert kinds == {"inbox", "run"}
    assert seen[runs[0]] == wanted[runs[0]] and seen[runs[2]] == wanted[runs[2]][2:]


async def test_a_run_that_is_not_there_ends_and_the_others_go_on(server: Serving, admin: Client) -> None:
    run = (await admin.post("runs", json={"agent": "refunds", "input": "go"})).json()["run_id"]
    ended: list[str] = []
    records = 0
    async with asyncio.timeout(LIMIT), admin.stream("GET", f"events?runs=NOPE,{run}&after=0,0") as response:
        async for event in Events(response):
            if event.kind == "run" and event.data["kind"] == "end":
                ended.append(event.data["run_id"])
            records += event.kind == "run" and event.data["kind"] == "record"
            if ended and records > 3:
                break
    assert ended == ["NOPE"]


async def test_a_browser_that_returns_gets_what_it_missed_of_everything(server: Serving, admin: Client) -> None:
    async with asyncio.timeout(LIMIT), admin.stream("GET", "events") as response:
        events = Events(response)
        async for event in events:
            assert event.kind == "inbox"
            break
    async with asyncio.timeout(LIMIT), admin.stream("GET", "inbox/events", headers={"Last-Event-ID": events.last}) as r:
        await admin.post("runs", json={"agent": "refunds", "input": "go"})
        async for event in Events(r):
            assert event.kind == "changed"
            break
    async with asyncio.timeout(LIMIT), admin.stream("GET", "events", headers={"Last-Event-ID": events.last}) as again:
        async for event in Events(again):
            assert event.kind == "changed", "it does not begin again"
            break


async def test_a_run_without_a_number_is_read_from_its_beginning(server: Serving, admin: Client) -> None:
    run = (await admin.waiting("refunds"))["run_id"]
    async with asyncio.timeout(LIMIT), admin.stream("GET", f"events?runs={run}&follow=false") as response:
        found = [event.data["data"]["seq"] async for event in Events(response) if event.kind == "run"]
    assert found == [record["seq"] for record in await journal(admin, run)]
