"""Earlier decisions on the same tool: who decided how, what came of it, and what differs this time.

It says what happened and never what to do. It is no part of what is agreed to: no digest covers it.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, cast

import msgspec

from adjourn.core.call_phrase import shown_value
from adjourn.core.codec import is_equal
from adjourn.core.ids import ref_of
from adjourn.core.interrupt import Interrupt
from adjourn.core.record_codec import readable
from adjourn.core.records import Asked, Decided
from adjourn.stores.audit import AuditFilter, FoundLine
from adjourn.stores.protocol import Store
from adjourn.views.audit_entry import void_lines
from adjourn.views.audit_words import call_of
from adjourn.views.call_outcome import CallOutcome, outcome_of
from adjourn.views.decision_view import EditedArgument, StepDecision, changes_of, decision_of
from adjourn.views.interrupt_view import cut
from adjourn.views.timeline import Timeline
from adjourn.views.words import DecisionKind

DAYS = 90
"""How far back it looks."""
LINES = 200
"""Lines of the audit that are read, the newest: an index gives them in this order."""
NEAREST = 3
"""Decisions that are shown."""
FEWEST = 2
"""With fewer decisions nothing is compared."""
DAY = 86_400.0


class EarlierDecision(msgspec.Struct, frozen=True, kw_only=True):
    """A decision on the same tool. `text` and `arguments` are what was asked about, `differs` is
    what this call has otherwise than what was decided about. `same_definition` False: the tool was
    defined otherwise. `outcome` is null as long as nothing came of it."""

    ref: str
    run_id: str
    agent: str
    title: str
    call_id: str
    text: str
    arguments: Any
    same_definition: bool
    decision: StepDecision
    outcome: CallOutcome | None
    differs: tuple[EditedArgument, ...]


class ArgumentNovelty(msgspec.Struct, frozen=True, kw_only=True):
    """An argument that is not as it was in the earlier decisions, as a sentence in `told`. `before`
    are the values that it had, newest first, at most three. `denied_at`: when this value was denied
    last, if it was approved in none of them."""

    name: str
    is_new: bool
    before: tuple[Any, ...]
    denied_at: float | None
    told: str


class SeenBefore(msgspec.Struct, frozen=True, kw_only=True):
    """What was decided on a tool in the last `days` days; `told` says how often. `instead`: a person
    gave the result in the place of the tool. `complete` False: there were more decisions than were
    read. `nearest` are those whose arguments are most like this call's, newest first; they,
    `differs` and `told` are empty where fewer than two decisions can be read."""

    tool: str
    days: int
    approved: int
    edited: int
    denied: int
    instead: int
    complete: bool
    told: str
    nearest: tuple[EarlierDecision, ...]
    differs: tuple[ArgumentNovelty, ...]


NOTHING = SeenBefore(
    tool="",
    days=DAYS,
    approved=0,
    edited=0,
    denied=0,
    instead=0,
    complete=True,
    told="",
    nearest=(),
    differs=(),
)


class _Decided(msgspec.Struct):
    """A decision that was made, and what it was about."""

    run: str
    asked: Asked
    program: str
    title: str
    decision: StepDecision
    arguments: Mapping[str, Any]
    """What was decided about: as edited, if it was."""

    @property
    def is_denied(self) -> bool:
        return self.decision.verdict == DecisionKind.DENIED


async def seen_before(
    store: Store,
    interrupt: Interrupt,
    look: Callable[[str], Awaitable[Timeline]],
    may_see: Callable[[str], Awaitable[bool]] | None = None,
) -> SeenBefore:
    """Earlier decisions on the tool of an approval, from one walk through an index of the audit.
    There are none for anything else than an approval.

    Args:
        store: where the audit is.
        interrupt: the approval.
        look: the timeline of a run, by its id.
        may_see: whether the reader may see a run, by its id; without it, they may see all.
    """
    call = interrupt.call
    if call is None or interrupt.kind != "approval":
        return NOTHING
    wanted = AuditFilter(tool=call.tool, refused=False, since=store.now() - DAYS * DAY)
    lines = await store.recent(limit=LINES, wanted=wanted)
    others: list[FoundLine] = []
    run = interrupt.run_id
    for line in lines:
        is_itself = (line.scope, line.entry.get("interrupt")) == (run, interrupt.local)
        if not is_itself and (may_see is None or await may_see(line.scope)):
            others.append(line)
    void = await void_lines(store, others)  # what no worker believed was decided by no one
    found = decisions_in([line for line in others if line.place not in void])
    near: list[EarlierDecision] = []
    differs: tuple[ArgumentNovelty, ...] = ()
    if len(found) >= FEWEST:
        definition = await _definition(store, interrupt)
        for one in nearest(found, call.arguments):
            timeline = await look(one.run)
            near.append(_shown(one, timeline, call.arguments, definition))
        differs = novelties(found, call.arguments)
    kinds = [_kind(one) for one in found]
    complete = len(lines) < LINES
    return SeenBefore(
        tool=call.tool,
        days=DAYS,
        approved=kinds.count("approved"),
        edited=kinds.count("edited"),
        denied=kinds.count("denied"),
        instead=kinds.count("answered instead"),
        complete=complete,
        told=_counted(call.tool, kinds, complete),
        nearest=tuple(near),
        differs=differs,
    )


async def _definition(store: Store, interrupt: Interrupt) -> str:
    """The digest of the tool's definition when it was asked."""
    for _, record in await store.load(interrupt.run_id, interrupt.seq - 1):
        if isinstance(record, Asked):
            return record.definition
        break
    return ""


def decisions_in(lines: Sequence[FoundLine]) -> list[_Decided]:
    """The decisions that lines of the audit tell of, newest first: of approvals that are settled,
    each once, with everyone who agreed; one that stood for later calls too, once, whether or not it
    was revoked. What was erased, or is too long to be read with its line, is not among them.

    Args:
        lines: lines about one tool, newest first.
    """
    groups: dict[tuple[str, str], list[FoundLine]] = {}
    for line in reversed(lines):
        if line.opening and line.record:
            groups.setdefault((line.scope, str(line.entry.get("interrupt"))), []).append(line)
    found: list[_Decided] = []
    for (run, _), votes in groups.items():
        last = votes[-1]
        asked = readable(last.opening)
        if not last.is_decided or not isinstance(asked, Asked) or asked.kind != "approval":
            continue
        carried = [vote for i in asked.carries for vote in groups.get((run, i), ())]
        made = _made(asked, [*carried, *votes])
        if made is not None and not made.decision.under:
            found.append(made)
    found.sort(key=lambda one: one.decision.at, reverse=True)
    return found


def _made(asked: Asked, votes: Iterable[FoundLine]) -> _Decided | None:
    decision: StepDecision | None = None
    made: _Decided | None = None
    arguments = cast("dict[str, Any]", asked.args or {})
    for line in votes:
        record = readable(line.record)
        if not isinstance(record, Decided):
            continue
        decision = decision_of(record, arguments, asked.at, decision)
        decided = arguments if record.edit is None else record.edit
        made = _Decided(line.scope, asked, line.program, line.title, decision, decided)
    return made


def _kind(one: _Decided) -> str:
    if one.is_denied:
        return "denied"
    if one.decision.verdict == DecisionKind.INSTEAD:
        return "answered instead"
    if one.decision.changes:
        return "edited"
    return "approved"


def _counted(tool: str, kinds: Sequence[str], complete: bool) -> str:
    """How many there were, and of which kind."""
    if len(kinds) < FEWEST:
        return ""
    parts: list[str] = []
    for kind in ("approved", "edited", "denied", "answered instead"):
        if kind in kinds:
            parts.append(f"{kinds.count(kind)} {kind}")
    number = f"the last {len(kinds)} decisions on {tool}"
    if complete:
        number = f"{len(kinds)} decisions on {tool} in {DAYS} days"
    return f"{number}: {', '.join(parts)}"


def nearest(found: Sequence[_Decided], arguments: Mapping[str, Any]) -> list[_Decided]:
    """Those with the most arguments in common, and of equals the newest; shown newest first.

    Args:
        found: decisions, newest first.
        arguments: those of the call that waits.
    """
    places = sorted(range(len(found)), key=lambda n: (-_common(found[n], arguments), n))
    return [found[n] for n in sorted(places[:NEAREST])]


def _common(one: _Decided, arguments: Mapping[str, Any]) -> int:
    count = 0
    for name, value in arguments.items():
        count += name in one.arguments and is_equal(one.arguments[name], value)
    return count


def novelties(
    found: Sequence[_Decided], arguments: Mapping[str, Any]
) -> tuple[ArgumentNovelty, ...]:
    """What differs this time: values that none of them had, values that were only ever denied, and
    arguments that all of them had and this call has not.

    Args:
        found: decisions, newest first.
        arguments: those of the call that waits.
    """
    told: list[ArgumentNovelty] = []
    for name, value in arguments.items():
        if novelty := _novelty(found, name, value):
            told.append(novelty)
    for name in found[0].arguments if found else ():
        if name not in arguments and all(name in one.arguments for one in found):
            before = _values(found, name)
            words = f"{name} is not given: it was {_range(before, len(found))}"
            told.append(_new(name, before, words))
    return tuple(told)


def _novelty(found: Sequence[_Decided], name: str, value: Any) -> ArgumentNovelty | None:
    having = [one for one in found if name in one.arguments]
    if not having:
        words = f"{name} is new: it was not given in any of the {len(found)}"
        return _new(name, [], words)
    same = [one for one in having if is_equal(one.arguments[name], value)]
    before = _values(having, name)
    if not same:
        words = f"{name} is {shown_value(value)}: it was {_range(before, len(having))}"
        return _new(name, before, words)
    if all(one.is_denied for one in same):
        return ArgumentNovelty(
            name=name,
            is_new=False,
            before=_some(before),
            denied_at=same[0].decision.at,
            told=f"{name} is {shown_value(value)}: with that it was denied, never approved",
        )
    return None


def _new(name: str, before: Sequence[Any], words: str) -> ArgumentNovelty:
    return ArgumentNovelty(name=name, is_new=True, before=_some(before), denied_at=None, told=words)


def _some(values: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(cut(value) for value in values[:NEAREST])


def _values(found: Iterable[_Decided], name: str) -> list[Any]:
    """The different values that an argument had, newest first."""
    values: list[Any] = []
    for one in found:
        value = one.arguments[name]
        if not any(is_equal(value, other) for other in values):
            values.append(value)
    return values


def _range(values: Sequence[Any], count: int) -> str:
    """The values that an argument had, in words; of numbers the smallest and the largest."""
    if len(values) == 1:
        return f"{shown_value(values[0])} in all {count}"
    numbers = [value for value in values if type(value) in (int, float)]
    if len(numbers) == len(values):
        return f"{shown_value(min(numbers))} to {shown_value(max(numbers))} in {count}"
    listed = ", ".join(shown_value(value) for value in values[:NEAREST])
    if len(values) <= NEAREST:
        return f"{listed} in {count}"
    return f"one of {len(values)} others, last {listed}"


def _shown(
    one: _Decided, timeline: Timeline, arguments: Mapping[str, Any], definition: str
) -> EarlierDecision:
    outcome = outcome_of(timeline.call(one.asked.call))
    if outcome is not None:
        outcome = msgspec.structs.replace(
            outcome, result=cut(outcome.result), error=cast("str", cut(outcome.error))
        )
    return EarlierDecision(
        ref=ref_of(one.run, one.asked.i),
        run_id=one.run,
        agent=one.program,
        title=one.title,
        call_id=one.asked.call,
        text=call_of(one.asked),
        arguments=cut(one.asked.args),
        same_definition=one.asked.definition == definition,
        decision=one.decision,
        outcome=outcome,
        differs=changes_of(one.arguments, dict(arguments)),
    )
