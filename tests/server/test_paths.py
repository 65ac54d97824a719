"""Ids of earlier versions contain whatever their authors wrote: each is one segment of a path, percent-encoded."""

import asyncio
from typing import Any

import httpx
import pytest
from tests.server.world import LIMIT, Client, at

from adjourn import Agent, pause_for, tool
from adjourn.bodies import tool_context as context
from adjourn.server import Serving
from adjourn.server.routing import segments
from adjourn.testing.scripted import ScriptedModel, call

HOSTILE = [
    "a/b", "a/approve", "approve", "..", "../runs", "a#b", "a[0]", "a b", "50%25", "%2e%2e", "a&b=c", "a;b", "a+b", "ünï", "日本/語#?"[:4],
    "\u202eabc", "a\\b", "'\"<>", "x" * 180,
]  # fmt: skip


def asking(id: str) -> Agent:
    @tool(effect="read")
    async def ask_somebody() -> Any:
        """Ask."""
        pause_for("question", None, interrupt_id=id)

    return Agent("asking", model=ScriptedModel([call("ask_somebody")], "asked"), tools=[ask_somebody])


@pytest.mark.parametrize("id", HOSTILE)
async def test_an_interrupt_of_any_name_is_read_and_answered(
    server: Serving, admin: Client, id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as earlier:
        earlier.setattr(context, "check_chosen", lambda id, name: id)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
        run = await server.runtime.start(asking(id), "go")
        await run.wait(LIMIT)
    [item] = (await admin.get("inbox")).json()["items"]
    assert item["id"] == id
    for name in (item["id"], item["ref"]):
        if name not in (".", ".."):  # a client takes those for places, whatever they stand for; the ref has a name
            seen = await admin.get(f"interrupts/{at(name)}")
            assert seen.json()["id"] == id
            assert (await admin.head(f"interrupts/{at(name)}")).status_code == 200
    assert (await admin.decide(item, "answer", value=1)).status_code == 200
    assert (await run.wait(LIMIT)).status == "completed"


async def test_generated_ids_of_nested_calls_errors_and_limits_work(admin: Client) -> None:
    for program, part in (("nested", "/"), ("failing", "model:?"), ("limited", "MaxSteps(2)?"), ("refunds", "?")):
        item = await admin.waiting(program)
        assert part in item["id"]
        seen = (await admin.get(f"interrupts/{at(item['id'])}")).json()
        assert (seen["status"], seen["digest"]) == ("open", item["digest"])


async def test_the_words_of_a_nested_agent_are_its_own(admin: Client) -> None:
    item = await admin.waiting("nested")
    seen = (await admin.get(f"interrupts/{at(item['id'])}")).json()
    assert seen["path"] == "1.0"
    assert (await admin.get(f"runs/{item['run_id']}")).json()["children"][0]["agent"] == "refunds"


@pytest.mark.parametrize("path", ["runs/%ff", "interrupts/%c3%28", "runs/%ed%a0%80", "runs/%00", "runs/a%0ab"])
async def test_what_is_not_text_is_nowhere(admin: Client, path: str) -> None:
    answer = await admin.get(path)
    assert (answer.status_code, answer.headers["content-type"]) == (404, "application/problem+json")


async def test_a_raw_request_with_slashes_left_as_they_are_is_another_place(server: Serving) -> None:
    host = server.url.removeprefix("http://")
    reader, writer = await asyncio.open_connection(*host.split(":"))
    head = f"GET /api/v1/runs/a/b HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {server.token}\r\nConnection: close\r\n\r\n"
    writer.write(head.encode())
    assert b" 404 " in await reader.readline()
    writer.close()


@pytest.mark.parametrize(
    ("raw", "root", "found"),
    [
        (b"/api/v1/runs", "", ["api", "v1", "runs"]),
        (b"/adjourn/api/v1/runs/a%2Fb", "/adjourn", ["api", "v1", "runs", "a/b"]),
        (b"/a%20b/api/x?y", "/a b", ["api", "x"]),
        (b"/", "", [""]),
        (b"/adjourn/", "/adjourn", [""]),
        (b"/%ff", "", None),
    ],
)
def test_a_path_is_split_before_it_is_decoded(raw: bytes, root: str, found: list[str] | None) -> None:
    assert segments({"raw_path": raw, "root_path": root, "path": "unused"}) == found


def test_without_a_raw_path_the_decoded_one_must_do() -> None:
    assert segments({"path": "/api/v1/runs/x"}) == ["api", "v1", "runs", "x"]


async def test_an_absolute_target_is_answered_like_any_other(server: Serving, admin: Client) -> None:
    answer = await admin.request("GET", httpx.URL(f"{server.url}/api/v1/me"))
    assert answer.json()["name"] == "ana"
