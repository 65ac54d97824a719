"""Defects in what may run: each condition of the invariant left out, and each place where it is checked.

The conditions are planted where their mutants are tried (`test_mutations`), the places by `tests.house.defects`.
"""

from types import ModuleType
from typing import Any, NamedTuple

from tests.house.defect import Defect, replacing, rewrite, rewriting

from adjourn.bodies.tool_context import ToolContext
from adjourn.core import approval_votes, authority, standing_answers, standing_decision, state
from adjourn.core.records import Forked, Intended
from adjourn.core.state import State
from adjourn.stores.rules import commands, creation
from adjourn.stores.rules import commit as commits
from adjourn.stores.rules import standing_decisions as standing_rules

HERE = "tests/authority/test_"
EXACTLY = "if action_digest(run, intended.call, asked.tool, asked.definition, args) != intended.digest:"
STRANGER = "if slot.groups and not set(slot.groups).intersection(vote.groups):"


class Condition(NamedTuple):
    """One condition of the invariant is not asked for: a piece of `core.authority` or `core.approval_votes` in other
    words, and the mutation that then runs."""

    what: str
    old: str
    new: str
    caught_by: str
    of: str = "objection"

    @property
    def module(self) -> ModuleType:
        """Where it stands."""
        return authority if self.of == "objection" else approval_votes

    def plant(self) -> None:
        rewrite(self.module, self.of, self.old, self.new)


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
        "a decision counts without its signature", "agreed = list(filter(support.genuine, agreed))", "agreed = [*agreed]", "not genuine"
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
        replacing(commits, "_authorised", _anything),
        HERE + "workers.py::test_a_forged_intent_is_not_recorded[approved-memory]",
    ),
    "the_worker_says_when": Defect(
        "the store asks the intent what time it is",
        rewriting(commits, "_authorised", "        now,\n        spent,", "        intended.at,\n        spent,"),
        HERE + "commits.py::test_no_store_takes_an_intent_that_is_not_what_was_agreed_to[memory]",
    ),
    "any_journal_is_imported": Defect(
        "a journal is taken over whatever stands in it",
        replacing(creation, "objections", lambda _: iter(())),  # pyright: ignore
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


def _any_signature() -> None:
    for owner in (commits, standing_rules):
        rewrite(
            owner, "is_genuine", "return behind is not None and is_genuine(trust, run, *behind)", "return behind is not None",
        )  # fmt: skip


def _inherited() -> None:
    forked = state._ON[Forked]

    def inheriting(self: State, seq: int, x: Forked) -> None:
        had = self.standing
        forked(self, seq, x)
        self.standing = had

    state._ON[Forked] = inheriting


MEMORY = "tests/stores/test_contract.py::TestMemoryStore::test_"
STOOD = "tests/runtime/test_standing.py::test_"

STANDING: dict[str, Defect] = {
    "standing_is_never_used_up": Defect(
        "the store counts no uses",
        rewriting(standing_rules, "_use_objection", "made.uses >= says.times", "False"),
        MEMORY + "it_is_used_as_often_as_it_says_and_not_once_more",
    ),
    "standing_uses_are_not_counted": Defect(
        "a use does not count",
        rewriting(standing_rules, "count_use", "made.uses += 1", "pass"),
        MEMORY + "it_is_used_as_often_as_it_says_and_not_once_more",
    ),
    "standing_never_expires": Defect(
        "a standing decision outlives its time",
        rewriting(authority, "use_flaw", "if standing.until and now >= standing.until:", "if False:"),
        MEMORY + "after_its_time_no_answer_and_no_intent_lands",
    ),
    "standing_is_not_revoked": Defect(
        "a revoked decision answers on",
        rewriting(authority, "use_flaw", "if standing.ended:", "if False:"),
        MEMORY + "a_revoked_one_answers_nothing_and_lets_no_intent_through",
    ),
    "standing_widens": Defect(
        "a standing decision covers another tool, other rules, another agent",
        rewriting(standing_decision, "covers", "if _bound(made) != _bound(asked):", "if False:"),
        MEMORY + "other_tools_definitions_effects_rules_and_agents_are_not_covered",
    ),
    "standing_for_any_arguments": Defect(
        "a standing decision covers arguments that do not fit",
        rewriting(standing_decision, "covers", "return fits(says.where, made.args, asked.args)", "return True"),
        MEMORY + "a_worker_decides_nothing_that_no_person_has[more]",
    ),
    "standing_in_another_name": Defect(
        "a worker answers in the name of somebody who has not decided",
        rewriting(authority, "use_flaw", "if backing(known, decided) is None:", "if False:"),
        MEMORY + "a_worker_decides_nothing_that_no_person_has[another person]",
    ),
    "workers_decide": Defect(
        "the store takes a worker's decision as it comes",
        replacing(standing_rules, "admit_use", _anything),
        MEMORY + "a_worker_decides_nothing_that_no_person_has[none]",
    ),
    "standing_without_a_signature": Defect(
        "what follows a standing decision counts, whoever signed that",
        _any_signature,
        MEMORY + "where_decisions_are_signed_the_standing_one_is_what_must_be",
    ),
    "standing_approvals_come_first": Defect(
        "a standing approval wins over a standing denial",
        rewriting(standing_answers, "_fitting", "not one[1].denies", "one[1].denies"),
        STOOD + "a_standing_denial_refuses_later_calls_and_wins[memory]",
    ),
    "standing_requesters_agree": Defect(
        "who shaped the run since goes on approving",
        rewriting(standing_answers, "_is_enough", "return is_filled(asked.gate, votes_of(following), state.requesters)", "return True"),
        STOOD + "whoever_has_shaped_the_run_since_lets_nothing_more_run_where_a_rule_forbids_that[memory]",
    ),
    "standing_is_inherited": Defect(
        "a fork goes on with the standing decisions of its original",
        _inherited,
        STOOD + "a_fork_and_another_run_inherit_none[memory]",
    ),
}  # fmt: skip
