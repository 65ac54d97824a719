"""`adjourn checkpoint`: show, verify, resume."""

import json
from pathlib import Path

import pytest
from tests.cli import shop, yard
from tests.cli.conftest import AtTerminal, Run
from tests.cli.test_run import ledger, reached

SHOP, YARD = str(Path(shop.__file__)), str(Path(yard.__file__))
SECRET = "a secret of more than thirty-two characters"
ANOTHER = "another secret of more than enough length"


@pytest.fixture(autouse=True)
def _gates(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("YARD", str(tmp_path))


@pytest.fixture
def file(waiting: str, adjourn: Run) -> str:
    """The checkpoint of a run that waits for the approval of a refund."""
    Path("saved.json").write_text(adjourn("show", waiting, "--checkpoint").out)
    return "saved.json"


def test_it_says_what_it_is_and_what_it_waits_for(file: str, adjourn: Run, waiting: str) -> None:
    said = adjourn("checkpoint", "show", file)
    assert said.code == 0 and said.out.startswith("◆ waiting  Order 4417 arrived broken")
    for words in (waiting, "not signed", "refund needs approval", "48250 (48,250)", "large refund"):
        assert words in said.out
    assert f"adjourn checkpoint resume {file} app.py:refunds --approve" in said.err
    data = adjourn("checkpoint", "show", file, "--json").json
    assert data["run_id"] == waiting and data["interrupts"][0]["call"]["arguments"]["cents"] == 48250


def test_it_comes_from_a_pipe_too(file: str, process: Run) -> None:
    assert process("checkpoint", "show", "-", typed=Path(file).read_text()).out.startswith("◆ waiting")


def test_a_good_one_is_verified(file: str, adjourn: Run) -> None:
    said = adjourn("checkpoint", "verify", file, f"{SHOP}:refunds")
    assert said.code == 0 and "✓ digest" in said.out and "! signature  not signed" in said.out
    assert "✓ program    it fits refunds" in said.out


def test_another_program_does_not_fit(file: str, adjourn: Run) -> None:
    said = adjourn("checkpoint", "verify", file, f"{SHOP}:asker")
    assert said.code == 1 and "✗ program" in said.out


def test_an_altered_one_is_found(file: str, adjourn: Run) -> None:
    Path(file).write_text(Path(file).read_text().replace("48250", "99999"))
    said = adjourn("checkpoint", "verify", file, "--json")
    assert said.code == 1 and [f["level"] for f in said.json] == ["wrong"]
    for verb in (["show", file], ["resume", file, f"{SHOP}:refunds", "--approve"]):
        said = adjourn("checkpoint", *verb)
        assert said.code == 2 and "checkpoint_invalid · 400" in said.err and said.out == ""


def test_signatures_need_the_key(waiting: str, file: str, adjourn: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADJOURN_SECRET", SECRET)
    unsigned = adjourn("checkpoint", "verify", file)
    assert unsigned.code == 1 and "✗ signature" in unsigned.out
    Path("signed.json").write_text(adjourn("show", waiting, "--checkpoint").out)
    good = adjourn("checkpoint", "verify", "signed.json")
    assert good.code == 0 and "✓ signature" in good.out and "number 1 of 1" in good.out
    monkeypatch.setenv("ADJOURN_SECRET", f"{ANOTHER},{SECRET}")
    assert "number 2 of 2" in adjourn("checkpoint", "verify", "signed.json").out
    monkeypatch.setenv("ADJOURN_SECRET", ANOTHER)
    foreign = adjourn("checkpoint", "verify", "signed.json")
    assert foreign.code == 1 and "key ring" in foreign.out and "✓" not in foreign.out
    monkeypatch.delenv("ADJOURN_SECRET")
    blind = adjourn("checkpoint", "verify", "signed.json")
    assert blind.code == 1 and "✗ signature" in blind.out and "no secret is set" in blind.out


def test_approved_it_goes_on_and_its_output_is_the_data(
    file: str, adjourn: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_LEDGER", "paid")
    said = adjourn("checkpoint", "resume", file, f"{SHOP}:refunds", "--approve", "--by", "ana", "--note", "clear")
    assert (said.code, said.out) == (0, "Done.\n") and "approved by ana: clear" in said.err
    assert Path("paid").read_text() == "refund 48250\n"


def test_edited_denied_and_steered(file: str, adjourn: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_LEDGER", "paid")
    other = '{"order_id": "4417", "cents": 100, "memo": ""}'
    words = ("checkpoint", "resume", file, f"{SHOP}:refunds")
    assert adjourn(*words, "--approve", "--edit", other, "--instruction", "Be brief.").code == 0
    assert adjourn(*words, "--deny", "--note", "no").code == 0
    assert Path("paid").read_text() == "refund 100\n"


def test_an_answer_is_taken_by_its_schema(adjourn: Run, process: Run) -> None:
    process("run", f"{SHOP}:asker", "x", "--id", "ask-1")
    Path("saved.json").write_text(adjourn("show", "ask-1", "--checkpoint").out)
    said = adjourn("checkpoint", "resume", "saved.json", f"{SHOP}:asker", "--answer", "yes, all of them")
    assert (said.code, said.out) == (0, "Kept.\n")


def test_without_an_answer_and_a_terminal_it_says_what_to_say(file: str, adjourn: Run) -> None:
    said = adjourn("checkpoint", "resume", file, f"{SHOP}:refunds")
    assert said.code == 2 and "--approve" in said.err and "answers=" not in said.err


def test_if_it_waits_again_the_new_checkpoint_is_the_data(adjourn: Run) -> None:
    said = adjourn("run", f"{YARD}:guarded", "Two servers", "--id", "two")
    assert said.code == 3
    Path("saved.json").write_text(adjourn("show", "two", "--checkpoint").out)
    words = ("checkpoint", "resume", "saved.json", f"{YARD}:guarded", "--approve")
    first = adjourn(*words)
    assert first.code == 3 and ledger() == ["create a"]
    assert "adjourn approve" not in first.err, "no command could find this run"
    Path("saved.json").write_text(first.out)
    assert adjourn("checkpoint", "verify", "saved.json").code == 0
    second = adjourn(*words, "--out", "last.json")
    assert (second.code, second.out) == (0, "Both are up.\n") and ledger() == ["create a", "create b"]
    assert adjourn("checkpoint", "show", "last.json", "--json").json["output"] == "Both are up."


def test_a_file_that_cannot_be_written_loses_nothing(adjourn: Run) -> None:
    adjourn("run", f"{YARD}:guarded", "Two servers", "--id", "two")
    Path("saved.json").write_text(adjourn("show", "two", "--checkpoint").out)
    said = adjourn("checkpoint", "resume", "saved.json", f"{YARD}:guarded", "--approve", "--out", "no/such/folder.json")
    assert said.code == 3 and json.loads(said.out)["run_id"] == "two" and "cannot be written" in said.err


def test_as_json_it_is_events_and_then_the_checkpoint(file: str, adjourn: Run) -> None:
    said = adjourn("checkpoint", "resume", file, f"{SHOP}:refunds", "--approve", "--json")
    events = [json.loads(line) for line in said.out.splitlines()]
    assert [e["event"] for e in events[-2:]] == ["end", "checkpoint"] and events[-2]["output"] == "Done."


def test_in_a_database_it_is_resumed_once(file: str, adjourn: Run) -> None:
    words = ("checkpoint", "resume", file, f"{SHOP}:refunds", "--approve", "--db", "other.db")
    assert adjourn(*words).code == 0
    again = adjourn(*words)
    assert again.code == 1 and "already_resumed · 409" in again.err


def test_at_a_terminal_it_asks_and_ctrl_c_pauses(terminal: AtTerminal, adjourn: Run) -> None:
    adjourn("run", f"{YARD}:guarded", "Two servers", "--id", "two")
    Path("saved.json").write_text(adjourn("show", "two", "--checkpoint").out)
    pty = terminal("checkpoint", "resume", "saved.json", f"{YARD}:guarded", "--out", "next.json")
    pty.answer("pprove once", "a")
    pty.answer("exactly as shown?", "yes")
    pty.see("create needs approval")
    pty.see("ater  ?")
    pty.see("› ")
    pty.interrupt()
    pty.see("Its checkpoint is in next.json")
    assert pty.end() == 3 and ledger() == ["create a"]
    assert adjourn("checkpoint", "show", "next.json", "--json").json["status"] == "waiting"


def test_ctrl_c_while_it_works_pauses_it(terminal: AtTerminal, adjourn: Run) -> None:
    pty = terminal("run", f"{YARD}:deploy", "Ship it", "--id", "ship-1")
    reached("healthy")
    Path("saved.json").write_text(adjourn("show", "ship-1", "--checkpoint").out)
    pty.interrupt()
    pty.see("Ctrl-C again")
    again = terminal("checkpoint", "resume", "saved.json", f"{YARD}:deploy", "--out", "next.json")
    again.see("wait_healthy")
    again.interrupt()
    again.see("Pausing…")
    Path("healthy").touch()
    again.see("Paused at step 3.0")
    assert again.end() == 3 and pty.end() == 3
    assert adjourn("checkpoint", "show", "next.json", "--json").json["status"] == "paused"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["show", "absent.json"], "cannot be read"),
        (["show", "plain.txt"], "checkpoint"),
        (["verify", "absent.json"], "cannot be read"),
        (["resume", "absent.json", f"{SHOP}:refunds"], "cannot be read"),
        (["resume", "saved.json", f"{SHOP}:refunds", "--approve", "--deny"], "one of"),
        (["resume", "saved.json", f"{SHOP}:refunds", "--edit", "{}"], "goes with"),
        (["resume", "saved.json", f"{SHOP}:refunds", "--approve", "--item", "9.9"], "9.9"),
        (["resume", "saved.json", f"{SHOP}:asker", "--approve"], "it is a run of 'refunds'"),
        (["resume", "saved.json", f"{SHOP}:refunds", "--approve", "--on-change", "x"], "--on-change"),
    ],
)
def test_wrong_input_is_told(file: str, adjourn: Run, words: list[str], says: str) -> None:
    Path("plain.txt").write_text("no JSON at all")
    said = adjourn("checkpoint", *words)
    assert said.code in (1, 2) and says in said.err and said.out == ""
