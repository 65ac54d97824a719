"""`adjourn keys`, and the options that sign: `--signing-key` and `--deciders`."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli import shop
from tests.cli.conftest import SECONDS, Run

from adjourn import SigningKey
from adjourn.core.signatures import read_ring

SHOP = str(Path(shop.__file__))


def test_a_key_is_made_and_its_line_is_the_data(adjourn: Run) -> None:
    said = adjourn("keys", "new", "server.key", "--name", "prod")
    assert said.code == 0 and said.err.startswith("The private key is in server.key")
    [decider] = read_ring(said.out, "stdout").values()
    assert (decider.name, decider.person, decider.kid) == ("prod", False, SigningKey.load("server.key").kid)
    if os.name == "posix":
        assert stat.S_IMODE(Path("server.key").stat().st_mode) == 0o600
    assert adjourn("keys", "show", "server.key", "--name", "prod").out == said.out


def test_a_persons_key_has_their_groups(adjourn: Run) -> None:
    made = adjourn(
        "keys", "new", "ana.key", "--person", "--name", "Ana M.", "--group", "leads", "--group", "night shift", "--json"
    )
    assert set(made.json) == {"file", "kid", "line"}
    [decider] = read_ring(made.json["line"], "line").values()
    assert (decider.name, decider.person, decider.groups) == ("Ana M.", True, ("leads", "night shift"))


def test_wrong_input_is_told(adjourn: Run) -> None:
    adjourn("keys", "new", "server.key")
    before = Path("server.key").read_bytes()
    for words, why in (
        (["new", "server.key"], "already exists"),
        (["new", "other.key", "--group", "leads"], "--group needs --person"),
        (["new", "nowhere/server.key"], "cannot be written"),
        (["show", "nothing.key"], "cannot be read"),
        (["require"], "there is no database"),
    ):
        said = adjourn("keys", *words)
        assert said.code == 2 and why in said.err and said.out == "", words
    assert Path("server.key").read_bytes() == before and not Path("other.key").exists()


def test_inside_of_a_run_no_key_is_made(adjourn: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADJOURN_INSIDE", "1")
    said = adjourn("keys", "new", "server.key")
    assert said.code != 0 and "a run cannot make keys" in said.err and not Path("server.key").exists()


def test_a_database_that_asks_for_signatures_refuses_others_until_it_is_told_not_to(adjourn: Run, waiting: str) -> None:
    assert adjourn("keys", "require", "--by", "ana").out == "Decisions must be signed.\n"
    said = adjourn("approve", f"{waiting}:2.0?0", "--by", "ana")
    assert said.code != 0 and "Not approved" in said.err and "--signing-key FILE" in said.err
    assert adjourn("keys", "require", "--off", "--json").json == {"required": False}
    assert adjourn("approve", f"{waiting}:2.0?0", "--by", "ana").code == 0


@pytest.mark.parametrize("verb", ["approve", "deny"])
def test_a_person_signs_at_the_terminal(adjourn: Run, waiting: str, verb: str) -> None:
    adjourn("keys", "new", "ana.key", "--person", "--name", "ana")
    adjourn("keys", "require")
    assert adjourn(verb, f"{waiting}:2.0?0", "--by", "ana", "--signing-key", "ana.key").code == 0
    [line] = [x for x in adjourn("audit", "show", waiting, "--json").json if x.get("verdict")]
    assert line["more"]["kid"] == SigningKey.load("ana.key").kid


def test_a_key_that_is_none_is_told(adjourn: Run, waiting: str) -> None:
    for file, why in (("nothing.key", "cannot be read"), (SHOP, "is not a signing key|every user of this machine")):
        said = adjourn("approve", f"{waiting}:2.0?0", "--by", "ana", "--signing-key", file)
        assert said.code == 2 and said.out == "" and any(part in said.err for part in why.split("|"))


def test_a_worker_verifies_and_says_what_it_does_not_believe(adjourn: Run, waiting: str, process: Run) -> None:
    """The decision of somebody else's key is disowned; lists and the item say so, and a signed one runs."""
    line = adjourn("keys", "new", "server.key", "--name", "prod").out
    Path("deciders").write_text(line)
    adjourn("keys", "new", "thief.key")
    assert adjourn("approve", f"{waiting}:2.0?0", "--by", "ana", "--signing-key", "thief.key").code == 0
    command = [sys.executable, "-m", "adjourn", "worker", f"{SHOP}:refunds", "--deciders", "deciders"]
    env = {**os.environ, "SHOP_LEDGER": "paid"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env) as worker:
        try:
            assert worker.stdout is not None
            assert "waiting" in worker.stdout.readline()
            listed = adjourn("inbox")
            assert "not signed by a person whom this worker trusts: ana" in listed.out
            whole = adjourn("inbox", "1")
            assert "again: not signed by a person whom this worker trusts: ana" in whole.out
            assert "not signed by a person whom this worker trusts: ana" in adjourn("show", waiting).out
            assert not Path("paid").exists()
            done = adjourn("approve", "1", "--by", "ana", "--signing-key", "server.key", "--wait", str(SECONDS))
            assert done.code == 0
            assert Path("paid").read_text() == "refund 48250\n"
        finally:
            worker.terminate()
            _, talk = worker.communicate(timeout=SECONDS)
    assert "the decision of ana does not count" in talk


def test_without_deciders_a_worker_does_not_start_there(adjourn: Run, waiting: str, process: Run) -> None:
    adjourn("keys", "require")
    said = process("worker", f"{SHOP}:refunds")
    assert said.code != 0 and "Not started" in said.err and "--deciders FILE" in said.err
    said = process("worker", f"{SHOP}:refunds", "--deciders", "nobody")
    assert said.code == 2 and "'nobody' cannot be read" in said.err
    Path("deciders").write_text("ed25519 oops\n")
    said = process("worker", f"{SHOP}:refunds", "--deciders", "deciders")
    assert said.code == 2 and "deciders, line 1" in said.err


def test_a_key_says_once_more_whose_it_is(adjourn: Run) -> None:
    """A person's key must not become an authority's, which signs for anybody."""
    made = adjourn("keys", "new", "p.key", "--person", "--name", "ana", "--group", "leads").out.strip()
    assert adjourn("keys", "show", "p.key").out.strip() == made and "person=ana" in made
    assert "authority desk" in adjourn("keys", "show", "p.key", "--name", "desk").out
    old = Path("p.key").read_text().partition("\n")[2]
    Path("p.key").write_text(old)
    said = adjourn("keys", "show", "p.key")
    assert said.code != 0 and "--name NAME" in said.err
