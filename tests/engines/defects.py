"""Defects of what stands between an engine and the store, each with the test that catches it."""

from tests.house.defect import Defect, rewriting

from adjourn.engines.backstop import Backstop
from adjourn.engines.run_tasks import RunTasks

TASKS = "tests/engines/test_run_tasks.py::test_"
BACKSTOP = "tests/engines/test_backstop.py::test_"

ENGINES = {
    "busy_is_done": Defect(
        "a wake is done although another worker has the run",
        rewriting(
            RunTasks,
            "_progress",
            'raise NotNow(f"worker {found.worker} has it", min(max(left, SOON), LATE))',
            "return RunProgress()",
        ),
        TASKS + "a_run_that_another_worker_has_or_that_does_not_fit_is_never_acknowledged",
    ),
    "engine_cuts_off": Defect(
        "an engine that stops waiting for a run begins it anew",
        rewriting(RunTasks, "advance", "task = self._tasks.get(run)", "task = None"),
        TASKS + "an_engine_that_stops_waiting_cuts_off_nothing_and_finds_the_run_again",
    ),
    "sweep_forgets": Defect(
        "the sweep counts anew at every look, and never takes what the engine forgot",
        rewriting(Backstop, "once", "before.get(row.id, (row.seq, now))", "(row.seq, now)"),
        BACKSTOP + "a_run_is_left_to_its_engine_until_it_was_due_for_too_long",
    ),
}
