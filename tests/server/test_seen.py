"""One interrupt over HTTP: who decided it so far and how, who is around it, and which others are the same action."""

from tests.server.world import Client, at

from adjourn.server import Serving, Users

People = tuple[Users, dict[str, str]]


async def test_an_interrupt_says_who_approved_it_so_far_and_who_closed_it(
    server: Serving, admin: Client, people: People
) -> None:
    item = await admin.waiting("careful")
    async with Client(server, people[1]["lena"]) as lena, Client(server, people[1]["lars"]) as lars:
        assert (await lena.decide(item, "approve", note="looks right")).status_code == 200
        half = (await admin.get(f"interrupts/{at(item['ref'])}")).json()
        assert (half["status"], half["closed"]) == ("open", None)
        assert [(v["by"], v["note"]) for v in half["votes"]] == [("lena", "looks right")]
        assert (await lars.decide(item, "approve")).status_code == 200
    whole = (await admin.get(f"interrupts/{at(item['ref'])}")).json()
    assert [v["by"] for v in whole["votes"]] == ["lena", "lars"]
    assert (whole["status"], whole["closed"]["why"], whole["closed"]["by"]) == ("decided", "approve", "lars")


async def test_an_edit_is_shown_to_whoever_comes_too_late(admin: Client) -> None:
    item = await admin.waiting("refunds")
    edit = {"order": "A1", "cents": 300}
    assert (await admin.decide(item, "approve", edit=edit, note="half")).status_code == 200
    closed = (await admin.get(f"interrupts/{at(item['ref'])}")).json()["closed"]
    assert (closed["edit"], closed["note"]) == (edit, "half")


async def test_an_interrupt_names_the_agents_down_to_the_one_that_asks_and_who_started_it(admin: Client) -> None:
    item = await admin.waiting("nested")
    seen = (await admin.get(f"interrupts/{at(item['ref'])}")).json()
    assert (seen["agents"], seen["started_by"], seen["title"]) == (["nested", "refunds"], "ana", "go")


async def test_calls_that_are_shown_alike_are_the_same_action_although_their_digests_differ(admin: Client) -> None:
    one, two, other = [await admin.waiting(name) for name in ("refunds", "refunds", "careful")]
    assert one["digest"] != two["digest"]
    assert one["action"] == two["action"] != other["action"]
    assert (await admin.waiting("desk"))["action"] == ""


async def test_an_approval_has_the_decisions_before_it_for_every_role_that_may_read(
    server: Serving, admin: Client, people: People
) -> None:
    one, two = await admin.waiting("refunds"), await admin.waiting("refunds")
    assert (await admin.decide(one, "approve", note="photos are clear")).status_code == 200
    assert (await admin.decide(two, "deny", note="asked twice")).status_code == 200
    await admin.until(one["run_id"], "completed")
    await admin.until(two["run_id"], "completed")
    item = await admin.waiting("refunds")
    async with Client(server, people[1]["viewer"]) as viewer:
        seen = (await viewer.get(f"interrupts/{at(item['ref'])}/before")).json()
    assert (seen["approved"], seen["edited"], seen["denied"], seen["complete"]) == (1, 0, 1, True)
    assert [(x["ref"], x["decision"]["note"]) for x in seen["nearest"]] == [
        (two["ref"], "asked twice"),
        (one["ref"], "photos are clear"),
    ]
    assert [x["outcome"]["state"] for x in seen["nearest"]] == ["not_run", "ran"]
    assert seen["differs"] == []
    question = await admin.waiting("desk")
    nothing = (await admin.get(f"interrupts/{at(question['ref'])}/before")).json()
    assert (nothing["tool"], nothing["nearest"], nothing["told"]) == ("", [], "")
    assert (await admin.get("interrupts/r1:9.9%3F9/before")).status_code == 404
