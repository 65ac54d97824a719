"""Defects in what runs a body, each with the test that catches it."""

from typing import Any

from tests.house.defect import Defect, replacing, rewrite, rewriting

from adjourn.agent import hook_step
from adjourn.bodies import runner, undo
from adjourn.bodies import step_dispatch as perform
from adjourn.core import doubt, plan, state, thread
from adjourn.core.records import Doubted, Verified
from adjourn.driver import commit_retry as landing
from adjourn.driver import located_run, loop
from adjourn.driver.loop import Drive
from adjourn.driver.running_step import RunningStep
from adjourn.stores.rules import commit as commits

HOOKS = "tests/agent/test_hook.py::test_"
BOUNDS = "tests/bodies/test_bounds.py::test_"
ENDS = "tests/bodies/test_ends.py::test_an_end_is_the_bodys_own"
FLIGHT = "tests/bodies/test_in_flight.py::test_"
COMMIT = "tests/driver/test_failed_commit.py::test_a_failed_commit_changes_nothing"
GIVES_UP = FLIGHT + "a_cancel_that_gives_up_lists_the_body_and_its_late_result[False-verifiable-tool]"
THREADS = "tests/bodies/test_cancelled_threads.py::test_"
WITHIN = THREADS + "what_a_thread_registered_is_run_once_it_has_ended_within_the_grace[pays-False-tool]"
TWICE = FLIGHT + "the_world_gets_time_before_it_is_asked_and_a_no_is_asked_twice[None-tool]"


def _rewrite_doubt(name: str, old: str, new: str) -> None:
    doubt.State = state.State  # pyright: ignore (it is imported for the type checker only)
    rewrite(doubt, name, old, new)
    state._ON |= {Doubted: doubt.doubted, Verified: doubt.verified}


def _verified(old: str, new: str) -> Any:
    return lambda: _rewrite_doubt("verified", old, new)


def _settled_at_once() -> None:
    _rewrite_doubt("into_doubt", "at + settle if settle else 0.0", "0.0")


def _every_timeout() -> None:
    rewrite(
        runner, "run_body", "isinstance(error, TimeoutError) and limit.expired()", "isinstance(error, TimeoutError)"
    )
    perform.run_body = runner.run_body


def _joins_nobody() -> None:
    async def nobody(*_: Any) -> None:
        return None

    runner.joined = undo.joined = nobody


BODIES: dict[str, Defect] = {
    "forgotten_keys": Defect(
        "a key is used again although its target has forgotten it",
        rewriting(plan, "_doubt", "now - call.at > go.key_ttl", "False"),
        BOUNDS + "a_key_that_the_target_has_forgotten_is_not_used_again[61.0-kinds1-tool]",
    ),
    "again_for_ever": Defect(
        "an idempotent call in doubt is begun again without bound",
        rewriting(plan, "_doubt", " and call.doubts < AGAIN", ""),
        BOUNDS + "a_call_that_is_in_doubt_again_and_again_is_put_before_a_person[idempotent-tool]",
    ),
    "not_for_ever": Defect(
        "a verifiable call that did not happen is begun again without bound",
        _verified(" and call.doubts < AGAIN", ""),
        BOUNDS + "a_call_that_is_in_doubt_again_and_again_is_put_before_a_person[verifiable-chunk]",
    ),
    "read_twice": Defect(
        "a message that came during a back-off is read twice",
        rewriting(thread.PendingMessage, "is_read", "self.seq <= upto", "self.seq < upto"),
        "tests/driver/test_backoff.py::test_a_message_that_comes_during_the_back_off_is_read_once_and_costs_no_call",
    ),
    "oldest_first": Defect(
        "what waits is undone oldest first",
        rewriting(plan, "latest_first", "[*reversed(started(state)), ", "[*started(state), "),
        BOUNDS + "what_waits_is_undone_latest_first_like_everything_else[tool-self]",
    ),
    "asked_at_once": Defect("the world is asked at once after a timeout", _settled_at_once, TWICE),
    "one_no": Defect("one no is enough", _verified("and not call.denied", "and False"), TWICE),
    "verified_at_work": Defect(
        "a cancel asks the world about a body that is still at work",
        rewriting(plan, "_settle", "if call.inherited or call.left:", "if call.inherited:"),
        GIVES_UP,
    ),
    "thread_is_cut": Defect(
        "a thread counts as ended when nobody waits for it any more",
        rewriting(runner, "_until_ended", "desk.in_thread = True", "desk.in_thread = False"),
        GIVES_UP,
    ),
    "compensated_at_work": Defect(
        "what a body in a thread registered is run while it is at work",
        rewriting(Drive, "_overdue", "and not desk.had_thread", ""),
        WITHIN,
    ),
    "compensated_never": Defect(
        "what a body registered is forgotten if it ends after the cancel",
        rewriting(Drive, "_ends_cancelled", "self.state.status == Status.CANCELLING", "False"),
        WITHIN,
    ),
    "plainly_undone": Defect(
        "a body that was left at work counts as undone once it is compensated",
        rewriting(state.State, "_taken_back", "target.left or not covered", "not covered"),
        "tests/core/test_plan.py::test_a_body_that_was_left_and_compensated_is_in_doubt_for_whoever_takes_the_run_then",
    ),
    "ended_is_undone": Defect(
        "what a body did after its compensation counts as undone",
        rewriting(state.State, "_comes_late", "(begun or bool(call.compensated))", "False"),
        "tests/core/test_plan.py::test_a_compensation_that_is_in_flight_when_its_body_ends_came_too_soon",
    ),
    "compensated_beside": Defect(
        "what a body registered is run beside it by whoever takes the run again",
        rewriting(plan, "_settle", "if at_work and", "if False and"),
        THREADS + "whoever_takes_the_run_again_waits_for_the_thread_before_it_compensates[tool]",
    ),
    "steps_after_the_end": Defect(
        "a body that was left goes on with its steps",
        rewriting(RunningStep, "_ask_whether_left", "if self.left:", "if False:"),
        THREADS + "a_thread_that_was_left_records_nothing_more[True-step-tool]",
    ),
    "late_beside_the_end": Defect(
        "what a body comes to while the end is written down is dropped",
        rewriting(Drive, "_abandon", "is_end(one.fact, left)", "False"),
        THREADS + "two_results_that_land_while_the_cancel_is_written_down_are_late_and_not_lost[tool]",
    ),
    "late_is_lost": Defect(
        "what a body comes to behind the end is dropped",
        replacing(loop, "record_late", lambda *_, **__: None),  # pyright: ignore
        GIVES_UP,
    ),
    "beside_itself": Defect(
        "a body is begun beside one that is still at work",
        _joins_nobody,
        FLIGHT + "whoever_takes_the_run_again_waits_for_the_body_of_this_process[verifiable-tool]",
    ),
    "odd_end": Defect(
        "an end that nobody expects ends the driver",
        rewriting(
            runner,
            "_ended_badly",
            "if interruption :=",
            "if not isinstance(error, Exception):\n        raise error\n    if interruption :=",
        ),
        ENDS + "[its own kind-False-chunk]",
    ),
    "its_own_timeout": Defect(
        "a timeout of the body's own is taken for the tool's",
        _every_timeout,
        ENDS + "[own timeout-False-tool]",
    ),
    "cancelled_by_whom": Defect(
        "a task that something else cancelled has failed, as if nothing had happened",
        rewriting(runner, "_interruption", "_is_cancelled()", "False"),
        ENDS + "[session-False-tool]",
    ),
    "reads_for_ever": Defect(
        "a read that something interrupts is tried again without bound",
        replacing(runner, "READ_AGAIN", 10**9),
        "tests/bodies/test_ends.py::test_a_read_is_tried_again_a_few_times_at_most[interrupted-True-chunk]",
    ),
    "impatient": Defect(
        "a commit that fails once ends the drive",
        rewriting(landing.Landing, "_again", "if now >= began + self._grace:", "if True:"),
        COMMIT + "[-before-tool]",
    ),
    "landed_twice": Defect(
        "a commit that is repeated lands twice",
        replacing(commits, "_landed", lambda *_: None),  # pyright: ignore
        COMMIT + "[-after-tool]",
    ),
    "waits_for_the_deaf": Defect(
        "a run is not handed back before all its bodies have ended",
        replacing(loop, "LEAVE", 60.0),
        FLIGHT + "closing_ends_in_time_and_says_what_it_left[ignores-tool]",
    ),
    "pass_is_kept": Defect(
        "what a hook let pass once counts for every attempt",
        rewriting(state.State, "_phase", 'call.checked, call.veto = 0, ""', "pass"),
        HOOKS + "a_call_that_is_tried_again_is_judged_again_and_a_veto_bothers_nobody",
    ),
    "asks_before_hooks": Defect(
        "a person is asked before the hooks are",
        rewriting(plan, "_ask", "if ask.unchecked", "if False"),
        HOOKS + "nobody_is_asked_about_what_a_hook_vetoes",
    ),
    "withheld_never_ran": Defect(
        "a call whose hook failed is said not to have run",
        rewriting(hook_step, "_withheld", "why=WITHHELD,", "why=WITHHELD, ran=False,"),
        HOOKS + "a_call_whose_hook_fails_has_run_once_is_withheld_and_can_be_undone[memory-raises]",
    ),
    "one_home": Defect(
        "what is at work in one store is found by another",
        replacing(located_run, "_home", lambda _: "home"),  # pyright: ignore
        "tests/bodies/test_stores_apart.py::test_each_store_runs_the_body_of_its_own_run[memory-tool]",
    ),
    "one_answer": Defect(
        "of two resumes of a checkpoint the second gets what the first one's body gave",
        rewriting(located_run, "_work_key", 'digest("work", call.key(run), answers, call.value)', '""'),
        "tests/bodies/test_stores_apart.py::test_a_checkpoint_that_is_resumed_twice_at_once_pays_each_its_own_way",
    ),
    "never_forgets": Defect(
        "what a body gave to on_cancel is kept for ever",
        replacing(perform, "forget", lambda *_: None),  # pyright: ignore
        "tests/bodies/test_undo.py::test_a_compensation_is_forgotten_with_its_call[returns-chunk]",
    ),
}  # fmt: skip
