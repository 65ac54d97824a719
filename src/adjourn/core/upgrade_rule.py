"""What an upgrade may be: it says how records are read, and changes nothing that has happened."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from adjourn.core import chapter_rule
from adjourn.core.call import Call
from adjourn.core.journal_authority import violations
from adjourn.core.messages import ToolCall
from adjourn.core.records import (
    Accepted,
    AnyRecord,
    Asked,
    Chapter,
    Closed,
    Decided,
    Faulted,
    Intended,
    Parked,
    Replied,
    Returned,
    Started,
    Suspended,
    Upgraded,
)
from adjourn.core.renamed_chunks import keeping_ids, named_now
from adjourn.core.state import State
from adjourn.core.status import CANCELS
from adjourn.core.upgraded_journal import as_upgraded, may_change, read_as

STAYS: Mapping[type[Any], frozenset[str]] = {
    Asked: frozenset(
        {
            "tool",
            "args",
            "definition",
            "describes",
            "phrase",
            "payload",
            "schema",
            "secret_result",
            "reason",
            "rules",
            "under",
            "action",
            "digest",
        }
    ),
    Decided: frozenset({"edit", "digest"}),
    Suspended: frozenset({"type", "payload", "schema"}),
    Intended: frozenset({"tool", "input", "digest", "under", "secret_result"}),
    Accepted: frozenset({"fingerprint", "changes"}),
    Upgraded: frozenset({"fingerprint", "changes", "now", "began"}),
    Parked: frozenset({"blocked"}),
    Faulted: frozenset({"error"}),
    Chapter: frozenset({"state"}),
}
"""What an upgrader may name differently without effect: it stays what people saw, and what was
begun."""


def objections(records: Sequence[AnyRecord]) -> Iterator[str]:
    """Why a journal must not be taken as it is: calls that nobody stands behind, upgrades that
    change what has happened."""
    yield from violations(records)
    for place, record in enumerate(records):
        if isinstance(record, Upgraded) and (why := flaw(records[:place], record)):
            yield f"record {place + 1} is not a valid upgrade: {why}"
    yield from chapter_rule.objections(records)


def flaw(before: Sequence[AnyRecord], upgraded: Upgraded) -> str:
    """Why this cannot follow these records as their upgrade; "" if it can."""
    why, was, now = _judged(before, upgraded)
    return why or (
        "" if upgraded.began == _began(was, now) else "it does not say how its calls began"
    )


def _judged(before: Sequence[AnyRecord], upgraded: Upgraded) -> tuple[str, State, State]:
    """What it changes and must not, in words; and what the run is without it, and with it."""
    was = now = State()
    try:
        if why := next(_misread(_read(before), upgraded), ""):
            return why, was, now
        was, now = _fold(before), _fold([*before, upgraded])
    except Exception as e:  # whatever a forged one makes the fold stumble over
        return f"its records are not a valid run: {type(e).__name__}: {e}", was, now
    old, new = _outline(was), _outline(now)
    changed = [name for name in old if old[name] != new[name]]
    return f"it changes {changed[0]}" if changed else "", was, now


def _read(records: Sequence[AnyRecord]) -> list[AnyRecord]:
    return [record for _, record in as_upgraded(list(enumerate(records, 1)))]


def _fold(records: Sequence[AnyRecord]) -> State:
    return State().fold_all(list(enumerate(records, 1)))


def _misread(read: Sequence[AnyRecord], upgraded: Upgraded) -> Iterator[str]:
    """Each field that it says differently and must not."""
    settled = _settled(read)
    for seq, fields in upgraded.now.items():
        if not seq.isdecimal() or not 1 <= int(seq) <= len(read) or seq != str(int(seq)):
            yield f"record {seq!r:.20} does not exist before it"
            continue
        record = read[int(seq) - 1]
        if more := sorted(fields.keys() - may_change(record)):
            yield f"{_named(int(seq), record)}: {more[0]!r} must stay as it was written"
        elif isinstance(record, Decided) and record.i not in settled:
            yield (
                f"{_named(int(seq), record)}: its call has not ended, so its edit must stay as "
                "it was written"
            )
        elif isinstance(record, Replied) and _said(record) != _said(read_as(record, fields)):
            yield (
                f"{_named(int(seq), record)}: an upgrade can change only the tools and "
                "arguments of the model's calls, not its text"
            )


def _settled(records: Sequence[AnyRecord]) -> set[str]:
    """What people were asked about calls that have ended."""
    ended = {record.call for record in records if isinstance(record, Returned)}
    return {record.i for record in records if isinstance(record, Asked) and record.call in ended}


def _named(seq: int, record: AnyRecord) -> str:
    return f"record {seq} ({record.__struct_config__.tag})"


def _said(record: AnyRecord) -> list[Any]:
    assert isinstance(record, Replied)
    calls = set(record.drawn)
    parts: list[Any] = []
    for part in record.parts:
        parts.append(part.id if isinstance(part, ToolCall) else part)
    return [parts, calls]


def _outline(state: State) -> dict[str, Any]:
    """What has happened, apart from names, arguments and results: an upgrade leaves all of it as it
    is."""
    threads: dict[str, Any] = {}
    for path, thread in state.threads.items():
        slots = [(slot.call, slot.result is None) for slot in thread.slots]
        counted = (thread.turn, thread.requests, thread.unfilled, thread.final, thread.usage)
        threads[path] = (*counted, slots, len(thread.pending), len(thread.transcript))
    flow = state.flow and (
        sorted(state.flow.tokens),
        sorted(state.flow.scopes),
        state.flow.events,
        state.flow.steps,
        state.flow.closing,
        [heard.n for heard in state.flow.heard],
        len(state.flow.problems),
    )
    return {
        "the run's status": (
            state.status,
            state.epoch,
            state.pause,
            state.cancel,
            state.ended,
            state.gave_up,
        ),
        "calls that have not ended": {id: _shape(call) for id, call in state.live.items()},
        "what is owed": list(state.owed),
        "effects that were done": [(id, _shape(call)) for id, call in state.effects.items()],
        "what people are asked": {
            i: (x.seq, x.record.kind, x.votes, x.disowned) for i, x in state.open.items()
        },
        "what people agreed to": (state.grants, state.granted, sorted(state.requesters)),
        "the ids of questions": (sorted(state.ids), state.asked_count),
        "failures and limits": (
            state.faults,
            state.extended,
            state.stop_now,
            state.flags,
            state.deaths,
            state.lost,
        ),
        "conversations": (threads, state.usage, state.steps),
        "where the flow is": flow,
    }


def _shape(call: Call) -> tuple[Any, ...]:
    return (
        call.path,
        call.kind,
        call.phase,
        call.attempt,
        call.epoch,
        call.at,
        call.effect,
        call.undo,
        call.digest,
        sorted(call.memo),
        call.grant,
        call.inherited,
        call.edited,
        call.queued,
        call.verified,
        call.doubt,
        call.doubts,
        call.settle,
        call.settles,
        call.denied,
        call.left,
        call.lost,
        bool(call.error),
        call.ran,
        call.suspended,
        call.resume_to,
        call.undone,
        sorted(call.compensated),
    )


def _began(was: State, now: State) -> dict[str, tuple[str, Any]]:
    """With what calls began that are read differently now. Those that may have begun in a lost time
    are among them."""
    found: dict[str, tuple[str, Any]] = {}
    for id, old in {**was.effects, **was.live}.items():
        new = now.live.get(id) or now.effects[id]
        if (old.attempt or old.lost) and (old.tool, old.args) != (new.tool, new.args):
            found[id] = old.began or (old.tool, old.args)
    return found


# Making one


def plain_journal(records: Sequence[AnyRecord]) -> list[dict[str, Any]]:
    """The journal as an upgrader gets it: as it is read now, in plain JSON."""
    plain: list[dict[str, Any]] = [msgspec.to_builtins(record) for record in _read(records)]
    if graph := plain[0].get("graph"):
        plain[0]["graph"] = named_now(graph)
    return plain


def upgrade_to(
    records: Sequence[AnyRecord],
    wanted: Sequence[AnyRecord],
    fingerprint: dict[str, Any],
    changes: Sequence[str],
) -> list[Upgraded | Closed]:
    """The upgrade that makes these records be read as the wanted ones, and what takes approvals
    back that show something else than would run now: they are asked for again. Raises `ValueError`
    if an upgrade cannot do that."""
    read = _read(records)
    if len(read) != len(wanted):
        raise ValueError(
            f"{len(read)} records became {len(wanted)}; an upgrade must keep one record for each record"
        )
    now, settled = dict[str, dict[str, Any]](), _settled(read)
    for seq, (old, new) in enumerate(zip(read, wanted, strict=True), 1):
        fields = _changed(seq, old, new)
        if fields and not (isinstance(old, Decided) and old.i not in settled):
            now[str(seq)] = fields
    made = Upgraded(fingerprint=fingerprint, changes=tuple(changes), now=now)
    why, was, then = _judged(records, made)
    if why:
        raise ValueError(why)
    return [msgspec.structs.replace(made, began=_began(was, then)), *_taken_back(was, then)]


def carried(records: Sequence[AnyRecord], at: int) -> list[Upgraded]:
    """The upgrade that makes a journal cut at `at` be read as the whole one is; nothing if none
    comes later."""
    later = [record for record in records[at:] if isinstance(record, Upgraded)]
    if not later:
        return []
    now: dict[str, dict[str, Any]] = {}
    told: dict[str, None] = {}
    for upgraded in later:
        told |= dict.fromkeys(upgraded.changes)
        for seq, fields in upgraded.now.items():
            if int(seq) <= at:
                now.setdefault(seq, {}).update(fields)
    made = Upgraded(
        fingerprint=later[-1].fingerprint, changes=tuple(told), now=now, at=records[at - 1].at
    )
    why, was, then = _judged(records[:at], made)
    if why:
        raise ValueError(why)
    return [msgspec.structs.replace(made, began=_began(was, then))]


def _changed(seq: int, old: AnyRecord, new: AnyRecord) -> dict[str, Any]:
    """What is to be read differently of one record."""
    if type(old) is not type(new):
        raise ValueError(f"{_named(seq, old)} became a {new.__struct_config__.tag}")
    if isinstance(old, Started) and isinstance(new, Started):
        if old.graph and new.graph:
            graph = keeping_ids(old.graph, new.graph)
        else:
            graph = new.graph
        new = msgspec.structs.replace(new, graph=graph, fingerprint=old.fingerprint)
    fields = [name for name in old.__struct_fields__ if getattr(old, name) != getattr(new, name)]
    allowed, stays = may_change(old), STAYS.get(type(old), frozenset[str]())
    if isinstance(old, Decided) and old.seal is not None and "edit" in fields:
        raise ValueError(
            f"{_named(seq, old)}: {old.by} has signed these arguments, and other arguments "
            "would not be covered by the signature: let a worker of the old version finish "
            "the run"
        )
    found: dict[str, Any] = {}
    for name in fields:
        if name in allowed:
            found[name] = msgspec.to_builtins(getattr(new, name))
        elif name not in stays:
            raise ValueError(f"{_named(seq, old)}: {name!r} must stay as it was written")
    return found


def _taken_back(was: State, now: State) -> Iterator[Closed]:
    """What takes approvals back whose calls are others now: those that are open, and those that
    nobody has used."""
    if now.status in CANCELS:
        return
    waits = {record.i: record for record in now.open_records()}
    for interrupt, grant in now.grants.items():
        if not grant.lives:
            waits[interrupt] = grant.asked
    for interrupt, asked in waits.items():
        old, new = was.live.get(asked.call), now.live.get(asked.call)
        if (
            asked.kind == "approval"
            and old
            and new
            and (old.tool, old.args) != (new.tool, new.args)
        ):
            yield Closed(i=interrupt, why="void")
