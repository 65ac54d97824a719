"""Tools that the front end carries out: the run waits for what came of them; and files that it sends."""

import base64
import json
from pathlib import Path
from typing import Annotated, Any

import pytest
from tests.front_ends.world import approves, asks, interrupts, place, post, user

from adjourn import Agent, Flow, Policy, Runtime, ask, deny, tool
from adjourn.core.action_digest import digest
from adjourn.core.messages import FilePart, Reply, Text, UserMessage
from adjourn.errors import Invalid
from adjourn.parts import Image
from adjourn.secrets import KeyRing, Secret
from adjourn.server.front_ends.client_calls import ReturnedCall
from adjourn.testing import ScriptedModel, call

COLOUR = {
    "name": "pick_colour",
    "description": "Let the person pick a colour.",
    "parameters": {"type": "object", "properties": {"of": {"type": "string"}}, "required": ["of"]},
}
PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(99))


@tool(policy="ask")
async def paint(colour: str) -> str:
    """Paint it."""
    return f"painted {colour}"


def painter(*replies: Any, name: str = "painter", **options: Any) -> tuple[Agent[Any], ScriptedModel]:
    model = ScriptedModel(*(replies or ([call("pick_colour", of="the wall")], "It will be red.")))
    return Agent(name, model=model, tools=[paint], **options), model


def result_of(event: dict[str, Any], content: str, **more: str) -> dict[str, Any]:
    return {"id": f"result-{content}", "role": "tool", "toolCallId": event["toolCallId"], "content": content, **more}


def called(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [event for event in events if event["type"] == "TOOL_CALL_START"]


async def test_a_run_waits_for_the_front_end_and_continues_with_what_it_says(tmp_path: Path) -> None:
    agent, model = painter()
    async with place(tmp_path, f"sqlite:///{tmp_path}/runs.db", more=[agent]) as at, at.client() as ana:
        wall = user("paint the wall")
        asked = await post(ana, "/ag-ui/painter", asks("t1", "r1", wall, tools=[COLOUR]))
        [start] = called(asked)
        assert start["toolCallName"] == "pick_colour"
        pending = {"type": "success", "pendingToolCallIds": [start["toolCallId"]]}
        assert asked[-1]["type"] == "RUN_FINISHED" and asked[-1]["outcome"] == pending
        shown = await post(ana, "/ag-ui/painter/connect", asks("t1", "r1", tools=[COLOUR]))
        assert shown[-1]["outcome"] == pending, "also where the call itself was shown before"
        assert "result" not in asked[-1]
        [spec] = [spec for spec in model.requests[0].tools if spec.name == "pick_colour"]
        assert (spec.description, spec.schema) == (COLOUR["description"], COLOUR["parameters"])
        too_early = await ana.post("/ag-ui/painter", json=asks("t1", "r2", wall, user("well?", "m2"), tools=[COLOUR]))
        assert too_early.status_code == 409
        reply = asks("t1", "r3", wall, result_of(start, "red"), tools=[COLOUR])
        done = await post(ana, "/ag-ui/painter", reply)
        assert done[-1]["result"] == "It will be red."
        again = await post(ana, "/ag-ui/painter", reply)
        assert again[-1]["result"] == "It will be red."
        assert len(model.requests) == 2 and model.requests[1].messages[-1].content == "red"  # type: ignore[union-attr]
        other = await post(ana, "/ag-ui/painter", asks("t1", "r3", wall, result_of(start, "blue"), tools=[COLOUR]))
        assert other[-1]["result"] == "It will be red." and len(model.requests) == 2


async def test_calls_of_the_front_end_stand_beside_approvals_and_both_are_answered(tmp_path: Path) -> None:
    agent, model = painter([call("paint", colour="red"), call("pick_colour", of="the door")], "done")
    async with place(tmp_path, more=[agent]) as at, at.client() as ana:
        asked = await post(ana, "/ag-ui/painter", asks("t1", "r1", tools=[COLOUR]))
        [approval] = interrupts(asked)
        assert approval["metadata"]["adjourn"]["tool"] == "paint"
        [door] = [event for event in called(asked) if event["toolCallName"] == "pick_colour"]
        done = await post(
            ana, "/ag-ui/painter", asks("t1", "r2", user("x"), result_of(door, "blue"), resume=approves(approval))
        )
        assert done[-1]["result"] == "done"
        results = [message.content for message in model.requests[1].messages[2:]]  # type: ignore[union-attr]
        assert results == ["painted red", "blue"]


async def test_an_end_user_gives_results_and_decides_nothing(tmp_path: Path) -> None:
    agent, _ = painter([call("paint", colour="red"), call("pick_colour", of="the door")], "done")
    async with place(tmp_path, more=[agent]) as at:
        eve, olaf = at.client(at.key_of("eve", "viewer")), at.client(at.key_of("olaf", "operator"))
        async with eve, olaf:
            asked = await post(olaf, "/ag-ui/painter", asks("t1", "r1", tools=[COLOUR]))
            [approval] = interrupts(asked)
            [door] = [event for event in called(asked) if event["toolCallName"] == "pick_colour"]
            forged = {**result_of(door, "yes"), "toolCallId": approval["toolCallId"]}
            refused = await eve.post("/ag-ui/painter", json=asks("t1", "r2", user("x"), result_of(door, "red")))
            assert refused.status_code == 403
            refused = await olaf.post("/ag-ui/painter", json=asks("t1", "r2", user("x"), forged))
            assert refused.status_code == 422  # an approval is no call of the front end
            waits = await post(olaf, "/ag-ui/painter", asks("t1", "r2", user("x"), result_of(door, "red")))
            assert [one["toolCallId"] for one in interrupts(waits)] == [approval["toolCallId"]]


async def test_a_policy_judges_calls_of_the_front_end_too(tmp_path: Path) -> None:
    denied, _ = painter(name="denied", policy=Policy([deny("pick_*")], default="allow"))
    asking, _ = painter(name="asking", policy=Policy([ask("pick_*")], default="allow"))
    async with place(tmp_path, more=[denied, asking]) as at, at.client() as ana:
        done = await post(ana, "/ag-ui/denied", asks("t1", "r1", tools=[COLOUR]))
        assert done[-1]["result"] == "It will be red."
        [approval] = interrupts(await post(ana, "/ag-ui/asking", asks("t2", "r1", tools=[COLOUR])))
        asked = await post(ana, "/ag-ui/asking", asks("t2", "r2", resume=approves(approval)))
        pending = {"type": "success", "pendingToolCallIds": [approval["toolCallId"]]}
        assert asked[-1]["outcome"] == pending and "result" not in asked[-1]
        done = await post(ana, "/ag-ui/asking", asks("t2", "r3", user("x"), result_of(approval, "red")))
        assert done[-1]["result"] == "It will be red."


@pytest.mark.parametrize(
    ("tools", "said"),
    [
        ([{**COLOUR, "name": "paint"}], "has a tool 'paint' of its own"),
        ([COLOUR, COLOUR], "two tools are named 'pick_colour'"),
        ([{**COLOUR, "name": "no good name!"}], "no good name!"),
        ([{**COLOUR, "parameters": {"type": "nothing"}}], "nothing"),
    ],
)
async def test_tools_that_cannot_be_are_refused_before_anything_starts(
    tools: list[Any], said: str, tmp_path: Path
) -> None:
    agent, model = painter()
    async with place(tmp_path, more=[agent]) as at, at.client() as ana:
        refused = await ana.post("/ag-ui/painter", json=asks("t1", "r1", tools=tools))
        assert refused.status_code == 422 and said in refused.text, refused.text
        assert model.requests == []


async def test_a_flow_has_no_tools_of_a_front_end(tmp_path: Path) -> None:
    flow = Flow("paints")
    flow.to(flow.chunk(nothing))
    async with place(tmp_path, more=[flow]) as at, at.client() as ana:
        refused = await ana.post("/ag-ui/paints", json=asks("t1", "r1", tools=[COLOUR]))
        assert refused.status_code == 422 and "a flow calls no tools" in refused.text


async def nothing(ctx: Any) -> None:
    """Do nothing."""


def coded(data: bytes) -> str:
    return base64.b64encode(data).decode()


async def test_images_of_a_message_reach_the_model_by_both_protocols(tmp_path: Path) -> None:
    drawn = Reply((Text(text="A photo."), FilePart(file=Image(b"GIF89a drawn").ref)))
    agent, model = painter(drawn, drawn, drawn)
    new = {"type": "image", "source": {"type": "data", "value": coded(PNG), "mimeType": "image/png"}}
    old = {"type": "binary", "mimeType": "image/png", "data": coded(PNG), "filename": "a.png"}
    sdk = {"type": "file", "mediaType": "image/png", "url": f"data:image/png;base64,{coded(PNG)}"}
    text = {"type": "text", "text": "What is this?"}
    async with place(tmp_path, more=[agent]) as at, at.client() as ana:
        for thread, part in (("t1", new), ("t2", old)):
            await post(ana, "/ag-ui/painter", asks(thread, "r1", {"id": "1", "role": "user", "content": [text, part]}))
        chat = {"id": "c1", "messages": [{"id": "1", "role": "user", "parts": [text, sdk]}]}
        await post(ana, "/ai-sdk/painter", chat)
        for request in model.requests:
            [said] = request.messages
            assert isinstance(said, UserMessage) and said.parts[0] == "What is this?"
            assert request.files == {Image(PNG).digest: PNG}
        by_address = {"type": "image", "source": {"type": "url", "value": "https://example.org/a.png"}}
        refused = await ana.post(
            "/ag-ui/painter", json=asks("t9", "r1", {"id": "1", "role": "user", "content": [text, by_address]})
        )
        assert refused.status_code == 422 and "not fetched" in refused.text


async def test_the_official_client_carries_out_a_tool_and_goes_on(tmp_path: Path) -> None:
    agent, _ = painter()
    async with place(tmp_path, more=[agent]) as served:
        seen = await served.node("ag_ui_tools.mjs", json.dumps(COLOUR))
    assert (seen["invalid"], seen["warnings"]) == ([], [])
    assert seen["arguments"] == [{"of": "the wall"}] and seen["pending"] == 0
    assert len(seen["left"]) == 1 and seen["left"] == seen["named"]
    assert seen["result"] == "It will be red."
    assert seen["roles"] == ["user", "assistant", "tool", "assistant"]


@pytest.mark.parametrize(
    ("tools", "said"),
    [
        ([{"nam": "pick"}], "has no name"),
        ([{"name": "paint"}], "of its own"),
        ([{"name": "a"}, {"name": "a"}], "two tools"),
    ],
)
async def test_in_python_too_a_tool_of_the_caller_has_a_name_of_its_own(tools: Any, said: str) -> None:
    agent, model = painter()
    async with Runtime("memory://", [agent]) as rt:
        with pytest.raises(Invalid, match=said):
            await rt.start(agent, "paint", client_tools=tools)
        run = await rt.start(agent, "paint", client_tools=[{"name": "pick_colour"}])
        await run.wait()
        [asked] = (await run.state()).interrupts
        await rt.answer(asked.ref, "red", by="ana")
        assert (await run.wait()).output == "It will be red." and len(model.requests) == 2


SECRET_RESULT = {"adjourn": {"result": {"type": "string", "writeOnly": True, "x-secret": "pin"}}}


async def test_a_result_that_is_a_secret_is_sealed_and_its_digest_says_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ADJOURN_SECRET_KEYS", KeyRing.new_key())
    saw: list[str] = []

    @tool
    async def unlock(pin: Annotated[str, Secret("pin")]) -> str:
        """Unlock."""
        saw.append(pin)
        return f"unlocked with {pin}"

    def hands_on(messages: Any) -> Any:
        return [call("unlock", pin=messages[-1].content)]

    agent = Agent("door", model=ScriptedModel([call("ask_pin")], hands_on, "open"), tools=[unlock])
    asked_pin = {"name": "ask_pin", "description": "Ask for the PIN.", "metadata": SECRET_RESULT}
    async with place(tmp_path, f"sqlite:///{tmp_path}/runs.db", more=[agent]) as at, at.client() as ana:
        asked = await post(ana, "/ag-ui/door", asks("t1", "r1", user("open"), tools=[asked_pin]))
        [start] = called(asked)
        given = asks("t1", "r2", user("open"), result_of(start, "9241"), tools=[asked_pin])
        done = await post(ana, "/ag-ui/door", given)
        again = await post(ana, "/ag-ui/door", given)
        assert done[-1]["result"] == again[-1]["result"] == "open" and saw == ["9241"]
        assert "9241" not in json.dumps([*done, *again])
    kept = b"".join(file.read_bytes() for file in tmp_path.iterdir() if file.is_file())
    guessed = ReturnedCall(start["toolCallId"], "9241")
    assert b"front-end/" in kept and digest("ana", guessed.call, guessed.value).encode() not in kept
    assert b"unlocked with 9241" not in kept and b'"9241"' not in kept


async def test_a_front_end_is_sent_no_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADJOURN_SECRET_KEYS", KeyRing.new_key())
    agent, model = painter()
    marked = {"type": "object", "properties": {"pin": {"type": "string", "writeOnly": True}}}
    async with place(tmp_path, more=[agent]) as at, at.client() as ana:
        refused = await ana.post("/ag-ui/painter", json=asks(tools=[{**COLOUR, "parameters": marked}]))
        assert refused.status_code == 422 and "never sent to a caller" in refused.text
        unsealable = {"adjourn": {"result": {"type": "integer", "writeOnly": True}}}
        refused = await ana.post("/ag-ui/painter", json=asks(tools=[{**COLOUR, "metadata": unsealable}]))
        assert refused.status_code == 422 and "a secret that is no string" in refused.text
    assert model.requests == []
