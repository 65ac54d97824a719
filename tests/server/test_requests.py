"""What the models of a run were sent, over HTTP."""

from tests.server.world import Client


async def test_what_a_model_was_sent_is_listed_and_shown(admin: Client) -> None:
    run = (await admin.waiting("refunds"))["run_id"]
    [line] = (await admin.get(f"runs/{run}/requests")).json()["items"]
    assert (line["what"], line["agent"], line["messages"], line["proof"]) == ("reply", "refunds", 1, "as sent")
    [whole] = (await admin.get(f"runs/{run}/requests", params={"seq": line["seq"]})).json()["items"]
    assert line["request"] is None and {**whole, "request": None} == line
    assert whole["request"]["messages"] == [{"type": "user", "text": "go"}]
    assert "refund" in [tool["name"] for tool in whole["request"]["tools"]]


async def test_there_is_a_page_after_a_page(admin: Client) -> None:
    item = await admin.waiting("refunds")
    run = item["run_id"]
    await admin.decide(item, "approve")
    await admin.until(run, "completed")
    first = (await admin.get(f"runs/{run}/requests", params={"limit": 1})).json()
    second = (await admin.get(f"runs/{run}/requests", params={"limit": 1, "after": first["after"]})).json()
    third = (await admin.get(f"runs/{run}/requests", params={"limit": 1, "after": second["after"]})).json()
    assert [page["items"][0]["messages"] for page in (first, second)] == [1, 3]
    assert (third["items"], third["after"]) == ([], None)


async def test_a_record_that_is_no_reply_is_not_found(admin: Client) -> None:
    run = (await admin.waiting("refunds"))["run_id"]
    for seq in ("1", "999"):
        answer = await admin.get(f"runs/{run}/requests", params={"seq": seq})
        assert answer.status_code == 404 and "is not a model's reply" in answer.json()["detail"]
    assert (await admin.get(f"runs/{run}/requests", params={"seq": "x"})).status_code == 422
    assert (await admin.get("runs/nobody/requests")).status_code == 404
