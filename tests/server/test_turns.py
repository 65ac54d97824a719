"""The next turn of a conversation, over HTTP."""

from tests.server.world import Client


async def test_a_run_is_the_next_turn_of_one_that_has_ended(admin: Client) -> None:
    first = await admin.start("talker")
    await admin.until(first, "completed")
    second = await admin.start("talker", after=first)
    await admin.until(second, "completed")
    messages = (await admin.get(f"runs/{second}/messages")).json()["items"]
    assert [m["type"] for m in messages] == ["user", "assistant", "user", "assistant"]


async def test_what_has_no_next_turn_is_refused(admin: Client) -> None:
    waits = (await admin.waiting("refunds"))["run_id"]
    for after, code in ((waits, 409), ("nobody", 404), ('{"format": "x"}', 422)):
        answer = await admin.post("runs", json={"agent": "talker", "input": "go", "after": after})
        assert answer.status_code == code, answer.text
