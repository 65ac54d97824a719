"""Two runs beside each other over HTTP: both must be there for the caller."""

from tests.server.world import Client


async def test_both_runs_their_relation_and_their_steps_are_told(admin: Client) -> None:
    old = (await admin.waiting("refunds"))["run_id"]
    new = (await admin.post(f"runs/{old}/again", json={"input": "other"})).json()["run_id"]
    await admin.until(new, "waiting")
    found = await admin.get(f"runs/{old}/compare?other={new}")
    assert found.status_code == 200, found.text
    told = found.json()
    assert (told["left"]["run_id"], told["right"]["run_id"], told["relation"]) == (old, new, "again")
    assert told["steps"] and told["right"]["input"] == "other"


async def test_a_run_that_is_not_there_is_not_found(admin: Client) -> None:
    old = (await admin.waiting("refunds"))["run_id"]
    for path in (f"runs/{old}/compare?other=gone", f"runs/{old}/compare", f"runs/gone/compare?other={old}"):
        assert (await admin.get(path)).status_code == 404, path
