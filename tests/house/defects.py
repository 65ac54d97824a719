"""Defects that can be planted, each with the test that catches it.

`python -m tests.house.defects NAME…` plants each one in a process of its own (a fork, so everything is imported once), runs
the named test there, and prints a line of JSON that says how that ended. The name `none` runs all of those tests without any defect.
"""

import argparse
import contextlib
import importlib
import json
import os
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any

import pytest
from tests.again import PLANTED
from tests.authority.defects import AUTHORITY, STANDING
from tests.bodies.defects import BODIES
from tests.control.defects import TIME
from tests.driver.defects import LIVENESS
from tests.driver.long_lives import LONG_LIVES
from tests.engines.defects import ENGINES
from tests.house.defect import Defect, replacing, rewrite, rewriting
from tests.server.defects import RIGHTS
from tests.stores.defects import RULES

from adjourn.agent import conversations, model_call
from adjourn.agent import tool as tools
from adjourn.bodies.tool_context import ToolContext
from adjourn.core import (
    argument_conditions,
    authority,
    function_identity,
    journal_authority,
    pattern,
    plan,
    policy,
    state,
    status,
)
from adjourn.core.records import Claimed, Said
from adjourn.core.schema_evaluator import Evaluator
from adjourn.core.state import State
from adjourn.driver import loop
from adjourn.driver import running_step as desk
from adjourn.driver.process_identity import Life
from adjourn.runtime import advancer, heartbeat
from adjourn.stores.rules import commands
from adjourn.stores.rules import commit as commits

ROOT = Path(__file__).parents[2]
MEMORY = "tests/stores/test_contract.py::TestMemoryStore::"
POINTS = "tests/crash/test_crash_points.py::test_an_agent_ends_the_same_whatever_write_its_worker_dies_at"
RUNTIME = "tests/runtime/test_"


SOON = "3"
"""A defect often shows as something that never happens; nobody needs to wait long for it."""


def _no_exact_action() -> None:
    """Neither where the plan is made nor where the intent is recorded."""
    compared = "if action_digest(run, intended.call, asked.tool, asked.definition, args) != intended.digest:"
    rewrite(authority, "objection", compared, "if False:")
    for owner in (conversations, commits, journal_authority):
        owner.objection = authority.objection  # pyright: ignore


def _no_digests() -> None:
    """Neither where the answer is made nor where it is recorded."""
    from adjourn.core import answer

    rewrite(answer, "_approval", "if digest and shown and digest != shown:", "if False:")
    rewrite(
        commands,
        "_admit_decision",
        "if (command.digest or looked) and found.digest and command.digest != found.digest:",
        "if False:",
    )


def _no_doubt() -> None:
    claimed = state._ON[Claimed]

    def forgetful(self: State, seq: int, x: Claimed) -> None:
        before = {id: call.phase for id, call in self.live.items()}
        claimed(self, seq, x)
        for id, phase in before.items():
            self._phase(self.live[id], phase)

    state._ON[Claimed] = forgetful


def _key_of_the_attempt() -> None:
    def key(self: ToolContext) -> str:
        return f"{self.run_id} {self.call_id} {self._call.attempt}"

    ToolContext.idempotency_key = property(key)  # type: ignore[assignment]


async def _nothing(tools: Any, reply: Any) -> dict[str, Any]:
    return {}


def _talkative_ends() -> None:
    for ended in status.ENDED:
        status.NEXT[ended][Said] = ended


DEFECTS: dict[str, Defect] = {
    "no_epoch": Defect(
        "a commit does not compare the epoch",
        rewriting(commits, "held_row", "if row.epoch != lease.epoch:", "if False:"),
        MEMORY + "test_a_newer_epoch_refuses_the_commit_and_changes_nothing",
    ),
    "effect_first": Defect(
        "a body starts before its intent is durable",
        rewriting(loop.Drive, "_commit", "    try:\n        done", "    self._begin(start)\n    start = []\n    try:\n        done"),
        POINTS + "[unsafe]",
    ),
    "unseen_moves": Defect(
        "moves land although something is unseen",
        rewriting(commits, "commit", "clean = not unseen and", "clean ="),
        RUNTIME + "races.py::test_g11_no_call_starts_after_a_pause_is_acknowledged",
    ),
    "only_park_refuses": Defect(
        "only parking looks for what is unseen",
        rewriting(commits, "commit", "not unseen and", "not (unseen and any(type(m).__name__ == 'Parked' for m in moves)) and"),
        RUNTIME + "races.py::test_g11_no_call_starts_after_a_cancel_is_acknowledged",
    ),
    "no_doubt": Defect(
        "calls in flight are not in doubt after their worker died",
        _no_doubt,
        RUNTIME + "checkpoints.py::test_a_call_in_flight_in_an_imported_checkpoint_is_in_doubt",
    ),
    "unsafe_again": Defect(
        "an unsafe call in doubt is simply run again",
        rewriting(plan, "_doubt", 'call.effect == "read"', 'call.effect in ("read", "unsafe")'),
        POINTS + "[unsafe]",
    ),
    "suspended_is_a_move": Defect(
        "a body that stopped to wait is forgotten if somebody spoke",
        rewriting(commits, "commit", "if clean else facts", "if clean else [f for f in facts if type(f).__name__ != 'Suspended']"),
        RUNTIME + "races.py::test_a_tool_that_stops_to_wait_while_somebody_speaks_still_waits[Said]",
    ),
    "no_upto": Defect(
        "a reply is believed to have read whatever was said before it",
        replacing(desk.RunningStep, "upto", property(lambda self: 1 << 60, lambda self, seq: None)),  # pyright: ignore
        RUNTIME + "races.py::test_a_message_during_the_last_model_call_brings_one_more",
    ),
    "name_for_digest": Defect(
        "an approval is for a tool of that name, whatever it is by now",
        _no_exact_action,
        RUNTIME + "programs.py::test_g19_a_changed_tool_definition_voids_the_approval",
    ),
    "stale_decisions": Defect(
        "what a person saw is not compared with what would run",
        _no_digests,
        RUNTIME + "decisions.py::test_g16_approving_something_else_than_what_would_run_is_stale",
    ),
    "undo_forward": Defect(
        "undos run in the order of the calls",
        rewriting(plan, "latest_first", "*reversed(state.effects.values())", "*state.effects.values()"),
        "tests/crash/test_undisturbed.py::test_a_scenario_that_nobody_disturbs_breaks_no_promise[cancel]",
    ),
    "words_after_the_end": Defect(
        "a run that has ended takes messages",
        _talkative_ends,
        RUNTIME + "runs.py::test_a_run_that_has_ended_hears_nothing_more[completed]",
    ),
    "no_request_ids": Defect(
        "request ids are ignored",
        rewriting(commands, "_deliver", "if request.id and (old", "if False and (old"),
        MEMORY + "test_the_same_request_again_gives_the_same_seq_and_appends_nothing",
    ),
    "late_answers": Defect(
        "an answer after the deadline is taken until somebody has recorded the expiry",
        rewriting(commands, "_admit_decision", "if found.expires and sheet.now >= found.expires:", "if False:"),
        RUNTIME + "time.py::test_a_late_answer_is_refused_by_the_clock_before_anybody_recorded_the_expiry",
    ),
    "decided_twice": Defect(
        "a decided interrupt can be decided again",
        rewriting(commands, "_admit_decision", 'if found.state == "decided":', "if False:"),
        RUNTIME + "decisions.py::test_g20_approve_deny_and_edit_at_once_have_one_winner_and_what_it_says_happens",
    ),
    "resumed_twice": Defect(
        "a checkpoint's place in the journal is not compared when it is resumed",
        rewriting(commands, "_place", "if request.at and row.seq != request.at:", "if False:"),
        MEMORY + "test_of_many_commands_for_the_same_record_one_is_taken",
    ),
    "halt_unread": Defect(
        "an intent lands although a halt names it",
        replacing(commits, "halted", lambda *_: frozenset()),  # pyright: ignore
        MEMORY + "test_an_intent_is_stopped_by_a_halt_of[*]",
    ),
    "halt_unheard": Defect(
        "a model call starts although the commit before it has read a halt",
        replacing(loop.Drive, "_held", lambda *_: False),  # pyright: ignore
        RUNTIME + "halt_verbs.py::test_g15_a_halt_from_another_process_reaches_a_run_at_work_and_lifting_it_too",
    ),
    "lease_not_renewed": Defect(
        "a lease is not renewed while a body takes its time",
        replacing(heartbeat.Heartbeat, "_beat", lambda *_: None),  # pyright: ignore
        RUNTIME + "processes.py::test_a_live_worker_is_left_alone",
    ),
    "everybody_is_dead": Defect(
        "a live worker of another process is taken for dead",
        replacing(advancer, "life_of", lambda *_: Life.DEAD),  # pyright: ignore
        RUNTIME + "processes.py::test_a_live_worker_is_left_alone",
    ),
    "key_of_the_attempt": Defect(
        "an idempotency key is different for every attempt",
        _key_of_the_attempt,
        POINTS + "[idempotent]",
    ),
    "functions_are_one": Defect(
        "rules with functions cannot be told apart, and nobody says so",
        replacing(function_identity, "identify", lambda function: function_identity.FunctionIdentity("one", ())),  # pyright: ignore
        "tests/agent/test_rules.py::test_an_edit_does_not_walk_into_a_rule_that_nobody_was_asked_about[small_and_large0]",
    ),
    "no_defaults": Defect(
        "what a model left out is not filled in before it is judged",
        replacing(tools, "filled", lambda schema, args: args),  # pyright: ignore
        "tests/agent/test_arguments.py::test_a_default_of_an_explicit_schema_is_judged_shown_and_run[cents-properties0-given0-complete0]",
    ),
    "drawn_each_time": Defect(
        "what a tool draws is not recorded",
        replacing(model_call, "drawn_for", _nothing),
        "tests/agent/test_arguments.py::test_what_was_drawn_and_shown_is_what_runs_in_another_process_too",
    ),
    "absent_is_present": Defect(
        "a rule applies without the argument that it is about",
        rewriting(policy.Rule, "applies", "if absent:", "if False:"),
        "tests/core/test_policy.py::test_what_is_given_decides_before_what_is_not",
    ),
    "part_of_a_string": Defect(
        "a pattern need not describe the whole string",
        replacing(argument_conditions, "whole", pattern.anywhere),
        "tests/core/test_argument_conditions.py::test_a_pattern_is_about_nothing_but_the_whole_string[a|b-ab]",
    ),
    "no_budget": Defect(
        "a schema may ask for any amount of work",
        replacing(Evaluator, "spend", lambda self, steps: None),  # pyright: ignore
        "tests/core/test_schema.py::test_a_check_that_needs_more_than_it_was_given_says_so_to_the_caller",
    ),
    **AUTHORITY,
    **STANDING,
    **RULES,
    **LONG_LIVES,
    **ENGINES,
    **BODIES,
    **RIGHTS,
    **LIVENESS,
}  # fmt: skip

ALL = {**DEFECTS, **TIME}
"""Those too that are tried in `tests/control`."""


PYTEST = (
    "-q", "-x", "-p", "no:cacheprovider", "-p", "anyio", "-p", "hypothesispytest", f"--rootdir={ROOT}",
    "-W", "ignore:Module already imported:pytest.PytestAssertRewriteWarning",
)  # fmt: skip
"""Who plants a defect of the server has imported anyio.

Without the plugins of everything that is installed: loading them takes longer than most of these tests."""


IMPORTED_ONCE = ("anyio.pytest_plugin", "_hypothesis_pytestplugin", "tests.conftest", "tests.stores.conftest")
"""What each of these tests needs before it begins: a fork has it already."""


def main() -> None:
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    for module in IMPORTED_ONCE:
        importlib.import_module(module)
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="+", choices=[*ALL, "none"])
    for name in parser.parse_args().names:
        print(json.dumps({"name": name, **_run(name)}), flush=True)


def _run(name: str) -> dict[str, Any]:
    """The exit code of pytest and what it printed, in a fork that has the defect."""
    tests = [ALL[name].caught_by] if name != "none" else list(dict.fromkeys(d.caught_by for d in DEFECTS.values()))
    began = time.monotonic()
    with tempfile.TemporaryFile("w+") as out:
        pid = os.fork()
        if pid == 0:
            code = 99
            try:
                with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
                    if name != "none":
                        os.environ |= {PLANTED: name, "ADJOURN_TEST_LIMIT": SOON}
                        ALL[name].plant()
                    code = int(pytest.main([*PYTEST, *tests]))
            except BaseException:
                traceback.print_exc(file=out)
            finally:
                out.flush()
                os._exit(code)
        _, ended = os.waitpid(pid, 0)
        out.seek(0)
        return {
            "seconds": round(time.monotonic() - began, 1),
            "code": os.waitstatus_to_exitcode(ended),
            "out": out.read()[-20_000:],
        }


if __name__ == "__main__":
    main()
