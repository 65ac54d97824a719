"""The AI SDK's own chat and stream reader, which check every chunk."""

from typing import Any

from tests.front_ends.world import Place


def states(message: dict[str, Any]) -> list[str]:
    return [part["state"] for part in message["parts"] if part["type"] == "dynamic-tool"]


async def test_the_chat_of_the_ai_sdk_pauses_approves_and_comes_back(at: Place) -> None:
    seen = await at.node("ai_sdk_client.mjs")
    assert seen["errors"] == [] and seen["valid"] is seen["loadedValid"] is True
    # asked: the free call has its result, two wait
    assert states(seen["paused"]) == ["output-available", "approval-requested", "approval-requested"]
    # one approved, one denied; all in one message; the same again is the same
    [said, finished] = seen["finished"]
    assert said["role"] == "user" and finished["id"] == seen["paused"]["id"]
    assert states(finished) == ["output-available", "output-available", "output-denied"]
    assert [part["text"] for part in finished["parts"] if part["type"] == "text"] == [
        "Let me look. ",
        "All is settled.",
    ]
    assert seen["same"] is True and at.ledger[0] == "A1 500"
    # the next turn, and the page loaded again
    assert (
        seen["next"] == seen["loaded"] == ["refund both", "Let me look. |All is settled.", "thanks", "You are welcome."]
    )
    # asked in one page, approved in another
    assert seen["before"] == ["refund both"]
    assert seen["elsewhere"] == [["refund both", "Let me look. |All is settled."], ["output-available"] * 3]
    assert sorted(at.ledger[1:]) == ["A1 500", "B2 700"]
    # a question
    assert (seen["question"]["message"], seen["question"]["open"]) == ("sure?", True)
    [data] = [part for part in seen["questioned"]["parts"] if part["type"] == "data-interrupt"]
    assert data["data"]["open"] is False and seen["questioned"]["parts"][-1]["text"] == "asked"
    # reasoning, and text in pieces
    assert [part["text"] for part in seen["thought"] if "text" in part] == ["hm, yes", "Yes."]
    assert seen["states"] > 5 and seen["talked"] == "".join(f"word{n} " for n in range(30))
