"""Defects in how long runs are kept and read, each with the test that catches it. See `tests.house.defects`."""

from tests.house.defect import Defect, replacing, rewriting

from adjourn.core import chapter, chapter_rule
from adjourn.core import snapshot as image
from adjourn.core.done_calls import Effects
from adjourn.driver import cold_start
from adjourn.driver.loop import Drive
from adjourn.runtime.worker import Worker
from adjourn.stores.rules import chapters
from adjourn.stores.snapshots import MemorySnapshots

IMAGE = "tests/core/test_snapshot.py::test_"
SNAPSHOTS = "tests/driver/test_cold_start.py::test_"
LONG_TURNS = "tests/runtime/test_long_turns.py::test_"
CHAPTERS = "tests/runtime/test_chapters.py::test_"

LONG_LIVES: dict[str, Defect] = {
    "one_call_twice": Defect(
        "a call that goes on is two calls once its state was read again",
        rewriting(Effects, "shared_with", "live.get(id, call)", "call"),
        IMAGE + "an_agents_state_goes_on_from_where_it_was_written_down",
    ),
    "damaged_stretch": Defect(
        "a part of a snapshot that was damaged is met when somebody looks back",
        rewriting(image, "_checked", "if zlib.crc32(body[4:]) !=", "if 0 and zlib.crc32(body[4:]) !="),
        SNAPSHOTS + "one_damaged_byte_of_a_stretch_costs_a_fold_and_is_never_met_later",
    ),
    "never_written": Defect(
        "a run that never rests is never written down",
        rewriting(Drive, "_commit", "await self._keeps(self.state)", "pass"),
        "tests/runtime/test_snapshots.py::test_a_state_is_written_down_while_the_run_goes_on_and_is_the_one_of_its_journal",
    ),
    "any_head": Defect(
        "a snapshot of another history is believed",
        replacing(MemorySnapshots, "_is_there", lambda self, run, snapshot: True),  # pyright: ignore
        SNAPSHOTS + "a_snapshot_that_is_not_of_this_journal_is_ignored[memory-head]",
    ),
    "any_format": Defect(
        "a snapshot of another format is read",
        rewriting(cold_start, "_restored", "if found[0].format != image.FORMAT:", "if False:"),
        SNAPSHOTS + "a_snapshot_of_another_format_is_not_even_read[memory]",
    ),
    "trusting": Defect(
        "whoever trusts only some people believes a snapshot",
        rewriting(cold_start, "folded_and_sized", "    if trust is None:\n        found", "    if True:\n        found"),
        SNAPSHOTS + "whoever_trusts_only_some_people_folds_for_themselves[memory]",
    ),
    "no_slices": Defect(
        "a long fold holds everybody up",
        rewriting(cold_start, "fold_in_slices", "await asyncio.sleep(0)", "pass"),
        SNAPSHOTS + "others_have_their_turn_between_the_slices_of_a_fold",
    ),
    "forged_chapter": Defect(
        "a chapter may say anything",
        rewriting(chapter_rule, "flaw", "if changed else", "if False else"),
        CHAPTERS + "a_chapter_that_says_anything_else_is_none",
    ),
    "chapter_at_work": Defect(
        "a chapter begins while a worker has the run",
        rewriting(chapters, "begin", "if row.worker:", "if False:"),
        CHAPTERS + "no_chapter_begins_in_a_run_that_has_ended_or_is_at_work",
    ),
    "copies_turns": Defect(
        "a snapshot of a turn has what was said in the turns before it",
        rewriting(image, "own", "if ref is None:", "if True:"),
        LONG_TURNS + "what_is_kept_of_a_turn_has_nothing_of_the_turn_before_which_may_be_erased",
    ),
    "copies_request": Defect(
        "a snapshot of a turn has a request with messages of the turns before it",
        replacing(image, "copies_earlier_turns", lambda state: False),  # pyright: ignore
        LONG_TURNS + "while_a_part_of_the_turns_before_is_in_the_state_it_is_not_written_down",
    ),
    "turns_left_out": Defect(
        "a turn that is read from a snapshot has forgotten the turns before it",
        rewriting(cold_start, "_with_earlier", "if before is not None:", "if False:"),
        LONG_TURNS + "a_cold_start_reads_the_end_of_a_long_turn_and_what_was_said_before_it[snapshot]",
    ),
    "never_continues": Defect(
        "a run that never rests never continues as new",
        replacing(Drive, "_is_long", lambda self: False),  # pyright: ignore
        CHAPTERS + "a_run_that_never_rests_continues_as_new_between_two_steps",
    ),
    "handed_back_for_ever": Defect(
        "a run in which no chapter can begin is handed back again and again",
        rewriting(Drive, "_is_long", "self.state.seq - self._first < chapter.FEW", "False"),
        CHAPTERS + "where_no_chapter_can_begin_a_run_is_handed_back_seldom_and_goes_on",
    ),
    "not_taken_again": Defect(
        "a run that continues as new waits for the next sweep",
        rewriting(Worker, "_turn", "done.more and", "False and"),
        CHAPTERS + "a_run_that_never_rests_continues_as_new_between_two_steps",
    ),
    "old_draft": Defect(
        "a chapter leaves out what was written while it was made",
        rewriting(chapters, "begin", "elif row.head != draft.head:", "elif False:"),
        CHAPTERS + "a_long_journal_is_read_before_the_transaction_and_a_word_that_comes_meanwhile_is_in_the_chapter[MemoryStore]",
    ),
    "chapter_forgets": Defect(
        "a chapter does not say what was done",
        rewriting(chapter, "content", 'trust=None, head=b""', 'trust=None, head=b"", effects={}'),
        CHAPTERS + "whoever_begins_with_a_chapter_knows_all_that_was_before_it",
    ),
}  # fmt: skip
