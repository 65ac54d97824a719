"""`pause`, `resume`, `cancel`, `say`, `halt`, `unhalt`: from a process that has no program."""

import asyncio
from pathlib import Path

import pytest
from tests.cli import shop
from tests.cli.conftest import Run, advance, begin


def test_a_waiting_run_is_paused_and_resumed(adjourn: Run, waiting: str) -> None:
    said = adjourn("pause", waiting[:6], "--by", "ana", "--reason", "wait for the lead")
    assert said.code == 0 and said.out.startswith("‖ paused") and "by ana: wait for the lead" in said.out
    assert adjourn("pause", waiting, "--wait", "1").code == 1, "it is paused already"
    assert "adjourn resume" in adjourn("show", waiting).err
    again = adjourn("resume", waiting, "--by", "ana", "--instruction", "Never promise a date.", "--json")
    assert again.code == 0 and again.json["status"] == "ready"
    assert "by ana: Never promise a date." in adjourn("show", waiting).out


def test_a_run_that_is_not_paused_cannot_be_resumed(adjourn: Run, waiting: str) -> None:
    said = adjourn("resume", waiting)
    assert said.code == 1
    assert said.err.startswith(f"✗ Not resumed: cannot resume run {waiting}: it is waiting.")
    assert "refused · 409" in said.err and f"adjourn show {waiting}" in said.err


def test_a_failed_run_is_resumed(adjourn: Run) -> None:
    [run] = asyncio.run(begin(shop.failing))
    assert adjourn("resume", run).code == 0
    assert asyncio.run(advance(shop.failing, run=run)).output == "Well again."


def test_cancel_undoes_and_twice_is_the_same_as_once(
    adjourn: Run, waiting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_LEDGER", "ledger")
    for _ in range(2):
        said = adjourn("cancel", waiting, "--by", "ana", "--reason", "no longer wanted")
        assert said.code == 0 and said.out.startswith("↶ cancelling…")
    asyncio.run(advance(shop.refunds, run=waiting))
    assert not Path("ledger").exists(), "nothing was done, so nothing was undone"
    said = adjourn("cancel", waiting, "--wait", "1")
    assert said.code == 4 and said.out.startswith("⊘ cancelled")
    assert adjourn("pause", waiting).code == 1


def test_what_a_cancel_leaves_behind_is_named(adjourn: Run) -> None:
    from adjourn import Agent
    from adjourn.testing import ScriptedModel, call

    pair = [call("refund", order_id="1", cents=1), call("ship", order_id="1"), call("ask_human", question="Go on?")]
    agent = Agent("pair", model=ScriptedModel(pair), tools=[shop.refund, shop.ship, shop.ask_human])
    [run] = asyncio.run(begin(agent))
    adjourn("cancel", run)
    asyncio.run(advance(agent, run=run))
    said = adjourn("show", run)
    assert said.out.startswith("⊘ cancelled") and "1 undone, 1 not undone" in said.out
    [left] = [line for line in said.out.splitlines() if "not undone  " in line and "1 undone" not in line]
    assert 'ship "1"' in left and "it has no undo" in left
    assert adjourn("show", run, "--json").json["residue"][0]["tool"] == "ship"


def test_a_message_is_read_once(adjourn: Run, waiting: str) -> None:
    assert adjourn("say", waiting, "also look at Norway", "--by", "ana").code == 0
    assert adjourn("say", waiting, "").code == 2
    assert "by ana: also look at Norway" in adjourn("show", waiting).out
    assert adjourn("say", "NOPE", "hello").code == 2


def test_a_halt_holds_and_lifting_it_lets_go(adjourn: Run, waiting: str) -> None:
    said = adjourn("halt", "tool:refund", "--reason", "incident 7", "--by", "ana")
    assert said.code == 0 and "tool:refund  by ana: incident 7" in said.out
    refused = adjourn("approve", f"{waiting}:2.0?0")
    assert refused.code == 1 and "halted · 423" in refused.err and "incident 7" in refused.err
    lifted = "lifted    tool:refund  by ana: incident 7  (1 run no longer held)\n"
    assert adjourn("unhalt", "tool:refund").out == lifted + "Nothing else is halted.\n"
    assert adjourn("approve", f"{waiting}:2.0?0").code == 0


def test_lifting_a_halt_says_what_was_lifted_and_then_what_is_still_halted(adjourn: Run, waiting: str) -> None:
    for scope in ("*", "tool:refund", "tool:ship"):
        adjourn("halt", scope, "--reason", f"incident of {scope}", "--by", "ana")
    said = adjourn("unhalt", "*", "--by", "bo")
    first, *still = said.out.splitlines()
    assert first == "lifted    *  by ana: incident of *  (0 runs no longer held, 1 still held by another halt)"
    assert [line.split()[2] for line in still] == ["tool:refund", "tool:ship"] and "Nothing" not in said.out
    first, *still = adjourn("unhalt", "tool:refund", "--by", "bo").out.splitlines()
    assert first == "lifted    tool:refund  by ana: incident of tool:refund  (1 run no longer held)"
    assert len(still) == 1 and "tool:ship" in still[0]
    assert adjourn("unhalt", "tool:nothing", "--by", "bo").out.splitlines() == still, "nothing was lifted"
    assert adjourn("unhalt", "tool:ship", "--by", "bo", "--json").json == []
    assert adjourn("unhalt", "tool:ship", "--by", "bo").out == "Nothing is halted.\n"


def test_what_is_done_already_is_not_done_again_and_said(adjourn: Run, waiting: str) -> None:
    said = adjourn("unhalt", "tool:refund", "--by", "ana")
    assert said.code == 0 and said.err == "Nothing to do: tool:refund was not halted.\n"
    said = adjourn("hold", waiting, "--lift", "--by", "ana")
    assert said.code == 0 and said.err == f"Nothing to do: run:{waiting} was not on hold.\n"
    assert adjourn("cancel", waiting, "--by", "ana").err == ""
    said = adjourn("cancel", waiting, "--by", "ben")
    assert said.code == 0 and said.err.startswith("Nothing to do: it is already being cancelled")
    assert f"{waiting} is already being cancelled" in adjourn("cancel", waiting, "--dry-run").out
    told = [(x["verb"], x["refused"]) for x in adjourn("audit", "--json").json if x["verb"] != "start"]
    assert told == [
        ("cancel", "it is cancelling already"), ("cancel", ""),
        ("lift hold", "it was not on hold"), ("unhalt", "it was not halted"),
    ]  # fmt: skip


def test_a_halt_says_how_many_runs_it_holds(adjourn: Run, waiting: str) -> None:
    said = adjourn("halt", "tool:refund", "--reason", "incident 7", "--by", "ana")
    assert "tool:refund  by ana: incident 7  (1 run held)" in said.out and said.err == ""
    [refund, agent] = adjourn("halt", "agent:refunds", "--reason", "incident 7", "--json").json
    assert (refund["holds"], agent["holds"], agent["known"]) == (1, 1, True)
    assert adjourn("halt", "tool:ship", "--reason", "x").out.count("(0 runs held)") == 1, "known, and not called"


@pytest.mark.parametrize("kind, typo, meant", [("tool", "refnd", "refund"), ("agent", "refund", "refunds")])
def test_a_halt_of_a_name_that_nothing_has_warns_and_is_set(
    adjourn: Run, waiting: str, kind: str, typo: str, meant: str
) -> None:
    said = adjourn("halt", f"{kind}:{typo}", "--reason", "odd sums", "--by", "ana")
    assert said.code == 0 and f"{kind}:{typo}  by ana: odd sums  (0 runs held)" in said.out
    assert f"! No {kind} here is called {typo}." in said.err
    assert f"Did you mean {meant}?  adjourn halt {kind}:{meant} --reason 'odd sums'" in said.err
    [found] = adjourn("halt", f"{kind}:{typo}", "--reason", "odd sums", "--json").json
    assert (found["known"], found["near"][0], found["holds"]) == (False, meant, 0)


def test_a_dry_run_of_a_halt_says_what_it_would_hold_and_halts_nothing(adjourn: Run, waiting: str) -> None:
    said = adjourn("halt", "tool:refund", "--reason", "incident 7", "--dry-run")
    assert (said.code, said.out) == (0, "would halt  tool:refund  (1 run held)\n")
    found = adjourn("halt", "tool:refnd", "--reason", "x", "--dry-run", "--json").json
    assert (found["dry_run"], found["known"], found["near"], found["holds"]) == (True, False, ["refund"], 0)
    assert "Did you mean refund?" in adjourn("halt", "tool:refnd", "--reason", "x", "--dry-run").err
    assert adjourn("approve", f"{waiting}:2.0?0").code == 0, "nothing is halted"


def test_a_held_run_says_why(adjourn: Run, waiting: str) -> None:
    adjourn("approve", f"{waiting}:2.0?0")
    adjourn("halt", "*", "--reason", "incident 8", "--json")

    async def held() -> None:
        from adjourn import Runtime

        async with Runtime("sqlite:///adjourn.db", [shop.refunds]) as rt:
            while (await rt.store.get(waiting)).status != "waiting":
                await asyncio.sleep(0.01)

    asyncio.run(asyncio.wait_for(held(), 30))
    assert "○ held" in adjourn("runs").out and "halted *: incident 8" in adjourn("runs").out
    assert waiting[:9] in adjourn("runs", "--status", "held").out
    adjourn("unhalt", "*", "--by", "ana", "--reason", "over")
    assert waiting[:9] not in adjourn("runs", "--status", "held").out
    assert adjourn("unhalt", "*", "--json").json == []
    assert asyncio.run(advance(shop.refunds, run=waiting)).output == "Done."


def test_a_scope_that_cannot_be_is_wrong_input(adjourn: Run, waiting: str) -> None:
    assert adjourn("halt", "everything", "--reason", "r").code == 2
    assert adjourn("unhalt", "tool:").code == 2


def test_lists_and_the_item_say_that_it_is_halted(adjourn: Run, waiting: str) -> None:
    adjourn("halt", "tool:refund", "--reason", "incident 7", "--by", "ana")
    adjourn("halt", "agent:somebody", "--reason", "other", "--by", "ana")
    halted = "tool:refund  by ana: incident 7"
    assert f"halted {halted}" in adjourn("inbox").out
    item = adjourn("inbox", waiting)
    assert f"{halted}; until it is lifted, it can only be denied" in " ".join(item.out.split("\n"))
    assert f"■ halted  {halted}" in adjourn("show", waiting).out
    assert f"■ halted  {halted}" in adjourn("runs").err
    assert "other" not in adjourn("inbox").out + item.out + adjourn("show", waiting).out
    adjourn("deny", f"{waiting}:2.0?0", "--by", "ana")
    adjourn("unhalt", "tool:refund")
    asyncio.run(advance(shop.refunds, run=waiting))
    adjourn("halt", "*", "--reason", "all", "--by", "ana")
    assert "halted" not in adjourn("show", waiting).out, "it has ended"
