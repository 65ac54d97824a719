"""The official client of AG-UI, which checks every event and every sequence of them."""

from tests.front_ends.world import Place


async def test_the_official_client_pauses_resumes_replays_and_connects(at: Place) -> None:
    seen = await at.node("ag_ui_client.mjs")
    assert (seen["invalid"], seen["warnings"]) == ([], [])
    # the interrupt: all of them, after a snapshot of messages and state
    assert [i["reason"] for i in seen["interrupts"]] == ["tool_call", "tool_call"]
    assert seen["state"]["adjourn"]["status"] == "waiting" and seen["state"]["adjourn"]["position"] > 1
    calls = [c for m in seen["paused"] for c in m.get("toolCalls", ())]
    assert [c["function"]["name"] for c in calls] == ["get_order", "refund", "refund"]
    assert [i["toolCallId"] for i in seen["interrupts"]] == [c["id"] for c in calls[1:]]
    assert "not addressed by resume" in seen["partial"]
    # one approved, one cancelled; the same again changes nothing
    assert seen["outcome"] == {"type": "success"} and seen["result"] == seen["again"] == "All is settled."
    assert [m["role"] for m in seen["messages"]] == ["user", "assistant", "tool", "tool", "tool", "assistant"]
    assert seen["same"] is True
    assert (
        seen["next"]
        == seen["fresh"]
        == ["refund both", "Let me look. ", "All is settled.", "thanks", "You are welcome."]
    )
    # two clients of one thread
    assert seen["shared"][0] == seen["shared"][1] and seen["elsewhere"] == {"type": "success"}
    assert at.ledger[0] == "A1 500" and sorted(at.ledger[1:]) == ["A1 500", "B2 700"]
    # text as it arrives, reasoning, refusals
    assert seen["thought"] == [["user", "think"], ["reasoning", "hm, yes"], ["assistant", "Yes."]]
    assert seen["pieces"] > 5 and seen["talked"] == ["talk", "".join(f"word{n} " for n in range(30))]
    assert "no program 'nobody'" in seen["refused"]
