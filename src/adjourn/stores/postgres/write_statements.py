"""From what rules want to be written to statements: for each table one, however many rows there
are, with one argument of JSON. What is written of runs that are there is in `step_statement`."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from adjourn.core.codec import encode
from adjourn.stores.audit import AuditLine
from adjourn.stores.outbox import Notification, Wake
from adjourn.stores.postgres import config, fleet, run_keys
from adjourn.stores.postgres.guest_threads import OF_RUN, WITH_RUN
from adjourn.stores.postgres.locks import OURS
from adjourn.stores.postgres.rows import (
    LETTER,
    SEAL,
    TYPES,
    first_values,
    interrupt_values,
    run_values,
)
from adjourn.stores.postgres.step_statement import INTERRUPT_COLUMNS, RECORD, step
from adjourn.stores.rows import BESIDE as EVERYWHERE
from adjourn.stores.rows import picked
from adjourn.stores.rules.inbox_filter import words
from adjourn.stores.rules.reads_and_writes import Writes
from adjourn.stores.run_row import CHANGING

BESIDE = (*EVERYWHERE, "label")
_BYTES = frozenset({"head", "salt", "prev", "hash", "sig"})
_NEW = (
    "id",
    "kind",
    "program",
    "session",
    "labels",
    "title",
    "words",
    "input_digest",
    *CHANGING,
    "created_at",
    "priority",
    "salt",
    "erased",
    "queued",
    "after",
    "after_seq",
)


def _rows(
    part: str, names: Iterable[str], table: str = "x", types: Mapping[str, str] = TYPES
) -> str:
    """Rows of the argument, as a table."""
    given = ", ".join(f"{name} {types[name]}" for name in names)
    return f"json_to_recordset(p.d->'{part}') as {table}({given})"


def _values(names: Iterable[str], table: str = "x") -> str:
    given = (
        f"decode({table}.{name}, 'hex')" if name in _BYTES else f"{table}.{name}" for name in names
    )
    return ", ".join(given)


def _put(
    table: str, part: str, names: Sequence[str], then: str = "", types: Mapping[str, str] = TYPES
) -> str:
    columns = ", ".join(names)
    source = f"(select %({part})s::json as d) p, {_rows('rows', names, types=types)}"
    return f"insert into adjourn.{table} ({columns}) select {_values(names)} from {source} {then}"


BEGIN_RUN = f"""
with p as materialized (select %(begin)s::json as d),
made as (insert into adjourn.run ({", ".join(_NEW)}) select {_values(_NEW)} from p, {_rows("runs", _NEW)}
    returning n, id, created_at),
j as (insert into adjourn.journal ({", ".join(RECORD)})
    select {_values(("n",), "made")}, {_values(RECORD[1:])} from p, {_rows("journal", ("owner", *RECORD[1:]))}
    join made on made.id = x.owner),
i as (insert into adjourn.interrupt (run, {", ".join(INTERRUPT_COLUMNS)}) select made.n, {_values(INTERRUPT_COLUMNS)}
    from p, {_rows("interrupts", ("owner", *INTERRUPT_COLUMNS))} join made on made.id = x.owner),
l as (insert into adjourn.label select x.key, x.value, made.n from p, {_rows("labels", ("owner", "key", "value"))}
    join made on made.id = x.owner),
z as (insert into adjourn.zone
    select n / 4096, min(floor(created_at / 60) * 60), max(ceil(created_at / 60) * 60) from made where not exists (
        select 1 from adjourn.zone o where o.k = made.n / 4096 and made.created_at between o.least and o.most)
    group by 1 on conflict (k) do update set least = least(zone.least, excluded.least), most = greatest(zone.most, excluded.most))
select n, id from made
"""
_IN_SESSIONS = f"""
select pg_advisory_xact_lock(hashtextextended(s, {OURS})) from unnest(%(in_sessions)s::text[]) s
"""
"""Runs of a session are numbered in the order in which they are committed."""
_AUDIT = _put("audit", "audit", ("scope", "n", "at", "body", "head"))
_AUDIT_HEAD = _put(
    "audit_head",
    "audit_head",
    ("scope", "n", "head"),
    "on conflict (scope) do update set n = excluded.n, head = excluded.head",
)
_TOUCHED = _put(
    "touched",
    "touched",
    ("scope", "at"),
    "order by x.scope on conflict (scope) do update set at = excluded.at where false",
)
"""Whoever touches a scope has its row locked: a sealer that reads where its chains stand waits for
them."""
_REQUEST = _put("request", "request", ("run", "id", "seq", "body"))
_LETTERS = _put("letter", "letters", LETTER[1:], types={**TYPES, "run": "text"})
_BEATS = _put(
    "worker",
    "beats",
    ("id", "until"),
    "order by x.id on conflict (id) do update set until = excluded.until",
)
FORGET = """
delete from adjourn.worker w
where w.id = any(%(gone)s::text[]) and not exists (select 1 from adjourn.run r where r.worker = w.id)
"""
_WAKES = f"""
insert into adjourn.wake (run, not_before) select r.n, x.not_before
from (select %(wakes)s::json as d) p, {_rows("rows", ("owner", "not_before"))} join adjourn.run r on r.id = x.owner order by r.n
on conflict (run) do update set n = default, not_before = excluded.not_before
"""
_HALTS = _put("halt", "halts", ("scope", "by", "reason", "at"))
_HOLDS = _put("hold", "holds", ("scope", "by", "reason", "at"))
_ENDPOINTS = _put(
    "endpoint",
    "endpoints",
    ("name", "kind", "url", "secret", "topics", "at"),
    "on conflict (name) do update set kind = excluded.kind, url = excluded.url, secret = excluded.secret, "
    "topics = excluded.topics, at = excluded.at",
)
_LETTER_STATES = f"""
update adjourn.letter l set state = x.state, tries = x.tries, due_at = x.due_at, error = x.error
from (select %(letter_states)s::json as d) p, {_rows("rows", ("n", "state", "tries", "due_at", "error"))} where l.n = x.n
"""
_MISFIT = """
insert into adjourn.misfit select n, %(misfit_seq)s, %(misfit)s from adjourn.run where id = %(misfit_run)s
on conflict (run) do update set seq = excluded.seq, body = excluded.body
"""
_SEAL = _put("seal", "seal", SEAL)
_WAKE_TIMES = f"""
update adjourn.wake w set not_before = x.not_before
from (select %(wake_times)s::json as d) p, {_rows("rows", ("n", "not_before"))} where w.n = x.n
"""
_SCRUB = (
    "insert into adjourn.meta values ('scrub', 'yes') on conflict (key) do update set "
    "value = excluded.value"
)
_SCRUB_PRUNED = "insert into adjourn.meta values ('scrub', 'pruned') on conflict (key) do nothing"
_ERASURES = """
insert into adjourn.meta values ('erasures', '1')
on conflict (key) do update set value = (meta.value::bigint + 1)::text
"""


def _json(rows: Iterable[Any]) -> str:
    return encode({"rows": list(rows)}).decode()


def _structs(rows: Iterable[msgspec.Struct]) -> str:
    return _json(map(msgspec.to_builtins, rows))


def _pairs(found: Mapping[str, float], name: str, value: str) -> str:
    """Rows of two columns, which have these names."""
    return _json({name: one, value: other} for one, other in found.items())


class Script:
    """Statements that go in one message, and what they are given."""

    def __init__(self) -> None:
        self.statements: list[str] = []
        self.values: dict[str, Any] = {}

    def add(self, sql: str, **values: Any) -> None:
        """One more. Each name of a value belongs to one statement."""
        assert self.values.keys().isdisjoint(values), f"{sql:.40} is there already"
        self.statements.append(sql)
        self.values |= values


def _records(writes: Writes, owner: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for line in writes.journal:
        found.append(
            {
                "owner": owner,
                "seq": line.seq,
                "epoch": line.epoch,
                "body": line.body,
                "head": line.head.hex(),
            }
        )
    return found


def written(every: Sequence[Writes]) -> Script:
    """What is to be sent for what several rules want to be written, whose runs are locked."""
    script = Script()
    new: list[Writes] = []
    steps: list[Writes] = []
    for writes in every:
        if writes.wiped or writes.removed is not None:
            _take_out(script, writes)
        if writes.new:
            new.append(writes)
        elif writes.row is not None:
            steps.append(writes)
    if new:
        _begin(script, new)
    if steps:
        script.add(step(steps).replace("%", "%%"))  # its texts are no places for values
    _write_beside(script, every)
    run_keys.write(script, new)
    _write_blobs(script, every)
    _write_outbox(script, every)
    for writes in every:
        _write_rare(script, writes)
    return script


def _begin(script: Script, new: Sequence[Writes]) -> None:
    runs: list[Any] = []
    journal: list[Any] = []
    interrupts: list[Any] = []
    labels: list[Any] = []
    for writes in new:
        row = writes.row
        assert row is not None
        runs.append({**run_values(row), **first_values(writes)})
        journal += _records(writes, row.id)
        for interrupt in writes.interrupts.values():
            interrupts.append({**interrupt_values(0, interrupt), "owner": row.id})
        for key, value in row.labels.items():
            labels.append({"owner": row.id, "key": key, "value": value})
    if sessions := sorted({row["session"] for row in runs if row["session"]}):
        script.add(_IN_SESSIONS, in_sessions=sessions)
    parts = {"runs": runs, "journal": journal, "interrupts": interrupts, "labels": labels}
    script.add(BEGIN_RUN, begin=encode(parts).decode())


def _write_beside(script: Script, all: Sequence[Writes]) -> None:
    """Requests, the audit, what was touched, heartbeats and wakes."""
    requests: list[dict[str, Any]] = []
    lines: list[dict[str, Any]] = []
    last: dict[str, dict[str, Any]] = {}
    touched: dict[str, float] = {}
    beats: dict[str, float] = {}
    gone: list[str] = []
    for writes in all:
        if writes.request and writes.row:
            id, seq, body = writes.request
            requests.append({"run": writes.row.n, "id": id, "seq": seq, "body": body})
        for line in writes.audit:
            last[line.scope] = _audit_values(line)
            lines.append(last[line.scope])
        if writes.row is None or writes.new:
            touched |= writes.touched
        beats |= writes.beats
        gone += writes.gone
    if requests:
        script.add(_REQUEST, request=_json(requests))
    if lines:
        script.add(_AUDIT, audit=_json(lines))
        script.add(_AUDIT_HEAD, audit_head=_json(last.values()))
    if touched:
        script.add(_TOUCHED, touched=_pairs(touched, "scope", "at"))
    if beats:
        script.add(_BEATS, beats=_pairs(beats, "id", "until"))
    if gone:
        script.add(FORGET, gone=gone)


def _write_blobs(script: Script, all: Sequence[Writes]) -> None:
    """Each in a statement of its own, as bytes: as JSON they would be twice as long."""
    for writes in all:
        for digest, body in writes.blobs.items():
            assert writes.row is not None
            number = len(script.values)
            named = {"owner": writes.row.id, "digest": digest, "blob": body}
            script.add(
                f"insert into adjourn.blob select n, %(digest_{number})s, %(blob_{number})s "
                f"from adjourn.run where id = %(owner_{number})s on conflict do nothing",
                **{f"{name}_{number}": value for name, value in named.items()},
            )


def _audit_values(line: AuditLine) -> dict[str, Any]:
    return {
        "scope": line.scope,
        "n": line.n,
        "at": line.entry["at"],
        "body": line.body,
        "head": line.head.hex(),
    }


def _write_outbox(script: Script, all: Sequence[Writes]) -> None:
    posted: list[dict[str, Any]] = []
    changed: list[Notification] = []
    dropped: list[int] = []
    for writes in all:
        for letter in writes.post:
            posted.append(picked(letter, LETTER[1:]))
        changed += writes.put_letters
        dropped += writes.drop_letters
    if posted:
        script.add(_LETTERS, letters=_json(posted))
    if changed:
        script.add(_LETTER_STATES, letter_states=_structs(changed))
    if dropped:
        script.add(
            "delete from adjourn.letter where n = any(%(drop_letters)s::bigint[])",
            drop_letters=dropped,
        )
    _write_wakes(script, all)


def _write_wakes(script: Script, all: Sequence[Writes]) -> None:
    wakes: dict[str, float] = {}
    taken: list[Wake] = []
    done: list[int] = []
    for writes in all:
        wakes |= writes.wakes
        taken += writes.put_wakes
        done += writes.drop_wakes
        if writes.waking is not None:
            script.add("delete from adjourn.meta where key = 'wakes'")
            if writes.waking:
                script.add("insert into adjourn.meta values ('wakes', 'yes')")
            else:
                script.add("delete from adjourn.wake")
    if wakes:
        script.add(_WAKES, wakes=_pairs(wakes, "owner", "not_before"))
    if taken:
        script.add(_WAKE_TIMES, wake_times=_structs(taken))
    if done:
        script.add(
            "delete from adjourn.wake where n = any(%(drop_wakes)s::bigint[])", drop_wakes=done
        )


def _write_rare(script: Script, writes: Writes) -> None:
    """What one rule alone writes."""
    for part, sql, rows in (
        ("halts", _HALTS, writes.put_halts),
        ("holds", _HOLDS, writes.put_holds),
        ("endpoints", _ENDPOINTS, writes.put_endpoints),
    ):
        if rows:
            script.add(sql, **{part: _structs(rows)})
    for part, table, column, names in (
        ("drop_halts", "halt", "scope", writes.drop_halts),
        ("drop_holds", "hold", "scope", writes.drop_holds),
        ("drop_endpoints", "endpoint", "name", writes.drop_endpoints),
    ):
        if names:
            script.add(
                f"delete from adjourn.{table} where {column} = any(%({part})s::text[])",
                **{part: names},
            )
    if writes.drop_endpoints:
        script.add(
            "delete from adjourn.letter where endpoint = any(%(unsent)s::text[])",
            unsent=writes.drop_endpoints,
        )
    if writes.signed is not None:
        script.add("delete from adjourn.meta where key = 'signed'")
        if writes.signed:
            script.add("insert into adjourn.meta values ('signed', 'yes')")
    if misfit := writes.misfit:
        body = msgspec.json.encode(misfit).decode()
        script.add(_MISFIT, misfit_seq=misfit.seq, misfit=body, misfit_run=misfit.run)
    _write_cards(script, writes)
    if seal := writes.seal:
        values = msgspec.structs.asdict(seal)
        values |= {"prev": seal.prev.hex(), "hash": seal.hash.hex(), "sig": seal.sig.hex()}
        script.add(_SEAL, seal=_json([values]))
        covered = [place.scope for place in seal.covered]
        script.add(
            "delete from adjourn.touched where scope = any(%(sealed)s::text[])", sealed=covered
        )
    if is_config(writes):
        script.add(config.RENEW)


def _write_cards(script: Script, writes: Writes) -> None:
    """What workers say of themselves."""
    if writes.drop_cards:
        script.add(fleet.DROP, drop_cards=writes.drop_cards)
    if writes.tickets is not None:
        script.add(fleet.PUT_TICKETS, tickets=writes.tickets)
    if writes.card is not None:
        script.add(fleet.PUT, **fleet.card_values(writes))


def is_config(writes: Writes) -> bool:
    """Whether something changes that every rule may go by."""
    return bool(
        writes.put_halts
        or writes.drop_halts
        or writes.put_endpoints
        or writes.drop_endpoints
        or writes.signed is not None
        or writes.waking is not None
    )


def _take_out(script: Script, writes: Writes) -> None:
    """The content of a run, or all of it."""
    row = writes.removed or writes.row
    assert row is not None
    run = f"run_{row.n}"
    if writes.removed is not None:
        script.add(f"delete from adjourn.journal where run = {row.n}")
        script.add(f"delete from adjourn.run where n = {row.n}")
        script.add(_SCRUB_PRUNED)
    else:
        kept = f"case when seq = {row.seq - len(writes.journal)} then head else ''::bytea end"
        script.add(f"update adjourn.journal set body = null, head = {kept} where run = {row.n}")
        values = picked(row, ("title", "input_digest", "salt", "erased"))
        values |= {
            "labels": encode(row.labels).decode(),
            "words": words(row.title, row.id, row.program),
        }
        sets: list[str] = []
        named: dict[str, Any] = {}
        for name, value in values.items():
            sets.append(f"{name} = %({name}_{row.n})s")
            named[f"{name}_{row.n}"] = value
        reset = "queued = false, priority = 0, after = '', after_seq = 0"
        script.add(f"update adjourn.run set {', '.join(sets)}, {reset} where n = {row.n}", **named)
        script.add(_SCRUB)
        script.add(_ERASURES)
    for table in BESIDE:
        script.add(f"delete from adjourn.{table} where run = {row.n}")
    script.add(f"delete from adjourn.letter where run = %({run})s", **{run: row.id})
    gone = OF_RUN
    if writes.removed is None:
        gone = (*OF_RUN, *WITH_RUN)
    for sql in gone:
        script.add(sql.format(run=f"%({run})s"))
