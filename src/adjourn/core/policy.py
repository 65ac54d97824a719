"""Policy: rules that give a tool call a verdict. A pure question: same call, same verdict, with its
reason."""

from collections.abc import Iterable
from typing import Any, Literal

import msgspec

from adjourn.core.codec import error_text
from adjourn.core.policy_rule import UNKNOWN, Absent, Rule, RunTraits, Schemas, ToolTraits, Verdict
from adjourn.core.record_parts import ApprovalSlot
from adjourn.errors import InvalidDefinition

DEFAULT = "default ask"
"""The rule of a policy that asks about whatever no rule names."""


class Judgement(msgspec.Struct, frozen=True, gc=False):
    """A verdict, why, and the rules of that verdict that matched."""

    verdict: Verdict
    reason: str = ""
    rules: tuple[Rule, ...] = ()

    @property
    def edits(self) -> bool:
        """Whether every rule that asks lets an approver change the arguments."""
        return all(rule.edits for rule in self.rules)

    @property
    def expiring(self) -> Rule | None:
        """The rule whose time is over first, if any has one."""
        return min(
            (rule for rule in self.rules if rule.expires_in),
            key=lambda rule: rule.expires_in,
            default=None,
        )

    def gate(self, escalated: Rule | None = None) -> tuple[ApprovalSlot, ...]:
        """Who must agree, if it asks; with `escalated`, once this rule's time is over."""
        found: dict[ApprovalSlot, None] = {}
        for rule in self.rules:
            found |= dict.fromkeys(rule.escalated_slots if rule is escalated else rule.slots)
        return tuple(found) or (ApprovalSlot(DEFAULT),)


class Policy:
    """Rules for tool calls: the strictest match wins (DENY > ASK > ALLOW), whatever the order.

    `rules`: made by `allow`, `ask` and `deny`. `default`: the verdict for what no rule matches.
        Raises
    `InvalidDefinition` if two rules cannot be told apart.
    """

    def __init__(
        self, rules: Iterable[Rule] = (), default: Literal["allow", "ask", "deny"] = "ask"
    ) -> None:
        if isinstance(rules, Rule) or not isinstance(rules, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidDefinition(
                f"a policy takes a list of rules, got {rules!r:.80}",
                advice="write Policy([ask(...)])",
            )
        self.rules = tuple(rules)
        for rule in self.rules:
            if not isinstance(rule, Rule):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise InvalidDefinition(
                    f"a policy is made of allow(...), ask(...) and deny(...), not {rule!r:.80}"
                )
        if default not in ("allow", "ask", "deny"):
            raise InvalidDefinition(f"default must be 'allow', 'ask' or 'deny', got {default!r}")
        refuse_twins(self.rules)
        self.default = Verdict[default.upper()]
        self.looks_at_runs = any(rule.run for rule in self.rules)

    def judge(
        self,
        tool: str,
        args: dict[str, Any],
        traits: ToolTraits = UNKNOWN,
        facts: RunTraits | None = None,
    ) -> Judgement:
        """The verdict for a call. Never raises: an error in a rule is a DENY.

        A condition on an argument that is possible and not given asks, also in a rule that denies.

        Args:
            tool: the tool's name.
            args: the parsed arguments.
            traits: the JSON Schema of its arguments, its effect, and whether it can be undone.
            facts: what is known of the run; without it, what asks or denies applies to it.
        """
        found: list[tuple[Rule, str]] = []
        for rule in self.rules:
            try:
                if rule.applies(tool, args, traits, facts):
                    found.append((rule, rule.reason))
            except Absent as e:
                if rule.verdict != Verdict.ALLOW:
                    found.append((rule.asking, f"«{rule.text}» depends on {e}, which is not given"))
            except KeyboardInterrupt:
                raise
            except BaseException as e:
                return Judgement(Verdict.DENY, f"the rule «{rule.text}» failed ({error_text(e)})")
        if not found:
            return Judgement(
                self.default,
                f"no rule matched; the policy's default is {self.default.name.lower()}",
            )
        verdict = max(rule.verdict for rule, _ in found)
        winners: list[Rule] = []
        reasons: list[str] = []
        for rule, why in found:
            if rule.verdict == verdict:
                winners.append(rule)
                reasons.append(why)
        return Judgement(verdict, "; ".join(filter(None, reasons)), tuple(winners))

    def check(self, tools: Schemas) -> None:
        """Raise `InvalidDefinition` if a rule names a tool, or an argument of one, that does not
        exist, or compares an argument with a value that it never has.

        Args:
            tools: the tools by name, with the schemas of their arguments.
        """
        from adjourn.core.rule_check import check_rule

        for rule in self.rules:
            check_rule(rule, tools)

    @property
    def fingerprint(self) -> list[str]:
        """The policy by its words: what a run's approvals were judged by."""
        return [*sorted(rule.text for rule in self.rules), f"default {self.default.name.lower()}"]

    @property
    def strictness(self) -> dict[str, list[Any]]:
        """By the text of each rule that asks: who must agree, and for how long that holds."""
        found: dict[str, list[Any]] = {}
        for rule in self.rules:
            if rule.verdict == Verdict.ASK:
                seats = [[sorted(slot.groups), slot.count] for slot in rule.slots]
                found.setdefault(rule.text, []).append([seats, rule.not_requester, rule.valid_for])
        return found


def refuse_twins(rules: Iterable[Rule]) -> None:
    """Raise `InvalidDefinition` for two rules with different functions that cannot be told
    apart."""
    known: dict[str, Rule] = {}
    for rule in rules:
        other = known.setdefault(rule.identity, rule)
        if (
            rule.function_identity is None
            or other.function is rule.function
            or other.function_identity is None
        ):
            continue
        if not rule.function_identity.is_same(other.function_identity):
            if rule.name:
                why = f"have the same name={rule.name!r}"
            else:
                why = "hold something that is not plain data"
            raise InvalidDefinition(
                f"two rules «{rule.text}» cannot be told apart: their functions {why}. An "
                f"approval under one would "
                "count for the other: give each a name= of its own, or use conditions such as gt(100)"
            )


def strictest(judgements: Iterable[Judgement]) -> Judgement:
    """The strictest of several; equal ones are taken together."""
    best = Judgement(Verdict.ALLOW)
    for judgement in judgements:
        if judgement.verdict > best.verdict:
            best = judgement
        elif judgement.verdict == best.verdict:
            reason = "; ".join(filter(None, (best.reason, judgement.reason)))
            best = Judgement(judgement.verdict, reason, (*best.rules, *judgement.rules))
    return best
