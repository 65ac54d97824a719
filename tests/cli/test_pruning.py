"""`adjourn db prune`, `adjourn hold`: what goes, what stays, and what is said of it."""

import asyncio
from pathlib import Path

import pytest
from tests.cli.conftest import Run, advance, begin

from adjourn import Agent
from adjourn.testing import ScriptedModel

NOW = ("--older", "0m", "--by", "ann")


@pytest.fixture
def ended() -> str:
    agent = Agent("clerk", model=ScriptedModel("Sorry about order 4417."))
    [run] = asyncio.run(begin(agent))
    asyncio.run(advance(agent, run=run))
    return run


def test_a_dry_run_says_how_many_and_how_large_and_changes_nothing(adjourn: Run, ended: str, waiting: str) -> None:
    said = adjourn("db", "prune", *NOW, "--dry-run")
    assert said.code == 0 and said.out.startswith("1 run would be pruned, ") and "bytes" in said.out
    assert adjourn("db", "prune", "--older", "30d", "--dry-run").out.startswith("0 runs would be pruned, 0 bytes")
    assert ended in adjourn("runs", "--json").out


def test_what_was_pruned_is_in_its_archive_and_in_the_audit(adjourn: Run, ended: str, waiting: str) -> None:
    said = adjourn("db", "prune", *NOW, "--archive", "old", "--reason", "our rule")
    assert said.code == 0 and said.out.startswith("1 run pruned, ") and "adjourn db scrub" in said.err
    assert str(Path("old").resolve()) in said.err
    [file] = Path("old").iterdir()
    shown = adjourn("checkpoint", "show", str(file))
    assert shown.code == 0 and ended in shown.out
    assert adjourn("checkpoint", "verify", str(file)).code == 0
    left = adjourn("runs", "--json").out
    assert ended not in left and waiting in left
    assert adjourn("show", ended).code == 2
    assert "our rule" in adjourn("audit", "show", ended).out
    assert adjourn("audit", "verify").code == 0 and adjourn("db", "check").code == 0
    assert adjourn("db", "scrub").code == 0
    again = adjourn("db", "prune", *NOW, "--json").json
    assert (again["runs"], again["dry_run"]) == (0, False)


def test_what_is_on_hold_stays_and_it_is_said_how_to_lift_it(adjourn: Run, ended: str) -> None:
    assert "Nothing is on hold." in adjourn("hold").out
    said = adjourn("hold", ended[:8], "--reason", "case 7", "--by", "ann")
    assert said.code == 0 and f"run:{ended}  by ann: case 7" in said.out
    pruned = adjourn("db", "prune", *NOW)
    assert pruned.out.startswith("0 runs pruned") and "1 run on hold, not pruned: adjourn hold" in pruned.err
    refused = adjourn("erase", ended, "--reason", "asked to", "--by", "bo", "--yes")
    assert refused.code == 1 and f"adjourn hold {ended} --lift" in " ".join(refused.err.split())
    assert adjourn("hold", ended, "--lift", "--by", "ann").out.startswith("Nothing is on hold.")
    assert adjourn("db", "prune", *NOW).out.startswith("1 run pruned")


def test_a_label_is_held_as_well(adjourn: Run, ended: str) -> None:
    assert adjourn("hold", "--label", "a=b", "--reason", "case 7", "--json").json[0]["scope"] == "label:a=b"
    assert adjourn("hold", "--label", "a=b", "--lift", "--json").json == []
    for wrong in (("RUN",), (ended, "--label", "a=b", "--reason", "x"), (ended,), ("--label", "a", "--reason", "x")):
        assert adjourn("hold", *wrong).code in (1, 2)


@pytest.mark.parametrize("wrong", [("--older", "soon"), ("--older", "1h", "--status", "waiting"), ()])
def test_what_makes_no_sense_is_refused(adjourn: Run, ended: str, wrong: tuple[str, ...]) -> None:
    said = adjourn("db", "prune", *wrong)
    assert said.code == 2 and ended in adjourn("runs", "--json").out


def test_only_an_admin_prunes_or_holds(adjourn: Run, ended: str, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = {role: adjourn("user", "add", role, "--role", role).out.split()[-1] for role in ("admin", "operator")}
    monkeypatch.setenv("ADJOURN_KEY", keys["operator"])
    for words in (("hold", ended, "--reason", "x"), ("db", "prune", "--older", "0m")):
        said = adjourn(*words)
        assert said.code == 1 and "403" in said.err
    monkeypatch.setenv("ADJOURN_KEY", keys["admin"])
    assert adjourn("db", "prune", "--older", "0m").code == 0
