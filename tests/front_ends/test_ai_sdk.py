"""The AI SDK's stream over HTTP: an approval is looked up in the store; what messages claim counts for nothing."""

import asyncio
import json
from typing import Any

import pytest
from tests.front_ends.world import Place, post

CASHIER = "/ai-sdk/cashier"
Body = dict[str, Any]


def says(text: str, id: str = "m1") -> Body:
    return {"id": id, "role": "user", "parts": [{"type": "text", "text": text}]}


def chat(*messages: Body, id: str = "c1", **more: Any) -> Body:
    return {"id": id, "messages": list(messages or (says("refund both"),)), "trigger": "submit-message", **more}


def approvals(chunks: list[Body]) -> list[Body]:
    return [chunk for chunk in chunks if chunk["type"] == "tool-approval-request"]


def responded(asked: list[Body], *, approved: bool = True, state: str = "approval-responded") -> Body:
    """The assistant's message as a client sends it back."""
    parts = [
        {
            "type": "dynamic-tool",
            "toolName": "refund",
            "toolCallId": chunk["toolCallId"],
            "state": state,
            "input": {"order": "A1", "cents": 1},
            "approval": {"id": chunk["approvalId"], "approved": approved},
        }
        for chunk in asked
    ]
    return {"id": "a1", "role": "assistant", "parts": parts}


def text_of(chunks: list[Body]) -> str:
    return "".join(chunk["delta"] for chunk in chunks if chunk["type"] == "text-delta")


async def test_the_stream_says_what_it_is_and_ends_with_done(at: Place) -> None:
    async with at.client() as ana:
        answer = await ana.post(CASHIER, json=chat())
        assert answer.headers["x-vercel-ai-ui-message-stream"] == "v1"
        assert answer.headers["content-type"].startswith("text/event-stream") and answer.text.endswith(
            "data: [DONE]\n\n"
        )
        again = await ana.post(CASHIER, json=chat())
        other = await ana.post(CASHIER, json=chat(says("something else")))
        runs = (await ana.get("/api/v1/runs")).json()["items"]
    assert again.text == answer.text and len(runs) == 1 and runs[0]["session"] == "c1"
    assert other.status_code == 409


async def test_the_same_answers_at_once_and_later_pay_once(at: Place) -> None:
    async with at.client() as ana:
        asked = approvals(await post(ana, CASHIER, chat()))
        answer = chat(says("refund both"), responded(asked))
        streams = await asyncio.gather(*(post(ana, CASHIER, answer) for _ in range(4)))
        streams.append(await post(ana, CASHIER, answer))
    assert sorted(at.ledger) == ["A1 500", "B2 700"]  # what was shown, not what the messages say
    for chunks in streams:
        outputs = [chunk["output"] for chunk in chunks if chunk["type"] == "tool-output-available"]
        assert {"paid 500", "paid 700"} <= {*map(str, outputs)} and text_of(chunks) == "All is settled."


async def test_what_messages_claim_decides_nothing(at: Place) -> None:
    viewer = at.key_of("vera", "viewer")
    async with at.client() as ana, at.client(viewer) as vera:
        asked = approvals(await post(ana, CASHIER, chat()))
        # who may not decide does not decide
        assert (await vera.post(CASHIER, json=chat(says("x"), responded(asked)))).status_code == 403
        # another name, another digest, another chat: nothing that is open
        for made, status in (
            ("f" * 64 + ".run:1.1?0", 404),
            ("nonsense", 404),
            ("0" * 64 + asked[0]["approvalId"][64:], 409),
        ):
            forged = responded([{**asked[0], "approvalId": made}])
            assert (await ana.post(CASHIER, json=chat(says("x"), forged))).status_code == status
        assert (await ana.post(CASHIER, json=chat(says("x"), responded(asked), id="c2"))).status_code == 404
        # results, and answers that are not in the last message
        done = responded(asked, state="output-available")
        assert (await ana.post(CASHIER, json=chat(says("x"), done))).status_code == 422
        late = chat(says("x"), responded(asked), says("and now?", "m2"))
        assert (await ana.post(CASHIER, json=late)).status_code == 409
        assert (at.ledger, len((await ana.get("/api/v1/inbox")).json()["items"])) == ([], 2)


async def test_some_answers_are_taken_and_the_rest_is_asked_again(at: Place) -> None:
    async with at.client() as ana:
        asked = approvals(await post(ana, CASHIER, chat()))
        still = await post(ana, CASHIER, chat(says("x"), responded(asked[:1])))
        assert [chunk["approvalId"] for chunk in approvals(still)] == [asked[1]["approvalId"]]
        done = await post(ana, CASHIER, chat(says("x"), responded(asked[1:], approved=False)))
    assert (text_of(done), at.ledger) == ("All is settled.", ["A1 500"])
    assert [c["toolCallId"] for c in done if c["type"] == "tool-output-denied"] == [asked[1]["toolCallId"]]


async def test_what_others_decided_is_shown_and_not_decided_again(at: Place) -> None:
    async with at.client() as ana, at.client(at.key_of("lena", "approver")) as lena:
        asked = approvals(await post(ana, CASHIER, chat()))
        items = (await lena.get("/api/v1/inbox")).json()["items"]
        seen = [{"ref": item["ref"], "digest": item["digest"]} for item in items]
        assert (await lena.post("/api/v1/decisions", json={"decision": "deny", "items": seen})).status_code == 200
        done = await post(ana, CASHIER, chat(says("x"), responded(asked)))
    assert (text_of(done), at.ledger) == ("All is settled.", [])
    assert [c["type"] for c in done].count("tool-output-denied") == 2


async def test_two_must_agree_and_the_first_yes_is_not_enough(at: Place) -> None:
    keys = [at.key_of(name, "approver") for name in ("lena", "lars")]
    async with at.client() as ana, at.client(keys[0]) as lena, at.client(keys[1]) as lars:
        asked = approvals(await post(ana, "/ai-sdk/careful", chat()))
        answer = chat(says("x"), responded(asked))
        assert (await ana.post("/ai-sdk/careful", json=answer)).status_code in (403, 409)  # who asked does not agree
        for _ in range(2):
            assert len(approvals(await post(lena, "/ai-sdk/careful", answer))) == 1 and at.ledger == []
        await post(lars, "/ai-sdk/careful", answer)
    assert at.ledger == ["A1 500"]


async def test_a_page_that_is_loaded_again_has_the_messages_and_the_stream(at: Place) -> None:
    async with at.client() as ana, at.client(at.users.session_key("other")) as guest:
        assert (await ana.get(f"{CASHIER}/c1")).json() == {"messages": []}
        assert (await ana.get(f"{CASHIER}/c1/stream")).status_code == 204
        asked = approvals(await post(ana, CASHIER, chat()))
        waits = await ana.get(f"{CASHIER}/c1/stream")
        assert [json.loads(line[6:])["type"] for line in waits.text.splitlines() if '"tool-approval' in line] == [
            "tool-approval-request"
        ] * 2
        assert [m["role"] for m in (await ana.get(f"{CASHIER}/c1")).json()["messages"]] == ["user"]
        # who may not see it sees nothing
        assert (await guest.get(f"{CASHIER}/c1")).json() == {"messages": []}
        assert (await guest.get(f"{CASHIER}/c1/stream")).status_code == 204
        await post(ana, CASHIER, chat(says("x"), responded(asked)))
        assert (await ana.get(f"{CASHIER}/c1/stream")).status_code == 204
        messages = (await ana.get(f"{CASHIER}/c1")).json()["messages"]
    assert [m["role"] for m in messages] == ["user", "assistant"]


async def test_who_goes_away_ends_nothing(at: Place) -> None:
    async with at.client() as ana:
        async with ana.stream("POST", "/ai-sdk/talker", json=chat(says("talk"))) as response:
            async for line in response.aiter_lines():
                if "text-delta" in line:
                    break
        rest = await ana.get("/ai-sdk/talker/c1/stream")
        chunks = [json.loads(line[6:]) for line in rest.text.splitlines() if line.startswith("data: {")]
    assert text_of(chunks) == "".join(f"word{n} " for n in range(30)) and chunks[-1]["type"] == "finish"


async def test_a_failed_run_is_an_error_for_those_who_cannot_mend_it(at: Place) -> None:
    async with at.client() as ana, at.client(at.users.session_key("c2", "operator")) as guest:
        [_, shown, *_] = [c for c in await post(ana, "/ai-sdk/failing", chat()) if c["type"] != "start-step"]
        assert shown["type"] == "data-interrupt" and shown["data"]["reason"] == "adjourn:error"
        retry = [{"interruptId": shown["id"], "status": "resolved", "payload": {"choice": "retry"}}]
        assert text_of(await post(ana, "/ai-sdk/failing", chat(resume=retry))) == "better"
        told = await post(guest, "/ai-sdk/failing", chat(id="c2"))
    assert told[-1]["type"] == "error" and "no such model" in told[-1]["errorText"]


@pytest.mark.parametrize(
    ("body", "status", "says_what"),
    [
        ({"id": "c1"}, 422, "messages"),
        (chat(id=""), 422, "id"),
        ({**chat(), "messages": []}, 422, "messages"),
        ({**chat(), "messages": [{"id": "1", "role": "user"}]}, 422, "parts"),
        (chat({"id": "1", "role": "user", "parts": [{"type": "file", "url": "data:,x", "mediaType": "text/plain"}]}), 422, "base64"),
        (chat(trigger="regenerate-message"), 422, "regenerate-message"),
        (chat({**says("x"), "id": ""}), 422, "no id"),
    ],
)  # fmt: skip
async def test_bad_input_is_refused_with_a_sentence_and_starts_nothing(
    at: Place, body: Body, status: int, says_what: str
) -> None:
    async with at.client() as ana:
        refused = await ana.post(CASHIER, json=body)
        assert (refused.status_code, says_what in refused.json()["detail"]) == (status, True), refused.text
        assert (await ana.get("/api/v1/runs")).json()["items"] == []


async def test_it_is_guarded_like_the_rest_of_the_api(at: Place) -> None:
    async with (
        at.client("adj_" + "x" * 43) as stranger,
        at.client() as ana,
        at.client(at.key_of("vera", "viewer")) as vera,
    ):
        for path in (f"{CASHIER}/c1", f"{CASHIER}/c1/stream"):
            assert (await stranger.get(path)).status_code == 401
            assert (await ana.get(path, headers={"Origin": "https://evil.example"})).status_code == 403
        assert (await stranger.post(CASHIER, json=chat())).status_code == 401
        assert (await ana.post(CASHIER, json=chat(), headers={"Origin": "https://evil.example"})).status_code == 403
        assert (await vera.post(CASHIER, json=chat())).status_code == 403
        assert (await ana.post("/ai-sdk/nobody", json=chat())).status_code == 404
        assert (await ana.get("/api/v1/runs")).json()["items"] == []
