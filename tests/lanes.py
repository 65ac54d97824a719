"""The fast lane: which tests run in it, and the guard that keeps processes, browsers and servers out of it.

`pytest --fast` leaves out what SLOW names and every test that asks for a fixture of STARTING. What is left must start
nothing; `outside` sees to it. A new test is in the fast lane unless it is named here.
"""

import sys
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, NoReturn

import pytest

TESTS = Path(__file__).parent
FOLDERS = ("browser", "console", "control", "crash", "deploy", "front_ends", "mcp", "models", "server", "zoo")
STARTING = ("begin", "browser", "mock_process", "office", "postgres", "process", "terminal", "worker")
# Files, or single tests, that start something or take seconds.
SLOW = (
    "agent/test_arguments.py::test_sets_are_shown_in_one_order_in_every_process",
    "agent/test_seeds.py",
    "agent/test_toolset.py::test_what_was_found_is_not_sent_to_a_provider",
    "authority/test_approvals.py",
    "authority/test_changes.py",
    "authority/test_executions.py",
    "authority/test_forks.py",
    "authority/test_inside.py",
    "authority/test_mutations.py",
    "authority/test_requesters.py::test_who_shaped_a_run_does_not_agree_to_what_it_does",
    "authority/test_shell.py",
    "authority/test_signed.py",
    "authority/test_signed_paths.py",
    "authority/test_workers.py",
    "bodies/test_caught_pauses.py::test_a_body_in_a_process_of_its_own_that_catches_its_pause_is_put_to_a_person_as_well",
    "bodies/test_in_flight.py::test_closing_ends_in_time_and_says_what_it_left",
    "bodies/test_plain_arguments.py",
    "cli/test_commands.py::test_its_json_is_data_on_stdout",
    "cli/test_commands.py::test_the_version_loads_neither_a_terminal_library_nor_other_commands",
    "cli/test_db.py::test_a_backup_is_restored_and_the_way_back_is_printed",
    "cli/test_doctor.py::test_a_run_whose_worker_died",
    "cli/test_encrypted_runs.py",
    "cli/test_engine_workers.py",
    "cli/test_event_loop.py",
    "cli/test_hints.py",
    "cli/test_hostile.py",
    "cli/test_interrupt_lookup.py",
    "cli/test_person.py",
    "cli/test_runs_watch.py",
    "cli/test_schedule.py::test_two_processes_start_each_moment_once_and_end_at_a_signal",
    "cli/test_shown.py",
    "cli/test_user.py",
    "core/test_commute.py",
    "core/test_rule_identity.py::test_an_identity_is_the_same_in_every_process",
    "core/test_schema.py::test_a_step_is_about_as_much_work_as_any_other",
    "core/test_schema.py::test_no_schema_and_no_value_takes_for_ever",
    "core/test_schema.py::test_the_verdict_is_that_of_the_reference_implementation",
    "core/test_snapshot.py::test_a_flows_state_goes_on_from_where_it_was_written_down",
    "demo/test_guide.py::test_a_process_that_has_ended_is_not_the_present_worker",
    "demo/test_guide.py::test_now_yours_works_as_it_is_pasted",
    "demo/test_guide.py::test_the_readme_leads_to_the_own_agent_in_the_console",
    "docs/test_examples.py",
    "docs/test_quickstart_types.py",
    "docs/test_site.py",
    "docs/test_snippets.py",
    "driver/test_cold_start.py::test_no_cold_start_of_a_long_run_holds_up_the_loop_for_long",
    "driver/test_cost.py",
    "driver/test_death.py",
    "driver/test_failed_commit.py::test_a_store_that_stays_away_longer_than_the_grace_is_given_up",
    "driver/test_interruption.py",
    "driver/test_loop_stays_free.py",
    "engines/test_engines.py",
    "engines/test_measurements.py",
    "engines/test_misconfigured.py",
    "engines/test_restate.py",
    "engines/test_temporal.py",
    "flow/test_cost.py",
    "flow/test_crash.py",
    "flow/test_early_events.py::test_at_every_commit_of_a_run_two_events_are_heard_once_each",
    "flow/test_fingerprint.py",
    "flow/test_pauses.py::test_for_each_in_batch_in_a_sub_flow_goes_on_in_other_processes",
    "flow/test_random.py",
    "flow/test_runtime.py::test_a_worker_that_is_killed_is_replaced_by_another_process",
    "flow/test_seed.py",
    "flow/test_worker.py",
    "guests/test_console.py",
    "guests/test_guest_tool.py",
    "guests/test_langgraph.py",
    "guests/test_langgraph_kept.py",
    "guests/test_langgraph_saver.py",
    "guests/test_processes.py",
    "guests/test_pydantic_ai_durability.py",
    "guests/test_resume_twice.py",
    "house/test_again.py",
    "house/test_alone.py",
    "house/test_commits.py::test_every_subject_says_what_changes",
    "house/test_defects.py",
    "house/test_house_page.py",
    "house/test_import_is_light.py",
    "house/test_lanes.py",
    "house/test_repository.py",
    "house/test_the_suite.py",
    "house/test_wheel.py",
    "runtime/test_health.py::test_a_worker_answers_probes_and_nothing_else",
    "runtime/test_local_runtime.py::test_nothing_of_a_run_that_is_over_is_kept",
    "runtime/test_machine.py",
    "runtime/test_otel_spans.py::test_a_collector_gets_it_over_otlp",
    "runtime/test_otel_spans.py::test_logfire_shows_it",
    "runtime/test_processes.py",
    "runtime/test_soak.py",
    "runtime/test_standing.py",
    "runtime/test_state_cache.py",
    "runtime/test_turns.py::test_a_turn_costs_the_same_whether_fifty_or_a_thousand_came_before_it",
    "runtime/test_upgraded_runs.py::test_a_failing_upgrader_leaves_the_run_untouched_and_visible",
    "runtime/test_waiters.py::test_three_hundred_who_wait_for_a_slot_read_three_hundred_journals",
    "stores/test_erasing.py",
    "stores/test_faults.py",
    "stores/test_list_plans.py::test_no_list_takes_as_many_steps_as_going_through_all_runs",
    "stores/test_list_plans.py::test_no_look_takes_longer_because_there_are_more_runs_whatever_two_things_are_asked_for",
    "stores/test_processes.py",
    "stores/test_pruning.py::test_after_an_erasure_a_scrub_takes_what_was_pruned_before_as_well",
    "stores/test_pruning.py::test_of_a_hundred_canaries_none_is_in_a_byte_after_a_scrub",
    "stores/test_restore.py::test_a_database_in_use_is_refused_and_the_process_is_named",
    "stores/test_run_search.py",
    "stores/test_sqlite.py::test_a_read_only_folder_is_named",
    "stores/test_tampering.py::test_a_change_of_any_cell_of_any_table_shows_and_so_does_the_loss_of_any_row",
    "stores/test_world_changes.py",
    "stores/test_write_ahead_log.py",
    "views/test_surfaces.py",
)

EVENTS = {
    "subprocess.Popen": "starts a process",
    "os.posix_spawn": "starts a process",
    "os.spawn": "starts a process",
    "os.system": "starts a process",
    "os.exec": "becomes another process",
    "os.fork": "starts a process",
    "os.forkpty": "starts a process",
    "webbrowser.open": "opens a browser",
}


class LeftTheFastLane(BaseException):
    """Not an Exception: code that is tested must not catch it."""


def is_left_out(path: Path) -> bool:
    """Whether a folder or a file of tests is left out as a whole: it need not even be read."""
    if not path.is_relative_to(TESTS):
        return False
    file = path.relative_to(TESTS)
    return file.as_posix() in SLOW or (bool(file.parts) and file.parts[0] in FOLDERS)


def is_slow(nodeid: str, fixtures: Iterable[str]) -> bool:
    """Whether a test is left out: by its folder, its file or its name, by a fixture that it asks for, or because it is the one of
    several that needs a server."""
    names = nodeid.removeprefix("tests/")
    folder, file, test = names.split("/")[0], names.split("::")[0], names.split("[")[0]
    if "postgres" in names.partition("[")[2]:
        return True
    return folder in FOLDERS or file in SLOW or test in SLOW or any(fixture in STARTING for fixture in fixtures)


class FastLane:
    """The plugin behind `--fast`. An audit hook can never be removed, so there is one, and it asks whether a test runs."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self._on = False
        sys.addaudithook(self._hear)

    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        """Read no file of which no test is run."""
        return is_left_out(collection_path) or None

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Leave out what is slow."""
        slow = {item for item in items if is_slow(item.nodeid, getattr(item, "fixturenames", ()))}
        config.hook.pytest_deselected(items=[*slow])
        items[:] = [item for item in items if item not in slow]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self) -> Generator[None, object, object]:
        with self.closed():
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self) -> Generator[None, object, object]:
        with self.closed():
            return (yield)

    def stop(self, what: str) -> NoReturn:
        """Note it, for code that swallows everything, and raise."""
        said = f"this test {what}, which no test of the fast lane does: name it in SLOW of tests/lanes.py"
        self.seen.append(said)
        raise LeftTheFastLane(said)

    def _hear(self, event: str, args: tuple[Any, ...]) -> None:
        if not self._on:
            return
        if event in EVENTS:
            self.stop(EVENTS[event])
        if event == "socket.bind" and isinstance(args[1], tuple):  # an address of the network, not a file
            self.stop("starts a server")

    @contextmanager
    def closed(self) -> Generator[None]:
        """Nothing is started inside of this."""
        with pytest.MonkeyPatch.context() as patch:
            # multiprocessing starts its processes without an audit event
            patch.setattr(BaseProcess, "start", lambda process: self.stop("starts a process"))  # pyright: ignore
            self._on, self.seen = True, []
            try:
                yield
            finally:
                self._on = False
                if self.seen:  # however the test ended because of it
                    pytest.fail(self.seen[0], pytrace=False)
