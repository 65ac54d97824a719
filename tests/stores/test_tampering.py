"""Whoever can write a store's file, and what a check knows of it: every attack of the review, on both stores."""

import shutil
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw
import msgspec
import pytest
from tests.stores.forger import FileForger, Forger, MemoryForger, resealed

from adjourn.core.files import Document
from adjourn.core.record_parts import ApprovalSlot
from adjourn.core.records import Intended, Parked, PauseAsked, RunCompleted, Said
from adjourn.errors import AuditBroken, UnknownRun
from adjourn.stores.audit import SECURITY, BrokenChain
from adjourn.stores.audit_key import SecretKey
from adjourn.stores.memory import MemoryStore
from adjourn.stores.outbox import Endpoint
from adjourn.stores.protocol import Halt, Store
from adjourn.stores.seals import Anchor, Seal
from adjourn.stores.sqlite import SQLiteStore
from adjourn.stores.sqlite.connection import connect
from adjourn.testing import FakeClock
from adjourn.testing.contract.fixtures import approval, begin, commit, suspend, yes

KEY = SecretKey(b"k" * 32)
OPS = Endpoint("ops", "webhook", "https://example.com/hook", "whsec_x", ("run.failed",))
EVIL = Endpoint("evil", "webhook", "https://evil.example/hook", "whsec_y")


@dataclass
class World:
    """A store with a history, and a hand that can reach into it."""

    store: Store
    clock: FakeClock
    path: str

    @property
    def forger(self) -> Forger:
        if isinstance(self.store, MemoryStore):
            return MemoryForger(self.store)
        return FileForger(self.path)

    async def broken(self, *keys: SecretKey, since: Anchor | None = None) -> list[BrokenChain]:
        return list(await self.store.verify(keys, since))

    async def seal(self, key: SecretKey | None = KEY) -> Seal:
        self.clock.advance(10)
        made = await self.store.seal(key)
        assert made is not None
        return made


async def live(store: Store, clock: FakeClock) -> None:
    """Runs that wait, run and have ended, twice each; halts, endpoints, a security log."""
    for n in ("1", "2"):
        lease = await begin(store, f"done{n}", by="eve", input=["see", Document(b"%PDF-1 page").ref])
        await store.deliver(f"done{n}", Said(text="hurry", by="eve"))
        await commit(store, lease, (), [RunCompleted(output="x")], seen=3)
        gate = (ApprovalSlot("ask pay", ("leads",), 2),)
        lease = await begin(store, f"wait{n}", by="eve")
        await commit(
            store, lease, (), [approval(digest="d", approvers=2, gate=gate), approval("1.1?0", digest="e"), Parked()]
        )
        await store.deliver(f"wait{n}", yes(by="ana", digest="d", groups=("leads",)))
        await store.deliver(f"wait{n}", yes("1.1?0", by="bo", digest="e"))
        lease = await begin(store, f"asks{n}", by="eve")
        await suspend(store, lease, event="go")
        await store.deliver(f"asks{n}", PauseAsked(by="ana", reason="look"), request=f"q{n}")
        clock.advance(1)
    for scope in ("tool:pay", "agent:clerk"):
        await store.halt(scope, by="ana", reason="incident")
    await store.halt("tool:x", by="ana", reason="incident")
    await store.halt("tool:x", by="bo", lift=True)
    for endpoint in (OPS, Endpoint("chat", "apprise", "mailto://x")):
        await store.endpoints(endpoint, by="ana")
    await store.note([{"verb": "login", "by": "ana"}, {"verb": "login", "by": "bo"}])
    with pytest.raises(UnknownRun):
        await store.deliver("nowhere", Said(text="x", by="eve"))


@pytest.fixture(params=["memory", "sqlite"])
async def world(request: pytest.FixtureRequest, path: Path) -> AsyncIterator[World]:
    clock = FakeClock()
    store = MemoryStore(clock.now) if request.param == "memory" else SQLiteStore(str(path), clock.now)
    await live(store, clock)
    made = World(store, clock, str(path))
    assert await made.broken() == []
    yield made
    await store.close()


Attack = Callable[[Forger], None]
ROWS = "rows of"
CAUGHT: dict[str, tuple[Attack, tuple[str, str]]] = {
    "a whole run deleted with its audit": (lambda f: f.delete_run("done1"), ("journal of", "done1")),
    "a waiting run deleted with its audit": (lambda f: f.delete_run("wait2"), ("audit of", "wait2")),
    "the audit's tail cut, and its head set": (lambda f: f.cut_audit("wait1", 2), ("audit of", "wait1")),
    "a name changed in journal and audit, and rehashed": (lambda f: f.rewrite("done2", "eve", "ana"), ("journal of", "done2")),
    "the same of a run that waits": (lambda f: f.rewrite("wait2", "eve", "mallory"), ("audit of", "wait2")),
    "the global chain dropped": (lambda f: f.drop_audit(""), ("audit of", "")),
    "the security log dropped": (lambda f: f.drop_audit(SECURITY), ("audit of", SECURITY)),
    "the security log cut": (lambda f: f.cut_audit(SECURITY, 1), ("audit of", SECURITY)),
    "a halt lifted": (lambda f: f.lift("tool:pay"), ("halt", "tool:pay")),
    "a halt set in somebody's name": (lambda f: f.halt(Halt("*", "ana", "x", 1.0)), ("halt", "*")),
    "fewer approvers": (lambda f: f.set_interrupt("wait1", "1.0?0", approvers=1), (ROWS, "wait1")),
    "an approval opened again": (lambda f: f.set_interrupt("wait1", "1.1?0", state="open"), (ROWS, "wait1")),
    "an approval that says it was given": (lambda f: f.set_interrupt("wait1", "1.0?0", state="decided", by="bo"), (ROWS, "wait1")),
    "another digest": (lambda f: f.set_interrupt("wait2", "1.0?0", digest="f"), (ROWS, "wait2")),
    "no expiry": (lambda f: f.set_interrupt("wait2", "1.0?0", expires=9.0), (ROWS, "wait2")),
    "a run that has ended made ready": (lambda f: f.set_run("done1", status="ready"), (ROWS, "done1")),
    "another title for those who approve": (lambda f: f.set_run("wait1", title="harmless"), (ROWS, "wait1")),
    "a webhook added": (lambda f: f.put_endpoint(EVIL), ("endpoint", "evil")),
    "a webhook led elsewhere": (lambda f: f.put_endpoint(msgspec.structs.replace(OPS, url=EVIL.url)), ("endpoint", "ops")),
    "a webhook removed": (lambda f: f.drop_endpoint("ops"), ("endpoint", "ops")),
    "a seal deleted": (lambda f: f.put_seals(f.seals()[1:]), ("seal", "")),
    "a seal in the middle deleted": (lambda f: f.put_seals([*f.seals()[:1], *f.seals()[2:]]), ("seal", "")),
    "a seal edited": (lambda f: f.put_seals([msgspec.structs.replace(f.seals()[0], at=1.0), *f.seals()[1:]]), ("seal", "")),
}  # fmt: skip


@pytest.mark.parametrize("attack", CAUGHT)
@pytest.mark.parametrize("key", [None, KEY], ids=["plain", "signed"])
async def test_it_is_found_and_named(world: World, attack: str, key: SecretKey | None) -> None:
    await world.seal(key)
    await world.store.note([{"verb": "login", "by": "ana"}])
    await world.seal(key)
    await world.store.note([{"verb": "login", "by": "ana"}])
    await world.seal(key)
    keys = [key] if key else []
    assert await world.broken(*keys) == []
    forge, where = CAUGHT[attack]
    forge(world.forger)
    assert where in {(b.what, b.scope) for b in await world.broken(*keys)}


async def test_without_seals_the_same_deletion_is_not_found_which_is_what_they_are_for(world: World) -> None:
    world.forger.delete_run("done1")
    assert await world.broken() == []
    assert (await world.store.verify()).seal is None


async def test_what_is_rewritten_before_it_is_sealed_again_is_found_although_the_new_head_is_sealed(
    world: World,
) -> None:
    await world.seal()
    world.forger.rewrite("wait1", "eve", "ana")
    again = world.store
    if isinstance(again, SQLiteStore):  # another process, which knows nothing of before
        again = SQLiteStore(world.path, world.clock.now)
    await again.deliver("wait1", Said(text="x", by="bo"))
    world.clock.advance(10)
    assert await again.seal(KEY) is not None
    places = {(b.what, b.scope) for b in await again.verify([KEY])}
    assert places == {("audit of", "wait1"), ("journal of", "wait1")}
    if again is not world.store:
        await again.close()


async def test_a_forged_line_that_nobody_marks_for_sealing_is_found(world: World) -> None:
    await world.seal()
    await world.store.deliver("wait1", Said(text="x", by="bo"))
    world.forger.untouch("wait1")
    assert [(b.what, b.scope) for b in await world.broken(KEY)] == [("audit of", "wait1")]


async def test_who_has_no_key_can_rewrite_plain_seals_and_an_anchor_knows(world: World) -> None:
    seal = await world.seal(None)
    id = await world.store.identity()
    world.forger.delete_run("done1")
    world.forger.put_seals(resealed(id, world.forger.seals(), "done1"))
    assert await world.broken() == []
    assert "can rewrite" in str(await world.store.verify())
    assert [b.what for b in await world.broken(since=Anchor.of(id, seal))] == ["anchor"]


async def test_who_has_no_key_cannot_rewrite_signed_seals(world: World) -> None:
    await world.seal()
    id, forger = await world.store.identity(), world.forger
    forger.delete_run("done1")
    forged = resealed(id, forger.seals(), "done1")
    mallory = SecretKey(b"m" * 32)
    for seals in (
        forged,
        [],
        [msgspec.structs.replace(x, kid=KEY.kid, sig=b"x" * 32) for x in forged],
        [msgspec.structs.replace(x, kid=mallory.kid, sig=mallory.sign(x.hash)) for x in forged],
        [msgspec.structs.replace(x, kid=KEY.kid, sig=mallory.sign(x.hash)) for x in forged],
    ):
        forger.put_seals(seals)
        assert {"seal", "seals"} & {b.what for b in await world.broken(KEY)}


async def test_a_signature_missing_behind_signed_seals_is_found(world: World) -> None:
    await world.seal()
    await world.store.note([{"verb": "login", "by": "ana"}])
    await world.seal()
    first, second = world.forger.seals()
    world.forger.put_seals([first, msgspec.structs.replace(second, kid="", sig=b"")])
    assert [(b.what, b.n) for b in await world.broken(KEY)] == [("seal", 2)]


async def test_a_sealer_that_lives_on_does_not_sign_what_was_rewritten_under_it(world: World) -> None:
    known = await world.seal()
    id, forger = await world.store.identity(), world.forger
    forger.delete_run("done1")
    forger.put_seals(resealed(id, forger.seals(), "done1"))
    await world.store.note([{"verb": "login", "by": "ana"}])
    with pytest.raises(AuditBroken, match="seal 1"):
        await world.store.seal(KEY, after=known)


async def test_an_older_copy_of_the_store_is_known_by_an_anchor(world: World) -> None:
    await world.seal()
    before = world.forger.seals()
    await world.store.note([{"verb": "login", "by": "ana"}])
    anchor = Anchor.of(await world.store.identity(), await world.seal())
    world.forger.cut_audit(SECURITY, 3)
    world.forger.put_seals(before)
    assert await world.broken(KEY) == []
    assert [b.what for b in await world.broken(KEY, since=anchor)] == ["anchor"]


async def test_an_agreement_whose_use_was_wiped_out_is_found(world: World) -> None:
    """What was agreed to once is not agreed to twice because a row says so."""
    lease = await world.store.acquire("wait1", "w", 30.0)
    assert lease is not None
    world.forger.set_interrupt("wait1", "1.1?0", lives="9.9")
    assert [(b.what, b.scope) for b in await world.broken()] == [(ROWS, "wait1")]


async def test_a_gated_call_that_nobody_agreed_to_is_found_in_a_journal(world: World) -> None:
    """However it came to be there: a check reads the whole journal as the transaction should have."""
    intent = Intended(call="1.0", tool="pay", gate=(ApprovalSlot("ask pay"),), grant="1.0?0")
    if isinstance(world.store, MemoryStore):
        from adjourn.core.record_codec import dump
        from adjourn.stores.audit import chain

        row, body = world.store._runs["done1"], dump(intent)
        world.store._journals["done1"].insert(3, body)
        head = row.salt
        for one in world.store._journals["done1"]:
            head = chain(head, one or "")
        row.seq, row.head = row.seq + 1, head
        assert any("no person was asked" in b.why for b in await world.broken())


# The law: a change of any cell of any table shows

FREE = {
    "run.worker": "who holds the lease", "worker": "until when it lives", "journal.epoch": "nothing is decided by it",
    "interrupt.opened_at": "the order of the inbox", "endpoint.at": "shown, no more", "touched.scope": "one more is sealed",
    "touched.at": "shown, no more", "interrupt.assigned": "shown, no more", "interrupt.snoozed": "what one person does not see for now",
    **dict.fromkeys(("label", "zone", "run_term"), "an index: by what a list finds a run"),
    **dict.fromkeys(("run_text", "run_text_config", "run_text_data", "run_text_idx"), "the same"),
    **dict.fromkeys(("index_due", "index_number", "index_text"), "an index: by what a search finds a run"),
    **dict.fromkeys(("index_words", "index_words_config", "index_words_data", "index_words_idx"), "the same"),
    "request": "what a client may send again", "letter": "what is on its way to others", "misfit": "what a worker said of itself",
}  # fmt: skip
"""Cells that may change without being noticed, and why. Deleting a row of `touched` is noticed."""


def changed(value: Any) -> Any:
    if isinstance(value, bytes):
        return bytes([*value[:-1], value[-1] ^ 1]) if value else b"x"
    if isinstance(value, str) and value.startswith("{"):  # still JSON
        return value.replace('"', '"x', 1) if len(value) > 2 else '{"x":"y"}'
    if isinstance(value, str):
        return f"{value}x"
    return value + 1000


def cells(path: str) -> list[tuple[str, str, int, Any]]:
    """Every cell of every table that is not free: table, column, row, value."""
    db: Any = apsw.Connection(path)
    found: list[tuple[str, str, int, Any]] = []
    names = "select name from sqlite_schema where type = 'table' and name not like 'sqlite_%'"
    for table in [name for (name,) in db.execute(names).fetchall() if name not in FREE]:
        columns = [row[1] for row in db.execute(f"pragma table_info({table})")]
        for place, row in enumerate(db.execute(f"select {', '.join(columns)} from {table}").fetchall()):
            for column, value in zip(columns, row, strict=True):
                if f"{table}.{column}" not in FREE:
                    found.append((table, column, place, value))
    db.close()
    return found


def forged(path: str, copy: str, table: str, place: int, change: str, values: tuple[Any, ...] = ()) -> None:
    shutil.copy(path, copy)
    db: Any = connect(copy)
    keys = [row[1] for row in db.execute(f"pragma table_info({table})") if row[5]]
    row = db.execute(f"select {', '.join(keys)} from {table} limit 1 offset ?", (place,)).fetchone()
    where = " and ".join(f"{key} = ?" for key in keys)
    db.execute(change.format(table=table, where=where), (*values, *row))
    db.close()


async def test_a_change_of_any_cell_of_any_table_shows_and_so_does_the_loss_of_any_row(path: Path) -> None:
    clock = FakeClock()
    store = SQLiteStore(str(path), clock.now)
    await live(store, clock)
    await store.signed(True, by="bo")
    await store.seal(KEY)
    await store.deliver("wait1", Said(text="x", by="bo"))
    await store.seal(KEY)
    await store.deliver("wait2", Said(text="x", by="bo"))
    await store.close()
    copy, missed, rows = f"{path}.copy", list[str](), set[tuple[str, int]]()
    found = cells(str(path))
    assert len(found) > 400

    async def is_seen() -> bool:
        try:
            other = SQLiteStore(copy, clock.now)
        except Exception:
            return True
        try:
            return bool(await other.verify([KEY]))
        except Exception as e:  # not a word, but no silence either
            raise AssertionError(f"verify itself failed: {e}") from e
        finally:
            await other.close()

    for table, column, place, value in found:
        rows.add((table, place))
        forged(str(path), copy, table, place, f"update {{table}} set {column} = ? where {{where}}", (changed(value),))
        if not await is_seen():
            missed.append(f"{table}.{column} row {place}: {value!r} → {changed(value)!r}")
    for table, place in sorted(rows | {("touched", 0)}):
        forged(str(path), copy, table, place, "delete from {table} where {where}")
        if not await is_seen():
            missed.append(f"{table} row {place} deleted")
    assert not missed, "\n".join(missed)
