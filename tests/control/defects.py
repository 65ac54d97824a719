"""Defects in time and in what coincides: lives, deadlines, orders, events that come early. See `tests.house.defects`."""

from typing import Any

from tests.house.defect import Defect, replacing, rewrite, rewriting

from adjourn.core import approval_votes, authority, deadlines, plan, policy, state, thread
from adjourn.core import flow_events as events
from adjourn.core.flow_fold import FlowFold
from adjourn.core.plan import Plan
from adjourn.core.records import Asked
from adjourn.flow.flow_program import FlowProgram
from adjourn.stores.rules import commands, journal, outbox
from adjourn.stores.rules import commit as commits

LIVES = "tests/control/test_lives_and_orders.py::test_"
TWO = "tests/control/test_coincidences.py::test_"
ESCALATED = "tests/control/test_escalation.py::test_"
EARLY = "tests/flow/test_early_events.py::test_"


def _cancel_for_each() -> None:
    """As it was: one `CancelAsked` for every expiry."""

    def due(p: Plan, state: Any, now: float) -> None:
        _due(p, state, now)
        p.moves += [move for move in p.moves if type(move).__name__ == "CancelAsked"]

    _due = deadlines.due
    deadlines.due = due


def _always_escalated() -> None:
    rewrite(approval_votes, "gate_of", "if asked.escalated and asked.escalated_gate:", "if asked.escalated_gate:")
    for owner in (authority, commands, journal):
        owner.gate_of = approval_votes.gate_of  # pyright: ignore


def _ask(self: Plan, asked: Asked) -> None:
    self.moves.append(asked)


def _tell_of_everything() -> None:
    rewrite(outbox, "tell", "if gone and", "if False and")
    commits.tell = outbox.tell  # pyright: ignore


TIME: dict[str, Defect] = {
    "read_twice_in_time": Defect(
        "a message that is the last record of a request is not read by its reply",
        rewriting(thread.PendingMessage, "is_read", "self.seq <= upto", "self.seq < upto"),
        LIVES + "a_message_that_comes_while_a_model_call_waits_to_be_tried_again_is_read_once",
    ),
    "life_from_the_question": Defect(
        "an agreement's life begins with the question",
        rewriting(authority, "lapses", "max(map(decided_at, decisions)) + asked.valid_for", "asked.at + asked.valid_for"),
        LIVES + "an_agreement_lives_from_the_decision_on_and_not_from_the_question[50-1]",
    ),
    "suspended_forward": Defect(
        "effects whose bodies wait are undone oldest first",
        rewriting(plan, "latest_first", "*reversed(started(state))", "*started(state)"),
        LIVES + "of_two_effects_whose_bodies_wait_the_later_is_undone_first",
    ),
    "flying_is_free": Defect(
        "a flow's limit does not count what is in flight",
        rewriting(FlowProgram, "_limit", "used = flying +", "used ="),
        LIVES + "a_flows_limit_counts_what_is_in_flight",
    ),
    "cancel_for_each": Defect(
        "two expiries ask for two cancels in one plan", _cancel_for_each, TWO + "two_approvals_that_expire_together[cancel-cancel]"
    ),
    "asked_while_cancelled": Defect(
        "people are asked again about a run that is being cancelled",
        rewriting(deadlines, "due", "if not cancelling:", "if True:"),
        TWO + "two_approvals_that_expire_together[cancel-escalate]",
    ),
    "one_limit_twice": Defect(
        "two agents that come upon one limit ask twice",
        replacing(Plan, "ask", _ask),
        TWO + "two_agents_that_come_upon_one_limit_ask_once",
    ),
    "told_to_the_dead": Defect(
        "a queued result goes to the agent that has ended",
        rewriting(state.State, "_report", "while path and path not in self.live:", "while False:"),
        TWO + "what_was_queued_in_an_agent_that_has_ended_reaches_the_one_that_still_talks[agreed0-order0]",
    ),
    "left_unread": Defect(
        "what an agent had not read when it ended is lost",
        replacing(state.State, "_leave", lambda self, path: None),  # pyright: ignore
        TWO + "a_decision_that_races_with_the_end_of_its_agent_is_heard_once",
    ),
    "escalated_for_ever": Defect(
        "an escalated question has no deadline",
        rewriting(deadlines, "escalated", "expires=round(now + first.expires - first.at, 3)", "expires=0.0"),
        ESCALATED + "it_has_a_deadline_of_its_own_and_is_then_denied",
    ),
    "escalated_at_once": Defect(
        "whom it would be escalated to may agree at once", _always_escalated,
        ESCALATED + "the_groups_it_is_escalated_to_may_decide_then_and_not_before",
    ),
    "escalated_all": Defect(
        "an escalation widens the rules that do not escalate",
        rewriting(policy.Judgement, "gate", "if rule is escalated else rule.slots", "if escalated else rule.slots"),
        ESCALATED + "only_the_rule_that_is_over_is_widened",
    ),
    "early_is_lost": Defect(
        "an event that nobody waits for yet is forgotten",
        replacing(plan, "arrived", lambda state: []),  # pyright: ignore
        EARLY + "a_quick_webhook_books_once_and_leaves_no_question[memory]",
    ),
    "early_for_everybody": Defect(
        "an early event answers a question, whoever sent it",
        rewriting(events, "_answers", "not sent.decides", "False and not sent.decides"),
        EARLY + "an_early_event_settles_a_question_only_if_it_could_have_answered_it",
    ),
    "taken_twice": Defect(
        "an early event is taken by every wait",
        replacing(FlowFold, "take", lambda self, n: None),  # pyright: ignore
        EARLY + "an_event_is_taken_once_and_the_next_wait_takes_the_next",
    ),
    "older_than_the_chain": Defect(
        "a chain waits for the event that began it",
        rewriting(FlowFold, "heard_by", " if heard.n > token.began", ""),
        EARLY + "a_chain_does_not_wait_for_the_event_that_began_it_nor_for_one_before",
    ),
    "told_of_nothing": Defect(
        "people are told of a question that was settled before they could see it",
        _tell_of_everything,
        EARLY + "a_quick_webhook_books_once_and_leaves_no_question[memory]",
    ),
}  # fmt: skip
