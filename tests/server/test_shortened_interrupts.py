"""The inbox carries gists, the item the whole: a list of large calls is small, and says that it is not all."""

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.again import in_time
from tests.server.world import LIMIT, Client, at

from adjourn import Agent, Runtime, pause_for, tool
from adjourn.core.codec import encode
from adjourn.server import Serving, serving
from adjourn.server.bounded_cache import BoundedCache
from adjourn.testing.scripted import ScriptedModel, call
from adjourn.views.interrupt_view import LINE, ROOM, WHOLE, cut

LARGE = 900_000


@tool(policy="ask")
async def send(to: str, text: Any) -> str:
    """Send something."""
    return "sent"


@tool
async def wonder(text: str) -> Any:
    """Ask a long question."""
    pause_for("long", {"question": text, "about": [text] * 2})


def large(value: Any) -> Any:
    return {
        "text": "x" * LARGE, "list": list(range(20_000)), "nested": [[["a"]]] * 5_000, "keys": {f"k{n}": n for n in range(5_000)},
    }[value]  # fmt: skip


AGENTS = [
    *(
        Agent(name, model=ScriptedModel([call("send", to="ana", text=large(name))], "done"), tools=[send])
        for name in ("text", "list", "nested", "keys")
    ),
    Agent("short", model=ScriptedModel([call("send", to="ana", text="hello")], "done"), tools=[send]),
    Agent("question", model=ScriptedModel([call("wonder", text="why? " * 100_000)], "done"), tools=[wonder]),
]


@pytest.fixture
async def server(address: str) -> AsyncIterator[Serving]:
    async with Runtime(address, AGENTS) as rt, serving(rt, port=0, rate=1e6) as up:
        yield up


@pytest.mark.parametrize("name", ["text", "list", "nested", "keys", "question"])
async def test_a_list_has_the_beginning_and_the_item_has_all(server: Serving, name: str) -> None:
    async with Client(server, server.token) as client:
        item = await client.waiting(name)
        assert item["whole"] is False
        assert len(encode(item)) < 2 * WHOLE
        whole = (await client.get(f"interrupts/{at(item['ref'])}")).json()
        assert (item["digest"], item["action"]) == (whole["digest"], whole["action"]), "both are those of the whole"
        assert whole["call"] is None or whole["call"]["arguments"] == {"to": "ana", "text": large(name)}
        assert whole["call"] is None or item["call"]["arguments"]["to"] == "ana"
        assert item.keys() < whole.keys()


async def test_what_is_short_is_there_whole(server: Serving) -> None:
    async with Client(server, server.token) as client:
        item = await client.waiting("short")
        whole = (await client.get(f"interrupts/{at(item['ref'])}")).json()
        assert item == {name: whole[name] for name in item}


async def test_twenty_large_items_are_a_small_list_and_hold_up_nobody(server: Serving) -> None:
    async with Client(server, server.token) as client, Client(server, server.token) as other:
        for n in range(20):
            await client.start("text" if n else "keys")

        async def all_wait() -> None:
            async with asyncio.timeout(LIMIT):
                while len((await client.get("inbox/events", params={"follow": "false"})).text.split(":1.0?0")) < 21:
                    await asyncio.sleep(0.05)

        await all_wait()
        listing = asyncio.create_task(client.get("inbox", params={"limit": 200}))
        longest = 0.0
        while not listing.done():
            began = time.monotonic()
            assert (await other.get("me")).status_code == 200
            longest = max(longest, time.monotonic() - began)
        answer = await listing
        assert len(answer.json()["items"]) == 20
        assert len(answer.content) < 20 * 2 * WHOLE
        in_time(longest, 1)


async def test_pages_are_those_that_a_whole_list_would_have(server: Serving) -> None:
    async with Client(server, server.token) as client:
        for _ in range(60):
            await client.start("short")

        async def waiting() -> int:
            return len((await client.get("inbox", params={"limit": 200})).json()["items"])

        async with asyncio.timeout(LIMIT):
            while await waiting() < 60:
                await asyncio.sleep(0.05)
        refs = [i["ref"] for i in (await client.get("inbox", params={"limit": 200})).json()["items"]]
        paged: list[str] = []
        after: str | None = ""
        while after is not None:
            page = (await client.get("inbox", params={"limit": 27, **({"after": after} if after else {})})).json()
            paged += [i["ref"] for i in page["items"]]
            after = page["after"]
        assert paged == refs


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3 * LINE),
    lambda parts: st.lists(parts, max_size=9) | st.dictionaries(st.text(max_size=9), parts, max_size=9),
    max_leaves=20,
)


@given(JSON)
def test_a_gist_has_the_shape_of_the_value_and_is_short(value: Any) -> None:
    short = cut(value)
    assert type(short) is type(value)
    assert len(encode(short)) < 10 * (ROOM + LINE)
    if isinstance(value, str):
        assert value.startswith(short.removesuffix("…"))


def test_what_is_kept_is_bounded_by_its_bytes() -> None:
    kept: BoundedCache[int, str] = BoundedCache(1_000)
    for n in range(100):
        kept.put(n, "x" * 90)
        assert kept.size <= 1_000 and kept.get(n) == "x" * 90
    assert (len(kept), kept.size, kept.get(89)) == (10, 920, None)
    kept.get(90)
    kept.put(100, "y" * 150)
    assert kept.get(90) and not kept.get(91), "what was wanted last stays"
    kept.put(90, "z")
    assert kept.get(90) == "z" and kept.size == sum(len(kept.get(n) or "") + 2 for n in range(101) if kept.get(n))
    kept.put(101, "x" * 2_000)
    assert (len(kept), kept.size) == (0, 0), "what does not fit is not kept"
