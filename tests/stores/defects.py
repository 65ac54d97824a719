"""Defects in how rules and stores meet, each with the test that catches it. See `tests.house.defects`."""

from tests.house.defect import Defect, replacing, rewriting

from adjourn.stores import tickets
from adjourn.stores.inbox_terms import InboxWalk
from adjourn.stores.memory import transaction as memory_book
from adjourn.stores.rules import commit as commits
from adjourn.stores.rules import creation
from adjourn.stores.rules import erasure as erasing
from adjourn.stores.rules import lease as leases
from adjourn.stores.rules import prune as pruning
from adjourn.stores.rules.sheet import Sheet
from adjourn.stores.sqlite import SQLiteStore, removal
from adjourn.stores.sqlite import lists as sqlite_lists
from adjourn.stores.sqlite import transaction as sqlite_book
from adjourn.stores.sqlite.transaction import SQLiteBook


def _nobody_holds() -> None:
    for owner in (leases, memory_book):
        owner.is_held = lambda *_: False  # pyright: ignore


SHEET = "tests/stores/test_transaction.py::test_"
CONTRACT = "tests/stores/test_contract.py::TestSQLiteStore::test_"
TICKETS = "tests/stores/test_tickets.py::test_"
HELD = CONTRACT + "what_is_under_a_hold_is_neither_erased_nor_pruned"

RULES: dict[str, Defect] = {
    "reads_unasked": Defect(
        "a rule reads what it did not ask for",
        rewriting(commits, "committing", "opens=need.opens", "opens=False"),
        "tests/stores/test_contract.py::TestMemoryStore::test_an_end_closes_everything_that_was_open[RunCompleted]",
    ),
    "not_flushed": Defect(
        "a run that waits in the batch is read as it was before",
        rewriting(
            SQLiteBook, "_read_much", "waits = not self._gathered.runs.isdisjoint((ask.run, earlier))", "waits = False"
        ),
        SHEET + "two_votes_in_one_batch_are_both_counted",
    ),
    "known_for_ever": Defect(
        "what another process has written to a run is not looked for",
        rewriting(SQLiteBook, "_run", "id not in self._sure", "False"),
        "tests/stores/test_sqlite.py::test_what_is_known_of_a_run_outlives_what_another_process_writes_elsewhere",
    ),
    "one_too_many": Defect(
        "one call more of a tool is at work than its limit says",
        rewriting(tickets, "_free", "limit.most - len(found.held)", "limit.most + 1 - len(found.held)"),
        TICKETS + "no_more_calls_are_at_work_or_begin_than_a_limit_says_whoever_dies",
    ),
    "held_for_ever": Defect(
        "the tickets of a worker that died stay taken",
        rewriting(
            tickets,
            "_swept",
            "is_mine = ticket.epoch == request.epoch and ticket.call in (*working, *wanted)",
            "is_mine = True",
        ),
        TICKETS + "the_tickets_of_a_worker_that_died_are_free_when_its_run_is_taken_over",
    ),
    "overtaken_in_the_queue": Defect(
        "a call that came later is served first",
        rewriting(tickets, "_asked", "place < _free(found)", "0 < _free(found)"),
        TICKETS + "who_came_first_is_served_first",
    ),
    "claimed_twice": Defect(
        "a claim takes what others hold",
        _nobody_holds,
        "tests/stores/test_contract.py::TestMemoryStore::test_two_claimers_never_get_the_same_run",
    ),
    "refusal_drops_the_others": Defect(
        "a refusal in a batch drops what the others have written",
        rewriting(
            SQLiteStore,
            "_attempt",
            "request.error = e\n",
            "request.error = e; rows.forget()\n",
        ),
        SHEET + "a_refusal_in_a_batch_leaves_the_others",
    ),
    "look_without_end": Defect(
        "a list of runs looks at more of them each time, and others wait",
        rewriting(sqlite_lists, "_slices", "min(most * 4, LOOK)", "most * 4"),
        "tests/stores/test_list_plans.py::test_no_look_takes_longer_because_there_are_more_runs_whatever_two_things_are_asked_for",
    ),
    "look_past_a_run": Defect(
        "a look begins after a run that nobody has looked at",
        rewriting(sqlite_lists, "_slices", "numbers[-1] - 1", "numbers[-1] - 2"),
        "tests/stores/test_lists.py::test_a_file_lists_what_memory_lists_whatever_is_asked[every way]",
    ),
    "inbox_look_without_end": Defect(
        "a filtered inbox is gone through in larger and larger looks, and others wait",
        rewriting(InboxWalk, "looks", "min(count * 4, most)", "count * 4"),
        "tests/stores/test_list_plans.py::"
        "test_no_look_at_an_inbox_takes_longer_because_more_wait_though_nobody_asked_for_that[True]",
    ),
    "erased_under_hold": Defect(
        "a run that is under a legal hold is erased",
        rewriting(erasing, "erase", "held(sheet, row) or _refusal(sheet, row)", "_refusal(sheet, row)"),
        HELD + "[run:r1]",
    ),
    "pruned_under_hold": Defect(
        "a run that is under a legal hold is pruned",
        rewriting(pruning, "prune", "held(sheet, row) or _refusal(row, wanted)", "_refusal(row, wanted)"),
        HELD + "[run:r1]",
    ),
    "pruned_as_it_is_not": Defect(
        "a run is pruned although something came after its archive",
        rewriting(pruning, "_refusal", "row.seq != wanted.seq", "False"),
        CONTRACT + "what_changed_since_somebody_looked_or_is_too_young_is_not_pruned",
    ),
    "id_again": Defect(
        "the id of a run that was pruned is given again",
        rewriting(creation, "create", "sheet.is_audited(started.run)", "False"),
        CONTRACT + "its_id_stays_taken",
    ),
    "word_wakes_nobody": Defect(
        "a word to a run that an engine drives writes no wake",
        rewriting(
            Sheet,
            "wake_if_due",
            "not row.worker or any(line.epoch != row.epoch for line in journal)",
            "journal[0].epoch == row.epoch",
        ),
        CONTRACT + "a_word_that_leaves_a_run_due_wakes_it[waiting-Said]",
    ),
    "wake_number_again": Defect(
        "a newer wake keeps the number of the old one, and goes with its acknowledgement",
        replacing(
            sqlite_book,
            "_WAKE",
            "insert into wake (run, not_before) select n, ? from run where id = ? "
            "on conflict (run) do update set not_before = excluded.not_before",
        ),
        CONTRACT + "a_word_while_one_is_taken_is_given_at_once_and_the_old_acknowledgement_does_not_remove_it",
    ),
    "left_beside": Defect(
        "a table keeps rows of a run that was erased",
        replacing(removal, "BESIDE", removal.BESIDE[1:]),
        "tests/stores/test_pruning.py::test_every_table_that_has_rows_of_a_run_is_known_to_what_removes_them",
    ),
}
