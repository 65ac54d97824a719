"""What waits for a person, complete and exact: what would run, why it asks, and last the agent's
own words."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from msgspec.structs import asdict
from rich.cells import cell_len
from rich.text import Text

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
from adjourn.cli.terminal.hints import quoted
from adjourn.cli.terminal.value_rows import fields, marked, rows, schema_word
from adjourn.core.interrupt import Interrupt, Seat, unsigned
from adjourn.core.state import State
from adjourn.core.status import RunStatus
from adjourn.runtime.runtime import Runtime
from adjourn.views.audit_entry import AuditEntry
from adjourn.views.call_outcome import CallOutcome
from adjourn.views.decision_view import decision_line
from adjourn.views.interrupt_view import InterruptView, view_of
from adjourn.views.seen_before import NOTHING, SeenBefore, seen_before
from adjourn.views.timeline import Numbered, Timeline
from adjourn.views.visible import lines, visible
from adjourn.views.words import (
    EFFECTS,
    EXPIRY,
    OUTCOMES,
    PROSE,
    InterruptStatus,
    OutcomeState,
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
    if interrupt.call:
        tool = interrupt.call.tool
    else:
        tool = ""
    return interrupt_title(interrupt.kind, interrupt.type, tool)


async def look(rt: Runtime, interrupt: Interrupt) -> Item:
    """Read what surrounds an interrupt."""
    store = rt.store
    row, records = await store.get(interrupt.run_id), await store.load(interrupt.run_id)
    audit = await store.audit(interrupt.run_id, limit=1000)
    attempts = [
        AuditEntry.of(line) for line in audit if line.entry.get("interrupt") == interrupt.local
    ]
    status = row.shown(store.now(), await rt.halted())
    item = item_of(
        records, interrupt, store.now(), title=row.title, run_status=status, attempts=attempts
    )

    async def timeline(run: str) -> Timeline:
        return Timeline.of(await store.load(run))

    return replace(item, before=await seen_before(store, interrupt, timeline))


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
        parts = [f"{duration(item.now - earlier.decision.at)} ago", earlier.call]
        parts.append(decision_line(earlier.decision))
        if earlier.outcome:
            parts.append(_came(earlier.outcome))
        if not earlier.same_definition:
            parts.append("the tool was defined otherwise")
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
    if i.disowned:
        yield "open", f"again: {unsigned(i.disowned)}"
    if i.call and (why := ": ".join(part for part in (i.call.reason, i.call.rule) if part)):
        yield "why", why
    if i.call and i.call.effect:
        if i.call.undo:
            undo = "it can be undone"
        else:
            undo = "it has no undo"
        yield "effect", f"{EFFECTS.get(i.call.effect, i.call.effect)}; {undo}"
    if needed := seats_line(i):
        yield "needs", needed
    if i.kind == "question":
        yield "answer", schema_word(i.answer_schema)
    for name, what in i.choices.items():
        yield "choice", f"{name}: {what}"
    if i.escalated:
        yield "escalated", "nobody decided in time"
    yield "expires", _expiry(i, item.now)
    yield "digest", grouped(i.digest)
    yield "run", i.run_id
    yield "item", quoted(i.ref)


def seats_line(i: Interrupt) -> str:
    """Who must agree and who has: `2 of 3: finance ana · leads – · anybody but eve bob`. "" if one
    person, whoever it is, will do.

    Names are as they were recorded.
    """
    seats = i.slots
    if not seats or (len(seats) == 1 and not seats[0].groups and not seats[0].not_requester):
        return ""
    filled = sum(1 for seat in seats if seat.filled_by)
    listed = (f"{_who(seat, i.requesters)} {seat.filled_by or '–'}" for seat in seats)
    return f"{filled} of {len(seats)}: {' · '.join(listed)}"


def _who(seat: Seat, requesters: Sequence[str]) -> str:
    """Who may sit there."""
    who = " or ".join(seat.groups) or "anybody"
    if not seat.not_requester:
        return who
    return f"{who} but {', '.join(requesters) or 'whoever asked'}"


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
    if i.call:
        content = i.call.arguments
    else:
        content = i.payload
    kept = cut(content)
    text = _line(i, kept)
    if i.disowned:
        again = f"{visible(unsigned(i.disowned))} · "
    else:
        again = ""
    return ListLine(again + brief(text), kept == content and len(text) <= BRIEF)


def _line(i: Interrupt, content: Any) -> str:
    if i.call and i.kind == "approval":
        return f"{visible(i.call.tool)} {arguments(content)}".rstrip()
    if i.call:
        return f"{visible(title(i))}: {arguments(content)}"
    if content is None:
        return visible(title(i))
    what = payload_line(content)
    if isinstance(what, str):
        text = visible(what)
    else:
        text = exact(what)
    if what is content:
        return text
    named = next(name for name in PROSE if content.get(name) is what)
    rest = {name: value for name, value in content.items() if name != named}
    if rest:
        return f"{text} {exact(rest)}"
    return text
