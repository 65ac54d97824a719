"""Defects in what may run: each condition of the invariant left out, and each place where it is checked.

The conditions are planted where their mutants are tried (`test_mutations`), the places by `tests.house.defects`.
"""

from typing import Any, NamedTuple

from tests.house.defect import Defect, replacing, rewrite, rewriting

from adjourn.bodies.tool_context import ToolContext
from adjourn.core import authority, state
from adjourn.core.records import Intended
from adjourn.core.state import State
from adjourn.stores.rules import commands, journal
from adjourn.stores.rules import lease as leases

HERE = "tests/authority/test_"
EXACTLY = "if action_digest(run, intended.call, asked.tool, asked.definition, args) != intended.digest:"
STRANGER = "if slot.groups and not set(slot.groups).intersection(vote.groups):"


class Condition(NamedTuple):
    """One condition of the invariant is not asked for: a piece of `core.authority` in other words, and the mutation that
    then runs."""

    what: str
    old: str
    new: str
    caught_by: str
    of: str = "objection"

    def plant(self) -> None:
        rewrite(authority, self.of, self.old, self.new)


def _own_effects() -> None:
    intended = state._ON[Intended]

    def owning(self: State, seq: int, x: Intended) -> None:
        intended(self, seq, x)
        self.live[x.call].inherited = False

    state._ON[Intended] = owning


def _anything(*_: Any) -> None:
    """Nothing is checked."""


CONDITIONS: dict[str, Condition] = {
    "1_any_word": Condition(
        "an answer is taken for a yes",
        'return decided.verdict == "approve"', 'return decided.verdict in ("approve", "value")', "a value", "says_yes",
    ),
    "1_any_choice": Condition(
        "any choice about a call in doubt lets it run", 'chosen(decided).get("choice") == "run"', "True", "another choice", "says_yes",
    ),
    "1_denied": Condition(
        "a denial does not count", 'if any(decided.verdict == "deny" for decided in decisions):', "if False:", "a denial"
    ),
    "2_rules": Condition(
        "rules may ask that nobody was asked about",
        "if more := sorted(_rules(intended.gate) - _rules(gate_of(asked))):", "if more := list[str]():", "a rule more",
    ),
    "3_bytes": Condition("other arguments than those that were agreed to", EXACTLY, "if False:", "other bytes"),
    "3_definition": Condition("another tool than the one that was agreed to", EXACTLY, "if False:", "another definition"),
    "4_call": Condition(
        "an agreement for one call lets another run",
        "if intended.call != asked.call and not are_for_run(agreed):", "if False:", "another call",
    ),
    "5_seen": Condition(
        "who saw something else has agreed as well", " or decided.digest != asked.digest", "", "decided.digest"
    ),
    "5_shown": Condition(
        "what was asked may be changed under its digest", "if not is_as_shown(run, asked):", "if False:", "asked.describes"
    ),
    "5_edits": Condition(
        "arguments are changed that nobody may change", "if edit is not None and not may_edit(asked):", "if False:",
        "an edit that no rule allows",
    ),
    "6_deadline": Condition(
        "an agreement after the deadline counts", "if asked.expires and max(", "if False and max(", "late"
    ),
    "6_life": Condition(
        "an agreement has no end", "if (until := lapses(asked, agreed)) and now >= until:", "if False:", "lapsed"
    ),
    "7_seats": Condition("too few are enough", "for slot in empty)", "for slot in ())", "a vote less"),
    "7_groups": Condition("anybody fits", STRANGER, "if False:", "a voter of no group", "fits"),
    "7_requester": Condition(
        "whoever shaped it fits", " and not is_known(vote.by, requesters)", "", "a voter has shaped it", "fits"
    ),
    "7_unknown": Condition("where nobody asked, anybody fits", "bool(requesters) and ", "", "nobody knows who asked", "fits"),
    "7_twice": Condition(
        "one person fills two seats", "distinct.setdefault(person(vote.by)", "distinct.setdefault(str(len(distinct))",
        "one voter twice", "seated",
    ),
    "7_spelling": Condition(
        "a name in capitals is somebody else", "distinct.setdefault(person(vote.by)", "distinct.setdefault(vote.by", "one voter twice",
        "seated",
    ),
    "8_used": Condition("an agreement is used twice", "if spent:", "if False:", "used"),
    "9_signed": Condition(
        "a decision counts without its signature", "agreed = list(filter(genuine, agreed))", "agreed = [*agreed]", "not genuine"
    ),
}  # fmt: skip

AUTHORITY: dict[str, Defect] = {
    "anybody_is_admitted": Defect(
        "a decision is recorded, whoever gives it",
        replacing(commands, "_admit_approver", _anything),
        HERE + "approvals.py::test_g33_an_approval_counts_only_if_it_is_of_the_right_people[approved-outsiders-memory]",
    ),
    "any_intent_is_taken": Defect(
        "the store believes whatever a worker concludes",
        replacing(leases, "_authorised", _anything),
        HERE + "workers.py::test_a_forged_intent_is_not_recorded[approved-memory]",
    ),
    "the_worker_says_when": Defect(
        "the store asks the intent what time it is",
        rewriting(leases, "_authorised", "        now,\n        spent,", "        intended.at,\n        spent,"),
        HERE + "commits.py::test_no_store_takes_an_intent_that_is_not_what_was_agreed_to[memory]",
    ),
    "any_journal_is_imported": Defect(
        "a journal is taken over whatever stands in it",
        replacing(journal, "objections", lambda _: iter(())),  # pyright: ignore
        HERE + "workers.py::test_a_journal_with_a_forged_intent_is_not_taken_over[approved-memory]",
    ),
    "forks_own_effects": Defect(
        "a fork takes back what its original did",
        _own_effects,
        HERE + "forks.py::test_g35_a_fork_at_any_boundary_takes_nothing_back_that_its_original_did[memory]",
    ),
    "answers_by_order": Defect(
        "an answer is for whatever the body asks in that place",
        replacing(ToolContext, "_is_same", lambda *_: True),  # pyright: ignore
        HERE + "answers.py::TestG34::test_g34_another_amount_is_asked_anew[by order-agent-memory]",
    ),
}  # fmt: skip
