"""How an entry of the index of runs is made of a journal: each record adds lines to its text, and to
its numbers."""

from collections.abc import Callable, Iterable
from typing import Any, cast

from msgspec.structs import replace

from adjourn.core import records as r
from adjourn.core.approval_votes import Vote, gate_of, is_filled
from adjourn.core.codec import encode
from adjourn.core.decision import chosen, word_of
from adjourn.core.ids import tool_call_id, turn_id
from adjourn.core.interrupt_kind import FOR_PEOPLE
from adjourn.core.messages import calls_of, text_of
from adjourn.core.standing_decision import under
from adjourn.core.state import input_text
from adjourn.core.usage import Usage
from adjourn.stores.run_index import (
    KEYS,
    LONGEST,
    MARK,
    VALUE,
    RunEntry,
    ToolCount,
    Wait,
)
from adjourn.stores.run_row import MARKED, RunRow

LONGEST_VALUE = 2_000
"""Characters of one value that are found."""
SHORTEST = len(f"{KEYS['id']}{VALUE}x{MARK}")
"""Characters of the shortest line."""
MOST_WAITS = 500
"""Questions of one run that are counted."""
_SPACES = dict.fromkeys(range(32), " ")


def extended(
    row: RunRow, entry: RunEntry | None, records: Iterable[tuple[int, r.AnyRecord]]
) -> RunEntry:
    """The entry of a run: the one that it had, with what these records say.

    Args:
        row: the run, as it was before the records were read.
        entry: its entry so far, which is changed; None if it has none.
        records: those after the entry's last one, with their numbers.
    """
    made = entry or _begun(row)
    last = row.created_at + made.took
    for seq, record in records:
        if seq <= made.seq:
            continue
        made.seq, last = seq, record.at
        add = _ADDS.get(type(record))
        if add is not None:
            add(made, record)
    made.seq = max(made.seq, row.seq)
    if len(row.salt) == MARKED:  # numbers, and not what was said
        made.text = _begun(row).text
    usage = made.facts.usage
    made.cost, made.tokens = usage.cost, usage.total_tokens
    made.took = max(0.0, last - row.created_at)
    made.waited = _together(made.facts.waits.values())
    return made


def line(key: str, value: str) -> str:
    """A line of an entry's text, with its end: what is searched for if it must be equal."""
    return f"{MARK}{beginning(key, value)}{MARK}"


def beginning(key: str, value: str) -> str:
    """The same without its ends. The key of an argument or a label is followed by its name."""
    kind, _, name = key.partition(".")
    return f"{KEYS[kind]}{plain(name)}{VALUE}{plain(value)}"


def plain(text: str) -> str:
    """A text as it is kept and looked for: in small letters, and without control characters."""
    return text[:LONGEST_VALUE].lower().translate(_SPACES)


def _begun(row: RunRow) -> RunEntry:
    entry = RunEntry(row.id)
    _say(entry, "id", row.id)
    _say(entry, "agent", row.program)
    if row.session:
        _say(entry, "session", row.session)
    for name, value in row.labels.items():
        _say(entry, f"label.{name}", value)
    return entry


def _say(entry: RunEntry, key: str, value: Any) -> None:
    """Add a line, unless it is there, or there is no room for it."""
    if value is None or value == "":
        return
    room = LONGEST - len(entry.text)
    if room < SHORTEST:  # a long run says most of what it says after that
        return
    if not isinstance(value, str):
        value = encode(value).decode()
    said = f"{beginning(key, value)}{MARK}"
    if len(said) <= room and f"{MARK}{said}" not in entry.text:
        entry.text += said


def _by(entry: RunEntry, name: str) -> None:
    if not name.startswith("@"):
        _say(entry, "by", name)


def _arguments(entry: RunEntry, given: Any) -> None:
    if not isinstance(given, dict):
        _say(entry, "in", given)
        return
    for name, value in cast("dict[Any, Any]", given).items():
        _say(entry, f"arg.{name}", value)


def _use(entry: RunEntry, usage: Usage) -> None:
    entry.facts.usage = entry.facts.usage + usage


def _started(entry: RunEntry, record: r.Started) -> None:
    _say(entry, "in", input_text(record.input))
    _by(entry, record.by)


def _replied(entry: RunEntry, record: r.Replied) -> None:
    facts = entry.facts
    _use(entry, record.usage)
    turn = facts.turns[record.path] = facts.turns.get(record.path, 0) + 1
    id = turn_id(record.path, turn)
    _say(entry, "said", text_of(record.parts))
    if not record.spoken:
        _say(entry, "out", record.output)
    for number, call in enumerate(calls_of(record.parts)):
        _say(entry, "tool", call.tool)
        _arguments(entry, call.args)
        facts.calls[tool_call_id(id, number)] = call.tool


def _broke(entry: RunEntry, record: r.Broke) -> None:
    _use(entry, record.usage)
    turns = entry.facts.turns
    turns[record.path] = turns.get(record.path, 0) + 1
    _say(entry, "said", record.text)


def _used(entry: RunEntry, record: r.Summarised | r.Released) -> None:
    _use(entry, record.usage)


def _intended(entry: RunEntry, record: r.Intended) -> None:
    _say(entry, "tool", record.tool)
    if record.input is not None:
        _arguments(entry, record.input)
    entry.facts.calls[record.call] = record.tool


def _returned(entry: RunEntry, record: r.Returned) -> None:
    _say(entry, "out", record.value)
    _say(entry, "error", record.error)
    tool = entry.facts.calls.pop(record.call, "")
    if tool and record.ran:
        count = entry.facts.tools.setdefault(tool, ToolCount())
        count.calls += 1
        count.failed += bool(record.error)
        count.took += record.took


def _faulted(entry: RunEntry, record: r.Faulted) -> None:
    _say(entry, "error", record.error)


def _late(entry: RunEntry, record: r.Late) -> None:
    _say(entry, "out", record.value)
    _say(entry, "error", record.error)


def _stepped(entry: RunEntry, record: r.Stepped) -> None:
    _say(entry, "out", record.value)


def _asked(entry: RunEntry, record: r.Asked) -> None:
    if record.tool:
        _say(entry, "tool", record.tool)
        _arguments(entry, record.args)
    _say(entry, "asked", record.reason)
    _say(entry, "asked", record.phrase)
    _say(entry, "asked", record.payload)
    tool = record.tool or entry.facts.calls.get(record.call, "")
    wait = Wait(record.kind, tool, record.at, groups=record.groups)
    gate = gate_of(record)
    if sum(slot.count for slot in gate) > 1:
        # a vote was let in because it fits: who asked is no question any more
        wait.gate = tuple(replace(slot, not_requester=False) for slot in gate)
        for carried in record.carries:
            if known := entry.facts.waits.get(carried):
                wait.votes += known.votes
    _wait(entry, record.i, wait)


def _suspended(entry: RunEntry, record: r.Suspended) -> None:
    _say(entry, "asked", record.payload)
    if record.kind == "question":
        tool = entry.facts.calls.get(record.call, "")
        _wait(entry, record.i, Wait(record.kind, tool, record.at))


def _wait(entry: RunEntry, id: str, wait: Wait) -> None:
    if wait.kind in FOR_PEOPLE and len(entry.facts.waits) < MOST_WAITS:
        entry.facts.waits[id] = wait


def _decided(entry: RunEntry, record: r.Decided) -> None:
    _by(entry, record.by)
    _say(entry, "note", record.note)
    _say(entry, "answer", record.value)
    if record.edit is not None:
        _arguments(entry, record.edit)
    wait = entry.facts.waits.get(record.i)
    if wait is None:
        return
    agrees = record.verdict == "approve" or chosen(record).get("choice") == "run"
    if wait.gate and agrees and not under(record):
        wait.votes += (Vote(record.by, record.groups),)
        if not is_filled(wait.gate, wait.votes, frozenset()):
            return
    wait.until, wait.by, wait.verdict = record.at, record.by, word_of(record)
    if under(record):
        wait.verdict = "stood"
    elif record.edit is not None:
        wait.verdict = "edit"


def _disowned(entry: RunEntry, record: r.Disowned) -> None:
    """What was taken for an answer is none: the question is open again."""
    wait = entry.facts.waits.get(record.i)
    if wait is not None:
        wait.votes = tuple(vote for vote in wait.votes if vote.by != record.by)
        wait.until, wait.by, wait.verdict = 0.0, "", ""


def _closed(entry: RunEntry, record: r.Closed) -> None:
    wait = entry.facts.waits.get(record.i)
    if wait is not None:
        wait.until, wait.verdict = record.at, record.why


def _said(entry: RunEntry, record: r.Said) -> None:
    _say(entry, "said", record.text)
    _by(entry, record.by)


def _emitted(entry: RunEntry, record: r.Emitted) -> None:
    _say(entry, "event", record.event)
    _say(entry, "answer", record.value)
    _by(entry, record.by)


def _resumed(entry: RunEntry, record: r.Resumed) -> None:
    _say(entry, "said", record.instruction)
    _by(entry, record.by)


def _stopped(entry: RunEntry, record: r.PauseAsked | r.CancelAsked) -> None:
    _say(entry, "note", record.reason)
    _by(entry, record.by)


def _forked(entry: RunEntry, record: r.Forked) -> None:
    """What stands before it was done, asked and paid for by another run."""
    facts = entry.facts
    facts.inherited, facts.tools, facts.waits = facts.usage, {}, {}
    _say(entry, "said", record.instruction)
    _by(entry, record.by)


def _completed(entry: RunEntry, record: r.RunCompleted) -> None:
    if not record.spoken:
        _say(entry, "out", record.output)
    _say(entry, "note", record.stopped)
    _ended(entry, record)


def _ended(entry: RunEntry, record: r.RunCompleted | r.RunCancelled) -> None:
    for wait in entry.facts.waits.values():
        if not wait.until:
            wait.until, wait.verdict = record.at, "void"


def _together(waits: Iterable[Wait]) -> float:
    """Seconds in which at least one of them was open."""
    total = end = 0.0
    for wait in sorted(waits, key=lambda wait: wait.at):
        if wait.until > end:
            total += wait.until - max(wait.at, end)
            end = wait.until
    return total


_ADDS: dict[type[Any], Callable[[RunEntry, Any], None]] = {
    r.Started: _started,
    r.Replied: _replied,
    r.Broke: _broke,
    r.Summarised: _used,
    r.Released: _used,
    r.Intended: _intended,
    r.Returned: _returned,
    r.Faulted: _faulted,
    r.Late: _late,
    r.Stepped: _stepped,
    r.Asked: _asked,
    r.Suspended: _suspended,
    r.Decided: _decided,
    r.Disowned: _disowned,
    r.Closed: _closed,
    r.Said: _said,
    r.Emitted: _emitted,
    r.Resumed: _resumed,
    r.PauseAsked: _stopped,
    r.CancelAsked: _stopped,
    r.Forked: _forked,
    r.RunCompleted: _completed,
    r.RunCancelled: _ended,
}
"""What a record of each kind adds."""
