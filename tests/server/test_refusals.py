"""Whatever is wrong with a request, it is told so in one form; and nothing was done."""

from typing import Any

import pytest
from tests.server.world import Client, at

from adjourn import errors
from adjourn.server import Serving
from adjourn.server.problem import respond


def is_problem(answer: Any, status: int, code: str) -> None:
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json"), answer.text
    body = answer.json()
    assert (body["status"], body["code"], body["type"]) == (status, code, f"urn:adjourn:{code}")
    assert body["detail"]
    assert answer.headers["content-security-policy"]


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "runs/nobody", 404, "unknown_run"),
        ("GET", "interrupts/nothing", 404, "unknown_interrupt"),
        ("GET", "interrupts/nobody:1.0%3F0", 404, "unknown_run"),
        ("GET", "nothing", 404, "not_found"),
        ("GET", "runs/x/y/z", 404, "not_found"),
        ("DELETE", "runs", 405, "method_not_allowed"),
        ("OPTIONS", "runs", 405, "method_not_allowed"),
        ("TRACE", "runs/x", 405, "method_not_allowed"),
        ("GET", "runs/x/pause", 405, "method_not_allowed"),
        ("POST", "me", 405, "method_not_allowed"),
        ("GET", "runs?status=gone", 422, "invalid"),
        ("GET", "runs?limit=0", 422, "invalid"),
        ("GET", "runs?limit=201", 422, "invalid"),
        ("GET", "runs?limit=1&limit=2", 422, "invalid"),
        ("GET", "runs?limit=1e1", 422, "invalid"),
        ("GET", "runs?limit=٣", 422, "invalid"),
        ("GET", "runs?colour=red", 422, "invalid"),
        ("GET", "runs?since=nan", 422, "invalid"),
        ("GET", "runs?since=soon", 422, "invalid"),
        ("GET", "runs?label=x", 422, "invalid"),
        ("GET", "inbox?mine=yes", 422, "invalid"),
        ("GET", "audit?after=x", 422, "invalid"),
    ],
)  # fmt: skip
async def test_a_request_that_cannot_be(admin: Client, method: str, path: str, status: int, code: str) -> None:
    answer = await admin.request(method, path)
    is_problem(answer, status, code)
    assert ("allow" in answer.headers) == (status == 405)


@pytest.mark.parametrize(
    ("body", "kind", "status", "code"),
    [
        (b"{}", "text/plain", 415, "not_json"),
        (b"{}", "", 415, "not_json"),
        (b"{}", "application/x-www-form-urlencoded", 415, "not_json"),
        (b"", "application/json", 400, "bad_json"),
        (b"{", "application/json", 400, "bad_json"),
        (b'{"text": "a", "text": "b"}', "application/json", 400, "bad_json"),
        (b'{"text": NaN}', "application/json", 400, "bad_json"),
        (b'{"text": 1e999}', "application/json", 400, "bad_json"),
        (b'{"text": "\\ud800"}', "application/json", 400, "bad_json"),
        (b"\xff\xfe", "application/json", 400, "bad_json"),
        (b"[" * 5000 + b"]" * 5000, "application/json", 400, "bad_json"),
        (b"[]", "application/json", 422, "invalid"),
        (b'"text"', "application/json", 422, "invalid"),
        (b"{}", "application/json", 422, "invalid"),
        (b'{"text": 7}', "application/json", 422, "invalid"),
        (b'{"text": ""}', "application/json", 422, "invalid"),
        (b'{"text": "a", "more": 1}', "application/json", 422, "invalid"),
        (b'{"text": "' + b"x" * 1_100_000 + b'"}', "application/json", 413, "too_large"),
    ],
)  # fmt: skip
async def test_a_body_that_cannot_be(admin: Client, body: bytes, kind: str, status: int, code: str) -> None:
    item = await admin.waiting("refunds")
    answer = await admin.post(f"runs/{item['run_id']}/say", content=body, headers={"Content-Type": kind})
    is_problem(answer, status, code)
    assert (await admin.get(f"runs/{item['run_id']}/status")).json()["seq"] == 5


async def test_a_program_that_is_not_here_is_named_with_those_that_are(admin: Client) -> None:
    answer = await admin.post("runs", json={"agent": "nobody", "input": 1})
    is_problem(answer, 404, "not_found")
    assert "refunds" in answer.json()["detail"]


async def test_a_run_id_that_is_taken_by_something_else(admin: Client) -> None:
    await admin.start("refunds", run_id="mine")
    assert await admin.start("refunds", run_id="mine") == "mine"
    is_problem(await admin.post("runs", json={"agent": "refunds", "input": 2, "run_id": "mine"}), 409, "run_exists")
    is_problem(await admin.post("runs", json={"agent": "refunds", "input": 2, "run_id": "a/b"}), 422, "invalid")


async def test_a_key_of_an_idempotent_request_is_short_and_plain(admin: Client) -> None:
    item = await admin.waiting("refunds")
    for key in (b"x" * 201, b"caf\xe9"):
        headers = [(b"Idempotency-Key", key)]
        answer = await admin.post(f"runs/{item['run_id']}/pause", json={}, headers=headers)
        is_problem(answer, 422, "invalid")


async def test_an_error_of_the_store_is_told_as_such_and_anything_else_says_nothing(
    server: Serving, admin: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: Any, **__: Any) -> Any:
        raise errors.StoreError("the disk is full")

    async def worse(*_: Any, **__: Any) -> Any:
        raise RuntimeError("a secret of the inside")

    monkeypatch.setattr(server.runtime.store, "runs", broken)
    is_problem(await admin.get("runs"), 503, "store_error")
    monkeypatch.setattr(server.runtime.store, "runs", worse)
    answer = await admin.get("runs")
    is_problem(answer, 500, "failed")
    assert "secret" not in answer.text


def kinds() -> list[type[errors.AdjournError]]:
    own = dict(vars(errors))
    return [k for k in own.values() if isinstance(k, type) and issubclass(k, errors.AdjournError)]


@pytest.mark.parametrize("kind", kinds())
def test_every_error_owns_its_status(kind: type[errors.AdjournError]) -> None:
    error = kind.__new__(kind)
    Exception.__init__(error, "what happened \ud800")
    answer = respond(error)
    assert answer.status_code == kind.status
    assert error.code.replace("_", "") == kind.__name__.lower()


async def test_details_are_not_longer_than_a_page(admin: Client) -> None:
    answer = await admin.get(f"interrupts/{at('x' * 390)}")
    assert len(answer.json()["detail"]) <= 2000
    assert (await admin.get(f"runs/{'x' * 401}")).status_code == 404
