"""The tour in the terminal: unattended it checks itself; at a terminal a person decides."""

import json
from pathlib import Path

from tests.cli.conftest import AtTerminal, Run

from adjourn.demo.tour import Tour, TourFailed
from adjourn.demo.tour_agents import entries


def test_unattended_it_answers_itself_and_everything_it_says_is_so(process: Run) -> None:
    said = process("demo", "--terminal", "--dir", "tour")
    assert said.code == 0, said.out + said.err
    assert "nobody is asked: the tour answers itself" in said.out
    assert said.out.count("was decided by") == 2
    assert "exit -9" in said.out and "Nothing ran twice." in said.out
    assert len(said.out.splitlines()) < 100
    assert "\x1b" not in said.out
    written = entries(Path("tour/ledger.jsonl"))
    assert [e.tool for e in written] == [
        "get_order",
        "refund",
        "get_order",
        *sorted(e.tool for e in written[3:5]),
        "book_courier",
    ]
    assert len({e.key for e in written if e.effect}) == sum(e.effect for e in written) == 3
    runs = process("runs", "--json", "--db", "tour/demo.db").json
    assert {r["run_id"]: r["status"] for r in runs} == {"order-4417": "completed", "return-4417": "completed"}
    assert process("demo", "--terminal", "--dir", "tour").code == 2, "another tour does not write over this one"


def test_as_json_the_tour_is_talk_and_the_result_is_data(process: Run) -> None:
    said = process("demo", "--terminal", "--json")
    result = json.loads(said.out)
    assert said.code == 0 and result["checks"] > 10 and "kill -9" in said.err
    assert sum(e["effect"] for e in result["ledger"]) == 3


def test_a_person_approves_at_the_prompt(terminal: AtTerminal) -> None:
    pty = terminal("demo", "--terminal", "--dir", "tour")
    pty.see("refund needs approval")
    pty.answer("ater  ?", "approve")
    pty.answer("Approve refund once, exactly as shown? ", "yes")
    pty.see("was decided by")
    pty.see("pay_supplier may have happened")
    pty.answer("?  ", "happened")
    pty.answer("Its result", "null")
    pty.answer("is that it?", "yes")
    pty.see("Nothing ran twice.")
    assert pty.end() == 0
    assert [e.args["cents"] for e in entries(Path("tour/ledger.jsonl")) if e.tool == "refund"] == [48250]


def test_a_person_edits_the_amount_and_insists(terminal: AtTerminal) -> None:
    pty = terminal("demo", "--terminal", "--dir", "tour")
    pty.answer("ater  ?", "edit")
    pty.answer("or done", "cents=100")
    pty.answer("or done", "done")
    pty.answer("Approve the edited action", "yes")
    pty.see("Refunded 1.00 for order 4417")
    pty.see("pay_supplier may have happened")
    pty.answer("?  ", "run")
    pty.answer("is that it?", "yes")
    pty.see("happened 2 times")
    pty.see("a person said it had not")
    assert pty.end() == 0


def test_a_person_denies_and_gives_up(terminal: AtTerminal) -> None:
    pty = terminal("demo", "--terminal", "--dir", "tour")
    pty.answer("ater  ?", "deny")
    pty.answer("The agent reads it", "-")
    pty.see("The refund was not made: denied by")
    pty.see("pay_supplier may have happened")
    pty.answer("?  ", "cancel")
    pty.answer("is that it?", "yes")
    pty.see("exit 4")
    assert pty.end() == 0
    assert not [e for e in entries(Path("tour/ledger.jsonl")) if e.tool == "refund"]


def test_a_claim_that_is_not_so_stops_the_tour(tmp_path: Path) -> None:
    tour = Tour(tmp_path)
    tour.check(True, "so")
    try:
        tour.check(False, "nothing ran twice")
    except TourFailed as e:
        assert "nothing ran twice: it is not so" in str(e)
    assert tour.checks == 1
