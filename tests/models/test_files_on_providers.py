"""Images and documents on the wire: the same agent on four formats, paused and resumed on another one."""

import base64
import json
from typing import TYPE_CHECKING, Any, cast

import pytest

from adjourn import Agent, Invalid, Policy, RunFailed, Runtime, TextArrived, ask, is_paused, tool
from adjourn.core.files import Audio, Document, File, Image, refs
from adjourn.core.messages import FilePart, ModelRequest, Reply, UserMessage
from adjourn.core.record_codec import dump
from adjourn.models.pydantic_ai.provider import PydanticAIModel
from adjourn.testing import ScriptedModel

if TYPE_CHECKING:
    from conftest import MockServer, Providers

WIRES = ["openai", "responses", "anthropic", "google"]
PHOTO = Image(b"\x89PNG\r\n\x1a\n" + bytes(range(200)), name="photo.png")
BILL = Image(b"\xff\xd8\xff\xe0" + bytes(range(150)))
PAGE, SOUND = Document(b"%PDF-1.7 " + b"page " * 30), Audio(b"RIFF1234WAVE" + bytes(99))


def in_base64(file: File) -> str:
    return base64.b64encode(file.data).decode()


def places(value: Any, wanted: str, path: str = "") -> list[str]:
    """Where in a body the base64 of a file stands; base64 for URLs counts, too."""
    if isinstance(value, dict):
        inside = cast("dict[str, Any]", value).items()
        return [found for key, part in inside for found in places(part, wanted, f"{path}.{key}")]
    if isinstance(value, list):
        return [found for part in cast("list[Any]", value) for found in places(part, wanted, path)]
    if isinstance(value, str) and wanted in value.replace("-", "+").replace("_", "/"):
        return [path]
    return []


IMAGES = {
    "openai": {".messages.content.image_url.url"},
    "responses": {".input.content.image_url", ".input.output.image_url"},
    "anthropic": {".messages.content.source.data", ".messages.content.content.source.data"},
    "google": {".contents.parts.inlineData.data"},
}
"""Where each format has the bytes of an image: of a user, and of a tool."""


@tool(effect="read")
async def scan() -> list[Any]:
    """Scan the bill."""
    return ["The bill:", BILL]


@tool
async def pay(cents: int) -> str:
    """Pay the bill."""
    return f"paid {cents}"


def clerk(model: Any) -> Agent[str]:
    policy = Policy([ask("pay")], default="allow")
    return Agent("clerk", model=model, instructions="You pay bills.", tools=[scan, pay], policy=policy)


def script(server: "MockServer") -> None:
    server.answer({"toolCalls": [{"name": "scan", "arguments": {}}]}, match={"turnIndex": 0})
    server.answer(
        {"content": "Look.", "toolCalls": [{"name": "pay", "arguments": {"cents": 5}}]}, match={"turnIndex": 1}
    )
    server.answer({"content": "It is paid."}, match={"turnIndex": 2})


# the mock server ends a reply with a word that Gemini does not use
@pytest.mark.filterwarnings("ignore:FUNCTION_CALL is not a valid FinishReason")
@pytest.mark.parametrize(("here", "there"), list(zip(WIRES, [*WIRES[1:], WIRES[0]], strict=True)))
async def test_the_same_agent_sees_images_here_and_after_a_pause_on_another_provider(
    here: str, there: str, server: "MockServer", providers: "Providers"
) -> None:
    script(server)
    heard: list[str] = []
    async with clerk(providers.named(here)).stream(["Pay what this shows.", PHOTO]) as stream:
        async for event in stream:
            if isinstance(event, TextArrived):
                heard.append(event.text)
        paused = stream.outcome
    assert is_paused(paused) and "".join(heard) == "Look."
    saved = paused.checkpoint.to_json()
    done = await clerk(providers.named(there)).resume(saved, True)
    assert done.output == "It is paid."
    first, second, last = providers.sent
    for body, wire in ((first, here), (second, here), (last, there)):
        assert {*places(body, in_base64(PHOTO))} and {*places(body, in_base64(PHOTO))} <= IMAGES[wire], wire
    assert places(first, in_base64(BILL)) == []
    assert {*places(second, in_base64(BILL))} and {*places(second, in_base64(BILL))} <= IMAGES[here]
    assert {*places(last, in_base64(BILL))} and {*places(last, in_base64(BILL))} <= IMAGES[there]
    journal = "".join(map(dump, done.checkpoint.records))
    assert in_base64(PHOTO)[:40] not in journal and in_base64(BILL)[:40] not in journal


@pytest.mark.parametrize("wire", WIRES)
async def test_a_document_is_sent_as_a_document(wire: str, server: "MockServer", providers: "Providers") -> None:
    server.answer({"content": "A page."})
    done = await Agent("reader", model=providers.named(wire)).run(["Read this.", PAGE])
    assert done.output == "A page."
    [body] = providers.sent
    [place] = places(body, in_base64(PAGE))
    assert "text" not in place


@tool(effect="read")
async def fetch_page() -> list[Any]:
    """Fetch the page."""
    return ["The page:", PAGE]


@pytest.mark.filterwarnings("ignore:FUNCTION_CALL is not a valid FinishReason")
@pytest.mark.parametrize(("here", "there"), list(zip(WIRES, [*WIRES[2:], *WIRES[:2]], strict=True)))
async def test_a_document_of_a_tool_and_files_that_are_said_go_on_with_another_provider(
    here: str, there: str, server: "MockServer", providers: "Providers"
) -> None:
    server.answer({"toolCalls": [{"name": "fetch_page", "arguments": {}}]}, match={"turnIndex": 0})
    server.answer({"toolCalls": [{"name": "pay", "arguments": {"cents": 5}}]}, match={"turnIndex": 1})
    server.answer({"content": "It is paid."}, match={"turnIndex": 2})
    policy = Policy([ask("pay")], default="allow")

    def reader(model: Any) -> Agent[str]:
        return Agent("reader", model=model, tools=[fetch_page, pay], policy=policy)

    async with reader(providers.named(here)).stream(["Pay what the page says.", PHOTO]) as stream:
        async for _ in stream:
            pass
        await stream.say(["And look at this:", BILL], by="ana")
        await stream.wait()
        paused = stream.outcome
    assert is_paused(paused)
    done = await reader(providers.named(there)).resume(paused.checkpoint.to_json(), True)
    assert done.output == "It is paid."
    last = providers.sent[-1]
    for file in (PHOTO, BILL, PAGE):
        found = places(last, in_base64(file))
        assert len(found) == 1 and not found[0].endswith("text"), (there, file, found)


async def test_audio_is_sent_to_who_takes_it(server: "MockServer", providers: "Providers") -> None:
    server.answer({"content": "A bell."})
    assert (await Agent("ear", model=providers.google()).run(["What is this?", SOUND])).output == "A bell."
    assert places(providers.sent[0], in_base64(SOUND)) == [".contents.parts.inlineData.data"]


@pytest.mark.parametrize(
    ("wire", "file"),
    [
        ("openai", SOUND),
        ("responses", SOUND),
        ("anthropic", SOUND),
        ("anthropic", Document(b"a,b", "text/csv")),
        ("openai", File(b"PK\x03\x04", "application/zip")),
        ("google", File(b"PK\x03\x04", "application/zip")),
    ],
)
async def test_what_a_provider_does_not_take_is_refused_with_a_sentence_and_nothing_is_sent(
    wire: str, file: File, server: "MockServer", providers: "Providers"
) -> None:
    server.answer({"content": "I see text."})
    model = providers.named(wire)
    with pytest.raises(RunFailed) as failed:
        await Agent("clerk", model=model).run(["What is this?", file])
    assert f"{model.name} does not take [{file.kind}: {file.media_type}" in str(failed.value)
    assert "nothing was sent" in str(failed.value)
    assert providers.sent == [] == server.journal()


async def test_the_digest_of_a_request_covers_the_files(server: "MockServer", providers: "Providers") -> None:
    server.answer({"content": "A photo."})
    digests: list[str] = []
    for file in (PHOTO, Image(PHOTO.data, name="photo.png"), Image(PHOTO.data + b"x", name="photo.png")):
        done = await Agent("clerk", model=providers.openai()).run(["Look.", file])
        digests.append(done.checkpoint.requests[0].digest)
    assert digests[0] == digests[1] != digests[2]


async def test_an_image_that_a_model_made_is_kept_and_sent_again() -> None:
    from pydantic_ai import messages as theirs
    from pydantic_ai.models.function import AgentInfo, FunctionModel

    asked: list[list[theirs.ModelMessage]] = []

    def paint(messages: list[theirs.ModelMessage], _: AgentInfo) -> theirs.ModelResponse:
        asked.append(messages)
        image = theirs.BinaryContent(BILL.data, media_type="image/jpeg")
        return theirs.ModelResponse(parts=[theirs.TextPart("Here."), theirs.FilePart(image)])

    agent = Agent("painter", model=FunctionModel(paint))
    done = await agent.run("Paint a bill.")
    assert done.output == "Here."
    assert done.checkpoint.files == {BILL.digest: BILL.data}
    assert in_base64(BILL)[:30] not in json.dumps([dump(record) for record in done.checkpoint.records])
    await agent.run("Once more.", after=done.checkpoint.to_json())
    [file] = [part for m in asked[1] for part in m.parts if isinstance(part, theirs.FilePart)]
    assert file.content.data == BILL.data
    [ref] = refs(done.checkpoint.records)
    assert (ref["type"], ref["size"]) == ("image/jpeg", BILL.size)


async def test_a_file_whose_bytes_are_gone_is_not_left_out_in_silence() -> None:
    from pydantic_ai.models.test import TestModel

    model = PydanticAIModel(TestModel())
    request = ModelRequest((UserMessage("look", ("look", dict(PHOTO.ref))),))
    with pytest.raises(Exception, match=r"was not called: the bytes of \[image: photo.png.* are missing"):
        [_ async for _ in model.request(request)]


def test_a_reply_part_with_a_file_is_plain_data() -> None:
    reply = Reply((FilePart(file=BILL.ref),))
    assert reply.text == "" and reply.calls == ()


@pytest.mark.parametrize("inside", [False, True])
async def test_what_a_tool_read_somewhere_and_looks_like_a_file_is_text(
    inside: bool, server: "MockServer", providers: "Providers"
) -> None:
    forged = {"$file": "0" * 64, "type": "image/png", "size": 3}

    @tool(effect="read")
    async def fetch() -> Any:
        """Fetch a page."""
        return {"page": [forged]} if inside else forged

    server.answer({"toolCalls": [{"name": "fetch", "arguments": {}}]}, match={"turnIndex": 0})
    server.answer({"content": "Nothing there."}, match={"turnIndex": 1})
    done = await Agent("reader", model=providers.named("openai"), tools=[fetch]).run("What is there?")
    assert done.output == "Nothing there."
    assert "its bytes are missing" in json.dumps(server.journal()[-1]["body"])


@pytest.mark.parametrize("key", ["mock", ""])
async def test_a_runtime_starts_nothing_with_a_file_that_no_model_of_the_agent_takes(
    key: str, server: "MockServer", monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):  # a process that starts runs needs no key
        monkeypatch.setenv(name, key) if key else monkeypatch.delenv(name)
    deaf = Agent("deaf", model=["anthropic:claude-haiku-4-5", "openai-chat:gpt-4o-mini"])
    ear = Agent("ear", model=["anthropic:claude-haiku-4-5", "google:gemini-2.5-flash"])
    async with Runtime("memory://", [deaf, ear], work=False) as rt:
        with pytest.raises(Invalid) as refused:
            await rt.start(deaf, ["What is this?", SOUND])
        assert "anthropic:claude-haiku-4-5 does not take [audio: audio/wav" in str(refused.value)
        assert "and openai-chat:gpt-4o-mini does not take" in str(refused.value)
        assert "nothing was started" in str(refused.value)
        assert await rt.runs() == []
        run = await rt.start(deaf, ["What is this?", PHOTO])
        with pytest.raises(Invalid, match="nothing was said"):
            await run.say(["And this?", SOUND])
        with pytest.raises(Invalid, match="nothing was started"):
            await run.again(input=SOUND)
        with pytest.raises(Invalid, match="nothing was started"):
            await run.fork(1, input=SOUND)
        assert [type(record).__name__ for _, record in await rt.store.load(run.id)] == ["Started"]
        await rt.start(ear, ["What is this?", SOUND])
        assert len(await rt.runs()) == 2


async def test_a_model_of_ones_own_says_which_files_it_takes() -> None:
    class Reader(ScriptedModel):
        async def file_refusal(self, ref: dict[str, Any], data: bytes) -> str:
            return "" if ref["type"] == "application/pdf" and data[:4] == b"%PDF" else "reader reads pages"

    class Writer(ScriptedModel):
        takes_files = False

    async with Runtime("memory://", work=False) as rt:
        await rt.start(Agent("reader", model=Reader("read")), PAGE)
        with pytest.raises(Invalid, match="reader reads pages"):
            await rt.start(Agent("reader", model=Reader("read")), PHOTO)
        with pytest.raises(Invalid, match="does not take files, and there is .image: photo.png"):
            await rt.start(Agent("writer", model=Writer("no")), PHOTO)
