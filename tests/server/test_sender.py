"""Notifications: signed, at least once, in order, retried with patience; dead letters are seen and can be sent again."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from standardwebhooks.webhooks import Webhook, WebhookVerificationError
from tests.server.receiver import HERE, Receiver
from tests.server.world import LIMIT, MAKERS, Client, at, eventually

from adjourn import Runtime
from adjourn.errors import Invalid
from adjourn.server import Postman, Serving, add_webhook, serving
from adjourn.server.notifications.sender import BACKOFF, HOLD, signed
from adjourn.stores.memory import MemoryStore
from adjourn.stores.outbox import Endpoint
from adjourn.stores.protocol import Store
from adjourn.stores.sqlite import SQLiteStore

CONSOLE = "https://ops.example.com"


class Time:
    """A clock that stands still until somebody moves it."""

    def __init__(self) -> None:
        self.at = 1_800_000_000.0

    def __call__(self) -> float:
        return self.at


@pytest.fixture
def clock() -> Time:
    return Time()


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, folder: Path, clock: Time) -> AsyncIterator[Store]:
    made: Store = MemoryStore(now=clock) if request.param == "memory" else SQLiteStore(str(folder / "x.db"), now=clock)
    yield made
    await made.close()


async def park(store: Store, program: str = "refunds") -> str:
    """A run that waits for somebody."""
    async with Runtime(store, [MAKERS[program]()]) as rt:
        run = await rt.start(rt.programs[program], "go")
        await run.wait(LIMIT)
        return run.id


def values(message: object) -> Iterator[object]:
    """Every single value in a message: searched as text, an amount would also be found in a time or a run's id."""
    if isinstance(message, dict):
        for each in cast("dict[str, object]", message).values():
            yield from values(each)
    elif isinstance(message, list):
        for each in cast("list[object]", message):
            yield from values(each)
    else:
        yield message


def postman(store: Store, **options: Any) -> Postman:
    return Postman(store, url=CONSOLE, allow=HERE, **options)


# What is said


async def test_what_is_told_is_signed_in_the_standard_s_way_and_says_where_to_look(store: Store, clock: Time) -> None:
    clock.at = int(time.time())  # the reference implementation refuses what is old
    async with Receiver() as receiver:
        secret = await add_webhook(store, "hook", receiver.url, allow=HERE, by="ana")
        run = await park(store)
        assert await postman(store).once() == 1
        [told] = receiver.told
    message = told.verified(secret)
    assert (message["type"], message["data"]["run_id"]) == ("interrupt.opened", run)
    assert (message["data"]["kind"], message["data"]["tool"]) == ("approval", "refund")
    assert message["data"]["link"] == f"{CONSOLE}/inbox/{at(message['data']['ref'])}"
    assert told.headers["content-type"] == "application/json"
    for wrong in (
        {**told.headers, "webhook-id": "msg_other"},
        {**told.headers, "webhook-timestamp": str(int(clock.at) + 1)},
    ):
        with pytest.raises(WebhookVerificationError):
            Webhook(secret).verify(told.body, wrong)
    with pytest.raises(WebhookVerificationError):
        Webhook(secret).verify(told.body + b" ", told.headers)


async def test_nothing_that_an_agent_said_and_no_link_that_decides_is_sent(store: Store) -> None:
    async with Receiver() as receiver:
        secret = await add_webhook(store, "hook", receiver.url, allow=HERE)
        await park(store)
        await postman(store).once()
        [told] = receiver.told
    text = told.body.decode()
    assert secret not in text
    for part in ("order", "cents", "/approve", "/deny", "token", "/api/"):
        assert part not in text
    assert not {"A1", 500, "500"} & {*values(told.message)}


async def test_of_topics_that_were_not_wanted_nothing_is_told(store: Store) -> None:
    async with Receiver() as receiver:
        await add_webhook(store, "hook", receiver.url, topics=["halt.set"], allow=HERE)
        await park(store)
        await store.halt("tool:refund", by="ana", reason="incident")
        await postman(store).once()
        assert receiver.topics == ["halt.set"]
    with pytest.raises(Invalid, match="topics"):
        await add_webhook(store, "other", receiver.url, topics=["everything"], allow=HERE)


async def test_two_secrets_sign_side_by_side_while_one_replaces_the_other() -> None:
    one, two = "whsec_" + "YQ" * 20, "whsec_" + "Yg" * 20
    now = time.time()
    headers = signed(Endpoint("x", "webhook", "https://x.example", f"{one} {two}"), "msg_1", b'{"a":1}', now)
    for secret in (one, two):
        assert Webhook(secret).verify(b'{"a":1}', headers) == {"a": 1}


# Whether it arrives


async def test_what_failed_is_tried_again_with_growing_patience_and_the_same_id(store: Store, clock: Time) -> None:
    async with Receiver(500, 503, "429 Retry-After: 900", 302) as receiver:
        await add_webhook(store, "hook", receiver.url, allow=HERE)
        await park(store)
        post = postman(store)
        waited: list[float] = []
        for n in range(1, 5):
            assert await post.once() == 1
            assert await post.once() == 0  # not before its time
            [letter] = await store.letters()
            assert (letter.state, letter.tries) == ("due", n)
            waited.append(letter.due_at - clock.at)
            clock.at = letter.due_at
        assert await post.once() == 1
        assert await store.letters() == []
        assert len({t.headers["webhook-id"] for t in receiver.told}) == 1
        assert [t.headers["webhook-timestamp"] for t in receiver.told] == sorted(
            t.headers["webhook-timestamp"] for t in receiver.told
        )
    for seconds, planned in zip(waited, [BACKOFF[0], BACKOFF[1], max(BACKOFF[2], 900), BACKOFF[3]], strict=True):
        assert 0.9 * planned <= seconds <= 1.2 * planned


async def test_after_days_it_is_dead_and_seen_and_can_be_given_up(store: Store, clock: Time) -> None:
    async with Receiver(500, 500, 500) as receiver:
        await add_webhook(store, "hook", receiver.url, allow=HERE)
        await park(store)
        post = postman(store, backoff=(5.0, 10.0))
        for _ in range(3):
            await post.once()
            clock.at += 60
        [dead] = await store.letters("dead")
        assert (dead.tries, dead.error) == (3, "it answered 500")
        assert await post.once() == 0
        async with (
            Runtime(store) as rt,
            serving(rt, port=0, allow=HERE) as server,
            Client(server, server.token) as admin,
        ):
            [seen] = (await admin.get("letters", params={"state": "dead"})).json()["items"]
            assert (seen["number"], seen["endpoint"], seen["tries"], seen["error"]) == (
                dead.n,
                "hook",
                3,
                "it answered 500",
            )
            assert "secret" not in str(seen)
            assert (await admin.post("letters/drop", json={"number": dead.n})).status_code == 200
            for verb in ("drop", "retry"):
                assert (await admin.post(f"letters/{verb}", json={"number": dead.n})).status_code == 404
            assert (await admin.get("letters")).json()["items"] == []


async def test_a_dead_letter_that_is_retried_arrives(store: Store, clock: Time) -> None:
    async with Receiver(410) as receiver:
        await add_webhook(store, "hook", receiver.url, allow=HERE)
        await park(store)
        post = postman(store)
        await post.once()
        [dead] = await store.letters("dead")
        assert "410" in dead.error  # whoever says so does not want to hear of it for three days
        async with (
            Runtime(store) as rt,
            serving(rt, port=0, allow=HERE) as server,
            Client(server, server.token) as admin,
        ):
            assert (await admin.post("letters/retry", json={"number": dead.n})).status_code == 200
            told = await receiver.until(2)
            assert told[0].headers["webhook-id"] == told[1].headers["webhook-id"]

            async def arrived() -> bool:
                return not await store.letters()

            await eventually(arrived)


async def test_an_address_that_must_not_be_reached_is_not_tried_again(store: Store) -> None:
    async with Receiver() as receiver:
        await add_webhook(store, "hook", receiver.url, allow=HERE)
        await park(store)
        await Postman(store).once()
        assert receiver.told == []
        [dead] = await store.letters("dead")
        assert dead.error


async def test_the_letters_of_a_run_arrive_in_order_and_other_runs_do_not_wait(store: Store, clock: Time) -> None:
    async with Receiver(500) as receiver:
        await add_webhook(store, "hook", receiver.url, allow=HERE)
        async with Runtime(store, [MAKERS["refunds"]()]) as rt:
            first = await rt.start(rt.programs["refunds"], "go")
            await first.wait(LIMIT)
            [item] = await rt.inbox()
            await rt.approve(item.id, by="ana")
            await first.wait(LIMIT)
        await postman(store).once()  # the first of them fails
        second = await park(store)
        await postman(store).once()
        assert [t.message["data"]["run_id"] for t in receiver.told] == [first.id, second]
        clock.at += 100
        await postman(store).once()
        mine = [t.message["type"] for t in receiver.told if t.message["data"]["run_id"] == first.id]
        assert mine == ["interrupt.opened", "interrupt.opened", "run.completed"]


async def test_one_that_is_down_does_not_hold_up_another(store: Store) -> None:
    async with Receiver() as receiver:
        await add_webhook(store, "down", "http://127.0.0.1:1/", allow=HERE)
        for _ in range(250):
            await store.halt("tool:x", by="ana", reason="r")
            await store.halt("tool:x", by="ana", reason="r", lift=True)
        post = postman(store)
        await post.once()
        assert len(await store.letters("due", limit=1000)) == 500
        await add_webhook(store, "hook", receiver.url, allow=HERE)
        await park(store)
        await post.once()
        assert receiver.topics == ["interrupt.opened"]


# What a crash leaves


async def test_a_postman_that_dies_before_it_knows_sends_it_again_under_the_same_id(store: Store, clock: Time) -> None:
    async with Receiver() as receiver:
        await add_webhook(store, "hook", receiver.url, allow=HERE)
        await park(store)
        receiver.waits.clear()
        async with postman(store):
            await receiver.until(1)
        receiver.waits.set()
        assert await postman(store).once() == 0  # somebody else may be at it
        clock.at += HOLD + 1
        assert await postman(store).once() == 1
        assert len({t.headers["webhook-id"] for t in receiver.told}) == 1
        assert await store.letters() == []


async def test_of_two_postmen_only_one_delivers_each_letter(store: Store) -> None:
    async with Receiver() as receiver:
        await add_webhook(store, "hook", receiver.url, allow=HERE)
        for _ in range(20):
            await park(store)
        tried = await asyncio.gather(*(postman(store).once() for _ in range(4)))
        assert sum(tried) == 20
        assert len({t.headers["webhook-id"] for t in receiver.told}) == len(receiver.told) == 20


# Through the server


async def test_who_is_told_is_an_admin_s_choice_and_written_down(server: Serving, admin: Client) -> None:
    url = "https://hooks.example/x"
    made = (await admin.post("endpoints", json={"name": "hook", "url": url, "topics": ["run.failed"]})).json()
    assert made["secret"].startswith("whsec_")
    [listed] = (await admin.get("endpoints")).json()["items"]
    assert (listed["name"], listed["url"], listed["topics"]) == ("hook", url, ["run.failed"])
    assert made["secret"] not in str(listed)
    twice = await admin.post("endpoints", json={"name": "hook", "url": url})
    assert (twice.status_code, twice.json()["code"]) == (409, "conflict")
    for inside in ("https://127.0.0.1/", "https://169.254.169.254/", "https://[::ffff:10.0.0.1]/"):
        refused = await admin.post("endpoints", json={"name": "inside", "url": inside})
        assert refused.status_code in (403, 422), inside
    assert (await admin.post("endpoints/remove", json={"name": "hook"})).status_code == 200
    assert (await admin.post("endpoints/remove", json={"name": "hook"})).status_code == 404
    verbs = [x["verb"] for x in (await admin.get("audit")).json()["items"]]
    assert verbs == ["remove endpoint", "add endpoint"]


async def test_a_server_delivers_what_its_runs_have_to_say(folder: Path) -> None:
    async with (
        Receiver() as receiver,
        serving(f"sqlite:///{folder / 'x.db'}", [MAKERS["refunds"]()], port=0, allow=HERE) as server,
        Client(server, server.token) as admin,
    ):
        secret = await add_webhook(server.runtime.store, "hook", receiver.url, allow=HERE)
        item = await admin.waiting("refunds")
        [told] = await receiver.until(1)
        link = told.verified(secret)["data"]["link"]
        assert link == f"{server.url}/inbox/{at(item['ref'])}"
        for method in ("GET", "HEAD"):  # whoever scans mails and chats opens it
            await admin.request(method, link)
        assert (await admin.get(f"interrupts/{at(item['ref'])}")).json()["status"] == "open"
        await admin.decide(item, "approve")
        assert (await receiver.until(2))[1].verified(secret)["type"] == "run.completed"
