"""A server on a file where everything rests: what a request can be about, and every row that it could change."""

import base64
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw
import psycopg
import pytest
from tests.server.push_service import Subscription
from tests.server.world import MAKERS, ROLES, Client, at, eventually

from adjourn.parts import Image
from adjourn.server import Serving, Users, serving
from adjourn.server.api.operations import OPERATIONS
from adjourn.server.api_request import Operation
from adjourn.server.notifications import webhook as outlet
from adjourn.server.users import key_id, users_path
from adjourn.stores.address import file_of, is_postgres
from adjourn.stores.audit import SECURITY

WHO = (*ROLES, "run", "nobody", "stranger")
"""Everybody who may come: the four roles, a run's own credential, no credential, and one that nobody gave out."""


BROWSER = Subscription()
PHOTO = Image(b"\x89PNG\r\n\x1a\n" + bytes(64))
"""It is given with the run that waits for an approval."""
BY_ITSELF = ("seal", "touched", "roster", "worker", "run_text", "run_term")
"""What a server changes as time passes, whoever asks for what: it seals what was written, and says that it is alive.
So do the indexes, which are made of the rows, after them."""


IN_FILE = "select name from sqlite_schema where type = 'table' order by 1"
IN_DATABASE = "select tablename from pg_tables where schemaname = 'adjourn' order by 1"


def rows(db: Any, tables: str) -> dict[str, list[Any]]:
    """Every row of every table, but not the security log: who is turned away stands there, and nowhere else.

    Args:
        db: a connection, which is closed.
        tables: the statement that lists its tables.
    """
    with closing(db):
        names = [str(name) for (name,) in db.execute(tables)]
        plain = [name for name in names if name not in BY_ITSELF and not name.startswith("index_")]
        kept = {name: sorted(db.execute(f"select * from {name}"), key=repr) for name in plain}
        return {name: [row for row in found if row[0] != SECURITY] for name, found in kept.items()}


@dataclass
class Place:
    """Runs that wait for an approval, wait for an answer, have failed, have ended; and a letter that is dead."""

    address: str
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
        if is_postgres(self.address):
            way = psycopg.connect(self.address, autocommit=True, options="-c search_path=adjourn")
            return rows(way, IN_DATABASE)
        path = file_of(self.address)
        files = [apsw.Connection(name, flags=apsw.SQLITE_OPEN_READONLY) for name in (f"{path}", f"{path}-users")]
        return rows(files[0], IN_FILE) | rows(files[1], IN_FILE)

    def client(self, who: str) -> Client:
        """Somebody."""
        return Client(self.serving, self.keys.get(who, ""))

    def path(self, operation: Operation) -> str:
        """Where the operation is, for something that is really there."""
        questions = {"answer": self.question, "dismiss": self.question, "retry_all": self.failure}
        item = questions.get(operation.name, self.item)
        path = operation.path.replace("{run_id}", item["run_id"]).replace("{ref}", at(item["ref"]))[1:]
        path = path.replace("{digest}", PHOTO.digest)
        asked = {"compare_run": f"?other={item['run_id']}"}.get(operation.name, "")
        return f"{path}?follow=false" if operation.stream else path + asked

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
            "add_room": {"name": "room", "url": "https://discord.com/api/webhooks/1234/abcdef", "topics": ["run.stuck"]},
            "add_mailbox": {"name": "mail", "server": "mail.example", "to": "ops@mail.example", "topics": ["run.stuck"]},
            "remove_endpoint": {"name": "spare"}, "retry_letter": {"number": self.letter}, "drop_letter": {"number": self.letter},
            "accept_run": {"digest": "0" * 64}, "retry_all": {"digest": self.failure["digest"], "until": 1e12},
            "erase_run": {"reason": "x"}, "hold": {"scope": "label:a=b", "reason": "x"},
            "lift_hold": {"scope": "label:a=b", "reason": "x"}, "log_in": {"key": self.keys["viewer"]},
            "try_endpoint": {"name": "hook"}, "export_audit": {"format": "csv"}, "add_person": {"name": "new", "role": "viewer"},
            "change_person": {"name": "spare", "role": "operator"}, "remove_person": {"name": "spare"},
            "add_key": {"name": "viewer-person"}, "revoke_key": {"id": key_id(self.spare)},
            "end_session": {"id": self.session}, "assign": {"to": "admin-person"}, "snooze": {"until": 1e11},
            "comment": {"text": "is it paid?"}, "change_own_notifications": {"name": "push"},
            "remove_own_notifications": {"name": "push"}, "try_own_notifications": {"name": "push"},
            "add_own_browser": {"url": "https://c.example/", "p256dh": BROWSER.p256dh, "auth": BROWSER.auth, "key": "AAAA"},
        }  # fmt: skip
        return bodies.get(operation.name, {})

    async def ask(self, client: Client, operation: Operation, **options: Any) -> Any:
        """The request that the operation is for."""
        return await client.request(operation.method, self.path(operation), json=self.body(operation), **options)


@asynccontextmanager
async def a_place(folder: Path, patch: pytest.MonkeyPatch, address: str = "") -> AsyncGenerator[Place]:
    """Wait until nothing moves there any more.

    Args:
        folder: where its file is.
        patch: of the test.
        address: another database.
    """

    async def nowhere(host: str, port: int, allow: Any) -> list[str]:
        raise outlet.AddressBlocked(f"{host} is not asked for in tests")

    patch.setattr(outlet, "resolve", nowhere)
    address = address or f"sqlite:///{folder / 'runs.db'}"
    users = Users(users_path(address))
    keys = {role: users.add(f"{role}-person", role) for role in ROLES} | {"stranger": "adj_" + "x" * 43}
    programs = [MAKERS[name]() for name in ("refunds", "desk", "talker", "failing")]
    async with (
        serving(address, programs, port=0, users=users, rate=1e6) as up,
        Client(up, keys["admin"]) as admin,
    ):
        for name, topic in (("hook", "interrupt.opened"), ("spare", "run.stuck")):
            await admin.post("endpoints", json={"name": name, "url": "https://a.example/", "topics": [topic]})
        photo = {"$data": base64.b64encode(PHOTO.data).decode()}
        item, question = await admin.waiting("refunds", input=["go", photo]), await admin.waiting("desk")
        failure = await admin.waiting("failing")
        await admin.until(await admin.start("talker"), "completed")
        keys["run"] = users.run_key(item["run_id"])
        await told(admin, 3)
        letter = (await admin.get("letters")).json()["items"][0]["number"]
        spare = users.add("spare", "viewer")
        session = users.session_id(users.open_session("viewer-person", keys["viewer"]))
        yield Place(address, up, keys, admin, item, question, failure, letter, spare, session)
    users.close()


async def told(admin: Client, times: int) -> None:
    """Wait until so many notifications were given up: each item makes one."""

    async def dead() -> bool:
        return len((await admin.get("letters", params={"state": "dead"})).json()["items"]) == times

    await eventually(dead)


LOOKING = [o for o in OPERATIONS if o.method == "GET"]
DOING = [o for o in OPERATIONS if o.method != "GET"]
