"""A server on a file where everything rests: what a request can be about, and every row that it could change."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw
import pytest
from tests.server.world import MAKERS, ROLES, Client, at, eventually

from adjourn.server import Serving, Users, serving
from adjourn.server.api.operations import OPERATIONS
from adjourn.server.api_request import Operation
from adjourn.server.notifications import webhook as outlet
from adjourn.server.users import key_id
from adjourn.stores.audit import SECURITY

WHO = (*ROLES, "run", "nobody", "stranger")
"""Everybody who may come: the four roles, a run's own credential, no credential, and one that nobody gave out."""


BY_ITSELF = ("seal", "touched", "roster", "worker", "run_text", "run_term")
"""What a server changes as time passes, whoever asks for what: it seals what was written, and says that it is alive.
So do the indexes, which are made of the rows, after them."""


def rows(path: Path) -> dict[str, list[Any]]:
    """Every row of every table, but not the security log: who is turned away stands there, and nowhere else."""
    db: Any = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        tables = [str(name) for (name,) in db.execute("select name from sqlite_schema where type = 'table' order by 1")]
        plain = [name for name in tables if name not in BY_ITSELF and not name.startswith("index_")]
        kept = {name: sorted(db.execute(f"select * from {name}"), key=repr) for name in plain}
        return {name: [row for row in found if row[0] != SECURITY] for name, found in kept.items()}
    finally:
        db.close()


@dataclass
class Place:
    """Runs that wait for an approval, wait for an answer, have failed, have ended; and a letter that is dead."""

    folder: Path
    serving: Serving
    keys: dict[str, str]
    admin: Client
    item: dict[str, Any]
    question: dict[str, Any]
    failure: dict[str, Any]
    letter: int
    spare: str
    session: str

    def rows(self) -> dict[str, list[Any]]:
        """All that is kept, of runs and of users."""
        return rows(self.folder / "runs.db") | rows(self.folder / "runs.db-users")

    def client(self, who: str) -> Client:
        """Somebody."""
        return Client(self.serving, self.keys.get(who, ""))

    def path(self, operation: Operation) -> str:
        """Where the operation is, for something that is really there."""
        questions = {"answer": self.question, "dismiss": self.question, "retry_all": self.failure}
        item = questions.get(operation.name, self.item)
        path = operation.path.replace("{run}", item["run_id"]).replace("{interrupt}", at(item["ref"]))[1:]
        return f"{path}?follow=false" if operation.stream else path

    def body(self, operation: Operation) -> dict[str, Any] | None:
        """A request that would do something, if it were allowed."""
        if operation.body is None:
            return None
        bodies: dict[str, dict[str, Any]] = {
            "start_run": {"agent": "refunds", "input": "more"},
            "command_runs": {"verb": "pause", "runs": [self.item["run_id"]]},
            "deny_runs": {"runs": [self.item["run_id"]]}, "say_to_run": {"text": "hello"}, "emit_to_run": {"event": "x"},
            "approve": {"digest": self.item["digest"]}, "deny": {"digest": self.item["digest"]},
            "answer_instead": {"digest": self.item["digest"], "result": 1}, "dismiss": {"digest": self.question["digest"]},
            "decide_all": {"decision": "deny", "items": [{"ref": self.item["ref"], "digest": self.item["digest"]}]},
            "answer": {"digest": self.question["digest"], "value": {"ok": 1}}, "halt": {"scope": "*", "reason": "x"},
            "unhalt": {"scope": "tool:nothing", "reason": "x"}, "add_endpoint": {"name": "new", "url": "https://b.example/"},
            "remove_endpoint": {"name": "spare"}, "retry_letter": {"n": self.letter}, "drop_letter": {"n": self.letter},
            "accept_run": {"digest": "0" * 64}, "retry_all": {"digest": self.failure["digest"], "until": 1e12},
            "erase_run": {"reason": "x"}, "hold": {"scope": "label:a=b", "reason": "x"},
            "lift_hold": {"scope": "label:a=b", "reason": "x"}, "log_in": {"key": self.keys["viewer"]},
            "try_endpoint": {"name": "hook"}, "add_person": {"name": "new", "role": "viewer"},
            "change_person": {"name": "spare", "role": "operator"}, "remove_person": {"name": "spare"},
            "add_key": {"name": "viewer-person"}, "revoke_key": {"id": key_id(self.spare)},
            "end_session": {"id": self.session},
        }  # fmt: skip
        return bodies.get(operation.name, {})

    async def ask(self, client: Client, operation: Operation, **options: Any) -> Any:
        """The request that the operation is for."""
        return await client.request(operation.method, self.path(operation), json=self.body(operation), **options)


@asynccontextmanager
async def a_place(folder: Path, patch: pytest.MonkeyPatch) -> AsyncGenerator[Place]:
    """Wait until nothing moves there any more."""

    async def nowhere(host: str, port: int, allow: Any) -> list[str]:
        raise outlet.AddressBlocked(f"{host} is not asked for in tests")

    patch.setattr(outlet, "resolve", nowhere)
    path = folder / "runs.db"
    users = Users(f"{path}-users")
    keys = {role: users.add(f"{role}-person", role) for role in ROLES} | {"stranger": "adj_" + "x" * 43}
    programs = [MAKERS[name]() for name in ("refunds", "desk", "talker", "failing")]
    async with (
        serving(f"sqlite:///{path}", programs, port=0, users=users, rate=1e6) as up,
        Client(up, keys["admin"]) as admin,
    ):
        for name, topic in (("hook", "interrupt.opened"), ("spare", "run.stuck")):
            await admin.post("endpoints", json={"name": name, "url": "https://a.example/", "topics": [topic]})
        item, question = await admin.waiting("refunds"), await admin.waiting("desk")
        failure = await admin.waiting("failing")
        await admin.until(await admin.start("talker"), "completed")
        keys["run"] = users.run_key(item["run_id"])

        async def dead() -> bool:
            return len((await admin.get("letters", params={"state": "dead"})).json()["items"]) == 3

        await eventually(dead)
        letter = (await admin.get("letters")).json()["items"][0]["n"]
        spare = users.add("spare", "viewer")
        session = users.session_id(users.open_session("viewer-person", keys["viewer"]))
        yield Place(folder, up, keys, admin, item, question, failure, letter, spare, session)
    users.close()


LOOKING = [o for o in OPERATIONS if o.method == "GET"]
DOING = [o for o in OPERATIONS if o.method != "GET"]
