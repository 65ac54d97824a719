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
