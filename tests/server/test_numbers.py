"""The numbers over HTTP, and whom they tell how long single people take."""

from typing import Any

from tests.server.world import Client, at, programs

from adjourn.server import Serving, Users, serving


async def decided(client: Client, by: Client) -> None:
    item = await client.waiting("refunds")
    answer = await by.post(f"interrupts/{at(item['ref'])}/approve", json={"digest": item["digest"]})
    assert answer.status_code == 200, answer.text
    await client.until(item["run_id"], "completed")


def people_in(answer: Any) -> list[str] | None:
    shown = answer.json()["people"]
    return None if shown is None else [one["name"] for one in shown]


async def test_they_say_what_was_started_how_it_ended_and_what_was_asked(admin: Client) -> None:
    await decided(admin, admin)
    await admin.waiting("refunds")
    found = (await admin.get("numbers")).json()
    total = found["total"]
    assert (total["runs"], total["completed"], total["open"]) == (2, 1, 1)
    assert (total["waits"]["asked"], total["waits"]["approved"], total["waits"]["open"]) == (2, 1, 1)
    assert [(one["name"], one["runs"]) for one in found["agents"]] == [("refunds", 2)]
    assert found["people"] is None


async def test_a_time_that_is_none_is_refused(admin: Client) -> None:
    for query in ("since=5&until=4", "since=1&until=900000000", "offset=5000"):
        assert (await admin.get(f"numbers?{query}")).status_code == 422, query


async def test_times_of_people_are_off_and_then_for_admins_and_the_person(
    people: tuple[Users, dict[str, str]], server: Serving, admin: Client
) -> None:
    users, keys = people
    await decided(admin, admin)
    assert people_in(await admin.get("numbers")) is None
    async with (
        serving("memory://", programs(), port=0, users=users, name="ana", token=True, people_times=True) as up,
        Client(up, up.token) as boss,
        Client(up, keys["lena"]) as lena,
        Client(up, keys["lars"]) as lars,
    ):
        for person in (lena, lars, lars):
            await decided(boss, person)
        assert people_in(await boss.get("numbers")) == ["lars", "lena"]
        assert people_in(await lena.get("numbers")) == ["lena"]
        async with Client(up, keys["viewer"]) as viewer:
            assert people_in(await viewer.get("numbers")) == []
