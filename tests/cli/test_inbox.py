"""`approve`, `deny`, `answer`: one decision wins, and it is about what was shown."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli import shop
from tests.cli.conftest import AtTerminal, Run, advance, begin

from adjourn import Agent, Completed, MaxSteps
from adjourn.hooks import AskPerson, check_output
from adjourn.testing import ScriptedModel, call

Name = Callable[[str], str]
NAMES: dict[str, Name] = {
    "a number": lambda run: "1",
    "the whole id": lambda run: f"{run}:2.0?0",
    "a prefix and the local id": lambda run: f"{run[:6]}:2.0?0",
    "a prefix and the call": lambda run: f"{run[:6]}/2.0",
    "a run that has only one": lambda run: run[:6],
}


@pytest.mark.parametrize("name", NAMES)
def test_an_action_is_approved_by(name: str, adjourn: Run, waiting: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_LEDGER", "ledger")
    adjourn("inbox")
    said = adjourn("approve", NAMES[name](waiting), "--by", "ana", "--note", "photos are clear")
    assert said.code == 0 and said.out.startswith('✓ Approved by ana: refund "4417", 48250')
    assert "ready" in said.err and "worker" in said.err
    outcome = asyncio.run(advance(shop.refunds, run=waiting))
    assert isinstance(outcome, Completed) and Path("ledger").read_text() == "refund 48250\n"


def test_who_decides_is_the_user_of_the_machine_unless_named(
    adjourn: Run, waiting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOGNAME", "carla")
    assert adjourn("approve", f"{waiting}:2.0?0", "--json").json["by"] == "carla"


def test_the_second_decision_is_refused_and_told_who_won(adjourn: Run, process: Run, waiting: str) -> None:
    assert adjourn("approve", f"{waiting}:2.0?0", "--by", "ana").code == 0
    for command in ("approve", "deny"):
        said = process(command, f"{waiting}:2.0?0", "--by", "ben")
        assert said.code == 1 and said.out == "" and "Traceback" not in said.err
        assert "ana has already decided" in said.err and "already_decided · 409" in said.err
    said = adjourn("approve", f"{waiting}:2.0?0", "--by", "ben", "--json")
    assert said.code == 1 and '"code": "already_decided"' in said.err and '"status": 409' in said.err


def test_the_same_request_gets_the_same_answer(adjourn: Run, waiting: str) -> None:
    again = [
        adjourn("approve", f"{waiting}:2.0?0", "--by", "ana", "--request-id", "r1", "--json").json for _ in range(2)
    ]
    assert again[0]["seq"] == again[1]["seq"]


def test_an_edited_action_runs_as_edited(adjourn: Run, waiting: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_LEDGER", "ledger")
    bad = adjourn("approve", f"{waiting}:2.0?0", "--edit", '{"order_id": "4417", "cents": "many"}')
    assert bad.code == 2 and "invalid_answer · 422" in bad.err
    assert adjourn("approve", f"{waiting}:2.0?0", "--edit", "[1]").code == 2
    assert adjourn("approve", f"{waiting}:2.0?0", "--edit", "{nonsense").code == 2
    good = adjourn(
        "approve", f"{waiting}:2.0?0", "--by", "ana", "--edit", '{"order_id": "4417", "cents": 39900, "memo": ""}'
    )
    assert "edited" in good.out and "39900" in good.out
    asyncio.run(advance(shop.refunds, run=waiting))
    assert Path("ledger").read_text() == "refund 39900\n"


def test_a_denied_action_does_not_run_and_the_agent_goes_on(
    adjourn: Run, waiting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_LEDGER", "ledger")
    said = adjourn("deny", f"{waiting}:2.0?0", "--by", "ana", "--note", "too much")
    assert said.code == 0 and said.out.startswith("⊘ Denied by ana: refund")
    assert isinstance(asyncio.run(advance(shop.refunds, run=waiting)), Completed)
    assert not Path("ledger").exists()
    assert "denied by ana: too much" in adjourn("show", waiting).out


def test_a_digest_of_something_else_is_stale(adjourn: Run, waiting: str) -> None:
    digest = adjourn("inbox", waiting, "--json").json["call"]["digest"]
    stale = adjourn("approve", f"{waiting}:2.0?0", "--digest", "0" * 16)
    assert stale.code == 1 and "stale_decision · 409" in stale.err and "nothing was run" in stale.err.lower()
    assert adjourn("approve", f"{waiting}:2.0?0", "--digest", digest[:8]).code == 2, "too short to mean anything"
    seen = " ".join(digest[n : n + 4] for n in range(0, 16, 4))
    assert adjourn("approve", f"{waiting}:2.0?0", "--digest", seen).code == 0


def test_a_number_means_what_the_list_showed_even_if_the_list_has_moved(adjourn: Run) -> None:
    first, second = asyncio.run(begin(shop.refunds))[0], asyncio.run(begin(shop.refunds))[0]
    assert [i["run_id"] for i in adjourn("inbox", "--json").json] == [first, second]
    assert adjourn("deny", f"{first}:2.0?0", "--by", "ben").code == 0
    said = adjourn("approve", "1", "--by", "ana")
    assert said.code == 1 and "ben has already decided" in said.err, "the second has moved up, and was not approved"
    assert adjourn("approve", "2", "--by", "ana", "--json").json["run_id"] == second


def test_a_number_without_a_list_is_not_guessed(adjourn: Run) -> None:
    asyncio.run(begin(shop.refunds))
    asyncio.run(begin(shop.refunds))
    said = adjourn("approve", "1")
    assert said.code == 2 and "List them first: adjourn inbox" in said.err


def test_a_run_with_two_open_must_be_told_which(adjourn: Run) -> None:
    from adjourn import Agent, Policy
    from adjourn.testing import ScriptedModel, call

    pair = [call("refund", order_id="1", cents=1), call("refund", order_id="2", cents=2)]
    agent = Agent("pair", model=ScriptedModel(pair, "Done."), tools=[shop.refund], policy=Policy([], default="ask"))
    [run] = asyncio.run(begin(agent))
    said = adjourn("approve", run)
    assert said.code == 2 and "has 2 open" in said.err
    adjourn("inbox")
    assert adjourn("approve", f"{run}/1.1").code == 0
    assert adjourn("approve", run, "--json").json["interrupt_id"] == f"{run}:1.0?0"


def test_a_question_is_answered_with_what_fits(adjourn: Run) -> None:
    [run] = asyncio.run(begin(shop.asker))
    adjourn("inbox")
    assert adjourn("answer", run, '{"keep": true}', "--by", "ana").code == 0, "text is wanted: it is taken as text"
    assert isinstance(asyncio.run(advance(shop.asker, run=run)), Completed)
    [run] = asyncio.run(begin(shop.asker))
    [item] = adjourn("inbox", "--json", "--run", run).json
    assert item["answer_schema"] == {"type": "string"}
    assert adjourn("answer", run, "yes, all", "--json").json["decision"] == "answer"


def test_a_bad_answer_is_refused_and_the_question_stays(adjourn: Run, waiting: str) -> None:
    said = adjourn("answer", f"{waiting}:2.0?0", "yes")
    assert said.code == 2 and "Nothing was approved" in said.err and "invalid_answer · 422" in said.err
    assert adjourn("inbox", waiting, "--json").json["status"] == "open"
    assert adjourn("answer", "nothing-of-that-name", "1").code == 2
    assert "unknown_interrupt · 404" in adjourn("deny", f"{waiting}:9.9?0").err


def test_a_failed_run_is_tried_again(adjourn: Run) -> None:
    [run] = asyncio.run(begin(shop.failing))
    adjourn("inbox")
    assert adjourn("answer", run, "maybe").code == 2
    assert adjourn("answer", run, "retry", "--by", "ana").code == 0
    assert asyncio.run(advance(shop.failing, run=run)).output == "Well again."


def test_a_person_at_a_terminal_reads_then_approves(terminal: AtTerminal, adjourn: Run, waiting: str) -> None:
    pty = terminal("inbox", waiting, "--by", "ana")
    pty.see("digest")
    pty.answer("ater  ?", "")  # Enter alone decides nothing
    pty.answer("ater  ?", "a")
    pty.answer("Approve refund once, exactly as shown? ", "y")  # no short form
    pty.answer("yes/no", "yes")
    pty.see("Approved by ana")
    assert pty.end() == 0
    assert "ready" in adjourn("runs").out


def test_keys_typed_before_the_question_are_thrown_away(terminal: AtTerminal, adjourn: Run, waiting: str) -> None:
    pty = terminal("inbox", waiting, "--by", "ana")
    pty.type("a\nyes")  # before anything was drawn
    pty.answer("ater  ?", "later")
    pty.see("Not changed.")
    assert pty.end() == 3
    assert adjourn("inbox", waiting, "--json").json["status"] == "open"


def test_a_person_at_a_terminal_edits_and_denies(terminal: AtTerminal, adjourn: Run, waiting: str) -> None:
    pty = terminal("inbox", waiting, "--by", "ana")
    pty.answer("ater  ?", "e")
    for wrong in ("cents=many", "wages=1"):
        pty.answer("or done", wrong)
    pty.answer("the names are order_id, cents, memo", "cents=39900")
    pty.answer("or done", "done")
    pty.see("(39,900)")
    pty.answer("Approve the edited action, exactly as shown? ", "no")
    pty.answer("ater  ?", "d")
    pty.answer("The agent reads it", "too much")
    pty.see("Denied by ana")
    assert pty.end() == 0
    assert "denied by ana: too much" in adjourn("show", waiting).out


def test_a_person_at_a_terminal_answers_a_question(terminal: AtTerminal, adjourn: Run) -> None:
    [run] = asyncio.run(begin(shop.asker))
    pty = terminal("inbox", run, "--by", "ana")
    pty.answer("later.", "all of them")
    pty.answer('Answer "all of them"?', "yes")
    pty.see("Answered by ana")
    assert pty.end() == 0


def test_a_person_who_is_late_is_told(terminal: AtTerminal, adjourn: Run, waiting: str) -> None:
    pty = terminal("inbox", waiting, "--by", "ana")
    pty.see("ater  ?")
    adjourn("deny", f"{waiting}:2.0?0", "--by", "ben")
    pty.type("a")
    pty.answer("exactly as shown?", "yes")
    pty.see("ben has already decided")
    assert pty.end() == 1


def test_a_closed_item_can_still_be_read(adjourn: Run, waiting: str) -> None:
    adjourn("deny", f"{waiting}:2.0?0")
    said = adjourn("inbox", f"{waiting}:2.0?0")
    assert said.code == 0 and "48250" in said.out and "no longer open" in said.err


def test_the_same_request_gets_the_same_answer_however_the_item_is_named(adjourn: Run, waiting: str) -> None:
    adjourn("inbox")
    for item in (waiting, f"{waiting}/2.0", f"{waiting}:2.0?0", waiting[:6]):
        said = adjourn("approve", item, "--by", "ana", "--request-id", "r1", "--json")
        assert said.code == 0, said.err
    for item in (waiting, f"{waiting}/2.0"):
        late = adjourn("deny", item, "--by", "ben")
        assert late.code == 1 and "already_decided · 409" in late.err and "ana" in late.err


def test_an_agent_does_not_approve_itself(adjourn: Run, waiting: str) -> None:
    said = adjourn("approve", f"{waiting}:2.0?0", "--by", "refunds")
    assert said.code != 0 and "an agent cannot decide its own requests" in said.err
    assert adjourn("approve", f"{waiting}:2.0?0", "--by", "ana").code == 0


def test_an_item_shows_the_decisions_before_it_and_what_came_of_them(adjourn: Run) -> None:
    first, second, third = asyncio.run(begin(shop.refunds, shop.refunds, shop.refunds))
    adjourn("approve", f"{first}:2.0?0", "--by", "ana", "--note", "photos are clear")
    adjourn("deny", f"{second}:2.0?0", "--by", "ben", "--note", "asked twice")
    for run in (first, second):
        assert isinstance(asyncio.run(advance(shop.refunds, run=run)), Completed)
    said = " ".join(adjourn("inbox", third).out.split())
    assert "before 2 decisions on refund in 90 days: 1 approved, 1 denied" in said
    assert "denied by ben: asked twice · did not run" in said
    assert "approved by ana: photos are clear · ran once" in said
    assert "differs" not in said, "the same was decided before"


def test_a_result_is_given_instead_and_the_action_does_not_run(
    adjourn: Run, waiting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_LEDGER", "ledger")
    said = adjourn(
        "answer",
        f"{waiting}:2.0?0",
        '{"refunded": "by hand"}',
        "--instead",
        "--by",
        "ana",
        "--note",
        "the bank is down",
    )
    assert said.code == 0 and said.out.startswith("⊘ Result given, not run, by ana: refund")
    assert isinstance(asyncio.run(advance(shop.refunds, run=waiting)), Completed)
    assert not Path("ledger").exists()
    assert "result given instead by ana: the bank is down" in adjourn("show", waiting).out


def test_a_question_is_dismissed(adjourn: Run) -> None:
    [run] = asyncio.run(begin(shop.asker))
    adjourn("inbox")
    said = adjourn("dismiss", run, "--by", "ana", "--note", "not now")
    assert said.code == 0 and said.out.startswith("⊘ Dismissed by ana")
    assert adjourn("dismiss", run, "--by", "ben").code != 0


def test_what_a_hook_asks_is_called_a_check_and_is_found_by_that_name(adjourn: Run) -> None:
    checked = Agent(
        "checked", model=ScriptedModel("A letter."), hooks=[check_output(lambda text: AskPerson("rude?"), name="polite")]
    )  # fmt: skip
    limited = Agent(
        "limited",
        model=ScriptedModel([call("ship", order_id="1")], "Done."),
        tools=[shop.ship],
        stop=MaxSteps(1).then("pause"),
    )
    check, limit = asyncio.run(begin(checked, limited))
    listed = adjourn("inbox").out.splitlines()
    assert sorted(line.split()[1] for line in listed[1:]) == ["check", "limit"]
    for kind, run in (("check", check), ("limit", limit)):
        [item] = adjourn("inbox", "--kind", kind, "--json").json
        assert item["run_id"] == run
    for word in ("inbox", "show"):
        assert "limit" not in adjourn(word, check).out
    assert adjourn("answer", f"{check}:output:?0", "pass", "--by", "ana").code == 0
    assert "ana answered the check polite → pass" in adjourn("audit", check).out


@pytest.mark.parametrize("verb", ["approve", "deny"])
def test_several_are_decided_each_for_itself_and_twice_decides_nothing_more(
    verb: str, adjourn: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_LEDGER", "ledger")
    runs = asyncio.run(begin(shop.refunds, shop.refunds, shop.refunds))
    adjourn("inbox")
    said = adjourn(verb, "1", f"{runs[1]}:2.0?0", "--by", "ana", "--note", "both")
    assert said.code == 0 and said.out.count('by ana: refund "4417", 48250') == 2, said
    assert adjourn(verb, "1", f"{runs[1]}:2.0?0", "--by", "ana", "--note", "both").code == 0, "the same request"
    refused = adjourn(verb, "1", "3", "--by", "bea", "--json")
    first, third = refused.json
    assert refused.code == 1 and first["refused"]["code"] == "already_decided" and third["seq"]
    lines = adjourn("audit", "--verb", verb, "--json").json
    assert len([line for line in lines if not line["refused"]]) == 3
    for run in runs:
        asyncio.run(advance(shop.refunds, run=run))
    paid = Path("ledger").read_text().splitlines() if Path("ledger").exists() else []
    assert len(paid) == (3 if verb == "approve" else 0)


def test_none_of_several_is_decided_if_one_cannot_be_meant(adjourn: Run) -> None:
    first, second = asyncio.run(begin(shop.refunds, shop.refunds))
    ref = f"{first}:2.0?0"
    for words, code in (
        ([ref, "99"], 2), ([ref, second], 2), ([ref, "2", "--digest", "0" * 16], 2), ([ref, "2", "--wait", "1"], 2),
        ([ref, f"{second}:2.0?0", "--stands"], 2), ([ref, f"{second}:2.0?0", "--edit", "{}"], 2),
    ):  # fmt: skip
        said = adjourn("approve", *words, "--by", "ana")
        assert said.code == code and not said.out, (words, said)
    assert len(adjourn("inbox", "--json").json) == 2
