"""Whoever advances runs seals their audit, every ten seconds and at the end; and what Python can do with the seals."""

import asyncio
import hashlib
import hmac
import json
import logging
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.logs import ours

from adjourn import Agent, Anchor, Invalid, InvalidDefinition, Misused, Runtime, tool
from adjourn.runtime.sealer import EVERY, Sealer
from adjourn.stores.audit_key import SECRET, SecretKey, audit_keys
from adjourn.stores.memory import MemoryStore
from adjourn.stores.protocol import Store
from adjourn.stores.sqlite import SQLiteStore
from adjourn.testing import FakeClock
from adjourn.testing.env import env
from adjourn.testing.scripted import ScriptedModel, call

TEXT = "0123456789abcdef" * 2


@tool(policy="ask")
async def refund(cents: int) -> str:
    """Pay money back."""
    return "paid"


def agent() -> Agent:
    return Agent("clerk", model=ScriptedModel([call("refund", cents=5)], "done"), tools=[refund])


def stores(clock: FakeClock, db: str) -> list[Store]:
    return [MemoryStore(clock.now), SQLiteStore(db, clock.now)]


async def until(store: Store, k: int) -> None:
    """Wait until there are so many seals."""
    async with asyncio.timeout(30):
        while len(await store.seals()) < k:
            await asyncio.sleep(0)


async def test_a_runtime_with_a_program_seals_every_ten_seconds_and_at_its_end(db: str) -> None:
    clock = FakeClock()
    for store in stores(clock, db):
        clerk = agent()
        async with env([clerk], store=store, clock=clock) as world:
            run = await world.runtime.start(clerk, "x", by="shop")
            await run.wait()
            assert await store.seals() == []
            clock.advance(EVERY)
            await until(store, 1)
            [seal] = await store.seals()
            assert [x.scope for x in seal.covered] == [run.id]
            clock.advance(EVERY)
            await world.settle()
            assert len(await store.seals()) == 1, "nothing has happened since"
            [item] = (await run.state()).interrupts
            await world.runtime.approve(item.id, by="ana")
            await run.wait()
        assert len(await store.seals()) == 2
        found = await store.verify()
        assert (list(found), found.lines, found.records) == ([], 0, 0)
        await store.close()


async def test_a_runtime_that_only_looks_seals_nothing_unless_it_is_told_to(address: str) -> None:
    async with Runtime(address) as rt:
        await rt.halt("*", reason="x", by="ana")
    async with Runtime(address) as rt:
        assert await rt.store.seals() == []
        rt.keep_sealed()
        rt.keep_sealed()
    async with Runtime(address) as rt:
        assert len(await rt.store.seals()) == 1
    with pytest.raises(Misused):
        Runtime(address).keep_sealed()


async def test_two_runtimes_seal_one_store_and_neither_gets_in_the_other_s_way(db: str) -> None:
    stores = SQLiteStore(db), SQLiteStore(db)
    one, two = (Sealer(store, FakeClock()) for store in stores)
    for n in range(5):
        await stores[0].note([{"verb": "login", "by": f"u{n}"}])
        made = await asyncio.gather(one.once(), two.once())
        assert sum(seal is not None for seal in made) == 1
    assert [x.k for x in await stores[0].seals()] == [1, 2, 3, 4, 5]
    for store in stores:
        await store.close()


async def test_more_than_one_seal_holds_are_several(db: str) -> None:
    store = MemoryStore()
    await asyncio.gather(*(store.halt("*", by="x", reason="y") for _ in range(3)))
    store._touched |= {f"r{n:04}": 0.0 for n in range(2_500)}
    assert (await Sealer(store, FakeClock()).once()) is not None
    assert [len(seal.covered) for seal in await store.seals()] == [1000, 1000, 501]


async def test_with_the_key_elsewhere_a_worker_leaves_sealing_to_who_has_it(address: str) -> None:
    key = SecretKey(TEXT.encode())
    async with Runtime(address, audit_key=key) as desk:
        await desk.halt("*", reason="x", by="ana")
        signed = await desk.audit_seal()
        assert signed is not None and signed.kid == key.kid
        clerk = agent()
        async with Runtime(address, [clerk]) as worker:
            await worker.unhalt("*", by="ana")
            await (await worker.start(clerk, "x", by="shop")).wait()
        assert len(await desk.store.seals()) == 1
        assert (await desk.verification()).lines > 0
        await desk.audit_seal()
        assert await desk.verify() == [] and (await desk.verification()).lines == 0
        assert (await desk.verification()).is_signed


async def test_a_sealer_whose_seals_vanish_says_so_once_and_seals_no_more(caplog: pytest.LogCaptureFixture) -> None:
    clock, store = FakeClock(), MemoryStore()
    sealer = Sealer(store, clock)
    await store.halt("*", by="x", reason="y")
    await sealer.once()
    store._seals.clear()
    await store.halt("*", by="x", lift=True)
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            await sealer._try()
    assert [r.levelname for r in ours(caplog)] == ["ERROR"] and "nothing was sealed" in caplog.text
    assert await store.seals() == []


async def test_closing_does_not_wait_for_a_store_that_hangs(caplog: pytest.LogCaptureFixture) -> None:
    class Hanging(MemoryStore):
        async def seal(self, *_: Any, **__: Any) -> None:
            await asyncio.Event().wait()

    async with asyncio.timeout(30):
        async with Runtime(Hanging(), [agent()], grace=0.01):
            pass
    assert "were not sealed" in caplog.text


# Python


async def test_an_anchor_is_a_line_that_proves_later_what_was_there(address: str, folder: Path) -> None:
    async with Runtime(address) as rt:
        with pytest.raises(Invalid, match="nothing"):
            await rt.audit_anchor()
        await rt.halt("*", reason="x", by="ana")
        anchor = await rt.audit_anchor()
        await rt.unhalt("*", by="ana")
        second = await rt.audit_anchor()
        assert (anchor.k, second.k) == (1, 2)
        (folder / "anchor.txt").write_text(f"Dear auditor,\n\n{anchor}\n\nregards")
        for since in (anchor, str(anchor), folder / "anchor.txt", json.dumps(anchor.as_json())):
            assert await rt.verify(since=since) == []
        assert "is still there" in str(await rt.verification(since=anchor))
        forged = msgspec.structs.replace(anchor, hash="0" * 64)
        assert any("anchor 1" in place for place in await rt.verify(since=forged))
        for text in ("", "nonsense", f"{anchor} {second}", "{}", "adjourn-anchor/1 store=x"):
            with pytest.raises(Invalid, match="anchor"):
                await rt.verify(since=text)


async def test_an_export_can_be_checked_with_nothing_of_ours_and_goes_on_where_it_ended(address: str) -> None:
    key = SecretKey(TEXT.encode())
    async with Runtime(address, audit_key=key) as rt:
        for n in range(3):
            await rt.halt("*", reason='é\n"x" \u2028', by=f"ana{n}")
            await rt.unhalt("*", by="bo")
            await rt.store.note([{"verb": "login", "by": "ana", "count": n}])
            await rt.audit_seal()
        await rt.halt("*", reason="not sealed", by="ana")
        store = await rt.store.identity()
        items = [json.loads(json.dumps(item)) async for item in rt.audit_export()]
        later = [item async for item in rt.audit_export(after=2)]
        with pytest.raises(Invalid, match="seal 9 not found; the last one is 3"):
            [item async for item in rt.audit_export(after=9)]
    assert check_export(items, store, TEXT.encode()) == 3
    assert later == [item for item in items if item["k"] == 3]
    assert "not sealed" not in str(items)


def check_export(items: list[dict[str, Any]], store: str, secret: bytes) -> int:
    """As somebody would write it who has the documentation only; how many seals there are."""
    heads: dict[str, tuple[int, str]] = {}
    prev, k = b"", 0
    for item in items:
        if item["type"] == "line":
            n, head = heads.get(item["scope"], (0, ""))
            body = json.dumps(item["entry"], ensure_ascii=False, separators=(",", ":"))
            assert item["n"] == n + 1
            assert hashlib.sha256(bytes.fromhex(head) + body.encode()).hexdigest() == item["head"]
            heads[item["scope"]] = (item["n"], item["head"])
            continue
        k += 1
        fields = ["seal/1", store, str(item["k"]), json.dumps(item["at"]), bytes.fromhex(item["prev"]), item["body"]]
        raw = [field if isinstance(field, bytes) else field.encode() for field in fields]
        hashed = hashlib.sha256(b"adjourn/1\0" + b"".join(b"%d:" % len(x) + x for x in raw)).digest()
        assert (item["k"], item["hash"], item["prev"]) == (k, hashed.hex(), prev.hex())
        assert hmac.digest(secret, b"adjourn/seal\0" + hashed, "sha256").hex() == item["sig"]
        for scope, n, head, _, _ in json.loads(item["body"]):
            assert heads[scope] == (n, head)
        prev = hashed
    return k


# Keys


async def test_the_environment_s_secret_signs_and_is_long_enough(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SECRET, TEXT)
    async with Runtime(address) as rt:
        await rt.halt("*", reason="x", by="ana")
        anchor = await rt.audit_anchor()
        assert anchor.kid == SecretKey(TEXT.encode()).kid and (await rt.verification()).is_signed
    monkeypatch.setenv(SECRET, f"{'n' * 32}, {TEXT}")
    async with Runtime(address) as rt:
        assert await rt.verify() == []
        await rt.unhalt("*", by="ana")
        assert (await rt.audit_anchor()).kid == SecretKey(b"n" * 32).kid
    for wrong in ("", "short", f"{TEXT},short"):
        monkeypatch.setenv(SECRET, wrong)
        with pytest.raises(InvalidDefinition, match="32"):
            async with Runtime(address):
                pass


async def test_an_auditor_needs_the_public_half_only(
    address: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ed25519 = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.ed25519")
    from base64 import b64encode

    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    private = ed25519.Ed25519PrivateKey.generate()
    file, public = folder / "audit.pem", folder / "audit.pub"
    file.write_bytes(private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    os.chmod(file, 0o600)
    line = f"ed25519 {b64encode(private.public_key().public_bytes_raw()).decode()} auditor"
    public.write_text(f"# ours\n{line}\n")
    async with Runtime(address, audit_key=file) as rt:
        await rt.halt("*", reason="x", by="ana")
        anchor = await rt.audit_anchor()
    other = ed25519.Ed25519PrivateKey.generate().public_key().public_bytes_raw()
    async with Runtime(address) as rt:
        for key in (line, public, str(public), [line]):
            found = await rt.verification(since=anchor, key=key)
            assert list(found) == [] and found.is_signed and f"signed by {anchor.kid}" in str(found)
        assert any("none of the given keys" in x for x in await rt.verify(key=f"ed25519 {b64encode(other).decode()}"))
    async with Runtime(address, audit_key=public) as rt:
        await rt.unhalt("*", by="ana")
        assert await rt.audit_seal() is None, "a public key cannot sign"
        assert (await rt.verification()).is_signed
    (folder / "x").write_text("no key")
    for wrong in (folder / "absent", folder / "x", "ed25519 AAAA", "ed25519"):
        with pytest.raises(InvalidDefinition, match="key"):
            audit_keys(wrong)
    monkeypatch.setenv(SECRET, TEXT)
    with pytest.raises(InvalidDefinition, match="remove one of them"):
        audit_keys(file)


def test_an_anchor_is_written_and_read_without_loss() -> None:
    for sig in ("", "c2ln"):
        anchor = Anchor("ab" * 16, 7, 1_800_000_000.123, "0f" * 32, "3f" * 8 if sig else "", sig)
        assert Anchor.read(f"> {anchor} <") == anchor == Anchor.read(json.dumps(anchor.as_json()))
