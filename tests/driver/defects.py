"""Defects in who counts as dead, what is asked before a body acts, and what lasts: planted by `tests.house.defects`."""

from tests.house.defect import Defect, replacing, rewriting

from adjourn.bodies import runner
from adjourn.bodies.tool_context import ToolContext
from adjourn.core import plan
from adjourn.driver import process_identity as identity
from adjourn.driver import tool_limits
from adjourn.driver.clock import DriveTime
from adjourn.driver.commit_retry import Landing
from adjourn.driver.loop import Drive
from adjourn.driver.process_identity import Life
from adjourn.driver.tool_limits import RunTickets
from adjourn.runtime import advancer, waiters, worker
from adjourn.runtime.advancer import Advancer
from adjourn.runtime.program_choice import Fitness
from adjourn.runtime.state_cache import StateCache
from adjourn.runtime.worker import Worker
from adjourn.stores.rules import lease as leases
from adjourn.stores.rules import transaction as rule_transaction
from adjourn.stores.sqlite import SQLiteStore

FENCE = "tests/driver/test_fence.py::test_"
STEPS = "tests/bodies/test_clock_steps.py::test_"
CLOSING = "tests/runtime/test_closing.py::test_"
ADVANCE = "tests/runtime/test_advance_result.py::test_"
CLAIMING = "tests/runtime/test_claiming.py::test_"
WAITERS = "tests/runtime/test_waiters.py::test_"
KNOWN = "tests/runtime/test_known_here.py::test_"
TICKETS = "tests/driver/test_tool_limits.py::test_"
MEMORY = "tests/stores/test_contract.py::TestMemoryStore::test_"

LIVENESS: dict[str, Defect] = {
    "light_batch": Defect(
        "a group commit with one request in it that need not last is not synced",
        rewriting(SQLiteStore, "_transact", "light = all(", "light = any("),
        "tests/stores/test_sqlite.py::test_a_word_that_shares_its_commit_with_a_lease_is_synced[lease]",
    ),
    "no_fence": Defect(
        "a body begins without asking whether the run is still its worker's",
        rewriting(Drive, "_perform", "await self.check()", "pass"),
        FENCE + "a_neighbour_that_blocks_the_loop_between_the_commit_and_the_body_costs_no_second_effect",
    ),
    "no_fence_for_steps": Defect(
        "a step of a body begins without asking whether the run is still its worker's",
        rewriting(ToolContext, "step", "await self._desk.fence()", "pass"),
        FENCE + "a_step_of_a_worker_that_lost_its_run_while_frozen_does_not_run",
    ),
    "reused_pid": Defect(
        "a pid that is used again keeps its first owner alive",
        rewriting(identity, "life_of", "if birth != name.birth:", "if not birth:"),
        "tests/driver/test_process_identity.py::test_a_pid_that_is_used_again_does_not_keep_its_first_owner_alive",
    ),
    "tickets_of_the_dead": Defect(
        "the ticket of a worker that died counts for ever, unless somebody takes its run",
        rewriting(
            RunTickets,
            "_is_over",
            "return not has_its_runs(life_of(row.worker), row.lease_until, self._store.now())",
            "return False",
        ),
        TICKETS + "a_worker_whose_process_is_gone_keeps_none[sqlite]",
    ),
    "tickets_of_the_living": Defect(
        "a worker that is known to live loses its tickets because time has passed",
        replacing(tool_limits, "life_of", lambda *_: Life.UNKNOWN),  # pyright: ignore
        TICKETS + "a_worker_that_lives_on_this_machine_keeps_its_ticket_however_much_time_has_passed[sqlite]",
    ),
    "tickets_of_the_closed": Defect(
        "a worker that works no more counts as long as its process lives",
        rewriting(tool_limits, "has_its_runs", "or not until", ""),
        TICKETS + "a_worker_that_has_ended_keeps_none_although_its_process_lives[sqlite]",
    ),
    "tickets_owed": Defect(
        "a ticket that could not be given back is forgotten while its run waits for a slot",
        rewriting(RunTickets, "_reap", "list(self._limits.owed.items())", "()"),
        TICKETS + "what_a_living_worker_could_not_give_back_it_does_while_others_of_its_runs_wait[sqlite-another_tool]",
    ),
    "nobody_is_spared": Defect(
        "a worker that is known to live loses its runs because time has passed",
        rewriting(leases, "is_held", "return spared or", "return"),
        MEMORY + "a_worker_that_is_spared_is_not_robbed_because_time_has_passed",
    ),
    "the_living_are_robbed": Defect(
        "a worker does not say whom it knows to be alive",
        rewriting(Advancer, "_take", ", spares=here()", ""),
        "tests/runtime/test_liveness.py::test_a_live_worker_of_this_machine_is_not_robbed_because_time_has_passed",
    ),
    "the_wall_clock_ends_waits": Defect(
        "a wait that is held is over because somebody set the clock",
        rewriting(DriveTime, "now", "if self._kept is None else self._kept", "if True else self._kept"),
        STEPS + "what_was_cut_off_gets_its_time_before_the_world_is_asked[tool-3600.0]",
    ),
    "settling_is_parked": Defect(
        "a long time to settle is left to the wall clock",
        rewriting(plan, "_asks_the_world", "plan.hold_until(call.settles)", "plan.retry_at(call.settles, now)"),
        STEPS + "what_was_cut_off_gets_its_time_before_the_world_is_asked[chunk-3600.0]",
    ),
    "grace_by_the_wall_clock": Defect(
        "a cancel gives up because somebody set the clock",
        rewriting(Drive, "_patience", "self._clock.steady()", "self.store.now()"),
        STEPS + "a_cancel_waits_for_its_grace[tool-3600.0]",
    ),
    "commits_by_the_wall_clock": Defect(
        "a failing commit is given up because somebody set the clock",
        rewriting(Landing, "_again", "self._clock.steady()", "self._store.now()"),
        STEPS + "a_failed_commit_is_made_again_for_its_grace[3600.0]",
    ),
    "dropped_results": Defect(
        "what a body comes to after it was cut off is dropped",
        rewriting(Drive, "_abandon", "self._leave(step, task)", "pass"),
        CLOSING + "a_result_that_comes_after_the_cut_is_recorded_and_nobody_is_asked",
    ),
    "results_too_late": Defect(
        "a worker closes before the last result is recorded",
        rewriting(Drive, "_abandon", "await all_recorded(LEAVE / 2)", "pass"),
        CLOSING + "a_result_that_comes_after_the_cut_is_recorded_before_closing_ends",
    ),
    "a_cut_is_a_failure": Defect(
        "an error that cutting a body off may have caused says that nothing happened",
        rewriting(
            runner, "_ended_badly", "desk.cut\n        and _is_cancelled()", "False\n        and _is_cancelled()"
        ),
        CLOSING + "an_error_that_the_cut_may_have_caused_is_not_taken_for_a_failure",
    ),
    "waiters_look_again": Defect(
        "whoever waits for a run reads its journal at every ring",
        rewriting(worker, "rest", "None if told else (await store.get(run)).status", "None"),
        WAITERS + "three_hundred_who_wait_for_a_slot_read_three_hundred_journals",
    ),
    "waiters_hear_nobody_else": Defect(
        "whoever waits for a run that waits for a slot does not hear that another process has ended it",
        rewriting(Worker, "is_at", "and not self._slots.is_queued(run)", "or self._slots.is_queued(run)"),
        WAITERS + "a_run_that_another_process_ends_is_heard_of_while_it_waits_for_a_slot_here",
    ),
    "outcomes_are_the_workers_own": Defect(
        "whoever waits for a run is given what its worker goes on with",
        rewriting(waiters, "shown", "replace(found, record=record)", "found"),
        KNOWN + "what_a_caller_does_to_an_outcome_does_not_reach_the_run",
    ),
    "a_budget_cuts_models": Defect(
        "when the time of a run is over, its model call is cut off",
        rewriting(advancer._Timers, "_over", "cut=False", "cut=True"),
        ADVANCE + "when_its_time_is_over_a_model_call_in_flight_ends_and_nothing_new_begins",
    ),
    "a_budget_starts_more": Defect(
        "when the time of a run is over, what is next is intended nevertheless",
        rewriting(Drive, "_moves", "(self._stopping and planned.start)", "False"),
        ADVANCE + "when_its_time_is_over_a_model_call_in_flight_ends_and_nothing_new_begins",
    ),
    "the_cancelled_keep_their_runs": Defect(
        "whoever is cancelled while it has a run does not hand it back",
        rewriting(Advancer, "_release", "if self._closing:", "if True:"),
        ADVANCE + "who_is_cancelled_hands_the_run_back[sqlite]",
    ),
    "leases_nobody_saw": Defect(
        "whoever is cancelled while it takes a run keeps it",
        rewriting(Advancer, "_advance", "self._hand_back(self._untake(run))", "pass"),
        ADVANCE + "who_is_cancelled_while_it_takes_a_run_does_not_keep_it[sqlite]",
    ),
    "handed_back_too_early": Defect(
        "whoever is cancelled hands the run back while a body of it is at work",
        rewriting(Advancer, "_release", "flights.are_at_work(self._home, {lease.run})", "False"),
        ADVANCE + "who_is_cancelled_keeps_the_run_until_its_thread_has_ended[sqlite]",
    ),
    "answers_are_taken_by_the_unfit": Defect(
        "a run is taken before it is known whether it fits",
        rewriting(
            Advancer,
            "_advance",
            "program = await self._fitness.program_for(state)",
            "await self._take(run, state, replaces); program = await self._fitness.program_for(state)",
        ),
        ADVANCE + "a_run_that_fits_no_program_here_keeps_its_answers",
    ),
    "the_unfit_are_claimed_again": Defect(
        "what does not fit is claimed by every sweep",
        rewriting(Fitness, "refused", "return list(self._refused)", "return []"),
        CLAIMING + "a_run_that_fits_nobody_stays_as_it_is_until_a_worker_that_fits_claims_it",
    ),
    "own_wakes_are_claimed": Defect(
        "the sweep claims what this process has just started and wakes itself",
        rewriting(Worker, "_known", "*self._coming, ", ""),
        CLAIMING + "what_this_process_wakes_itself_the_sweep_leaves_alone",
    ),
    "the_queue_is_overtaken": Defect(
        "a queued run of a session is taken while one before it goes on",
        rewriting(leases, "acquire", "or sheet.ahead", ""),
        MEMORY + "one_that_is_queued_waits_until_all_before_it_in_its_session_have_ended",
    ),
    "erased_turns_are_sent_from_memory": Defect(
        "a process goes on with what it has in memory of a turn that another one has erased",
        rewriting(
            Advancer,
            "_hold",
            "self.earlier.heard(lease.erasures)",
            "self.earlier.erasures < 0 and self.earlier.heard(lease.erasures)"
            "; lease = msgspec.structs.replace(lease, erasures=folded.erasures)",
        ),
        "tests/runtime/test_erased_turns.py::test_a_turn_that_another_process_has_erased_is_not_sent_by_one_that_has_it_in_memory",
    ),
    "half_a_conversation_is_erased": Defect(
        "of a conversation in which one turn must stay, the others are erased",
        rewriting(rule_transaction, "_all_or_none", "in refused or done", "in done"),
        "tests/runtime/test_erased_turns.py::test_if_one_turn_must_stay_none_is_erased_and_the_audit_says_which[0-held]",
    ),
    "kept_by_number": Defect(
        "states are kept although they are large",
        rewriting(StateCache, "keep", "weight = folded.weight", "weight = 1"),
        "tests/runtime/test_state_cache.py::test_the_oldest_make_room_by_the_bytes_they_hold",
    ),
    "what_is_driven_weighs_nothing": Defect(
        "a state weighs no more although its run went on",
        rewriting(Advancer, "_hold", "Folded(drive.state, drive.size, ", "Folded(drive.state, folded.size, "),
        "tests/runtime/test_state_cache.py::test_a_state_weighs_what_its_journal_has_by_whichever_way_it_came_here[sqlite]",
    ),
}
