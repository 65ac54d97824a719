"""What waits for a person, complete and exact: what would run, why it asks, and last the agent's
own words."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from msgspec.structs import asdict
from rich.cells import cell_len
from rich.text import Text

from adjourn.cli.loaded_run import records_of
from adjourn.cli.terminal.console import wrap
from adjourn.cli.terminal.format import (
    BRIEF,
    DIM,
    STATUSES,
    arguments,
    brief,
    cut,
    duration,
    exact,
    grouped,
)
from adjourn.cli.terminal.halt_line import halt_words
from adjourn.cli.terminal.hints import quoted
from adjourn.cli.terminal.value_rows import fields, marked, rows, schema_word
from adjourn.core.halt import scopes
from adjourn.core.ids import parse_fork
from adjourn.core.interrupt import Interrupt, Seat, unsigned
from adjourn.core.state import State
from adjourn.core.status import RunStatus
from adjourn.errors import AdjournError
from adjourn.runtime.erasure_verbs import check_content
from adjourn.runtime.runtime import Runtime
from adjourn.stores.protocol import Halt, Store
from adjourn.views.audit_entry import AuditEntry
from adjourn.views.call_outcome import CallOutcome
from adjourn.views.decision_view import EarlierApproval, decision_line
from adjourn.views.fork_preview import ForkPreview, OriginCall, fork_preview
from adjourn.views.interrupt_view import InterruptView, view_of
from adjourn.views.seen_before import NOTHING, SeenBefore, seen_before
from adjourn.views.timeline import Numbered, Timeline
from adjourn.views.visible import lines, visible
from adjourn.views.words import (
    EFFECTS,
    EXPIRY,
    OUTCOMES,
    PROSE,
    REPEATS,
    InterruptStatus,
    OutcomeState,
    RepeatState,
    interrupt_title,
    payload_line,
)


@dataclass(frozen=True, slots=True)
class Item:
    """An interrupt, and what is around it."""

    interrupt: Interrupt
    view: InterruptView
    now: float
    before: SeenBefore = NOTHING
    halts: Sequence[Halt] = ()
    """The halts that are on and would stop what it is about."""
    origin: ForkPreview | None = None
    """What its run has of its origin, if it is a fork."""

    @property
    def is_open(self) -> bool:
        """Whether it can still be decided."""
        return self.view.status == InterruptStatus.OPEN

    @property
    def where(self) -> str:
        """The agents down to the one that asks, and the call."""
        return " › ".join(name for name in (*self.view.agents, self.view.call_id) if name)


class NumberedInterrupt(InterruptView, frozen=True, kw_only=True):
    """An interrupt of a list that was shown, and its number there."""

    number: int


def numbered(number: int, item: Item) -> NumberedInterrupt:
    """An item of a list, as data."""
    return NumberedInterrupt(**asdict(item.view), number=number)


def title(interrupt: Interrupt) -> str:
    """What is wanted, in a few words."""
    tool = interrupt.call.tool if interrupt.call else ""
    return interrupt_title(interrupt.kind, interrupt.type, tool, interrupt.payload)


async def look(rt: Runtime, interrupt: Interrupt, *, unread: bool = False) -> Item:
    """Read what surrounds an interrupt; `unread`: also if that cannot be read here."""
    store = rt.store
    row = await store.get(interrupt.run_id)
    records = await records_of(store, interrupt.run_id, unread=unread)
    audit = await store.audit(interrupt.run_id, limit=1000)
    attempts = [
        AuditEntry.of(line) for line in audit if line.entry.get("interrupt") == interrupt.local
    ]
    halts = await rt.halts()
    status = row.shown(store.now(), [halt.scope for halt in halts])
    item = item_of(
        records, interrupt, store.now(), title=row.title, run_status=status, attempts=attempts
    )

    async def timeline(run: str) -> Timeline:
        return Timeline.of(await store.load(run))

    tool = interrupt.call.tool if interrupt.call else ""
    touched = scopes((row.program, *item.view.agents), tool)
    return replace(
        item,
        before=await seen_before(store, interrupt, timeline),
        origin=await _origin(store, item.view.forked_from),
        halts=[halt for halt in halts if halt.scope in touched],
    )


async def _origin(store: Store, forked_from: str) -> ForkPreview | None:
    """What a fork has of its origin; None for a run that is none, or whose origin is gone."""
    of, at = parse_fork(forked_from)
    if not of:
        return None
    try:
        records = check_content(of, await store.load(of))
    except AdjournError:
        return None
    return fork_preview(records, at, "keep")


def item_of(
    records: Sequence[Numbered],
    interrupt: Interrupt,
    now: float,
    *,
    title: str = "",
    run_status: RunStatus | None = None,
    attempts: Sequence[AuditEntry] = (),
) -> Item:
    """An interrupt in the journal that opened it.

    Args:
        records: the journal.
        interrupt: the interrupt.
        now: the time.
        title: the title of its run.
        run_status: the status of its run; None: as the journal alone says.
        attempts: the lines of the audit about it.
    """
    state, timeline = State().fold_all(records), Timeline.of(records)
    view = view_of(
        interrupt,
        state,
        timeline,
        title=title,
        run_status=run_status or RunStatus(state.view),
        records=records[interrupt.seq - 1 :],
        attempts=attempts,
    )
    return Item(interrupt, view, now)


def render(item: Item, width: int) -> Iterator[Text]:
    """The item as lines, in the order in which it should be read. Nothing is shortened."""
    i = item.interrupt
    glyph, colour, _ = STATUSES["failed" if i.kind == "error" else "waiting"]
    head, where = f" {visible(title(i))}", visible(item.where)
    room = min(width, 80) - cell_len(head) - cell_len(where) - 1
    yield Text.assemble((glyph, colour), (head, "bold"), " " * max(2, room), (where, DIM))
    if i.call and i.call.description:
        yield from _labelled("from its definition", i.call.description, width)
    yield Text("")
    yield from _content(i, width)
    yield Text("")
    yield from _seen(item, width)
    for name, text in _facts(item):
        yield from _labelled(f"{name:<7}", text, width)
    if item.view.said:
        yield Text("")
        yield Text("  The agent’s own words, not checked", style=DIM)
        for line in lines(item.view.said):
            for piece in wrap(line, width - 4):
                yield Text.assemble(("  ┊ ", DIM), marked(piece))


def _content(i: Interrupt, width: int) -> Iterator[Text]:
    if i.call:
        found = list(fields(i.call.arguments, i.answer_schema if i.kind == "approval" else None))
        yield from rows(found, width) if i.call.arguments else [Text("  no arguments", style=DIM)]
    elif i.payload is not None:
        yield from rows(list(fields(i.payload)), width)


def _seen(item: Item, width: int) -> Iterator[Text]:
    """Earlier decisions on the same tool, and what differs; nothing that says what to do."""
    before = item.before
    if not before.told:
        return
    yield from _labelled("before ", before.told, width)
    for earlier in before.nearest:
        parts = [f"{duration(item.now - earlier.decision.at)} ago", earlier.text]
        parts.append(decision_line(earlier.decision))
        if earlier.outcome:
            parts.append(_came(earlier.outcome))
        if not earlier.same_definition:
            parts.append("the tool had a different definition")
        yield from _labelled("       ", " · ".join(parts), width)
    for difference in before.differs:
        yield from _labelled("differs", difference.told, width)
    yield Text("")


def _came(outcome: CallOutcome) -> str:
    """What came of a call, in a few words."""
    word = OUTCOMES[outcome.state]
    if outcome.state == OutcomeState.FAILED:
        return f"{word}: {outcome.error}"
    if outcome.took is None:
        return word
    return f"{word}, {duration(outcome.took)}"


def _facts(item: Item) -> Iterator[tuple[str, str]]:
    i = item.interrupt
    yield from _halted(item)
    yield from _forked(item)
    yield from _again(item)
    if i.call and (why := ": ".join(part for part in (i.call.reason, i.call.rule) if part)):
        yield "why", why
    if i.call and i.call.effect:
        undo = "it can be undone" if i.call.undo else "it has no undo"
        yield "effect", f"{EFFECTS.get(i.call.effect, i.call.effect)}; {undo}"
    if needed := seats_line(i):
        yield "needs", needed
    if i.kind == "question":
        yield "answer", schema_word(i.answer_schema)
    for name, what in i.choices.items():
        yield "choice", f"{name}: {what}"
    if i.escalated:
        yield "escalated", "no decision in time"
    if item.view.assigned_to:
        yield "for", item.view.assigned_to
    for note in item.view.notes:
        if note.text:
            yield "said", f"{note.by}, {duration(item.now - note.at)} ago: {note.text}"
    yield "expires", _expiry(i, item.now)
    yield "digest", _digests(item)
    yield "run", i.run_id
    yield "item", quoted(i.ref)


def _again(item: Item) -> Iterator[tuple[str, str]]:
    """Why it is asked once more."""
    if earlier := item.view.earlier:
        yield "again", earlier_line(earlier)
    if item.interrupt.disowned:
        yield "open", f"again: {unsigned(item.interrupt.disowned)}"


def _digests(item: Item) -> str:
    """Of what is asked; of what was edited, also of what was approved."""
    asked, approved = grouped(item.interrupt.digest), item.view.approved_digest
    return f"{asked} → {grouped(approved)}, as approved" if approved else asked


def _forked(item: Item) -> Iterator[tuple[str, str]]:
    """What the origin of a fork did: what is inherited as done, and what may be done twice."""
    if item.origin is None:
        return
    for call in item.origin.inherited:
        yield "done", f"inherited: {_origin_line(call, item.now)}; it is not run again"
    for call in item.origin.later:
        twice = ""
        if item.interrupt.call and call.tool == item.interrupt.call.tool:
            twice = "; approving it here does it a second time"
            if call.left == RepeatState.ASKED:
                twice = "; approving both does it twice"
        yield "origin", f"{_origin_line(call, item.now)}{twice}"


def _origin_line(origin: OriginCall, now: float) -> str:
    said = f"{origin.tool} {arguments(origin.arguments)}".rstrip()
    parts = [f"{said}: {REPEATS[origin.left]}"]
    if origin.at:
        parts.append(f"{duration(now - origin.at)} ago")
    if origin.by:
        parts.append(f"approved by {' and '.join(origin.by)}")
    return ", ".join(parts)


def earlier_line(earlier: EarlierApproval) -> str:
    """Why it is asked again: whose approval no longer counts."""
    who = " and ".join(earlier.by) or "an unknown person"
    when = time.strftime("%H:%M", time.localtime(earlier.at))
    if earlier.valid_for:
        return f"the approval of {when} by {who} had expired before the call ran"
    return f"the approval of {when} by {who} no longer covers it"


def _halted(item: Item) -> Iterator[tuple[str, str]]:
    for halt in item.halts:
        yield "halted", f"{halt_words(halt)}; until it is lifted, it can only be denied"


def seats_line(i: Interrupt) -> str:
    """Who must still agree, and who has: `1 more person: finance ana · leads – · anybody but eve
    ana`. "" if one person, whoever it is, will do.

    One person may sit in seats of several rules, so seats alike of different rules are one. Names
    are as they were recorded.
    """
    seats = _distinct(i.slots)
    if not seats or (len(seats) == 1 and not seats[0].groups and not seats[0].not_requester):
        return ""
    listed = (f"{_who(seat, i.requesters)} {seat.filled_by or '–'}" for seat in seats)
    return f"{_still_needed(i.slots)}: {' · '.join(listed)}"


def _distinct(seats: Sequence[Seat]) -> list[Seat]:
    """Of seats that are alike, those of the rule that has most of them."""
    alike: dict[tuple[Any, ...], dict[str, list[Seat]]] = {}
    for seat in seats:
        rules = alike.setdefault((seat.groups, seat.not_requester), {})
        rules.setdefault(seat.rule, []).append(seat)
    return [seat for rules in alike.values() for seat in max(rules.values(), key=len)]


def _still_needed(seats: Sequence[Seat]) -> str:
    """How many people are still needed, in words: as many as the rule with most empty seats; more
    where nobody is in the groups of other rules as well."""
    empty: dict[str, list[Seat]] = {}
    for seat in seats:
        if not seat.filled_by:
            empty.setdefault(seat.rule, []).append(seat)
    most = max(empty.values(), key=len, default=list[Seat]())
    groups = {seat.groups for rule in empty.values() for seat in rule if seat.groups}
    words = "at least " if groups - {seat.groups for seat in most} else ""
    words += f"{len(most)} "
    if any(seat.filled_by for seat in seats):
        words += "more "
    return words + ("person" if len(most) == 1 else "people")


def _who(seat: Seat, requesters: Sequence[str]) -> str:
    """Who may sit there."""
    who = " or ".join(seat.groups) or "any approver"
    if not seat.not_requester:
        return who
    return f"{who} except {', '.join(requesters) or 'the requester'}"


def _expiry(i: Interrupt, now: float) -> str:
    if not i.expires_at:
        return "never"
    then = EXPIRY[i.on_expiry]
    if i.expires_at <= now:
        return f"{duration(now - i.expires_at)} ago"
    return f"in {duration(i.expires_at - now)}, then {then}"


def _labelled(label: str, text: str, width: int) -> Iterator[Text]:
    space = cell_len(label) + 4
    pieces = [piece for line in lines(text) for piece in wrap(line, max(20, width - space))]
    for n, piece in enumerate(pieces):
        yield Text.assemble("  ", (label if n == 0 else " " * cell_len(label), DIM), "  ", piece)


@dataclass(frozen=True, slots=True)
class ListLine:
    """An item in one line of a list, and whether the line says all that would be decided about."""

    text: str
    whole: bool


def list_line(i: Interrupt) -> ListLine:
    """The item for a list, shortened if it is long."""
    content = i.call.arguments if i.call else i.payload
    kept = cut(content)
    text = _line(i, kept)
    again = f"{visible(unsigned(i.disowned))} · " if i.disowned else ""
    return ListLine(again + brief(text), kept == content and len(text) <= BRIEF)


def _line(i: Interrupt, content: Any) -> str:
    if i.call and i.kind == "approval":
        return f"{visible(i.call.tool)} {arguments(content)}".rstrip()
    if i.call:
        return f"{visible(title(i))}: {arguments(content)}"
    if content is None:
        return visible(title(i))
    what = payload_line(content)
    text = visible(what) if isinstance(what, str) else exact(what)
    if what is content:
        return text
    named = next(name for name in PROSE if content.get(name) is what)
    rest = {name: value for name, value in content.items() if name != named}
    if rest:
        return f"{text} {exact(rest)}"
    return text
