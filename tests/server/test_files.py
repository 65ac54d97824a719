"""Files over HTTP: given with a start, fetched by whoever may read the run, and never run by a browser."""

import base64
from typing import Any

from tests.server.world import Client

from adjourn.parts import Document, Image

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(99))
PAGE = b"<svg onload=alert(1)></svg>"


def given(data: bytes, **more: str) -> dict[str, str]:
    return {"$data": base64.b64encode(data).decode(), **more}


async def test_a_file_is_given_with_a_start_and_fetched_again_with_safe_headers(admin: Client) -> None:
    parts: list[Any] = ["look", given(PNG, name="a.png"), given(PAGE, type="image/svg+xml")]
    run = await admin.start("refunds", input=parts)
    first = (await admin.get(f"runs/{run}/messages")).json()["items"][0]
    photo, drawing = first["parts"][1:]
    assert (photo["type"], photo["size"], photo["name"]) == ("image/png", len(PNG), "a.png")
    answer = await admin.get(f"runs/{run}/blobs/{photo['$file']}")
    assert (answer.status_code, answer.content, answer.headers["content-type"]) == (200, PNG, "image/png")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in answer.headers["content-security-policy"]
    assert "content-disposition" not in answer.headers
    answer = await admin.get(f"runs/{run}/blobs/{drawing['$file']}")
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["content-disposition"].startswith("attachment")


async def test_a_file_of_another_run_or_of_nobody_is_not_found(admin: Client) -> None:
    one, two = await admin.start("refunds", input=given(PNG)), await admin.start("refunds")
    [photo] = (await admin.get(f"runs/{one}/messages")).json()["items"][0]["parts"]
    assert (await admin.get(f"runs/{two}/blobs/{photo['$file']}")).status_code == 404
    assert (await admin.get(f"runs/{one}/blobs/{'0' * 64}")).status_code == 404
    async with Client(admin.serving) as nobody:
        assert (await nobody.get(f"runs/{one}/blobs/{photo['$file']}")).status_code == 401


async def test_what_is_no_file_is_refused_with_a_sentence(admin: Client) -> None:
    wrong: list[tuple[Any, str]] = [
        ({"$data": "%%%"}, "base64"),
        ({"$data": 7}, "are strings"),
        (given(PNG, type="image/jpeg"), "its bytes are image/png"),
        (given(b"who knows"), "media_type"),
        ({**given(PNG), "extra": "x"}, "no other fields"),
    ]
    for part, said in wrong:
        answer = await admin.post("runs", json={"agent": "refunds", "input": ["look", part]})
        assert answer.status_code == 422, answer.text
        assert said in answer.text


async def test_who_may_not_read_the_run_does_not_learn_of_its_files(admin: Client) -> None:
    run, digest = await admin.start("refunds", input=given(PNG), labels={"team": "eu"}), Image(PNG).digest
    users = admin.serving.guard.users
    for team, status in (("eu", 200), ("us", 404)):
        async with Client(
            admin.serving, users.add(f"of {team}", "none", grants=[f"viewer where team={team}"])
        ) as reader:
            answer = await reader.get(f"runs/{run}/blobs/{digest}")
            assert answer.status_code == status
            if status == 404:
                nowhere = await reader.get(f"runs/AAAA-BBBB-CCCC-DDDD-EEEE/blobs/{digest}")
                assert answer.json()["code"] == nowhere.json()["code"] == "unknown_run"


async def test_the_next_turn_gives_the_files_that_were_said_to_it_and_no_later_ones(admin: Client) -> None:
    first = await admin.start("talker", input=given(PNG), session="s")
    await admin.until(first, "completed")
    middle = await admin.start("talker", input=given(b"%PDF-1.7"), session="s")
    await admin.until(middle, "completed")
    last = await admin.start("talker", input="and?", session="s", after=first)
    await admin.until(last, "completed")
    assert (await admin.get(f"runs/{middle}/blobs/{Image(PNG).digest}")).content == PNG
    assert (await admin.get(f"runs/{last}/blobs/{Image(PNG).digest}")).content == PNG
    [bill] = (await admin.get(f"runs/{middle}/messages")).json()["items"][-2]["parts"]
    assert (await admin.get(f"runs/{middle}/blobs/{bill['$file']}")).content == b"%PDF-1.7"
    assert (await admin.get(f"runs/{last}/blobs/{bill['$file']}")).status_code == 404
    assert (await admin.get(f"runs/{first}/blobs/{bill['$file']}")).status_code == 404


async def test_a_reference_to_a_file_of_another_run_is_refused(admin: Client) -> None:
    await admin.start("refunds", input=given(PNG))
    answer = await admin.post("runs", json={"agent": "refunds", "input": dict(Image(PNG).ref)})
    assert answer.status_code == 422
    assert "a missing file" in answer.text


async def test_files_that_are_too_large_are_refused_with_the_limit(admin: Client) -> None:
    most = given(PNG + bytes(700_000))
    assert (await admin.post("runs", json={"agent": "refunds", "input": most})).status_code == 200
    answer = await admin.post("runs", json={"agent": "refunds", "input": [most, most]})
    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")
    assert "at most 1,048,576 bytes" in answer.text


async def test_an_erased_run_has_no_files(admin: Client) -> None:
    run = await admin.start("talker", input=given(PNG))
    await admin.until(run, "completed")
    assert (await admin.post(f"runs/{run}/erase", json={"reason": "asked to"})).status_code == 200
    answer = await admin.get(f"runs/{run}/blobs/{Image(PNG).digest}")
    assert (answer.status_code, answer.json()["code"]) == (409, "run_erased")


async def test_a_file_of_an_earlier_turn_that_was_not_said_stays_there(admin: Client) -> None:
    item = await admin.waiting("refunds", session="s")
    await (await admin.serving.runtime.get(item["run_id"])).emit("photo", Image(PNG))
    assert (await admin.decide(item, "approve")).status_code == 200
    await admin.until(item["run_id"], "completed")
    second = await admin.start("talker", session="s", after=item["run_id"])
    assert (await admin.get(f"runs/{item['run_id']}/blobs/{Image(PNG).digest}")).content == PNG
    assert (await admin.get(f"runs/{second}/blobs/{Image(PNG).digest}")).status_code == 404


async def test_files_are_given_with_what_is_said_answered_forked_and_run_again(admin: Client) -> None:
    pdf = b"%PDF-1.7 page"
    item = await admin.waiting("desk")
    run, store = item["run_id"], admin.serving.runtime.store
    said = await admin.post(f"runs/{run}/say", json={"text": ["see", given(PNG, name="a.png")]})
    assert said.status_code == 200, said.text
    bare = dict(Image(b"GIF89a of another run").ref)
    assert (await admin.post(f"runs/{run}/say", json={"text": ["see", bare]})).status_code == 422
    emitted = await admin.post(f"runs/{run}/emit", json={"event": "e", "value": bare})
    assert emitted.status_code == 422 and "refers to a missing file" in emitted.text
    refused = await admin.decide(item, "answer", value={"ok": bare})
    assert refused.status_code == 422 and "refers to a missing file" in refused.text
    assert set(await store.blobs(run)) == {Image(PNG).digest}
    answered = await admin.decide(item, "answer", value={"ok": given(pdf)}, note="as asked")
    assert answered.status_code == 200, answered.text
    await admin.until(run, "completed")
    both = {Image(PNG).digest, Document(pdf).digest}
    assert set(await store.blobs(run)) == both
    forked = (await admin.post(f"runs/{run}/fork", json={"input": ["other", given(b"GIF89a other")]})).json()["run_id"]
    again = (await admin.post(f"runs/{run}/again", json={"input": given(b"GIF89a other")})).json()["run_id"]
    other = Image(b"GIF89a other").digest
    assert other in await store.blobs(forked) and set(await store.blobs(again)) == {other}
