"""Defects in who counts as dead, what is asked before a body acts, and what lasts: planted by `tests.house.defects`."""

from tests.house.defect import Defect, rewriting

from adjourn.bodies.tool_context import ToolContext
from adjourn.driver import identity
from adjourn.driver.loop import Drive
from adjourn.runtime.worker import Worker
from adjourn.stores.rules import lease as leases
from adjourn.stores.sqlite import SQLiteStore

FENCE = "tests/driver/test_fence.py::test_"
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
        rewriting(identity, "life_of", "if birth != born:", "if not birth:"),
        "tests/driver/test_identity.py::test_a_pid_that_is_used_again_does_not_keep_its_first_owner_alive",
    ),
    "nobody_is_spared": Defect(
        "a worker that is known to live loses its runs because time has passed",
        rewriting(leases, "_is_held", "return spared or", "return"),
        MEMORY + "a_worker_that_is_spared_is_not_robbed_because_time_has_passed",
    ),
    "the_living_are_robbed": Defect(
        "a worker does not say whom it knows to be alive",
        rewriting(Worker, "_take", ", spares=here()", ""),
        "tests/runtime/test_liveness.py::test_a_live_worker_of_this_machine_is_not_robbed_because_time_has_passed",
    ),
}
