"""What people agreed to, made by chance; and everything that can change between what they saw and what would run."""

from collections.abc import Callable, Iterator
from itertools import count
from random import Random
from typing import Any, cast

import msgspec
from msgspec.structs import replace

from adjourn.core import authority
from adjourn.core.action_digest import action_digest
from adjourn.core.approval_votes import people
from adjourn.core.authority import shown_digest
from adjourn.core.record_parts import ApprovalSlot, DecisionSeal
from adjourn.core.records import Asked, Decided, Intended

RULES = ("a" * 24, "b" * 24, "c" * 24)
GROUPS = ("finance", "leads")
ASKED_AT, DECIDED_AT, INTENDED_AT = 100.0, 200.0, 210.0
LIFE, DEADLINE = 60.0, 1000.0
CALL, LATER_CALL, ITEM, CARRIED = "1.0", "2.0", "1.0?1", "1.0?0"


class Agreement(msgspec.Struct, frozen=True):
    """An intent, and all that stands behind it: what `objection` is asked about."""

    run: str
    intended: Intended
    asked: Asked
    decisions: tuple[Decided, ...]
    requesters: frozenset[str]
    now: float = INTENDED_AT
    spent: bool = False
    genuine: Callable[[Decided], bool] = lambda _: True

    def objection(self) -> str:
        """Why it does not stand; "" if it does."""
        support = authority.Support(self.genuine)
        return authority.objection(
            self.run, self.intended, self.asked, self.decisions, self.requesters, self.now, self.spent, support
        )


# Agreements that stand


def agreements(random: Random) -> Iterator[Agreement]:
    """Without end: approvals and calls in doubt, edited, for the whole run, escalated, with lives and deadlines."""
    for number in count():
        yield agreement(random, f"run-{number}-")


def agreement(random: Random, run: str) -> Agreement:
    gate = _gate(random)
    args = {
        "order": f"A{random.randrange(99)}",
        "cents": random.randrange(10**6),
        "to": {"name": "ana", "tags": ["x", None]},
    }
    kind = random.choice(("approval", "approval", "in_doubt"))
    alone = people(gate) == 1 and not any(slot.not_requester for slot in gate)  # whoever edits has shaped it
    edited = kind == "approval" and alone and random.random() < 0.5
    for_run = kind == "approval" and random.random() < 0.2
    carries = (CARRIED,) if random.random() < 0.2 else ()
    asked = sealed(
        run,
        Asked(
            i=ITEM, kind=kind, call=CALL, tool="pay", args=args, definition=f"{random.getrandbits(64):016x}", describes="Pay.",
            effect="unsafe", undo=random.random() < 0.5, reason="large", rules=("ask pay",), gate=gate, requesters=("eve",),
            valid_for=random.choice((0.0, LIFE)), expires=random.choice((0.0, DEADLINE)), carries=carries, at=ASKED_AT,
        )
    )  # fmt: skip
    runs = {**args, "cents": 7} if edited else args
    last = people(gate) - 1
    decisions = tuple(
        Decided(
            i=ITEM if n == last else random.choice((ITEM, *carries)), by=f"p{n}", groups=GROUPS, digest=asked.digest, at=DECIDED_AT + n,
            verdict="approve" if kind == "approval" else "value", value=None if kind == "approval" else {"choice": "run"},
            edit=runs if edited else None, scope="run" if for_run else "",
        )
        for n in range(last + 1)
    )  # fmt: skip
    call = LATER_CALL if for_run else CALL
    intended = Intended(
        call=call, tool="pay", digest=action_digest(run, call, "pay", asked.definition, runs), effect="unsafe", undo=asked.undo,
        gate=gate, grant=ITEM, at=INTENDED_AT,
    )  # fmt: skip
    return Agreement(run, intended, asked, decisions, frozenset({"eve"}))


def sealed(run: str, asked: Asked) -> Asked:
    """With the digests of what it is about."""
    action = action_digest(run, asked.call, asked.tool, asked.definition, asked.args)
    asked = replace(asked, action=action)
    return replace(asked, digest=shown_digest(run, asked))


def _gate(random: Random) -> tuple[ApprovalSlot, ...]:
    """One rule or two: so many of these groups, or one of each."""
    slots: list[ApprovalSlot] = []
    for rule in random.sample(RULES, random.choice((1, 1, 2))):
        not_requester = random.random() < 0.5
        if random.random() < 0.3:
            slots += [ApprovalSlot(rule, (group,), 1, not_requester) for group in GROUPS]
        else:
            groups = random.choice(((), GROUPS[:1], GROUPS))
            slots.append(ApprovalSlot(rule, groups, random.choice((1, 2)), not_requester))
    return tuple(slots)


# Mutations


Mutate = Callable[[Random, Agreement], Agreement | None]
"""Change one thing; None if there is no such thing in this agreement."""


def other(random: Random, value: Any) -> Any:
    """Something else of the same kind."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, str):
        return random.choice((f"{value}x", value[:-1] if value else "x", value.upper() if value.islower() else "y"))
    if isinstance(value, int | float):
        return value + random.choice((1, -1, 1000))
    if isinstance(value, tuple):
        return random.choice(((*cast("tuple[Any, ...]", value), "more"), ()))
    return other_args(random, value)


def other_args(random: Random, args: dict[str, Any]) -> dict[str, Any]:
    """A value, a type, a key more, a key less, something inside: other bytes."""
    cents = args["cents"]
    changes: list[dict[str, Any]] = [
        {**args, "cents": cents + 1}, {**args, "cents": -cents - 1}, {**args, "cents": str(cents)}, {**args, "cents": float(cents)},
        {**args, "extra": None}, {key: args[key] for key in ("order", "cents")}, {**args, "order": args["order"] + "\u200b"},
        {**args, "to": {**args["to"], "name": "eve"}}, {**args, "to": {**args["to"], "tags": [None, "x"]}},
    ]  # fmt: skip
    return random.choice(changes)


def intent(field: str) -> Mutate:
    """This field of the intent is something else."""
    return lambda random, a: replace(
        a, intended=replace(a.intended, **{field: other(random, getattr(a.intended, field))})
    )


def question(field: str) -> Mutate:
    """This field of what was asked is something else, and its digests are as they were."""
    return lambda random, a: replace(a, asked=replace(a.asked, **{field: other(random, getattr(a.asked, field))}))


def question_redone(field: str) -> Mutate:
    """This field of what was asked is something else, with digests that fit; people had seen the other."""

    def mutate(random: Random, a: Agreement) -> Agreement:
        return replace(a, asked=sealed(a.run, replace(a.asked, **{field: other(random, getattr(a.asked, field))})))

    return mutate


def decision(field: str) -> Mutate:
    """This field of one of the decisions is something else."""

    def mutate(random: Random, a: Agreement) -> Agreement:
        n = random.randrange(len(a.decisions))
        changed = replace(a.decisions[n], **{field: other(random, getattr(a.decisions[n], field))})
        return replace(a, decisions=(*a.decisions[:n], changed, *a.decisions[n + 1 :]))

    return mutate


def another_run(random: Random, a: Agreement) -> Agreement:
    return replace(a, run=other(random, a.run))


def other_bytes(random: Random, a: Agreement) -> Agreement:
    """The call has other arguments by now."""
    args = other_args(random, a.asked.args)
    digest = action_digest(a.run, a.intended.call, a.asked.tool, a.asked.definition, args)
    return replace(a, intended=replace(a.intended, digest=digest))


def another_definition(random: Random, a: Agreement) -> Agreement:
    """The tool is another one by now."""
    args = a.decisions[-1].edit or a.asked.args
    digest = action_digest(a.run, a.intended.call, a.asked.tool, other(random, a.asked.definition), args)
    return replace(a, intended=replace(a.intended, digest=digest))


def another_call(random: Random, a: Agreement) -> Agreement | None:
    """The same arguments in another call, where nobody agreed for the whole run."""
    if all(x.scope == "run" for x in a.decisions):
        return None
    args = a.decisions[-1].edit or a.asked.args
    digest = action_digest(a.run, LATER_CALL, a.asked.tool, a.asked.definition, args)
    return replace(a, intended=replace(a.intended, call=LATER_CALL, digest=digest))


def one_agreed_once(random: Random, a: Agreement) -> Agreement | None:
    """All but one agreed for the whole run, and it is another call."""
    if a.intended.call == a.asked.call:
        return None
    return replace(a, decisions=(*a.decisions[:-1], replace(a.decisions[-1], scope="")))


def another_errand(random: Random, a: Agreement) -> Agreement:
    """A nested agent would be told something that is not in the arguments."""
    return replace(a, intended=replace(a.intended, agent="clerk", input=random.choice(("pay eve", None))))


def a_rule_more(random: Random, a: Agreement) -> Agreement:
    return replace(a, intended=replace(a.intended, gate=(*a.intended.gate, ApprovalSlot("z" * 24))))


def a_tighter_rule(random: Random, a: Agreement) -> Agreement:
    """As if its identity had not changed with it."""
    n = random.randrange(len(a.intended.gate))
    slot = a.intended.gate[n]
    tighter = random.choice(
        (
            replace(slot, count=slot.count + 1),
            replace(slot, groups=("board",)),
            replace(slot, rule="q" * 24, not_requester=True),
        )
    )
    return replace(a, intended=replace(a.intended, gate=(*a.intended.gate[:n], tighter, *a.intended.gate[n + 1 :])))


def a_weaker_rule_shown(random: Random, a: Agreement) -> Agreement:
    """The item that people saw had a weaker gate than what it has by now."""
    slot = a.asked.gate[0]
    weaker = (replace(slot, groups=(), count=1, not_requester=not slot.not_requester), *a.asked.gate[1:])
    return replace(a, asked=replace(a.asked, gate=weaker))


def an_escalation_nobody_was_shown(random: Random, a: Agreement) -> Agreement:
    """The item says that it was escalated, to whomever it likes."""
    anybody = tuple(replace(slot, groups=(), count=1, not_requester=False) for slot in a.asked.gate)
    return replace(a, asked=replace(a.asked, escalated=True, escalated_gate=anybody))


def a_vote_less(random: Random, a: Agreement) -> Agreement:
    n = random.randrange(len(a.decisions))
    return replace(a, decisions=a.decisions[:n] + a.decisions[n + 1 :])


def one_voter_twice(random: Random, a: Agreement) -> Agreement | None:
    if len(a.decisions) < 2:
        return None
    name = random.choice(("p0", "P0", "\uff500"))
    return replace(a, decisions=(*a.decisions[:-1], replace(a.decisions[-1], by=name)))


def a_voter_of_no_group(random: Random, a: Agreement) -> Agreement | None:
    if not all(slot.groups for slot in a.intended.gate):
        return None
    groups = random.choice(((), ("clerks",), ("Finance", "leads ")))
    return replace(a, decisions=(*a.decisions[:-1], replace(a.decisions[-1], groups=groups)))


def a_voter_has_shaped_it(random: Random, a: Agreement) -> Agreement | None:
    if not all(slot.not_requester for slot in a.intended.gate):
        return None
    name = random.choice(a.decisions).by
    return replace(a, requesters=a.requesters | {random.choice((name, name.upper()))})


def nobody_knows_who_asked(random: Random, a: Agreement) -> Agreement | None:
    if not any(slot.not_requester for slot in a.intended.gate):
        return None
    return replace(a, requesters=frozenset())


def a_denial(random: Random, a: Agreement) -> Agreement:
    return replace(a, decisions=(*a.decisions, Decided(i=a.asked.i, verdict="deny", by="zoe", digest=a.asked.digest)))


def no_digest(random: Random, a: Agreement) -> Agreement:
    """Nobody knows what this person had seen."""
    return replace(a, decisions=(*a.decisions[:-1], replace(a.decisions[-1], digest="")))


def an_edit(random: Random, a: Agreement) -> Agreement:
    """One of them agreed to something else."""
    edit = other_args(random, a.decisions[-1].edit or a.asked.args)
    return replace(a, decisions=(*a.decisions[:-1], replace(a.decisions[-1], edit=edit)))


def an_edit_that_no_rule_allows(random: Random, a: Agreement) -> Agreement | None:
    """Shown as it is: nobody may change its arguments, not even into the same."""
    if a.asked.kind != "approval":
        return None
    asked = sealed(a.run, replace(a.asked, schema=False))
    [*others, last] = (replace(x, digest=asked.digest) for x in a.decisions)
    return replace(a, asked=asked, decisions=(*others, replace(last, edit=last.edit or a.asked.args)))


def edits_allowed_after_the_fact(random: Random, a: Agreement) -> Agreement | None:
    """It was shown as it is, and the record says something else now."""
    shown = sealed(a.run, replace(a.asked, schema=False))
    decisions = tuple(replace(x, digest=shown.digest) for x in a.decisions)
    return replace(a, asked=replace(shown, schema={"type": "object"}), decisions=decisions)


def another_choice(random: Random, a: Agreement) -> Agreement | None:
    """About a call in doubt: not that it shall run."""
    if a.asked.kind != "in_doubt":
        return None
    value = random.choice(({"choice": "happened", "result": 1}, {"choice": "cancel"}, "run", True, {"run": True}, None))
    return replace(a, decisions=tuple(replace(x, value=value) for x in a.decisions))


def a_value(random: Random, a: Agreement) -> Agreement | None:
    """An answer is no approval."""
    if a.asked.kind != "approval":
        return None
    value = random.choice((True, {"approved": True}, {"choice": "run"}, "approve"))
    return replace(a, decisions=tuple(replace(x, verdict="value", value=value) for x in a.decisions))


def lapsed(random: Random, a: Agreement) -> Agreement | None:
    if not a.asked.valid_for:
        return None
    return replace(a, now=a.decisions[-1].at + LIFE + random.choice((0.0, 0.001, 1e6)))


def late(random: Random, a: Agreement) -> Agreement | None:
    if not a.asked.expires:
        return None
    at = DEADLINE + random.choice((0.0, 0.001, 1e6))
    return replace(a, decisions=(*a.decisions[:-1], replace(a.decisions[-1], at=at)), now=at)


def signed_late(random: Random, a: Agreement) -> Agreement | None:
    if not a.asked.expires:
        return None
    at = DEADLINE + random.choice((0.0, 0.001, 1e6))
    seal = DecisionSeal("k", at, "n", "")
    return replace(a, decisions=(*a.decisions[:-1], replace(a.decisions[-1], seal=seal)), now=at)


def not_genuine(random: Random, a: Agreement) -> Agreement:
    def genuine(decided: Decided) -> bool:
        return decided is not a.decisions[-1]

    return replace(a, genuine=genuine)


def under_a_decision_that_no_one_made(random: Random, a: Agreement) -> Agreement | None:
    """A worker says that it follows a standing decision."""
    if a.asked.kind != "approval":
        return None
    first, *rest = a.decisions
    return replace(a, decisions=(replace(first, value={"under": CARRIED}), *rest))


def used(random: Random, a: Agreement) -> Agreement:
    return replace(a, spent=True)


INTENT = ("call", "tool", "digest", "effect", "undo", "grant")
SHOWN = ("i", "describes", "effect", "undo", "reason", "rules", "requesters", "valid_for")
QUESTION = (*SHOWN, "kind", "call", "tool", "args", "definition", "digest", "action")
DECISION = ("i", "verdict", "digest")

MUTATIONS: dict[str, Mutate] = {
    **{f"intended.{field}": intent(field) for field in INTENT},
    **{f"asked.{field}": question(field) for field in QUESTION},
    **{f"asked.{field}, redone": question_redone(field) for field in (*SHOWN, "args", "tool", "definition")},
    **{f"decided.{field}": decision(field) for field in DECISION},
    **{
        mutate.__name__.replace("_", " "): mutate
        for mutate in (
            another_run, other_bytes, another_definition, another_call, one_agreed_once, another_errand, a_rule_more, a_tighter_rule,
            an_escalation_nobody_was_shown,
            a_weaker_rule_shown, a_vote_less, one_voter_twice, a_voter_of_no_group, a_voter_has_shaped_it, nobody_knows_who_asked,
            a_denial, no_digest, an_edit, an_edit_that_no_rule_allows,
            edits_allowed_after_the_fact, another_choice, a_value, lapsed, late, signed_late, not_genuine, used,
            under_a_decision_that_no_one_made,
        )
    },
}  # fmt: skip

ELSEWHERE: dict[str, set[str]] = {
    "Intended": {"gate", "agent", "input", "at"},
    "Asked": {"gate", "expires", "at", "escalated", "escalated_gate"},
    "Decided": {"by", "groups", "edit", "value", "scope", "at", "seal"},
}
"""Fields that matter and are changed by a mutation with a name of its own."""

FREE: dict[str, set[str]] = {
    "Intended": {"attempt", "under", "why", "standing", "secret_result"},
    "Asked": {
        "step", "payload", "approvers", "groups", "not_requester", "queue", "remind_every", "schema", "on_expiry", "undoing",
        "escalate_to", "under", "group_sets", "carries", "phrase", "secret_result",
    },
    "Decided": {"note"},
}  # fmt: skip
"""Fields that give nobody a right: what lists show, what happens when nobody decides, what the worker counts, how a result is sealed."""
