"""Encrypted runs on the command line: rotation that is killed, done twice and lacks a key; sealed checkpoints; erased archives."""

import asyncio
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli import shop
from tests.cli.conftest import Run, begin

from adjourn import Agent, Runtime
from adjourn.secrets import KeyRing
from adjourn.stores.run_keys import forget_keys
from adjourn.testing import ScriptedModel

SHOP = str(Path(shop.__file__))
CARD = "4111-1111-canary"
OLD, NEW = KeyRing.new_key("old"), KeyRing.new_key("new")
RUNS = 5
DIES = """
import os, signal
from adjourn.cli import main
from adjourn.secrets import KeyRing

seal, calls = KeyRing.seal, []

def dying(self, *args, **named):
    calls.append(1)
    if len(calls) == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return seal(self, *args, **named)

KeyRing.seal = dying
main()
"""
Keys = Callable[[str], None]


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> Keys:
    """Sets the ring of the environment, as a new process has it."""
    monkeypatch.setenv("ADJOURN_ENCRYPT", "yes")

    def use(ring: str) -> None:
        monkeypatch.setenv("ADJOURN_SECRET_KEYS", ring)
        forget_keys()

    use(OLD)
    return use


@pytest.fixture
def ended(db: str, keys: Keys) -> list[str]:
    agents = [Agent(f"clerk{number}", model=ScriptedModel(f"charged {CARD}")) for number in range(RUNS)]
    return asyncio.run(begin(*agents, db=db, input=f"charge {CARD}"))


def rewrap(script: str | None = None) -> "subprocess.Popen[str]":
    """`adjourn db rewrap` in a process of its own."""
    how = ["-c", script] if script else ["-m", "adjourn"]
    return subprocess.Popen(
        [sys.executable, *how, "db", "rewrap"], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def is_read(adjourn: Run, runs: list[str]) -> bool:
    return all(CARD in adjourn("show", run, "--journal").out for run in runs)


def test_a_rotation_that_is_killed_in_the_middle_loses_nothing_and_is_done_again(
    adjourn: Run, ended: list[str], keys: Keys
) -> None:
    keys(f"{NEW},{OLD}")
    killed = rewrap(DIES)
    killed.communicate(timeout=60)
    assert killed.returncode == -signal.SIGKILL
    keys(OLD)
    assert is_read(adjourn, ended), "no key was wrapped anew"
    keys(f"{NEW},{OLD}")
    assert adjourn("db", "rewrap", "--json").json == {"rewrapped": RUNS}
    keys(NEW)
    assert is_read(adjourn, ended)


def test_two_rotations_at_once_are_as_one(adjourn: Run, ended: list[str], keys: Keys) -> None:
    keys(f"{NEW},{OLD}")
    both = [rewrap(), rewrap()]
    said = [one.communicate(timeout=60) for one in both]
    assert [one.returncode for one in both] == [0, 0], said
    assert all(f"{RUNS} keys wrapped" in out for out, _ in said)
    keys(NEW)
    assert is_read(adjourn, ended)


def test_without_the_old_key_nothing_is_wrapped_and_it_says_what_to_do(
    adjourn: Run, ended: list[str], keys: Keys, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys(NEW)
    said = adjourn("db", "rewrap")
    assert (
        said.code != 0 and "'old', which is not available here" in said.err and "no key was wrapped" in said.err.lower()
    )
    assert "keep the old keys in the ring" in said.err.lower()
    keys(OLD)
    assert is_read(adjourn, ended)
    monkeypatch.delenv("ADJOURN_SECRET_KEYS")
    monkeypatch.delenv("ADJOURN_ENCRYPT")
    said = adjourn("db", "rewrap")
    assert said.code != 0 and "ADJOURN_SECRET_KEYS" in said.err


def test_without_the_key_a_command_says_what_to_do(adjourn: Run, ended: list[str], keys: Keys) -> None:
    keys(NEW)
    said = adjourn("show", ended[0])
    assert said.code != 0 and "'old', which is not available here" in said.err and "ADJOURN_SECRET_KEYS" in said.err
    assert adjourn("audit", "verify").code == 0


def test_a_sealed_checkpoint_is_read_with_its_database_until_the_run_is_erased(
    adjourn: Run, ended: list[str], keys: Keys
) -> None:
    said = adjourn("show", ended[0], "--checkpoint", "--sealed")
    assert said.code == 0 and CARD not in said.out
    Path("saved.json").write_text(said.out)
    assert CARD in adjourn("show", ended[0], "--checkpoint").out
    shown = adjourn("checkpoint", "show", "saved.json")
    assert shown.code == 0 and CARD in shown.out
    assert adjourn("checkpoint", "verify", "saved.json").code == 0
    assert adjourn("show", ended[0], "--sealed").code == 2
    assert adjourn("erase", ended[0], "--by", "ann", "--reason", "asked", "--yes").code == 0
    forget_keys()
    gone = adjourn("checkpoint", "show", "saved.json")
    assert gone.code != 0 and "it was erased" in gone.err and CARD not in gone.out


def test_a_checkpoint_of_a_run_in_clear_cannot_be_sealed(adjourn: Run, waiting: str) -> None:
    said = adjourn("show", waiting, "--checkpoint", "--sealed")
    assert said.code != 0 and "is not encrypted" in said.err


def test_the_archive_of_a_pruned_run_is_sealed_and_erased(adjourn: Run, db: str, ended: list[str], keys: Keys) -> None:
    assert adjourn("db", "prune", "--older", "0m", "--archive", "old", "--by", "ann").code == 0
    files = {file: file.read_bytes() for file in Path("old").iterdir()}
    assert len(files) == RUNS and not any(CARD.encode() in data for data in files.values())
    [mine] = [file for file in files if ended[0] in file.name]
    assert CARD in adjourn("checkpoint", "show", str(mine)).out
    said = adjourn("erase", ended[0], "--by", "ann", "--reason", "request 311", "--yes")
    assert said.code == 0 and f"erased  {ended[0]}  by ann" in said.out, said.err
    forget_keys()
    assert "it was erased" in adjourn("checkpoint", "show", str(mine)).err
    [other] = [file for file in files if ended[1] in file.name]
    assert CARD in adjourn("checkpoint", "show", str(other)).out
    assert "request 311" in adjourn("audit", "show", ended[0]).out
    assert adjourn("audit", "verify").code == 0 and adjourn("db", "check").code == 0


def test_what_a_worker_lacks_the_key_of_is_told_by_doctor_and_workers(
    adjourn: Run, db: str, keys: Keys, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = Agent("clerk", model=ScriptedModel("done"))

    async def left() -> str:
        async with Runtime(db, [agent], work=False) as rt:
            locked = await rt.start(agent, f"charge {CARD}", by="ana")
        monkeypatch.setenv("ADJOURN_ENCRYPT", "no")
        async with Runtime(db, [agent], work=False) as rt:
            clear = await rt.start(agent, "hello", by="ana")
        keys(NEW)
        async with Runtime(db, [agent]) as rt:
            await (await rt.get(clear.id)).wait(30)
        return locked.id

    run = asyncio.run(left())
    said = adjourn("doctor").out
    assert f"{run}: no worker fits: the run is encrypted" in " ".join(said.split()) and CARD not in said
    told = " ".join(adjourn("workers").out.split())
    assert "the run is encrypted, and its key cannot be unwrapped here" in told
