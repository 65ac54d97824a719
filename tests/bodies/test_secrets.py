"""Fifty secrets go through everything, reach the bodies of their tools, and are found in no sink."""

import logging
from pathlib import Path
from typing import Annotated, Any

import msgspec
import pytest
from tests.logs import ours

from adjourn import Agent, Decision, InvalidAnswer, InvalidDefinition, Runtime, Tool, ToolContext, is_paused, tool
from adjourn.core.messages import Reply, Text, Thinking, ToolCall, files_in
from adjourn.core.usage import Usage
from adjourn.driver.live_feed import Published
from adjourn.parts import Document, File, Image
from adjourn.secrets import KeyRing, Secret, seal
from adjourn.testing import ScriptedModel, call

CANARIES = [f"canary-{number:02}-Zq7Lw3Xv9" for number in range(50)]


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADJOURN_SECRET_KEYS", KeyRing.new_key())


class Bank:
    """What the bodies saw."""

    def __init__(self) -> None:
        self.paid: list[str] = []
        self.undone: list[str] = []
        self.failed: list[str] = []
        self.verified: list[str] = []


def tools(bank: Bank) -> list[Tool]:
    def undo(ctx: ToolContext, args: dict[str, Any], result: Any) -> str:
        bank.undone.append(args["card"])
        return f"took back {args['card']}"

    @tool(policy="ask", undo=undo, effect="idempotent", describe="pay {cents} with {card}")
    async def pay(card: Annotated[str, Secret()], cents: int) -> str:
        """Pay."""
        bank.paid.append(card)
        return f"paid {cents} with {card}"

    @tool
    def fail(pin: Annotated[str, Secret("pin")]) -> str:
        """Fail."""
        bank.failed.append(pin)
        raise ValueError(f"the pin {pin} is wrong")

    return [pay, fail]


def assert_clean(where: str, what: str | bytes) -> None:
    for canary in CANARIES:
        if isinstance(what, bytes):
            assert canary.encode() not in what, where
        else:
            assert canary not in what, where


async def test_fifty_secrets_reach_their_bodies_and_are_found_in_no_sink(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    bank = Bank()
    told, sealed, pins = CANARIES[:20], CANARIES[20:40], CANARIES[40:]
    said = [call("pay", card=card, cents=5) for card in told]
    said += [call("pay", card=seal(card), cents=6) for card in sealed]
    said += [call("fail", pin=pin) for pin in pins]
    model = ScriptedModel(said, [call("pay", card=seal(told[0]), cents=7)], "done")
    agent = Agent("buyer", model=model, tools=tools(bank))
    shown: list[Any] = []
    with caplog.at_level(logging.DEBUG):
        async with Runtime(f"sqlite:///{tmp_path}/secrets.db", [agent]) as rt:
            run = await rt.start(agent, f"pay with {seal(CANARIES[0])}", by="ana", labels={"team": "eu"})
            outcome = await run.wait()
            assert is_paused(outcome)
            shown += [outcome.interrupts, outcome.checkpoint.to_json()]
            for interrupt in outcome.interrupts:
                assert "••• " in str(interrupt)
                await rt.answer(interrupt.id, True, by="erik")
            again = await run.wait()
            assert is_paused(again)
            shown += [await rt.runs(), await run.state(), await rt.audit(), again.checkpoint.to_json()]
            await run.cancel(by="ana", reason="enough")
            ended = await run.wait()
            shown += [ended, await rt.audit(), await rt.store.load(run.id)]
            shown += [await rt.runs(search="pay"), await rt.runs(search=CANARIES[3])]
            assert await rt.runs(search=CANARIES[3]) == []
            for file in tmp_path.iterdir():
                assert_clean(file.name, file.read_bytes())
    assert sorted(bank.paid) == sorted(told + sealed)
    assert sorted(bank.undone) == sorted(told + sealed)
    assert sorted(bank.failed) == sorted(pins)
    for number, one in enumerate(shown):
        assert_clean(f"shown {number}", repr(one))
    assert_clean("logs", caplog.text + repr([record.__dict__ for record in ours(caplog)]))
    for request in model.requests[1:]:
        assert_clean("what the model is sent", str(msgspec.to_builtins(list(request.messages))))
    for file in tmp_path.iterdir():
        assert_clean(file.name, file.read_bytes())


async def test_what_the_model_says_beside_the_call_is_cleaned_too() -> None:
    bank, card = Bank(), CANARIES[0]
    wordy = Reply(
        (
            Thinking(text=f"use {card}"),
            Text(text=f"I pay with {card}."),
            ToolCall(id="c", tool="pay", args={"card": card, "cents": 1}, details={"raw": f"<{card}>"}),
        ),
        Usage(1, 1, 1),
        "m",
        {"raw": [card]},
    )
    outcome = await Agent("a", model=ScriptedModel(wordy), tools=tools(bank)).run("go")
    assert is_paused(outcome)
    assert_clean("checkpoint", outcome.checkpoint.to_json())
    assert "I pay with •••." in outcome.checkpoint.to_json()


@pytest.mark.parametrize("args", [f"card={CANARIES[1]}", [CANARIES[1]], {"card": [CANARIES[1]], "cents": 1}])
async def test_arguments_of_the_wrong_shape_are_not_recorded_in_clear(args: Any) -> None:
    asks = Reply((ToolCall(id="c", tool="pay", args=args),), Usage(1, 1, 1))
    outcome = await Agent("a", model=ScriptedModel(asks, "done"), tools=tools(Bank())).run("go")
    assert_clean("checkpoint", outcome.checkpoint.to_json())


async def test_an_edit_in_clear_is_refused_and_one_that_is_sealed_reaches_the_body(tmp_path: Path) -> None:
    bank = Bank()
    agent = Agent("a", model=ScriptedModel([call("pay", card=CANARIES[0], cents=1)], "done"), tools=tools(bank))
    async with Runtime(f"sqlite:///{tmp_path}/edit.db", [agent]) as rt:
        run = await rt.start(agent, "go", by="ana")
        outcome = await run.wait()
        assert is_paused(outcome)
        [interrupt] = outcome.interrupts
        with pytest.raises(InvalidAnswer):
            await rt.answer(interrupt.id, Decision.approve(edit={"card": CANARIES[1], "cents": 1}), by="erik")
        await rt.answer(interrupt.id, Decision.approve(edit={"card": seal(CANARIES[2]), "cents": 1}), by="erik")
        assert (await run.wait()).output == "done"
    assert bank.paid == [CANARIES[2]]
    for file in tmp_path.iterdir():
        assert_clean(file.name, file.read_bytes())


async def test_a_secret_that_was_altered_or_is_for_something_else_does_not_reach_a_body() -> None:
    bank = Bank()
    token = seal(CANARIES[0], "pin")
    altered = token[:-3] + ("A" if token[-3] != "A" else "B") + token[-2:]
    for wrong in (seal(CANARIES[0]), altered):
        outcome = await Agent("a", model=ScriptedModel([call("fail", pin=wrong)], "done"), tools=tools(bank)).run("go")
        assert_clean("checkpoint", outcome.checkpoint.to_json())
    assert CANARIES[0] not in bank.failed
    await Agent("a", model=ScriptedModel([call("fail", pin=token)], "done"), tools=tools(bank)).run("go")
    assert bank.failed[-1] == CANARIES[0]


def test_without_a_key_a_secret_is_refused_where_it_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ADJOURN_SECRET_KEYS")
    with pytest.raises(InvalidDefinition, match="'pay': 'card' is a Secret: there is no key.*ADJOURN_SECRET_KEYS"):
        tools(Bank())
    with pytest.raises(InvalidDefinition, match="there is no key"):
        seal("x")


def test_without_cryptography_a_ring_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "cryptography.hazmat.primitives.ciphers.aead", None)
    with pytest.raises(InvalidDefinition, match=r"adjourn\[signing\]"):
        KeyRing({"k": bytes(32)})


def test_what_cannot_be_sealed_is_refused_where_it_is_written() -> None:
    def number(pin: Annotated[int, Secret()]) -> None: ...
    def default(pin: Annotated[str, Secret()] = "1234") -> None: ...
    def inside(pins: list[Annotated[str, Secret()]]) -> None: ...
    def marked(pin: Annotated[str, Secret()]) -> None: ...

    for function in (number, default, inside):
        with pytest.raises(InvalidDefinition, match=r"[Ss]ecret"):
            tool(function)
    with pytest.raises(InvalidDefinition, match="input_schema="):
        Tool("t", "", {"type": "object"}, marked)


def test_a_ring_seals_with_its_first_key_and_opens_with_all() -> None:
    old, new = bytes(range(32)), bytes(32)
    token = KeyRing({"old": old}).seal("secret value", "card")
    both = KeyRing({"new": new, "old": old})
    assert both.open(token, "card") == "secret value"
    assert "[new." in both.seal("secret value")
    with pytest.raises(Exception, match="'old', which is not available here"):
        KeyRing({"new": new}).open(token, "card")
    assert KeyRing.unwrapped({"old": old[::-1]}, lambda wrapped: wrapped[::-1]).open(token, "card") == "secret value"
    assert both.seal("a") != both.seal("a")
    assert both.digest("a") != KeyRing({"old": old}).digest("a")


@pytest.mark.parametrize("text", ["", "k1", "k1:***", "k1:AAAA", "k 1:" + "A" * 43 + "="])
def test_keys_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(InvalidDefinition):
        KeyRing.parse(text)


async def printed(*files: File) -> tuple[list[Any], list[bytes]]:
    """What the model reads, and the bytes in the store, of a tool that takes a secret and gives these files."""

    @tool
    async def receipts(card: Annotated[str, Secret()]) -> list[Any]:
        """Print receipts."""
        return [f"paid with {card}", *files]

    model = ScriptedModel([call("receipts", card=CANARIES[0])], "done")
    async with Runtime("memory://", [agent := Agent("a", model=model, tools=[receipts])]) as rt:
        run = await rt.start(agent, "go")
        assert (await run.wait()).output == "done"
        kept = await rt.store.blobs(run.id)
    last = model.requests[-1]
    assert {ref["$file"] for ref in files_in(last.messages)} == {*kept} == {*last.files}
    result: Any = last.messages[-1]
    assert_clean("result", str(result))
    assert_clean("files", b"".join(kept.values()))
    return list(result.content), list(kept.values())


async def test_files_that_a_tool_with_a_secret_gives_reach_the_model() -> None:
    photo = Image(b"\x89PNG\r\n\x1a\n" + bytes(range(99)), name="photo.png")
    content, kept = await printed(photo)
    assert content == ["paid with •••", photo.ref] and kept == [photo.data]


async def test_a_text_that_says_a_secret_is_kept_without_it_and_any_other_file_is_left_out() -> None:
    words = f"paid with {CANARIES[0]}".encode()
    text, bill = File(words, "text/plain", f"{CANARIES[0]}.txt"), Document(b"%PDF-1.7 " + words)
    content, kept = await printed(text, bill)
    assert kept == ["paid with •••".encode()]
    assert content[1]["name"] == "•••.txt"
    assert content[2] == ("••• a file that contains a secret was left out: [document: application/pdf, 38 bytes]")


async def test_what_a_body_publishes_does_not_say_its_secret() -> None:
    @tool
    async def pays(ctx: ToolContext, card: Annotated[str, Secret()]) -> str:
        """Pay."""
        ctx.publish({"with": [card]})
        return "paid"

    agent = Agent("a", model=ScriptedModel([call("pays", card=CANARIES[0])], "done"), tools=[pays])
    async with agent.stream("go") as stream:
        assert [event.item async for event in stream if isinstance(event, Published)] == [{"with": ["•••"]}]
