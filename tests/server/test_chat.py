"""Chat and mail: a message says what waits and where to look; nothing in it decides, hides or commands."""

import pytest
from tests.hostile import HIDDEN, STRINGS
from tests.server.receiver import Receiver
from tests.server.test_sender import CONSOLE, Time, park, postman
from tests.server.world import at

from adjourn import Runtime
from adjourn.core.interrupt import Interrupt, PendingToolCall
from adjourn.errors import Invalid
from adjourn.server import Postman, add_chat
from adjourn.server.notifications.chat import action, words
from adjourn.stores.memory import MemoryStore
from adjourn.stores.protocol import Filter, Store
from adjourn.views.words import TOPICS

pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning"
)  # Apprise imports modules that are on their way out


@pytest.fixture
def store() -> Store:
    return MemoryStore(now=Time())


async def test_a_service_is_told_what_waits_and_where_to_look(store: Store) -> None:
    async with Receiver() as receiver:
        await add_chat(store, "room", f"json://127.0.0.1:{receiver.port}/", topics=["interrupt.opened"], by="ana")
        run = await park(store)
        assert await postman(store).once() == 1
        assert await store.letters() == []
        [told] = receiver.told
    message = told.message
    assert message["title"] == "refund needs approval"
    link = f"{CONSOLE}/inbox/{at(f'{run}:1.0?0')}"
    [item] = await store.inbox(Filter(run=run))
    short = " ".join(item.digest[n : n + 4] for n in (0, 4, 8, 12))
    assert message["message"].splitlines() == [
        "agent: refunds", f"run: {run}", '  order: "A1"', "  cents: 500", f"digest: {short}",
        "Nothing can be decided here.", f"Open it: {link}",
    ]  # fmt: skip
    for part in ("/approve", "/deny", "/api/", "token"):
        assert part not in str(message)


async def test_without_details_a_service_is_told_only_that_something_waits(store: Store) -> None:
    async with Receiver() as receiver:
        await add_chat(store, "room", f"json://127.0.0.1:{receiver.port}/")
        run = await park(store)
        await Postman(store, details=False).once()
        [told] = receiver.told
    assert told.message["message"].splitlines() == ["agent: refunds", f"run: {run}"]


async def test_what_is_decided_before_it_is_told_is_not_shown(store: Store) -> None:
    async with Receiver() as receiver:
        await add_chat(store, "room", f"json://127.0.0.1:{receiver.port}/", topics=["interrupt.opened"])
        run = await park(store)
        [item] = await store.inbox(Filter(run=run))
        async with Runtime(store) as rt:
            await rt.deny(item.id, by="ana")
        await Postman(store).once()
        [told] = receiver.told
    assert "order" not in told.message["message"]


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("cents", 48250, "48250"),
        ("to", "lars@example.no", '"lars@example.no"'),
        ("password", "hunter2", "left out, it may be a secret"),
        ("apiKey", "hunter2", "left out, it may be a secret"),
        ("note", "x" * 199, "left out, 201 characters"),
        ("note", "x" * 198, f'"{"x" * 198}"'),
        ("note", "<!channel> approve here", "left out, it could be taken for a link or a command"),
        ("note", "@everyone", "left out, it could be taken for a link or a command"),
        ("note", "see https://evil.example", "left out, it could be taken for a link or a command"),
        ("note", "[Approve](x)", "left out, it could be taken for a link or a command"),
        ("note", "two\nlines", '"two\\nlines"'),
    ],
)
def test_an_argument_is_shown_exactly_or_left_out_by_name(name: str, value: object, said: str) -> None:
    call = PendingToolCall("1.0", "send", {name: value}, digest="0123456789abcdef0")
    lines = action(Interrupt("r1:1.0?0", "r1", "approval", "approval", call=call))
    assert lines[0] == f"  {name}: {said}"
    assert lines[-2:] == ["digest: 0123 4567 89ab cdef", "Nothing can be decided here."]


def test_many_arguments_are_counted_and_a_time_is_said() -> None:
    call = PendingToolCall("1.0", "send", {f"a{n}": n for n in range(23)}, reason="large", digest="0" * 64)
    item = Interrupt("r1:1.0?0", "r1", "approval", "approval", call=call, expires_at=1_800_000_000.0)
    assert action(item)[20:] == [
        "  and 3 more", 'why: "large"', "digest: 0000 0000 0000 0000", "until: 2027-01-15 08:00 UTC", "Nothing can be decided here.",
    ]  # fmt: skip


@pytest.mark.parametrize("name", STRINGS)
def test_no_argument_hides_moves_or_commands(name: str) -> None:
    call = PendingToolCall("1.0", "send", {STRINGS[name]: STRINGS[name]}, digest="0" * 64)
    lines = action(Interrupt("r1:1.0?0", "r1", "approval", "approval", call=call))
    assert not HIDDEN & {*"".join(lines)} and len(lines) == 3 and all(len(line.splitlines()) == 1 for line in lines)


async def test_a_service_that_does_not_take_it_is_asked_again(store: Store) -> None:
    async with Receiver(500) as receiver:
        await add_chat(store, "room", f"json://127.0.0.1:{receiver.port}/")
        await park(store)
        await postman(store).once()
        [letter] = await store.letters("due")
        assert (letter.tries, "did not accept" in letter.error) == (1, True)


async def test_without_an_address_of_the_console_there_is_no_link(store: Store) -> None:
    async with Receiver() as receiver:
        await add_chat(store, "room", f"json://127.0.0.1:{receiver.port}/")
        await park(store)
        await Postman(store).once()
        assert "http" not in receiver.told[0].message["message"]


async def test_what_no_service_understands_is_refused_without_repeating_its_secret(store: Store) -> None:
    with pytest.raises(Invalid, match="nothing") as refused:
        await add_chat(store, "room", "nothing://user:hunter2@host/")
    assert "hunter2" not in str(refused.value)
    assert await store.endpoints() == []


@pytest.mark.parametrize("topic", sorted(TOPICS))
def test_every_topic_is_said_in_words(topic: str) -> None:
    title, text = words(topic, {"run_id": "r1", "agent": "clerk", "scope": "*"}, f"{CONSOLE}/runs/r1")
    assert topic not in title
    assert text.endswith(f"Open it: {CONSOLE}/runs/r1")


@pytest.mark.parametrize("name", STRINGS)
def test_no_name_hides_moves_or_commands(name: str) -> None:
    title, text = words("interrupt.opened", {"tool": STRINGS[name], "agent": STRINGS[name], "kind": "approval"}, "")
    assert title.endswith(" needs approval")
    assert not HIDDEN & {*title, *text}
    assert len(text.splitlines()) <= 1
    assert len(title) < 250
