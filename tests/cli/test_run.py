"""`adjourn run` at a terminal of its own: Ctrl-C once, twice, three times; approvals and questions right there."""

import asyncio
import json
import shlex
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.again import wait_until
from tests.cli import yard
from tests.cli.conftest import SECONDS, AtTerminal, Pty, Run, advance

YARD = str(Path(yard.__file__))


@pytest.fixture(autouse=True)
def _gates(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("YARD", str(tmp_path))


def reached(name: str) -> None:
    until = time.monotonic() + SECONDS
    while not Path(f"{name}.reached").exists():
        wait_until(until, f"{name} was never reached")
        time.sleep(0.01)


def ledger() -> list[str]:
    return Path("ledger").read_text().splitlines() if Path("ledger").exists() else []


def only_run(adjourn: Run) -> dict[str, Any]:
    [run] = adjourn("runs", "--json").json
    return run


@pytest.fixture
def deploying(terminal: AtTerminal) -> Callable[[], Pty]:
    """A run that has made two servers, told everybody, and waits in a tool."""

    def begin() -> Pty:
        pty = terminal("run", f"{YARD}:deploy", "Ship it")
        reached("healthy")
        pty.see("wait_healthy")
        return pty

    return begin


def test_ctrl_c_pauses_at_the_next_boundary_and_resume_goes_on(
    deploying: Callable[[], Pty], adjourn: Run, terminal: AtTerminal
) -> None:
    pty = deploying()
    pty.interrupt()
    pty.see("‖ Pausing… finishing wait_healthy")
    pty.see("nothing new starts.")
    pty.see("Ctrl-C again: cancel and undo 2.")
    Path("healthy").touch()
    pty.see("‖ Paused at step 3.0. The run is saved, nothing is running.")
    pty.see("adjourn resume ")
    pty.see("--instruction")
    assert pty.end() == 3
    run = only_run(adjourn)
    assert run["status"] == "paused"
    again = terminal("run", f"{YARD}:deploy", "--resume", run["run_id"][:6])
    again.see("Deployed.")
    assert again.end() == 0
    assert ledger() == ["create a", "create b", "announce #kestrel"], "nothing was done twice"


def test_a_second_ctrl_c_cancels_and_undoes(deploying: Callable[[], Pty], adjourn: Run) -> None:
    pty = deploying()
    pty.interrupt()
    pty.see("Ctrl-C again: cancel and undo 2.")
    pty.interrupt()
    pty.see("↶ Cancelling… undoing 2, last action first.")
    pty.see("Ctrl-C again: stop this process now. The list of undos is saved.")
    Path("healthy").touch()
    pty.see("2 undone, 1 not undone: announce")
    assert pty.end() == 4
    assert ledger()[-2:] == ["remove b", "remove a"]
    assert only_run(adjourn)["status"] == "cancelled"
    assert "1/2 undo create" in pty.plain and "2/2 undo create" in pty.plain


def test_a_third_ctrl_c_kills_and_a_worker_does_what_is_owed(deploying: Callable[[], Pty], adjourn: Run) -> None:
    Path("slow-undo").touch()
    pty = deploying()
    pty.interrupt()
    pty.see("Ctrl-C again: cancel and undo 2.")
    pty.interrupt()
    pty.see("Ctrl-C again: stop this process now.")
    Path("healthy").touch()
    reached("undo")
    pty.interrupt()
    pty.see("✗ Killed. 2 undos are still owed.")
    pty.see("They run when a worker starts  adjourn worker")
    assert pty.end() == 130
    assert "remove a" not in ledger()
    Path("undo").touch()
    outcome = asyncio.run(advance(yard.deploy, run=only_run(adjourn)["run_id"]))
    assert outcome.status == "cancelled" and ledger()[-2:] == ["remove b", "remove a"]


@pytest.mark.parametrize("presses", [1, 3])
def test_ctrl_c_leaves_what_the_terminal_has_not_shown_yet(
    deploying: Callable[[], Pty], presses: int, adjourn: Run
) -> None:
    Path("slow-undo").touch()  # else it may have ended before the third
    pty = deploying()
    assert pty.keeps_output, "else half a picture is gone, and the next is drawn over the wrong lines"
    for said in ["it will pause", "The list of undos is saved", "Killed"][:presses]:
        pty.interrupt()
        pty.see(said)
    Path("healthy").touch()
    assert pty.end() == (3 if presses == 1 else 130)
    assert not pty.keeps_output, "it is as it was"


def test_an_approval_is_asked_right_there(terminal: AtTerminal, adjourn: Run) -> None:
    pty = terminal("run", f"{YARD}:guarded", "Two servers")
    pty.see("create needs approval")
    pty.see("servers cost money")
    assert ledger() == []
    pty.answer("pprove once", "a")
    pty.answer("exactly as shown?", "yes")
    pty.see("create needs approval")
    pty.answer("pprove once", "deny")
    pty.answer("Why?", "one is enough")
    pty.see("Both are up.")
    assert pty.end() == 0
    assert ledger() == ["create a"]
    shown = adjourn("show", only_run(adjourn)["run_id"]).out
    assert "approved by" in shown and "one is enough" in shown


def test_enter_and_keys_typed_ahead_approve_nothing(terminal: AtTerminal) -> None:
    pty = terminal("run", f"{YARD}:deploy", "Ship it")
    reached("healthy")
    pty.type("a")
    pty.type("yes")
    Path("healthy").touch()
    assert pty.end() == 0
    Path("ledger").unlink()
    pty = terminal("run", f"{YARD}:guarded", "Two servers")
    pty.see("ater  ?")
    pty.see("› ")
    pty.press("\n\n\n")
    pty.see("ater  ?")
    pty.answer("", "later")
    pty.see("Waiting for a person")
    assert pty.end() == 3 and ledger() == []


def test_ctrl_c_at_a_prompt_leaves_it_waiting(terminal: AtTerminal, adjourn: Run) -> None:
    pty = terminal("run", f"{YARD}:guarded", "Two servers")
    pty.see("ater  ?")
    pty.see("› ")
    pty.interrupt()
    pty.see("◆ Waiting for a person: 1 item. The run is saved.")
    pty.see("adjourn approve ")
    assert pty.end() == 3
    assert only_run(adjourn)["status"] == "waiting"


def test_what_somebody_else_decides_is_not_asked_any_more(terminal: AtTerminal, adjourn: Run) -> None:
    pty = terminal("run", f"{YARD}:guarded", "Two servers")
    pty.see("ater  ?")
    run = only_run(adjourn)["run_id"]
    adjourn("inbox")
    assert adjourn("approve", run, "--by", "ana").code == 0
    pty.see("approved by ana")
    pty.see("ater  ?")
    assert ledger() == ["create a"]
    adjourn("inbox")
    assert adjourn("deny", run, "--by", "ana").code == 0
    pty.see("Both are up.")
    assert pty.end() == 0


def test_a_question_is_asked_right_there(terminal: AtTerminal) -> None:
    pty = terminal("run", f"{YARD}:asker", "Choose")
    pty.see("Which one?")
    pty.answer("answer ", "the left one")
    pty.answer('Answer "the left one"?', "yes")
    pty.see("As you say")
    assert pty.end() == 0


def test_text_is_seen_while_the_model_still_writes(terminal: AtTerminal) -> None:
    pty = terminal("run", f"{YARD}:talker", "Talk")
    pty.see("word3 ")
    assert "word199" not in pty.text
    pty.interrupt()
    pty.see("Pausing… finishing the model call")
    pty.interrupt()
    pty.see("there is nothing to undo")
    assert pty.end() == 4


def test_in_a_pipe_stdout_is_the_output_and_nothing_else(process: Run) -> None:
    Path("healthy").touch()
    said = process("run", f"{YARD}:deploy", "Ship it", "--label", "team=ops", "--session", "s1", "--id", "ship-1")
    assert (said.code, said.out) == (0, "Deployed.\n")
    assert "\x1b" not in said.err and "✓ create" in said.err and "✓ Completed  ship-1" in said.err
    [run] = process("runs", "--json", "--label", "team=ops", "--session", "s1").json
    assert run["run_id"] == "ship-1" and run["input"] == "Ship it"


def test_in_a_pipe_an_approval_is_not_asked_but_told(process: Run) -> None:
    said = process("run", f"{YARD}:guarded", "Two servers")
    assert said.code == 3 and said.out == ""
    command = shlex.split(next(line for line in said.err.splitlines() if "adjourn approve" in line))
    assert process(*command[2:]).code == 0, "what was printed can be typed"
    here = shlex.split(next(line for line in said.err.splitlines() if line.strip().startswith("here")))
    again = process(*here[2:])
    assert again.code == 3 and ledger() == ["create a"]


def test_json_is_one_event_a_line_and_ends_with_the_output(process: Run) -> None:
    Path("healthy").touch()
    said = process("run", f"{YARD}:deploy", "Ship it", "--json")
    events = [json.loads(line) for line in said.out.splitlines()]
    assert [e["seq"] for e in events if e["event"] == "record"] == [*range(1, len(events))]
    assert events[-1]["event"] == "end" and events[-1]["output"] == "Deployed." and said.code == 0


def test_a_failure_exits_with_one_and_says_how_to_go_on(process: Run) -> None:
    said = process("run", f"{YARD}:failing", "x")
    assert said.code == 1 and "✗ Failed  " in said.err and "no such model" in said.err
    again = next(line for line in said.err.splitlines() if line.strip().startswith("again")).split()
    assert process(*again[2:]).out == "Well again.\n", "it goes on at the step that failed"


def test_a_flow_takes_json_and_gives_its_state(process: Run) -> None:
    said = process("run", f"{YARD}:counting", '{"n": 21}', "--data")
    assert said.code == 0 and json.loads(said.out) == {"doubled": 42}


def test_an_input_can_come_from_stdin(process: Run) -> None:
    Path("healthy").touch()
    assert process("run", f"{YARD}:deploy", "-", typed="from a pipe").code == 0
    assert only_run(process)["input"] == "from a pipe"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([f"{YARD}:nobody", "x"], "has no 'nobody'"),
        (["nothing", "x"], "write app.py:agent"),
        ([f"{YARD}:deploy", "x", "--label", "ops"], "NAME=VALUE"),
        ([f"{YARD}:deploy", "x", "--resume", "7Q2M"], "emove INPUT"),
        ([f"{YARD}:deploy", "--resume", "7Q2M"], "7Q2M"),
        ([f"{YARD}:deploy", "x", "--instruction", "y"], "--instruction needs --resume"),
        ([f"{YARD}:deploy", "{", "--data"], "INPUT"),
        ([f"{YARD}:deploy", "--data"], "INPUT is missing"),
        ([f"{YARD}:deploy", "x", "--id", "a:b"], "run_id"),
    ],
)
def test_wrong_input_exits_with_two(adjourn: Run, words: list[str], says: str) -> None:
    said = adjourn("run", *words)
    assert said.code == 2 and says in said.err and said.err.count("✗ Not run:") == 1 and said.out == ""


def test_a_halted_run_says_so_and_goes_on_when_it_is_lifted(terminal: AtTerminal, adjourn: Run) -> None:
    Path("healthy").touch()
    assert adjourn("run", f"{YARD}:deploy", "first", "--id", "first").code == 0
    adjourn("halt", "tool:announce", "--reason", "incident 7", "--by", "ana")
    pty = terminal("run", f"{YARD}:deploy", "Ship it", "--id", "ship-1")
    pty.see("Held: tool:announce is halted by ana: incident 7. The run is saved.")
    pty.see("adjourn unhalt tool:announce")
    adjourn("unhalt", "tool:announce", "--by", "ana")
    pty.see("Deployed.")
    assert pty.end() == 0


def test_a_run_that_somebody_pauses_asks_nothing_more(terminal: AtTerminal, adjourn: Run) -> None:
    pty = terminal("run", f"{YARD}:guarded", "Two servers")
    pty.see("ater  ?")
    assert adjourn("pause", only_run(adjourn)["run_id"], "--by", "ana", "--reason", "lunch").code == 0
    pty.see("‖ Paused at step 1.0.")
    assert pty.end() == 3 and ledger() == []


def test_a_reader_that_leaves_ends_it_and_loses_nothing(process: Run, adjourn: Run) -> None:
    running = subprocess.Popen(
        [sys.executable, "-m", "adjourn", "run", f"{YARD}:deploy", "Ship it", "--json"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    assert running.stdout is not None
    running.stdout.readline()
    running.stdout.close()
    Path("healthy").touch()
    assert running.wait(SECONDS) == 1
    if only_run(adjourn)["status"] != "completed":  # its last records may be written before it is noticed
        assert process("run", f"{YARD}:deploy", "--resume", only_run(adjourn)["run_id"]).out == "Deployed.\n"
    assert ledger() == ["create a", "create b", "announce #kestrel"]


def test_a_run_is_the_next_turn_of_one_that_has_ended(adjourn: Run) -> None:
    Path("talk.py").write_text(
        "from adjourn import Agent\nfrom adjourn.testing import ScriptedModel\n"
        "talk = Agent('talk', model=ScriptedModel('one', 'two'))\n"
    )
    assert adjourn("run", "talk.py:talk", "first").out == "one\n"
    first = only_run(adjourn)["run_id"]
    assert adjourn("run", "talk.py:talk", "second", "--after", first).out == "two\n"
    assert adjourn("run", "talk.py:talk", "third", "--after", "nobody").code == 2
    said = adjourn("run", "talk.py:talk", "--resume", first, "--after", first)
    assert said.code == 2 and "--label and --after" in said.err


def test_a_run_in_a_session_is_its_next_turn_unless_it_is_fresh(adjourn: Run) -> None:
    Path("talk.py").write_text(
        "from adjourn import Agent\nfrom adjourn.testing import ScriptedModel\n"
        "talk = Agent('talk', model=ScriptedModel('one', 'two', 'three'))\n"
    )
    words = ("run", "talk.py:talk", "hello", "--session", "s")
    assert [adjourn(*words).out, adjourn(*words).out, adjourn(*words, "--fresh").out] == ["one\n", "two\n", "one\n"]
    assert adjourn(*words).out == "two\n", "it goes on with the session's last run"
    for wrong in (("--fresh",), ("--fresh", "--session", "s", "--after", "x")):
        said = adjourn("run", "talk.py:talk", "hello", *wrong)
        assert said.code == 2 and "--fresh needs --session" in said.err
