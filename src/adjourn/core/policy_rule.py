"""One rule of a policy: which calls it is about, and what it asks of people."""

import copy
import fnmatch
from collections.abc import Callable, Iterable, Mapping
from enum import IntEnum
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

import msgspec

from adjourn.core.action_digest import digest
from adjourn.core.argument_conditions import Condition, condition
from adjourn.core.duration import Duration, optional_seconds
from adjourn.core.effect import Effect, EffectName, is_function
from adjourn.core.ids import is_undo
from adjourn.core.interrupt_kind import EXPIRY_ACTIONS, ExpiryAction
from adjourn.core.record_parts import ApprovalSlot
from adjourn.core.schema_document import possible
from adjourn.errors import InvalidDefinition

if TYPE_CHECKING:
    from adjourn.core.call import Call
    from adjourn.core.function_identity import FunctionIdentity
    from adjourn.core.state import State


class Verdict(IntEnum):
    """What a policy says of a call. The greater is the stricter."""

    ALLOW = 0
    ASK = 1
    DENY = 2


When = Mapping[str, Condition | Any] | Callable[[dict[str, Any]], bool]
RunConditions = Mapping[str, Condition | Any]
Schemas = Mapping[str, Callable[[], Mapping[str, Any]]]
"""Tools by name, with the JSON Schema of their arguments: made only when a rule needs it."""
LABEL, CALLS = "label.", "calls."
"""How keys of `run=` begin that are about one label, or about the calls of one tool."""


class Absent(Exception):
    """A condition is about an argument that was not given, although it could have been."""


class ToolTraits(msgspec.Struct, frozen=True):
    """What a policy knows of a tool beside its name. Of a tool that nobody describes the worst is
    assumed: any argument, an effect that cannot be repeated, no undo."""

    schema: Any = True
    effect: str = Effect.UNSAFE.value
    undo: bool = False


UNKNOWN = ToolTraits()


class RunTraits(msgspec.Struct, frozen=True):
    """What a rule may know of the run. `calls`: of each tool, how many calls that are not reads the
    run has made, or is about to make before this one."""

    requesters: tuple[str, ...] = ()
    session: str = ""
    labels: Mapping[str, str] = {}
    calls: Mapping[str, int] = {}

    @classmethod
    def of(cls, state: "State", call: "Call") -> "RunTraits":
        """What is so when this call is judged: the journal alone says it."""
        calls: dict[str, int] = {}
        for done in state.effects.values():
            if done.id != call.id:
                calls[done.tool] = calls.get(done.tool, 0) + 1
        for other in state.live.values():
            if other.id == call.id:
                break  # what is asked for later is not before it
            if other.id not in state.effects and not is_undo(other.id):
                calls[other.tool] = calls.get(other.tool, 0) + 1
        return msgspec.structs.replace(cls.of_run(state), calls=calls)

    @classmethod
    def of_run(cls, state: "State") -> "RunTraits":
        """What is so of the run, whatever it calls."""
        began = state.started
        return cls(tuple(sorted(state.requesters)), began.session, began.labels)

    def at(self, key: str) -> tuple[Any, ...]:
        """The values that a condition with this key is about: "" or 0 for what there is not."""
        if key == "requester":
            return self.requesters or ("",)
        if key == "session":
            return (self.session,)
        if key.startswith(LABEL):
            return (self.labels.get(key.removeprefix(LABEL), ""),)
        return (self.calls.get(key.removeprefix(CALLS), 0),)


class Rule(msgspec.Struct, frozen=True, dict=True):
    """One line of a policy; made by `allow`, `ask` and `deny`."""

    verdict: Verdict
    pattern: str
    when: When | None = None
    reason: str = ""
    expires_in: float = 0.0
    on_expiry: ExpiryAction = "deny"
    escalate_to: tuple[str, ...] = ()
    remind_every: float = 0.0
    approvers: int = 1
    groups: tuple[str, ...] = ()
    each: bool = False
    not_requester: bool = False
    queue: bool = False
    valid_for: float = 0.0
    name: str | None = None
    effect: str = ""
    undo: bool | None = None
    edits: bool = True
    run: Mapping[str, Condition | Any] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.pattern, str) or not self.pattern:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidDefinition(
                f"a rule's pattern must be a tool's name or a glob, got {self.pattern!r}"
            )
        if not isinstance(self.reason, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidDefinition(
                f"the rule for {self.pattern!r}: reason= must be a string, got {self.reason!r:.80}"
            )
        if self.name is not None and (not isinstance(self.name, str) or not self.name):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidDefinition(
                f"the rule for {self.pattern!r}: name= must be a string, got {self.name!r:.80}"
            )
        _check_traits(self.pattern, self.effect, self.undo)
        msgspec.structs.force_setattr(self, "run", _read_run(self.run, self.pattern))
        # a copy: what it says does not change
        msgspec.structs.force_setattr(self, "when", _read(self.when, self.pattern))

    @property
    def conditions(self) -> Mapping[str, Condition]:
        """Its conditions by argument; empty if it has none, or a function."""
        if self.when is None or callable(self.when):
            return {}
        return cast("Mapping[str, Condition]", self.when)

    @property
    def function(self) -> Callable[[dict[str, Any]], bool] | None:
        """Its function over all arguments, if that is its condition."""
        if callable(self.when):
            return self.when
        return None

    @cached_property
    def function_identity(self) -> "FunctionIdentity | None":
        """What its function is."""
        if self.function is None:
            return None
        from adjourn.core.function_identity import identify

        return identify(self.function)

    @cached_property
    def identity(self) -> str:
        """A digest of everything that it says: what an approval covers. Of a function the rule's
        name, else all that it is."""
        when: Any = [[key, test.operator, test.operand] for key, test in self.conditions.items()]
        if self.function_identity is not None:
            if self.name:
                when = "named"
            else:
                when = self.function_identity.digest
        said = [
            self.verdict.name,
            self.pattern,
            self.when is None,
            when,
            self.reason,
            self.expires_in,
            self.on_expiry,
            sorted(self.escalate_to),
            self.remind_every,
            self.approvers,
            sorted(self.groups),
            self.each,
            self.not_requester,
            self.queue,
            self.valid_for,
            self.name,
        ]
        # what a rule of an earlier version did not say is not in its identity
        if self.effect or self.undo is not None or not self.edits:
            said.append([self.effect, self.undo, self.edits])
        if self.run:
            tests = cast("Mapping[str, Condition]", self.run)
            said.append(
                ["run", [[key, tests[key].operator, tests[key].operand] for key in sorted(tests)]]
            )
        return digest("rule", said)[:24]

    @cached_property
    def slots(self) -> tuple[ApprovalSlot, ...]:
        """Who must agree, says this rule."""
        if self.each:
            return tuple(self._slot((group,)) for group in self.groups)
        return (self._slot(self.groups),)

    def _slot(self, groups: tuple[str, ...]) -> ApprovalSlot:
        return ApprovalSlot(self.identity, groups, self.approvers, self.not_requester)

    @cached_property
    def escalated_slots(self) -> tuple[ApprovalSlot, ...]:
        """Who may agree once nobody has in time: the same people, or one of `escalate_to` in their
        place."""
        found: list[ApprovalSlot] = []
        for slot in self.slots:
            groups = slot.groups and tuple(dict.fromkeys((*slot.groups, *self.escalate_to)))
            found.append(msgspec.structs.replace(slot, groups=groups))
        return tuple(found)

    @cached_property
    def text(self) -> str:
        """The rule as people read it."""
        head = " ".join(filter(None, (self.verdict.name.lower(), self.effect, self.pattern)))
        if self.undo is not None:
            head += " with undo" if self.undo else " without undo"
        if not self.edits:
            head += " as it is"
        if self.run:
            tests = [f"{key} {test.text}" for key, test in self.run.items()]
            head += f" in runs with {' and '.join(tests)}"
        if self.when is None:
            return head
        if self.function is not None:
            own = getattr(self.function, "__qualname__", type(self.function).__name__)
            return f"{head} when {self.name or f'{own}()'}"
        tests = [f"{key} {test.text}" for key, test in self.conditions.items()]
        return f"{head} when {' and '.join(tests)}"

    @cached_property
    def asking(self) -> "Rule":
        """The same rule as a question: what it comes to when nobody can tell whether it applies."""
        return msgspec.structs.replace(self, verdict=Verdict.ASK)

    def is_about(self, tool: str) -> bool:
        """Whether its pattern is this tool's."""
        return fnmatch.fnmatchcase(tool, self.pattern)

    def is_about_kind(self, traits: "ToolTraits") -> bool:
        """Whether it is about tools of this effect, with or without an undo."""
        if self.effect and self.effect != traits.effect:
            return False
        return self.undo is None or self.undo == traits.undo

    def is_about_run(self, facts: "RunTraits | None") -> bool:
        """Whether it is about runs such as this one. Several people may have shaped a run: what is
        allowed, is allowed if all of them fit; what is asked or denied, if one does. Of a run that
        nobody describes the worst is assumed."""
        if not self.run:
            return True
        allows = self.verdict == Verdict.ALLOW
        if facts is None:
            return not allows
        for key, test in self.run.items():
            hits = [test.test(value) for value in facts.at(key)]
            fits = all(hits) if allows else any(hits)
            if not fits:
                return False
        return True

    def applies(
        self,
        tool: str,
        args: dict[str, Any],
        traits: "ToolTraits",
        facts: "RunTraits | None" = None,
    ) -> bool:
        """Whether it matches this call; may raise, which means: not executed.

        Raises `Absent` if everything that was given fits, and something that could have been given
        was not: the tool itself may make something of that.
        """
        if not self.is_about(tool) or not self.is_about_kind(traits):
            return False
        if not self.is_about_run(facts):
            return False
        if self.function is not None:
            # what is shown and run is not for a condition to change
            answer = self.function(copy.deepcopy(args))
            if not isinstance(answer, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise TypeError(
                    f"the condition returned {type(answer).__name__}, not True or False"
                )
            return answer
        absent: list[str] = []
        for key, test in self.conditions.items():
            values = _at(args, key.split("."))
            if not values and not possible(traits.schema, key):
                return False
            if not values:
                absent.append(key)
            elif not test.test(values[0]):
                return False
        if absent:
            raise Absent(", ".join(map(repr, absent)))
        return True


def _read(when: Any, pattern: str) -> When | None:
    """`when=` as it was given, checked; conditions on values become conditions."""
    if when is None or (is_function(when) and not isinstance(when, Condition)):
        return cast("When | None", when)
    if not isinstance(when, Mapping):
        raise InvalidDefinition(
            f"the rule for {pattern!r}: when= must be {{argument: condition}} or a function "
            f"over the arguments, got {when!r:.80}"
        )
    given = cast("Mapping[Any, Any]", when)
    for key in given:
        if not isinstance(key, str) or not all(key.split(".")):
            raise InvalidDefinition(
                f"the rule for {pattern!r}: when= has the key {key!r:.80}",
                advice="keys are names of arguments, 'a.b' for a field of one",
            )
    return MappingProxyType({key: condition(value) for key, value in given.items()})


def _read_run(run: Any, pattern: str) -> Mapping[str, Condition] | None:
    """`run=` as it was given, checked; conditions on values become conditions."""
    if run is None:
        return None
    advice = "keys are 'requester', 'session', 'label.NAME' and 'calls.TOOL'"
    if not isinstance(run, Mapping) or not run:
        raise InvalidDefinition(
            f"the rule for {pattern!r}: run= must be {{key: condition}}, got {run!r:.80}",
            advice=advice,
        )
    given = cast("Mapping[Any, Any]", run)
    for key in given:
        named = isinstance(key, str) and key.partition(".")[2] and key.startswith((LABEL, CALLS))
        if key not in ("requester", "session") and not named:
            raise InvalidDefinition(
                f"the rule for {pattern!r}: run= has the key {key!r:.80}", advice=advice
            )
    found = {key: condition(value) for key, value in given.items()}
    for key, test in found.items():
        _check_run_operand(pattern, key, test)
    return MappingProxyType(found)


def _check_run_operand(pattern: str, key: str, test: Condition) -> None:
    """A condition that compares with a value of another type could never be true."""
    several = test.operator.endswith("in")
    for operand in test.operand if several else [test.operand]:
        if key.startswith(CALLS):
            wanted, fits = "a number", type(operand) in (int, float)
        else:
            wanted, fits = "a string", isinstance(operand, str)
        if not fits:
            raise InvalidDefinition(
                f"the rule for {pattern!r}: run= compares {key!r} with {operand!r:.80}",
                advice=f"give {wanted}, or one_of(…) for several",
            )


def _check_traits(pattern: str, effect: Any, undo: Any) -> None:
    what = f"the rule for {pattern!r}"
    known = [""] + [known.value for known in Effect]
    if effect not in known:
        names = ", ".join(map(repr, known[1:]))
        raise InvalidDefinition(f"{what}: effect= must be one of {names}, got {effect!r:.80}")
    if undo is not None and not isinstance(undo, bool):
        raise InvalidDefinition(f"{what}: undo= must be True, False or None, got {undo!r:.80}")


def _at(args: Any, path: list[str]) -> list[Any]:
    """The value at a path, as a list of none or one."""
    for name in path:
        if not isinstance(args, dict) or name not in args:
            return []
        args = cast("dict[str, Any]", args)[name]
    return [args]


def allow(
    pattern: str = "*",
    *,
    effect: EffectName | None = None,
    undo: bool | None = None,
    when: When | None = None,
    run: RunConditions | None = None,
    reason: str = "",
    name: str | None = None,
) -> Rule:
    """Let matching calls run.

    Args:
        pattern: a tool's name or a glob.
        effect: only tools with this effect: read, idempotent, verifiable or unsafe.
        undo: only tools that can be undone (`True`), or that cannot (`False`).
        when: conditions on arguments, or a function over them.
        run: conditions on the run: `requester`, `session`, `label.NAME`, `calls.TOOL`.
        reason: for people.
        name: what the rule is known by if its function cannot be told from another's.
    """
    return Rule(
        Verdict.ALLOW, pattern, when, reason, name=name, effect=effect or "", undo=undo, run=run
    )


def deny(
    pattern: str = "*",
    *,
    effect: EffectName | None = None,
    undo: bool | None = None,
    when: When | None = None,
    run: RunConditions | None = None,
    reason: str = "",
    name: str | None = None,
) -> Rule:
    """Refuse matching calls; the model reads the reason.

    Args:
        pattern: a tool's name or a glob.
        effect: only tools with this effect: read, idempotent, verifiable or unsafe.
        undo: only tools that can be undone (`True`), or that cannot (`False`).
        when: conditions on arguments, or a function over them.
        run: conditions on the run: `requester`, `session`, `label.NAME`, `calls.TOOL`.
        reason: for the model.
        name: what the rule is known by if its function cannot be told from another's.
    """
    return Rule(
        Verdict.DENY, pattern, when, reason, name=name, effect=effect or "", undo=undo, run=run
    )


def ask(
    pattern: str = "*",
    *,
    effect: EffectName | None = None,
    undo: bool | None = None,
    when: When | None = None,
    run: RunConditions | None = None,
    reason: str = "",
    expires_in: Duration | None = None,
    on_expiry: ExpiryAction = "deny",
    escalate_to: Iterable[str] = (),
    remind_every: Duration | None = None,
    approvers: int = 1,
    groups: Iterable[str] = (),
    each: bool = False,
    not_requester: bool = False,
    queue: bool = False,
    valid_for: Duration | None = None,
    edits: bool = True,
    name: str | None = None,
) -> Rule:
    """Stop before matching calls until a person decides.

    Args:
        pattern: a tool's name or a glob.
        effect: only tools with this effect: read, idempotent, verifiable or unsafe.
        undo: only tools that can be undone (`True`), or that cannot (`False`).
        when: conditions on arguments, or a function over them.
        run: conditions on the run: `requester`, `session`, `label.NAME`, `calls.TOOL`.
        reason: for the approver.
        expires_in: how long people have; then `on_expiry`.
        on_expiry: what happens when no one has answered in time.
        escalate_to: groups that may then agree as well.
        remind_every: a reminder that often.
        approvers: how many different people must agree.
        groups: they must be in one of these groups.
        each: so many of each of the groups.
        not_requester: a person who shaped the run may not agree.
        queue: the model continues meanwhile.
        valid_for: how long an approval holds.
        edits: whether an approver may change the arguments.
        name: what the rule is known by if its function cannot be told from another's.
    """
    what = f"ask({pattern!r:.80})"
    if on_expiry not in EXPIRY_ACTIONS:
        raise InvalidDefinition(
            f"{what}: on_expiry= must be 'deny', 'cancel' or 'escalate', got {on_expiry!r:.80}"
        )
    if isinstance(approvers, bool) or not isinstance(approvers, int) or approvers < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidDefinition(
            f"{what}: approvers= must be an integer of at least 1, got {approvers!r:.80}"
        )
    _check_switches(what, each=each, not_requester=not_requester, queue=queue, edits=edits)
    members = _names(groups, what, "groups")
    told = _names(escalate_to, what, "escalate_to")
    if each and len(members) < 2:
        raise InvalidDefinition(
            f"{what}: each=True means one person of each group: name at least two in groups="
        )
    if told and (on_expiry != "escalate" or expires_in is None):
        raise InvalidDefinition(f"{what}: escalate_to= needs expires_in= and on_expiry='escalate'")
    if on_expiry == "escalate" and expires_in is None:
        raise InvalidDefinition(
            f"{what}: on_expiry='escalate' needs expires_in=: without it, approvals never expire"
        )
    return Rule(
        Verdict.ASK,
        pattern,
        when,
        reason,
        expires_in=optional_seconds(expires_in, "expires_in"),
        on_expiry=on_expiry,
        escalate_to=told,
        remind_every=optional_seconds(remind_every, "remind_every"),
        approvers=approvers,
        groups=members,
        each=each,
        not_requester=not_requester,
        queue=queue,
        valid_for=optional_seconds(valid_for, "valid_for"),
        name=name,
        effect=effect or "",
        undo=undo,
        edits=edits,
        run=run,
    )


def _check_switches(what: str, **switches: Any) -> None:
    for option, value in switches.items():
        if not isinstance(value, bool):
            raise InvalidDefinition(f"{what}: {option}= is True or False, not {value!r:.80}")


def _names(given: Any, what: str, option: str) -> tuple[str, ...]:
    """Names of groups, each once."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        names: list[Any] = [None]
    else:
        names = list(cast("Any", given))
    if not all(isinstance(name, str) and name for name in names):
        raise InvalidDefinition(
            f"{what}: {option}= is a list of names, such as ['finance'], not {given!r:.80}"
        )
    return tuple(dict.fromkeys(names))
