"""Encrypted runs: what a runtime does with them, and what is in no byte of a database."""

import base64
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.logs import ours

from adjourn import Agent, Completed, InvalidDefinition, KeyMissing, Paused, Policy, Runtime, ask, tool
from adjourn.errors import CheckpointInvalid, RunPruned, UnknownRun
from adjourn.parts import Image
from adjourn.runtime.archive import keep_key, put
from adjourn.runtime.checkpoint import Checkpoint
from adjourn.runtime.program_choice import Fitness
from adjourn.secrets import KeyRing
from adjourn.stores.erasure import Pruning
from adjourn.stores.run_keys import forget_keys
from adjourn.stores.run_row import open_stores
from adjourn.stores.sqlite import SQLiteStore
from adjourn.stores.transfer import transfer
from adjourn.testing import FakeClock, ScriptedModel, call

CANARY = "CANARY-0123456789"
PHOTO = b"\x89PNG\r\n\x1a\n" + CANARY.encode() * 20
RING = KeyRing({"k1": b"k" * 32})


@pytest.fixture(autouse=True)
def alone() -> None:
    """Stores that earlier tests did not close are asked for keys as well."""
    for left in list(open_stores):
        open_stores.discard(left)


def clerk() -> Agent[str]:
    @tool
    async def pay(card: str) -> str:
        """Pay."""
        return f"paid with {card}"

    model = ScriptedModel([f"I pay {CANARY}", call("pay", card=CANARY)], f"done with {CANARY}")
    return Agent("clerk", model=model, tools=[pay], policy=Policy([ask("pay")], default="allow"))


@pytest.fixture(params=["sqlite", "postgres"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/runs.db"
    return request.getfixturevalue("postgres").fresh()


def bytes_of(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file())


async def waiting(rt: Runtime, agent: Agent[str]) -> Any:
    run = await rt.start(agent, ["look at", Image(PHOTO), CANARY], by="ana")
    assert isinstance(await run.wait(30), Paused)
    return run


async def test_a_run_pauses_in_one_process_and_is_finished_in_another(address: str) -> None:
    agent = clerk()
    async with Runtime(address, [agent], encrypt=RING) as rt:
        run = await waiting(rt, agent)
    forget_keys()
    async with Runtime(address, [clerk()], encrypt=RING) as rt:
        run = await rt.get(run.id)
        [asked] = (await run.state()).interrupts
        await rt.approve(asked.ref, by="erik")
        done = await run.wait(30)
        assert isinstance(done, Completed) and done.output == f"done with {CANARY}"
        [row] = await rt.runs()
        assert row.title == "•••"
        found = await rt.store.verify()
        assert not found and found.unread == 0


async def test_nothing_that_was_said_is_in_a_byte_of_the_files(tmp_path: Path) -> None:
    agent = clerk()
    async with Runtime(f"sqlite:///{tmp_path}/runs.db", [agent], encrypt=RING) as rt:
        run = await waiting(rt, agent)
        assert CANARY.encode() not in bytes_of(tmp_path)
        [asked] = (await run.state()).interrupts
        await rt.approve(asked.ref, by="erik")
        await run.wait(30)
        assert CANARY.encode() not in bytes_of(tmp_path)
    assert CANARY.encode() not in bytes_of(tmp_path)
    async with Runtime(f"sqlite:///{tmp_path}/plain.db", [agent], encrypt=False) as rt:
        await waiting(rt, clerk())
    assert CANARY.encode() in bytes_of(tmp_path), "this test sees nothing"


async def test_a_checkpoint_of_an_encrypted_run_is_resumed_where_it_is(tmp_path: Path) -> None:
    agent = clerk()
    async with Runtime(f"sqlite:///{tmp_path}/runs.db", [agent], encrypt=RING) as rt:
        run = await rt.start(agent, CANARY, by="ana")
        paused = await run.wait(30)
        assert isinstance(paused, Paused)
        resumed = await rt.resume(paused.checkpoint, approved=True, by="erik")
        done = await resumed.wait(30)
        assert resumed.id == run.id and done.output == f"done with {CANARY}"


async def test_a_copy_of_the_store_is_encrypted_and_has_the_keys(address: str, tmp_path: Path) -> None:
    agent = clerk()
    async with Runtime(address, [agent], encrypt=RING) as rt:
        run = await waiting(rt, agent)
    copy = f"sqlite:///{tmp_path}/copy.db"
    await transfer(address, copy, by="ana")
    assert CANARY.encode() not in (tmp_path / "copy.db").read_bytes()
    forget_keys()
    async with Runtime(copy, [clerk()], encrypt=RING) as rt:
        assert len(await rt.store.load(run.id)) > 3
        assert list((await rt.store.blobs(run.id)).values()) == [PHOTO]


async def test_without_the_ring_the_error_says_what_to_do(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADJOURN_SECRET_KEYS", KeyRing.new_key("k7"))
    monkeypatch.setenv("ADJOURN_ENCRYPT", "yes")
    agent = clerk()
    async with Runtime(address, [agent]) as rt:
        run = await waiting(rt, agent)
    monkeypatch.setenv("ADJOURN_SECRET_KEYS", KeyRing.new_key("other"))
    forget_keys()
    async with Runtime(address, [clerk()]) as rt:
        with pytest.raises(KeyMissing, match="'k7', which is not available here") as missing:
            await (await rt.get(run.id)).state()
        assert "set ADJOURN_SECRET_KEYS" in missing.value.advice
        assert [entry.verb for entry in await rt.audit()] == ["start"]
        other = await rt.start(clerk(), "hello", by="ana")
        assert isinstance(await other.wait(30), Paused)


@pytest.mark.parametrize("wrong", ["yes", 7])
async def test_what_is_no_ring_is_refused(wrong: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidDefinition, match="encrypt= must be True, False or a KeyRing"):
        async with Runtime(f"sqlite:///{tmp_path}/runs.db", encrypt=wrong):
            pass
    with pytest.raises(InvalidDefinition, match="there is no key"):
        async with Runtime(f"sqlite:///{tmp_path}/runs.db", encrypt=True):
            pass
    monkeypatch.setenv("ADJOURN_ENCRYPT", "maybe")
    with pytest.raises(InvalidDefinition, match="ADJOURN_ENCRYPT must be yes or no"):
        async with Runtime(f"sqlite:///{tmp_path}/runs.db"):
            pass


async def test_a_store_that_is_gone_hides_no_key_of_another(tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    other = SQLiteStore(str(tmp_path / "gone" / "runs.db"))
    with pytest.raises(UnknownRun):
        await other.get("x")
    agent = clerk()
    async with Runtime(f"sqlite:///{tmp_path}/runs.db", [agent], encrypt=RING) as rt:
        run = await waiting(rt, agent)
        shutil.rmtree(tmp_path / "gone")
        forget_keys()
        assert (await run.state()).interrupts
        store: Any = rt.store
        store.encrypt(KeyRing({"k2": b"q" * 32}))
        forget_keys()
        with pytest.raises(KeyMissing, match="cannot be unwrapped here"):
            await store.load(run.id)
        store.encrypt(RING)
    await other.close()


async def ended(rt: Runtime, agent: Agent[str]) -> Any:
    run = await waiting(rt, agent)
    [asked] = (await run.state()).interrupts
    await rt.approve(asked.ref, by="erik")
    assert isinstance(await run.wait(30), Completed)
    return run


async def test_an_archive_is_encrypted_and_read_as_long_as_its_run_is_not_erased(address: str, tmp_path: Path) -> None:
    agent, folder = clerk(), tmp_path / "archive"
    async with Runtime(address, [agent], encrypt=RING) as rt:
        run = await ended(rt, agent)
        await rt.prune(older=0, by="ana", archive=folder)
        [file] = folder.iterdir()
        data = file.read_bytes()
        assert CANARY.encode() not in data and base64.b64encode(CANARY.encode() * 3) not in data
        forget_keys()
        saved = Checkpoint.from_json(data)
        assert (saved.run_id, saved.status, saved.input[1]["type"]) == (run.id, "completed", "image/png")
        assert list(saved.files.values()) == [PHOTO]
        store: Any = rt.store
        assert await store.rewrap(KeyRing({"k2": b"q" * 32, "k1": b"k" * 32})) == 1
        store.encrypt(KeyRing({"k2": b"q" * 32}))
        forget_keys()
        assert Checkpoint.from_json(data).run_id == run.id, "its key is rotated with the others"
        done = await rt.erase(run.id, by="ann", reason="request 311")
        assert (done.run, done.scrubbed) == (run.id, True)
        forget_keys()
        with pytest.raises(KeyMissing, match="it was erased"):
            Checkpoint.from_json(data)
        with pytest.raises(RunPruned, match="was pruned"):
            await rt.erase(run.id, by="ann", reason="again")
        [line] = [entry for entry in await rt.audit() if entry.verb == "erase archive"]
        assert (line.by, line.run_id, line.reason) == ("ann", run.id, "request 311")
        assert await rt.store.verify() == []


async def test_erasing_a_run_whose_pruning_was_cut_short_erases_what_was_archived(address: str, tmp_path: Path) -> None:
    agent = clerk()
    async with Runtime(address, [agent], encrypt=RING) as rt:
        run = await ended(rt, agent)
        saved = await run.checkpoint()
        await keep_key(rt.store, saved)
        file, _ = put(tmp_path / "archive", saved, None)  # here the process died
        await run.erase(by="ann", reason="request 311")
        forget_keys()
        with pytest.raises(KeyMissing, match="it was erased"):
            Checkpoint.from_json(file.read_bytes())


async def test_erasing_a_turn_erases_the_archives_of_later_ones(address: str, tmp_path: Path) -> None:
    agent = Agent("clerk", model=ScriptedModel(f"one {CANARY}", "two"))
    async with Runtime(address, [agent], encrypt=RING) as rt:
        first = await rt.start(agent, CANARY, by="ana")
        await first.wait(30)
        second = await rt.start(agent, "and now", by="ana", after=first)
        await second.wait(30)
        await keep_key(rt.store, saved := await second.checkpoint())
        file, digest = put(tmp_path / "archive", saved, None)
        await rt.store.prune(second.id, Pruning(saved.seq, rt.store.now(), "ana", "", str(file), digest))
        forget_keys()
        assert CANARY in str(Checkpoint.from_json(file.read_bytes()).messages)
        await first.erase(by="ann", reason="request 311")
        forget_keys()
        with pytest.raises(KeyMissing, match="it was erased"):
            Checkpoint.from_json(file.read_bytes())


async def test_a_checkpoint_is_sealed_if_that_is_wanted(address: str) -> None:
    agent = clerk()
    async with Runtime(address, [agent], encrypt=RING) as rt:
        run = await waiting(rt, agent)
        saved = await run.checkpoint()
        text = saved.to_json(sealed=True)
        assert CANARY in saved.to_json() and CANARY not in text and run.id in text
        resumed = await rt.resume(text, approved=True, by="erik")
        assert (await resumed.wait(30)).output == f"done with {CANARY}"
    for given in (text, text.encode(), json.loads(text), json.dumps(json.loads(text), indent=1)):
        with pytest.raises(KeyMissing, match="no store is open here") as missing:
            Checkpoint.from_json(given)
        assert "--db" in missing.value.advice
    with pytest.raises(CheckpointInvalid, match="not an encrypted checkpoint"):
        Checkpoint.from_json(text.replace('"box":"', '"box":"?'))
    async with Runtime(address, [clerk()], encrypt=RING) as rt:
        forget_keys()
        assert Checkpoint.from_json(text).run_id == run.id
        other = json.loads(text)
        other["box"] = "AAAA" + other["box"][4:]
        with pytest.raises(KeyMissing, match="was modified"):
            Checkpoint.from_json(other)


async def test_a_checkpoint_of_a_run_in_clear_is_not_sealed(tmp_path: Path) -> None:
    agent = clerk()
    async with Runtime(f"sqlite:///{tmp_path}/runs.db", [agent], encrypt=False) as rt:
        run = await waiting(rt, agent)
        with pytest.raises(InvalidDefinition, match="is not encrypted"):
            (await run.checkpoint()).to_json(sealed=True)


async def test_a_worker_without_the_key_takes_other_runs_and_says_which_it_cannot_read(
    address: str, caplog: pytest.LogCaptureFixture
) -> None:
    agent = Agent("clerk", model=ScriptedModel("done"))
    async with Runtime(address, [agent], encrypt=RING, work=False) as rt:
        locked = [await rt.start(agent, CANARY, by="ana") for _ in range(3)]
    async with Runtime(address, [agent], encrypt=False, work=False) as rt:
        clear = await rt.start(agent, "hello", by="ana")
    forget_keys()
    async with Runtime(address, [Agent("clerk", model=ScriptedModel("done"))], encrypt=False) as rt:
        assert (await (await rt.get(clear.id)).wait(30)).output == "done", "others are not held up"
        rows = [await rt.store.get(run.id) for run in locked]
        assert [(row.seq, row.epoch, row.status) for row in rows] == [(1, 0, "ready")] * 3
        assert sorted(note.run for note in await rt.store.misfits()) == sorted(run.id for run in locked)
        assert all("set ADJOURN_SECRET_KEYS" in note.why for note in await rt.store.misfits())
        told = (await rt.fleet()).unfit
        assert sum(one.runs for one in told) == 3 and "encrypted" in told[0].why
    warned = [record for record in ours(caplog) if "is not advanced here: the run is encrypted" in record.getMessage()]
    assert len(warned) == 3 and CANARY not in caplog.text
    async with Runtime(address, [Agent("clerk", model=ScriptedModel("done"))], encrypt=RING) as rt:
        for run in locked:
            assert (await (await rt.get(run.id)).wait(30)).output == "done"
        assert await rt.store.misfits() == []


async def test_a_key_that_comes_late_is_looked_for_again(tmp_path: Path) -> None:
    address, clock = f"sqlite:///{tmp_path}/runs.db", FakeClock()
    agent = Agent("clerk", model=ScriptedModel("done"))
    async with Runtime(address, [agent], encrypt=RING, work=False) as rt:
        run = await rt.start(agent, CANARY, by="ana")
    forget_keys()
    store = SQLiteStore(str(tmp_path / "runs.db"), now=clock.now)
    fitness = Fitness(store, "w", resources={}, on_change="refuse", trust=None)
    fitness.register(agent.program)
    await fitness.misfits(run.id, KeyMissing("not here"), None)
    assert await fitness.refused() == [run.id]
    clock.advance(61)
    assert await fitness.refused() == []
    await store.close()


@pytest.mark.parametrize("how", ["fork", "again", "next turn"])
async def test_what_begins_with_what_an_encrypted_run_said_is_encrypted_also_where_others_are_not(
    address: str, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = KeyRing.new_key()
    monkeypatch.setenv("ADJOURN_SECRET_KEYS", text)
    async with Runtime(address, [agent := clerk()], encrypt=True) as rt:
        first = await rt.start(agent, CANARY, by="ana")
        assert isinstance(asked := await first.wait(30), Paused)
        await rt.approve(asked.interrupts[0].ref, by="erik")
        assert isinstance(await first.wait(30), Completed)
    forget_keys()
    async with Runtime(address, [agent := clerk()], encrypt=False) as rt:
        run = await rt.get(first.id)
        if how == "fork":
            copy = await run.fork(by="ana")
        elif how == "again":
            copy = await run.again(by="ana")
        else:
            copy = await rt.start(agent, "and again", after=run, by="ana")
        assert len((await rt.store.get(copy.id)).salt) == len((await rt.store.get(first.id)).salt)
        plain = await rt.start(agent, "else", by="ana")
        assert len((await rt.store.get(plain.id)).salt) < len((await rt.store.get(first.id)).salt)


@pytest.mark.parametrize("how", ["fork", "again"])
async def test_a_copy_of_an_encrypted_run_is_refused_where_nothing_could_encrypt_it(address: str, how: str) -> None:
    async with Runtime(address, [agent := clerk()], encrypt=RING) as rt:
        first = await rt.start(agent, CANARY, by="ana")
        assert isinstance(asked := await first.wait(30), Paused)
        await rt.approve(asked.interrupts[0].ref, by="erik")
        await first.wait(30)
    async with Runtime(address, [clerk()], encrypt=False) as rt:  # its key is still known to this process
        with pytest.raises(KeyMissing, match="no key ring here to encrypt it"):
            await getattr(await rt.get(first.id), how)(by="ana")
        assert len(await rt.runs()) == 1
