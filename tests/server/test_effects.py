"""The matrix of roles by effects: for everybody and every verb, what really ran, counted in a ledger outside of the store.

Whoever may not: nothing runs, nothing is recorded, and those who may still can. Whoever may: exactly what was asked for, once.
"""

import os
import shutil
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest
from tests.places import new_folder
from tests.server.verbs import BOOK, HOLDING, ROLES, VERBS, Case, Verb, programs, settled
from tests.server.world import Client

from adjourn.server import Serving, Users, serving
from adjourn.server.api.operations import OPERATIONS
from adjourn.stores.protocol import Filter


@dataclass
class Office:
    serving: Serving
    keys: dict[str, str]
    admin: Client

    def client(self, role: str, case: Case) -> Client:
        key = self.serving.guard.users.run_key(case.run) if role == "run" else self.keys.get(role, "")
        return Client(self.serving, key)

    async def records(self, case: Case) -> list[Any]:
        return await self.serving.runtime.store.load(case.run)

    async def runs(self) -> list[str]:
        return [row.id for row in await self.serving.runtime.store.runs(Filter(limit=10_000))]


@pytest.fixture(scope="module")
async def office() -> AsyncIterator[Office]:
    """One server on a file for all cases; each case has a run of its own."""
    folder = new_folder()
    os.environ[BOOK] = str(folder / "book")
    users = Users()
    keys = {role: users.add(f"{role} of the house", role) for role in ("viewer", "operator", "approver", "admin")}
    keys["boss"], keys["stranger"] = users.add("boss", "admin"), "adj_" + "x" * 43
    async with (
        serving(f"sqlite:///{folder / 'runs.db'}", programs(), port=0, users=users, rate=1e6) as up,
        Client(up, keys["boss"]) as boss,
    ):
        yield Office(up, keys, boss)
    users.close()
    del os.environ[BOOK]
    shutil.rmtree(folder)


def named(value: Any) -> str | None:
    return value.name if isinstance(value, Verb) else None


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("verb", VERBS, ids=named)
async def test_what_runs_by_whose_request(office: Office, verb: Verb, role: str) -> None:
    case = await verb.prepare(office.admin)
    assert case.ledger == verb.before
    records, runs = await office.records(case), await office.runs()
    async with office.client(role, case) as client:
        answer = await verb.act(client, case)
    if role in verb.may:
        assert answer.status_code == 200, answer.text
    else:
        expected = 401 if role in ("nobody", "stranger") else 403
        assert answer.status_code == expected, answer.text
        assert await office.records(case) == records, "not even a record"
        assert await office.runs() == runs
        assert case.ledger == verb.before
        assert (await verb.act(office.admin, case)).status_code == 200, "whoever may still can"
    assert await settled(office.serving, office.admin, case) == [*verb.before, *verb.then]


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("verb", HOLDING, ids=named)
async def test_what_is_kept_from_running_by_whose_request(office: Office, verb: Verb, role: str) -> None:
    case = await verb.prepare(office.admin)
    async with office.client(role, case) as client:
        answer = await verb.act(client, case)
    assert (answer.status_code == 200) is (role in verb.may), answer.text
    assert verb.after is not None
    await verb.after(office.admin, case)
    try:
        ran = await settled(office.serving, office.admin, case)
        assert ran == ([] if role in verb.may else verb.then)
    finally:
        await office.admin.post("halts/lift", json={"scope": "tool:pay", "reason": "over"})


@pytest.mark.parametrize("verb", [v for v in VERBS if v.then], ids=named)
async def test_a_request_that_is_sent_twice_has_its_effect_once(office: Office, verb: Verb) -> None:
    case = await verb.prepare(office.admin)
    async with Client(office.serving, office.keys["boss"], headers={"Idempotency-Key": f"again {case.run}"}) as client:
        for _ in range(3):
            await verb.act(client, case)
            await settled(office.serving, office.admin, case)
    assert await settled(office.serving, office.admin, case) == [*verb.before, *verb.then]


def test_every_verb_that_could_let_something_run_has_its_rows() -> None:
    """A new operation with such a right needs a line here."""
    tried = {v.name.split()[0].strip(",:") for v in (*VERBS, *HOLDING)}
    words = {"lift": "unhalt", "in": "answer", "limit": "answer", "error": "answer"}
    covered = {words.get(name, name) for name in tried}
    wanted = {o.name.split("_")[0] for o in OPERATIONS if o.right in ("control", "decide", "halt")}
    wanted.discard("begin")  # a chapter lets nothing run that did not before
    wanted.discard("revoke")  # what is taken back lets nothing run; calls ask again
    assert wanted <= covered, wanted - covered
