"""Chat and mail: a message says what waits and where to look; nothing in it decides, hides or commands."""

import pytest
from tests.hostile import HIDDEN, STRINGS
from tests.server.receiver import Receiver
from tests.server.test_sender import CONSOLE, Time, park, postman
from tests.server.world import at

from adjourn.errors import Invalid
from adjourn.server import Postman, add_chat
from adjourn.server.notifications.chat import words
from adjourn.stores.memory import MemoryStore
from adjourn.stores.protocol import Store
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
    assert message["message"].splitlines() == ["agent: refunds", f"run: {run}", f"Look at it: {link}"]
    for part in ("A1", "500", "approve", "deny", "/api/", "token"):
        assert part not in str(message).replace(at(run), "").replace(run, "").replace("%3A1.0", "")


async def test_a_service_that_does_not_take_it_is_asked_again(store: Store) -> None:
    async with Receiver(500) as receiver:
        await add_chat(store, "room", f"json://127.0.0.1:{receiver.port}/")
        await park(store)
        await postman(store).once()
        [letter] = await store.letters("due")
        assert (letter.tries, "did not take" in letter.error) == (1, True)


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
    assert text.endswith(f"Look at it: {CONSOLE}/runs/r1")


@pytest.mark.parametrize("name", STRINGS)
def test_no_name_hides_moves_or_commands(name: str) -> None:
    title, text = words("interrupt.opened", {"tool": STRINGS[name], "agent": STRINGS[name], "kind": "approval"}, "")
    assert title.endswith(" needs approval")
    assert not HIDDEN & {*title, *text}
    assert len(text.splitlines()) <= 1
    assert len(title) < 250
