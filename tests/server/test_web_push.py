"""Web push: one browser can read a message and nobody on the way; a person is told what they may see and chose, when they chose."""

from typing import Any

import pytest
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric import ec
from tests.server.push_service import Subscription, padded, sender_of
from tests.server.receiver import HERE, Receiver
from tests.server.test_sender import CONSOLE, Time, park
from tests.server.world import Client, at

from adjourn import Runtime
from adjourn.core.interrupt import Interrupt, PendingToolCall
from adjourn.errors import Invalid
from adjourn.server import NotificationSender, Serving, Users, add_chat
from adjourn.server.api.own_notifications import USUAL
from adjourn.server.authentication import identity_of
from adjourn.server.identity import Identity
from adjourn.server.notifications.own_delivery import VAPID, fitting, held_until, quiet_until, waits_for, wants
from adjourn.server.notifications.web_push import LARGEST, VapidKey, check_keys, encrypted
from adjourn.stores.item_note import ItemMark
from adjourn.stores.memory import MemoryStore
from adjourn.stores.outbox import TOPICS, Endpoint
from adjourn.stores.own_endpoint import OwnChoice, OwnEndpoint, QuietHours
from adjourn.stores.protocol import Filter, Store
from adjourn.views.api_answers import LetterView

NIGHT = QuietHours(20 * 60, 7 * 60, "Europe/Oslo")
EVENING, MORNING = 1_800_000_000.0 + 13 * 3600, 1_800_000_000.0 + 22 * 3600
"""21:00 and the next 06:00 in UTC, in winter: 22:00 and 07:00 in Oslo."""


@pytest.fixture
def clock() -> Time:
    return Time()


@pytest.fixture
def store(clock: Time) -> Store:
    return MemoryStore(now=clock)


@pytest.fixture
def users() -> Users:
    made = Users()
    made.add("ana", "approver", ["finance"])
    return made


async def subscribe(
    store: Store, url: str, *, person: str = "ana", choice: OwnChoice | None = None, topics: tuple[str, ...] = ()
) -> Subscription:
    """A browser that is told, as the API would write it down."""
    browser, key = Subscription(), VapidKey.new()
    own = OwnEndpoint(person, "phone", browser.p256dh, browser.auth, choice or OwnChoice())
    await store.endpoints(Endpoint(VAPID, "push", "", str(key)))
    await store.endpoints(Endpoint("push 1", "push", url, own.kept(), topics))
    return browser


def sender(store: Store, users: Users, **options: Any) -> NotificationSender:
    async def person(name: str) -> Identity | None:
        found = users.get(name)
        return identity_of(found) if found else None

    return NotificationSender(store, url=CONSOLE, allow=HERE, recipients=person, **options)


# What goes over the line


def test_a_message_is_read_as_the_standard_says() -> None:
    """The example of RFC 8291, section 5: our browser reads what another sender wrote."""
    private = ec.derive_private_key(
        int.from_bytes(padded("q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94")), ec.SECP256R1()
    )
    browser = Subscription(private, padded("BTBZMqHH6r4Tts7J_aSIgg"))
    assert browser.p256dh == "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
    body = padded(
        "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPT"
        "pK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
    )
    assert browser.read(body) == b"When I grow up, I want to be a watermelon"


def test_only_the_browser_reads_it_and_no_two_are_alike() -> None:
    browser, other = Subscription(), Subscription()
    first, second = (encrypted(b"refund 500", browser.p256dh, browser.auth) for _ in range(2))
    assert browser.read(first) == browser.read(second) == b"refund 500"
    assert first != second and b"refund" not in first
    with pytest.raises(InvalidTag):
        other.read(first)
    with pytest.raises(InvalidTag):
        browser.read(first[:-1] + bytes([first[-1] ^ 1]))


def test_the_largest_message_fits_one_record_and_a_larger_one_is_refused() -> None:
    browser = Subscription()
    assert len(encrypted(b"x" * LARGEST, browser.p256dh, browser.auth)) == 4096
    with pytest.raises(Invalid, match="at most"):
        encrypted(b"x" * (LARGEST + 1), browser.p256dh, browser.auth)


@pytest.mark.parametrize(
    ("p256dh", "auth"),
    [("AAAA", ""), ("B" * 87, ""), ("ö", ""), ("", ""), (Subscription().p256dh, "AAAA")],
    ids=["too short", "no point", "not base64", "empty", "a short secret"],  # each process makes another key
)
def test_keys_that_no_browser_has_are_refused(p256dh: str, auth: str) -> None:
    with pytest.raises(Invalid):
        check_keys(p256dh, auth or Subscription().auth)


def test_a_long_action_loses_arguments_and_never_its_digest() -> None:
    lines = ["agent: a", *(f"  name{n}: {'ö' * 190}" for n in range(20)), "digest: 0123"]
    body = fitting({"title": "t", "text": "\n".join(lines), "path": "/", "tag": "x"})
    assert len(body) <= LARGEST and b"digest: 0123" in body and b"name0" in body and b"name19" not in body
    assert body.count(b"and more") == 1


async def test_a_browser_is_told_the_exact_action_its_digest_and_where_to_look(
    store: Store, users: Users, clock: Time
) -> None:
    async with Receiver(201) as service:
        browser = await subscribe(store, service.url)
        run = await park(store)
        assert await sender(store, users).once() == 1
        [told] = service.told
    assert await store.letters() == []
    [item] = await store.inbox(Filter(run=run))
    digest = " ".join(item.digest[n : n + 4] for n in (0, 4, 8, 12))
    message = browser.message(told)
    assert message["title"] == "refund needs approval"
    assert message["path"] == f"/inbox/{at(f'{run}:1.0?0')}"
    lines = message["text"].splitlines()
    assert ['  order: "A1"', "  cents: 500", f"digest: {digest}"] == lines[2:5]
    key, claims = sender_of(told)
    [kept] = [e.secret for e in await store.endpoints() if e.name == VAPID]
    assert key == VapidKey.kept(kept).public
    assert claims == {"aud": f"http://127.0.0.1:{service.port}", "exp": int(clock.at) + 43_200, "sub": CONSOLE}
    assert (told.headers["content-encoding"], told.headers["ttl"]) == ("aes128gcm", "86400")
    for part in (b"refund", b"digest", run.encode(), CONSOLE.encode()):
        assert part not in told.body


async def test_without_details_no_argument_leaves_the_house(store: Store, users: Users) -> None:
    async with Receiver(201) as service:
        browser = await subscribe(store, service.url)
        await park(store)
        await sender(store, users, details=False).once()
    assert "order" not in browser.message(service.told[0])["text"]


@pytest.mark.parametrize("status", [404, 410])
async def test_a_browser_that_is_gone_is_forgotten(store: Store, users: Users, status: int) -> None:
    async with Receiver(status) as service:
        await subscribe(store, service.url)
        await park(store)
        await sender(store, users).once()
    assert [e.name for e in await store.endpoints()] == [VAPID] and await store.letters() == []


async def test_a_service_that_is_busy_is_asked_again_when_it_says(store: Store, users: Users, clock: Time) -> None:
    async with Receiver("429 Retry-After: 600") as service:
        await subscribe(store, service.url)
        await park(store)
        await sender(store, users).once()
    [letter] = await store.letters("due")
    assert letter.due_at >= clock.at + 600


async def test_a_service_at_an_address_that_is_not_public_is_not_reached(store: Store, users: Users) -> None:
    async with Receiver() as service:
        await subscribe(store, service.url)
        await park(store)
        await NotificationSender(store, recipients=sender(store, users)._own.recipients).once()  # pyright: ignore
        assert service.told == []
    assert [letter.state for letter in await store.letters()] == ["dead"]


async def test_a_key_without_an_address_is_told_nothing(store: Store) -> None:
    await store.endpoints(Endpoint(VAPID, "push", "", str(VapidKey.new())))
    await park(store)
    assert await store.letters() == []


# Whom it reaches


@pytest.mark.parametrize("mine", [True, False])
async def test_who_may_no_longer_see_it_is_not_told_and_who_is_gone_has_no_browser(
    store: Store, users: Users, mine: bool
) -> None:
    users.add("cleo", "admin")
    async with Receiver() as service:
        await subscribe(store, service.url, choice=OwnChoice(mine=mine))
        await park(store)
        users.set_role("ana", "none")
        assert await sender(store, users).once() == 1
        assert (service.told, await store.letters()) == ([], [])
        users.remove("ana")
        await park(store)
        await sender(store, users).once()
        assert service.told == [] and [e.name for e in await store.endpoints()] == [VAPID]


async def test_what_somebody_has_put_off_is_not_told_to_them(store: Store, users: Users, clock: Time) -> None:
    async with Receiver() as service:
        await subscribe(store, service.url)
        run = await park(store)
        [item] = await store.inbox(Filter(run=run))
        async with Runtime(store) as rt:
            await rt.snooze(item, clock.at + 3600, by="ana")
        await sender(store, users).once()
        assert (service.told, await store.letters()) == ([], [])


async def test_what_is_decided_before_it_is_told_is_not_told(store: Store, users: Users) -> None:
    async with Receiver() as service:
        await subscribe(store, service.url, topics=("interrupt.opened",))
        run = await park(store)
        [item] = await store.inbox(Filter(run=run))
        async with Runtime(store) as rt:
            await rt.deny(item.id, by="ben")
        await sender(store, users).once()
        assert (service.told, await store.letters()) == ([], [])


async def test_a_sender_that_knows_nobody_leaves_people_s_letters_to_one_that_does(store: Store, users: Users) -> None:
    async with Receiver() as service:
        await subscribe(store, service.url)
        await park(store)
        assert await NotificationSender(store, allow=HERE).once() == 0
        assert len(await store.letters("due")) == 1
        assert await sender(store, users).once() == 1


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
async def test_a_person_s_own_mailbox_follows_the_same_choice(store: Store, users: Users) -> None:
    async with Receiver() as service:
        await add_chat(store, "ana's mail", f"json://127.0.0.1:{service.port}/", person="ana")
        await park(store)
        await sender(store, users).once()
        assert [told.message["title"] for told in service.told] == ["refund needs approval"]
        users.set_role("ana", "viewer")  # nothing waits for somebody who may not decide
        await park(store)
        await sender(store, users).once()
        assert len(service.told) == 1


async def test_in_quiet_hours_it_waits_until_they_end_and_a_halt_does_not(
    store: Store, users: Users, clock: Time
) -> None:
    clock.at = EVENING
    async with Receiver() as service:
        browser = await subscribe(store, service.url, choice=OwnChoice(quiet=NIGHT))
        await park(store)
        await sender(store, users).once()
        [letter] = await store.letters("due")
        assert (service.told, letter.error, letter.due_at) == ([], "quiet hours", MORNING)
        assert LetterView.of(letter).is_held
        await store.halt("*", by="ben", reason="fire")
        await sender(store, users).once()
        assert [browser.message(told)["title"] for told in service.told] == ["* was halted"]
        clock.at = MORNING
        await sender(store, users).once()
        assert len(service.told) == 2 and await store.letters() == []


def item(tool: str = "refund", groups: tuple[str, ...] = (), expires: float | None = None) -> Interrupt:
    call = PendingToolCall("1.0", tool, {}, digest="0" * 64)
    return Interrupt("r1:1.0?0", "r1", "approval", "approval", call=call, groups=groups, expires_at=expires)


@pytest.mark.parametrize(
    ("choice", "agent", "asked", "wanted"),
    [
        (OwnChoice(), "clerk", item(), True),
        (OwnChoice(agents=("clerk",)), "clerk", None, True),
        (OwnChoice(agents=("clerk",)), "deploy", None, False),
        (OwnChoice(agents=("clerk",)), "", None, True),
        (OwnChoice(tools=("refund",)), "clerk", item(), True),
        (OwnChoice(tools=("refund",)), "clerk", item("send"), False),
        (OwnChoice(tools=("refund",)), "clerk", None, True),
        (OwnChoice(groups=("leads",)), "clerk", item(groups=("leads", "finance")), True),
        (OwnChoice(groups=("leads",)), "clerk", item(groups=("finance",)), False),
        (OwnChoice(groups=("leads",)), "clerk", item(), False),
    ],
)
def test_agents_tools_and_groups_are_chosen(choice: OwnChoice, agent: str, asked: Any, wanted: bool) -> None:
    assert wants(choice, Identity("ana", "approver"), agent, asked) is wanted


@pytest.mark.parametrize(
    ("groups", "assigned", "waits"),
    [
        ((), "", True),
        (("finance",), "", True),
        (("leads",), "", False),
        (("leads",), "ana", True),
        ((), "ben", False),
        ((), "group:finance", True),
        ((), "group:leads", False),
    ],
)
def test_an_item_waits_for_whom_it_is_given_or_whose_group_it_asks(
    groups: tuple[str, ...], assigned: str, waits: bool
) -> None:
    ana = Identity("ana", "approver", ("finance",))
    assert waits_for(ana, item(groups=groups), ItemMark(assigned=assigned)) is waits


@pytest.mark.parametrize(
    ("quiet", "now", "until"),
    [
        (None, EVENING, 0.0),
        (NIGHT, EVENING, MORNING),
        (NIGHT, MORNING - 60, MORNING),
        (NIGHT, MORNING, 0.0),
        (NIGHT, EVENING - 2 * 3600 - 1, 0.0),
        (NIGHT, EVENING - 2 * 3600, MORNING),
        (QuietHours(0, 60, "UTC"), 1_800_000_000.0 - 8 * 3600, 1_800_000_000.0 - 7 * 3600),
        (QuietHours(60, 60, "UTC"), EVENING, 0.0),
    ],
)
def test_quiet_hours_go_over_midnight_and_keep_to_their_zone(
    quiet: QuietHours | None, now: float, until: float
) -> None:
    assert quiet_until(quiet, now) == until


def test_the_last_hour_before_something_expires_is_not_quiet() -> None:
    choice = OwnChoice(quiet=NIGHT)
    assert held_until(choice, "interrupt.opened", item(expires=EVENING + 1800), EVENING) == 0.0
    assert held_until(choice, "interrupt.opened", item(expires=EVENING + 7200), EVENING) == EVENING + 3600
    assert held_until(choice, "interrupt.opened", item(expires=MORNING + 90_000), EVENING) == MORNING
    assert held_until(choice, "run.failed", None, EVENING) == MORNING


# Over HTTP

URL = "https://push.example.com/send/abc"


async def body(client: Client, **more: Any) -> dict[str, Any]:
    browser = Subscription()
    key = (await client.post("me/notifications/key", json={})).json()["key"]
    return {"url": URL, "p256dh": browser.p256dh, "auth": browser.auth, "key": key, **more}


async def test_a_person_adds_changes_and_removes_a_browser_of_their_own(
    server: Serving, people: tuple[Users, dict[str, str]]
) -> None:
    users, keys = people
    async with Client(server, users.add("bo", "viewer")) as bo, Client(server, keys["lena"]) as lena:
        added = await bo.post("me/notifications", json=await body(bo, device="phone", tools=["refund"]))
        assert added.status_code == 200
        made = added.json()
        assert (made["device"], made["tools"], made["mine"], made["quiet"]) == ("phone", ["refund"], True, None)
        assert URL not in added.text and "auth" not in made
        assert (await bo.get("me/notifications")).json()["items"] == [made]
        assert (await lena.get("me/notifications")).json()["items"] == []
        quiet = {"begins": 1200, "ends": 420, "zone": "Europe/Oslo"}
        chosen = {"name": made["name"], "topics": ["halt.set"], "mine": False, "quiet": quiet}
        for who, status in ((lena, 404), (bo, 200)):
            assert (await who.post("me/notifications/change", json=chosen)).status_code == status
        [now] = (await bo.get("me/notifications")).json()["items"]
        assert (now["topics"], now["mine"], now["quiet"], now["device"]) == (["halt.set"], False, quiet, "phone")
        wrong = await bo.post("me/notifications/change", json={**chosen, "quiet": {**quiet, "zone": "Moon/Base"}})
        assert wrong.status_code == 422
        # whoever subscribes the browser last has it
        taken = await lena.post("me/notifications", json=await body(lena))
        assert taken.status_code == 200 and (await bo.get("me/notifications")).json()["items"] == []
        name = {"name": made["name"]}
        assert (await bo.post("me/notifications/test", json=name)).status_code == 404
        assert (await bo.post("me/notifications/remove", json=name)).status_code == 404
        assert (await lena.post("me/notifications/remove", json=name)).status_code == 200
        assert (await lena.get("me/notifications")).json()["items"] == []


async def test_an_admin_sees_whose_it_is_and_neither_its_address_nor_the_key(
    server: Serving, people: tuple[Users, dict[str, str]], admin: Client
) -> None:
    async with Client(server, people[0].add("bo", "viewer")) as bo:
        await bo.post("me/notifications", json=await body(bo))
    [shown] = (await admin.get("endpoints")).json()["items"]
    assert (shown["kind"], shown["person"], shown["url"]) == ("push", "bo", "https://…")


@pytest.mark.parametrize(
    ("more", "status", "said"),
    [
        ({"url": "https://127.0.0.1/x"}, 403, "not a public address"),
        ({"url": "http://push.example.com/x"}, 422, "url"),
        ({"p256dh": "AAAA"}, 422, "public key"),
        ({"key": "AAAA"}, 409, "another sender"),
        ({"topics": []}, 422, "topics"),
        ({"topics": ["everything"]}, 422, "topics"),
    ],
)
async def test_what_is_no_browser_of_this_sender_is_refused(
    server: Serving, people: tuple[Users, dict[str, str]], more: dict[str, Any], status: int, said: str
) -> None:
    async with Client(server, people[0].add("bo", "viewer")) as bo:
        answer = await bo.post("me/notifications", json=await body(bo, **more))
        assert answer.status_code == status and said in answer.text
        assert (await bo.get("me/notifications")).json()["items"] == []


async def test_who_came_by_the_link_of_this_start_is_nobody_in_particular(admin: Client) -> None:
    answer = await admin.post("me/notifications", json=await body(admin))
    assert answer.status_code == 409 and "log in with a key of your own" in answer.text


def test_who_chose_nothing_hears_of_all_but_good_ends() -> None:
    assert {*TOPICS} - {*USUAL} == {"run.completed", "run.cancelled"}
