"""`adjourn erase`, `adjourn db scrub`: what is gone, what is said, and that nobody does it by mistake."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.conftest import Pty, Run, advance, begin

from adjourn import Agent
from adjourn.testing import ScriptedModel

WHY = ("--by", "ann", "--reason", "she asked for it")


@pytest.fixture
def ended() -> str:
    agent = Agent("clerk", model=ScriptedModel("Sorry about order 4417."))
    [run] = asyncio.run(begin(agent))
    asyncio.run(advance(agent, run=run))
    return run


def test_an_erased_run_is_shown_as_what_is_left_of_it(adjourn: Run, ended: str) -> None:
    assert "4417" in adjourn("show", ended).out
    said = adjourn("erase", ended, *WHY, "--yes")
    assert said.code == 0 and said.out.startswith(f"erased  {ended}  by ann: she asked for it")
    assert "Backups" in said.err
    shown = adjourn("show", ended)
    assert shown.code == 0 and "erased by ann: she asked for it" in shown.out and "4417" not in shown.out
    assert "erased by ann" in adjourn("runs").out
    now = adjourn("show", ended, "--json").json["now"]
    assert (now["verb"], now["by"], now["reason"]) == ("ended", "ann", "she asked for it")
    assert '"t": "erased"' in adjourn("show", ended, "--journal").out.replace('":"', '": "')
    assert adjourn("watch", ended).code == 0
    assert "she asked for it" in adjourn("audit", "show", ended).out
    assert adjourn("audit", "verify").code == 0 and adjourn("db", "check").code == 0
    again = adjourn("erase", ended, "--by", "bo", "--reason", "again", "--yes", "--json")
    assert again.code == 0 and (again.json["by"], again.json["scrubbed"]) == ("ann", True)


@pytest.mark.parametrize("verb", [("show", "--checkpoint"), ("fork",), ("say", "hello"), ("cancel",)])
def test_what_needs_its_content_says_that_it_was_erased(adjourn: Run, ended: str, verb: tuple[str, ...]) -> None:
    adjourn("erase", ended, *WHY, "--yes")
    name, *rest = verb
    options = [x for x in rest if x.startswith("--")]
    said = adjourn(name, ended, *[x for x in rest if x not in options], *options)
    assert said.code == 1 and "was erased by ann: she asked for it" in said.err


def test_a_run_that_waits_is_not_erased(adjourn: Run, waiting: str) -> None:
    said = adjourn("erase", waiting, *WHY, "--yes")
    assert said.code == 1 and said.err.startswith("✗ Not erased:") and "Cancel it first" in said.err
    assert "needs approval" in adjourn("show", waiting).out


def test_without_a_terminal_it_wants_the_whole_id_and_a_yes(adjourn: Run, ended: str) -> None:
    for given in ((ended,), (ended[:6],), (ended[:6], "--yes")):
        said = adjourn("erase", *given, *WHY)
        assert said.code == 2 and f"adjourn erase {ended} --reason 'she asked for it' --yes" in said.err
    assert adjourn("erase", ended, "--yes").code == 2, "a reason is needed"
    assert "4417" in adjourn("show", ended).out


def test_at_a_terminal_it_asks(terminal: Callable[..., Pty], ended: str, adjourn: Run) -> None:
    for answer, code, left in (("no", 2, True), ("yes", 0, False)):
        asked = terminal("erase", ended[:6], *WHY)
        asked.see(ended)
        asked.answer("It cannot be undone.", answer)
        assert asked.end() == code
        assert ("4417" in adjourn("show", ended).out) is left


def test_the_bytes_can_be_left_for_later(adjourn: Run, ended: str) -> None:
    said = adjourn("erase", ended, *WHY, "--yes", "--no-scrub")
    assert said.code == 0 and "adjourn db scrub" in said.err
    done = adjourn("db", "scrub")
    assert done.code == 0 and "nothing that was erased" in done.out
    assert adjourn("db", "scrub", "--json").json == {"scrubbed": True}


def test_only_an_admin_erases(adjourn: Run, ended: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, role in (("root", "admin"), ("op", "operator")):
        key = adjourn("user", "add", name, "--role", role).out.split()[-1]
        monkeypatch.setenv("ADJOURN_KEY", key)
    said = adjourn("erase", ended, "--reason", "she asked for it", "--yes")
    assert said.code == 1 and "4417" in adjourn("show", ended).out


def test_a_conversation_is_erased_whole(adjourn: Run) -> None:
    Path("talk.py").write_text(
        "from adjourn import Agent\nfrom adjourn.testing import ScriptedModel\n"
        "talk = Agent('talk', model=ScriptedModel('one', 'two'))\n"
    )
    for run in ("t1", "t2"):
        assert adjourn("run", "talk.py:talk", "hello", "--session", "s", "--id", run).code == 0
    refused = adjourn("erase", "t1", *WHY, "--whole")
    assert refused.code == 2 and "--whole --yes" in refused.err
    said = adjourn("erase", "t1", *WHY, "--whole", "--yes")
    assert [line.split("  ")[:2] for line in said.out.splitlines()] == [["erased", "t1"], ["erased", "t2"]]
    now = adjourn("show", "t2", "--json").json["now"]
    assert (now["verb"], now["by"], now["reason"]) == ("ended", "ann", "she asked for it")
