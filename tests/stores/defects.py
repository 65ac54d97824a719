"""Defects in how rules and stores meet, each with the test that catches it. See `tests.house.defects`."""

from tests.house.defect import Defect, rewriting

from adjourn.stores.rows import Rows
from adjourn.stores.rules import lease as leases
from adjourn.stores.sqlite import SQLiteStore

SHEET = "tests/stores/test_sheet.py::test_"

RULES: dict[str, Defect] = {
    "reads_unasked": Defect(
        "a rule reads what it did not ask for",
        rewriting(leases, "committing", "opens=need.opens", "opens=False"),
        "tests/stores/test_contract.py::TestMemoryStore::test_an_end_closes_everything_that_was_open[Completed]",
    ),
    "not_flushed": Defect(
        "a run that waits in the batch is read as it was before",
        rewriting(Rows, "read", "if ask.run in self._gathered.runs or", "if"),
        SHEET + "two_votes_in_one_batch_are_both_counted",
    ),
    "refusal_drops_the_others": Defect(
        "a refusal in a batch drops what the others have written",
        rewriting(
            SQLiteStore,
            "_attempt",
            "request.error = self._failure(e)",
            "request.error = self._failure(e); rows.forget()",
        ),
        SHEET + "a_refusal_in_a_batch_leaves_the_others",
    ),
}
