"""`runs`, `show`, `inbox` and `version`: what is printed, where, and how the command ends."""

import asyncio
import json
import shlex
import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest
from tests.cli import shop
from tests.cli.conftest import Run, advance, begin

from adjourn import Agent, tool
from adjourn.core.messages import FilePart, Reply, Text
from adjourn.parts import Document, Image
from adjourn.testing import ScriptedModel, call


def test_runs_are_listed_newest_first_with_what_they_wait_for(adjourn: Run) -> None:
    refund, question, failed = asyncio.run(begin(shop.refunds, shop.asker, shop.failing))
    said = adjourn("runs")
    lines = said.out.splitlines()
    assert said.code == 0
    assert lines[0].split() == ["STATUS", "RUN", "AGENT", "NOW", "COST", "AGE"]
    found = {line.split()[1]: line for line in lines[1:] if "failed" in line} | {
        line.split()[3]: line for line in lines[1:] if "waiting" in line
    }
    assert "✗ failed" in found["failed"] and failed in found["failed"] and "no such model" in found["failed"]
    assert "◆ waiting" in found[refund] and "refund needs approval" in found[refund]
    assert "Keep the accounts?" in found[question]
    assert "3 runs." in said.err and "3 items wait for a person" in said.err


def test_runs_as_json_and_filtered(adjourn: Run) -> None:
    refund, _ = asyncio.run(begin(shop.refunds, shop.asker))
    [row] = adjourn("runs", "--json", "--agent", "refunds").json
    assert (row["run_id"], row["status"], row["agent"], row["open_interrupts"]) == (refund, "waiting", "refunds", 1)
    assert row["input"] == "Order 4417 arrived broken" and row["started_by"] == "shop"
    assert adjourn("runs", "--json", "--status", "completed").json == []
    assert [r["run_id"] for r in adjourn("runs", "--json", "--limit", "1").json] != [refund]
    assert len(adjourn("runs", "--json", "--after", adjourn("runs", "--json").json[0]["run_id"]).json) == 1


def test_runs_are_searched_by_what_they_did(adjourn: Run) -> None:
    refund, question = asyncio.run(begin(shop.refunds, shop.asker))

    def found(*words: str) -> list[str]:
        return [run["run_id"] for run in adjourn("runs", "--json", "--search", " ".join(words)).json]

    assert found("tool:refund") == found("arg.order_id:4417") == found("status:waiting", "agent:refunds") == [refund]
    assert found('"keep the accounts"') == [question]
    assert found("tool:refund", "cost:>1000") == []
    said = adjourn("runs", "--search", "tol:refund")
    assert said.code == 2 and "unknown key 'tol'" in said.err and "Did you mean 'tool'" in said.err


def test_the_next_page_is_one_of_the_same_list(adjourn: Run) -> None:
    first, other, last = asyncio.run(begin(shop.refunds, shop.asker, shop.refunds))
    page = adjourn("runs", "--agent", "refunds", "--limit", "1", "--json")
    assert [run["run_id"] for run in page.json] == [last]
    hint = adjourn("runs", "--agent", "refunds", "--limit", "1").err
    typed = shlex.split(hint.partition("Older ones: adjourn ")[2])
    assert [run["run_id"] for run in adjourn(*typed, "--json").json] == [first] != [other]


def test_a_status_or_label_that_cannot_be_is_wrong_input(adjourn: Run, waiting: str) -> None:
    said = adjourn("runs", "--status", "sleeping")
    assert said.code == 2 and "unknown status 'sleeping'" in said.err and "invalid · 422" in said.err
    assert adjourn("runs", "--label", "nothing").code == 2


def test_show_tells_a_run_step_by_step(adjourn: Run, waiting: str) -> None:
    said = adjourn("show", waiting[:6])
    assert said.code == 0
    assert said.out.startswith("◆ waiting  Order 4417 arrived broken\n")
    assert waiting in said.out.splitlines()[1]
    order, action = (line for line in said.out.splitlines() if "get_order" in line or "refund  " in line)
    assert order.split()[:4] == ["1.0", "✓", "get_order", '"4417"']
    assert action.split()[:3] == ["2.0", "◆", "refund"] and "needs approval" in action
    assert f"adjourn inbox {waiting[:9]}" in said.err


def test_show_has_a_line_for_every_file(adjourn: Run) -> None:
    @tool(effect="read")
    async def scan() -> list[Any]:
        """Scan the bill."""
        return ["The bill:", Document(b"%PDF-1.7", name="bill\u202e.pdf")]

    drawn = FilePart(file=Image(b"GIF89a" + bytes(4096)).ref)
    model = ScriptedModel([call("scan")], Reply((Text(text="Here."), drawn)))
    photo = Image(b"\x89PNG\r\n\x1a\n", name="receipt.png")
    [run] = asyncio.run(begin(Agent("clerk", model=model, tools=[scan]), input=["look", photo]))
    lines = [line.strip() for line in adjourn("show", run).out.splitlines()]
    assert [line for line in lines if line.startswith("[")] == [
        "[image: receipt.png, image/png, 8 bytes]",
        "[document: bill⟨U+202E RIGHT-TO-LEFT OVERRIDE⟩.pdf, application/pdf, 8 bytes]",
        "[image: image/gif, 4 KB]",
    ]
    watched = adjourn("watch", run)
    for file in ("receipt.png", "application/pdf", "image/gif, 4 KB]"):
        assert file in watched.out + watched.err


def test_show_as_json_has_steps_interrupts_and_output(adjourn: Run, waiting: str) -> None:
    seen = adjourn("show", waiting, "--json").json
    assert seen["status"] == "waiting" and seen["output"] is None
    assert [s["name"] for s in seen["timeline"]["steps"]] == ["started", "model", "get_order", "model", "refund"]
    [interrupt] = seen["interrupts"]
    assert interrupt["call"]["arguments"] == {"order_id": "4417", "cents": 48250, "memo": "photos 1-4"}
    assert adjourn("inbox", waiting, "--json").json["said"] == "Every glass is broken."
    adjourn("approve", f"{waiting}:2.0?0", "--by", "ana")
    asyncio.run(advance(shop.refunds, run=waiting))
    done = adjourn("show", waiting, "--json").json
    assert (done["status"], done["output"]) == ("completed", "Done.")
    [step] = [s for s in done["timeline"]["steps"] if s["name"] == "refund"]
    assert step["ran"] and step["result"] == {"refunded": 48250} and "approved by ana" in step["note"]


def test_show_gives_the_journal_and_the_checkpoint(adjourn: Run, waiting: str) -> None:
    from adjourn import Checkpoint

    records = [json.loads(line) for line in adjourn("show", waiting, "--journal").out.splitlines()]
    assert [r["seq"] for r in records] == list(range(1, len(records) + 1))
    assert records[0]["t"] == "started" and records[-1]["t"] == "parked"
    assert Checkpoint.from_json(adjourn("show", waiting, "--checkpoint").out).run_id == waiting


def test_a_run_that_is_not_there_is_wrong_input_and_no_traceback(process: Run, waiting: str) -> None:
    said = process("show", "NOPE")
    assert said.code == 2 and said.out == ""
    assert said.err.splitlines()[0] == "✗ Not shown: run NOPE not found."
    assert "unknown_run · 404" in said.err and "adjourn runs" in said.err and "Traceback" not in said.err


def test_the_inbox_is_numbered_and_says_where(adjourn: Run) -> None:
    asyncio.run(begin(shop.refunds))
    asyncio.run(begin(shop.asker))
    said = adjourn("inbox")
    head, first, second = said.out.splitlines()
    assert head.split() == ["KIND", "WHAT", "WHERE", "EXPIRES"]
    assert first.startswith('1  approval  refund "4417", 48250') and "refunds › 2.0" in first and first.endswith("59m")
    assert second.startswith("2  question  Keep the accounts?") and second.endswith("–")
    assert [i["number"] for i in adjourn("inbox", "--json").json] == [1, 2]
    assert [i["kind"] for i in adjourn("inbox", "--json", "--kind", "question").json] == ["question"]


def test_an_empty_inbox_says_so_beside_the_data(adjourn: Run) -> None:
    asyncio.run(begin(shop.make()))
    said = adjourn("inbox")
    assert (said.code, said.out) == (0, "") and "The inbox is empty." in said.err
    assert adjourn("inbox", "--json").json == []


def test_an_item_is_shown_whole_with_types_reasons_and_digest(adjourn: Run, waiting: str) -> None:
    said = adjourn("inbox", waiting)
    assert said.code == 3, "without a terminal it waits"
    out = said.out
    assert out.splitlines()[0].split("  ")[0] == "◆ refund needs approval"
    for text in (
        "Pay money back to the customer's card.", 'order_id  text    "4417"', "cents     int     48250 (48,250)",
        "large refund: ask refund when cents > 10000", "unsafe: runs once", "it can be undone", "then denied by expiry",
        "Every glass is broken.", "not checked",
    ):  # fmt: skip
        assert text in out
    assert f"adjourn approve '{waiting}:2.0?0' --digest " in said.err
    item = adjourn("inbox", waiting, "--json")
    assert item.code == 0 and item.json["call"]["digest"][:4] in out and item.json["status"] == "open"


@pytest.mark.parametrize("command", ["runs", "show X", "inbox", "inbox 1", "approve 1", "deny 1", "answer 1 2", "pause X",
                                     "resume X", "cancel X", "say X hello", "halt * --reason r", "unhalt *"])  # fmt: skip
def test_a_database_that_is_missing_is_not_made(adjourn: Run, command: str, tmp_path: Path) -> None:
    said = adjourn(*command.split(), "--db", "elsewhere.db")
    assert said.code == 2 and said.out == ""
    assert (
        "there is no database at 'elsewhere.db', and none was created" in said.err and "no_database · 404" in said.err
    )
    assert not list(tmp_path.glob("elsewhere*"))


def test_a_file_of_somebody_else_is_not_touched(adjourn: Run) -> None:
    with closing(sqlite3.connect("theirs.db")) as db, db:
        db.execute("create table mine (x)")
    db.close()
    Path("letter.db").write_text("Dear all, this is not a database, whatever its name says.\n" * 20)
    Path("empty.db").touch()
    for name in ("theirs.db", "letter.db", "empty.db"):
        before = Path(name).read_bytes()
        said = adjourn("runs", "--db", name)
        assert said.code == 1 and "nothing was changed" in said.err.lower() and "store_error · 503" in said.err
        assert Path(name).read_bytes() == before


def test_a_file_that_another_process_holds_for_a_moment_is_waited_for(adjourn: Run, waiting: str) -> None:
    other: Any = apsw.Connection("adjourn.db")
    other.execute("pragma locking_mode=exclusive")
    other.execute("begin immediate; rollback")
    letting_go = threading.Timer(0.3, other.close)
    letting_go.start()
    assert adjourn("runs", "--json").json[0]["run_id"] == waiting
    letting_go.join()


def test_the_database_is_an_option_an_address_or_in_the_environment(
    adjourn: Run, waiting: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    db = tmp_path / "adjourn.db"
    for given in ("adjourn.db", str(db), "sqlite:///adjourn.db", f"sqlite:///{db}"):
        assert adjourn("runs", "--json", "--db", given).json[0]["run_id"] == waiting
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    assert adjourn("runs").code == 2
    monkeypatch.setenv("ADJOURN_DB", str(db))
    assert adjourn("runs", "--json").json[0]["run_id"] == waiting
    assert "is not the address of a store" in adjourn("runs", "--db", "mongo://x").err


def test_the_version(adjourn: Run, process: Run) -> None:
    said = process("version")
    assert said.code == 0 and said.out.startswith("adjourn ") and said.err == ""
    assert set(adjourn("version", "--json").json) == {"adjourn", "python", "sqlite"}


def test_wrong_usage_exits_2(adjourn: Run) -> None:
    assert adjourn("dance").code == 2
    assert adjourn("show").code == 2
    assert adjourn("halt", "*").code == 2, "a halt needs its reason"
