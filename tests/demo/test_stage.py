"""The demo in the browser, taken unattended: over HTTP, with a worker in another process that is killed."""

import json
import os
import stat
import sys
import threading
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from tests.cli.conftest import AtTerminal, Run

from adjourn.cli.browser import NAME, opened
from adjourn.demo import stage as demo_stage
from adjourn.errors import Misused


def test_unattended_it_does_everything_on_the_card_and_checks_it(process: Run) -> None:
    said = process("demo", "--dir", "tour")
    assert said.code == 0, said.out + said.err
    for claim in (
        "approved three times at once with 39900, it was taken once", "39900 was paid, once", "its text grows before the model has ended",
        "it read the instruction and finished in three lines", "three things came down again, last one first, each once",
        "one is left behind, and it says why", "kill -9", "each has one key and one result",
        "ran adjourn approve for its own payment: refused", "not signed, so nothing ran",
        "a person agreed, the server signed it, and it was paid, once", "All of it is so.",
    ):  # fmt: skip
        assert claim in said.out
    assert said.out.count("the card has ticked it") == 4
    runs = process("runs", "--json", "--db", "tour/demo.db").json
    assert {r["run_id"]: r["status"] for r in runs} == {
        "DEMO-1": "completed", "DEMO-2": "completed", "DEMO-3": "cancelled", "DEMO-4": "completed", "DEMO-5": "waiting",
        "DEMO-6": "completed",
    }  # fmt: skip
    assert process("demo", "--dir", "tour").code == 2, "another demo does not write over this one"


def test_as_json_the_tour_is_talk_and_the_result_is_data(process: Run) -> None:
    said = process("demo", "--json")
    result = json.loads(said.out)
    assert said.code == 0 and result["checks"] > 15 and "kill -9" in said.err
    assert [e["args"]["cents"] for e in result["ledger"] if e["tool"] == "refund"] == [39900]


def test_without_the_server_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(Misused, match=r"adjourn\[server\].*adjourn demo --terminal"):
        demo_stage.need_server()


def test_at_a_terminal_it_prints_the_address_and_ctrl_c_ends_all_of_it(terminal: AtTerminal) -> None:
    pty = terminal("demo", "--no-open", "--port", "0")
    pty.see("#token=")
    pty.see("Ctrl-C ends it.")
    pty.interrupt()
    pty.see("Ended.")
    assert pty.end() == 0
    assert "Traceback" not in pty.plain


def test_the_token_is_in_no_argument_of_a_browser(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Everybody on a machine can read the arguments of every process."""
    seen, arrived = list[tuple[str, str, int]](), threading.Event()

    def browser(url: str) -> bool:
        page = Path(unquote(urlsplit(url).path))
        seen.append((url, page.read_text(), stat.S_IMODE(page.stat().st_mode)))
        arrived.set()
        return True

    monkeypatch.setattr("webbrowser.open", browser)
    (tmp_path / NAME).write_text("left over")
    with opened('http://127.0.0.1:1/#token=secret"&', tmp_path):
        assert arrived.wait(60)
    [(url, page, mode)] = seen
    assert url.startswith("file://") and "secret" not in url
    assert 'content="0; url=http://127.0.0.1:1/#token=secret&quot;&amp;"' in page
    assert mode == 0o600 or os.name != "posix"
    assert not (tmp_path / NAME).exists()
