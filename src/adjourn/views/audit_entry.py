"""A line of the audit as people and programs read it; the line itself stays as it was written."""

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from adjourn.core.belief import disowned
from adjourn.core.record_codec import readable
from adjourn.core.records import Asked
from adjourn.errors import KeyMissing, UnknownRun
from adjourn.stores.audit import SECURITY, AuditFilter, AuditLine, FoundLine
from adjourn.stores.protocol import Store
from adjourn.views.audit_words import VOID, AuditSentence, sentence

_NAMES = {"run": "run_id", "from": "origin", "interrupt": "interrupt_id", "of": "forked_from"}
"""Keys of the stored line that have another name here."""
_TEXTS = (
    "verb",
    "by",
    "origin",
    "refused",
    "interrupt_id",
    "verdict",
    "note",
    "digest",
    "reason",
    "scope",
    "endpoint",
    "forked_from",
    "agent",
    "tool",
)


class AuditEntry(msgspec.Struct, frozen=True, kw_only=True):
    """Who wanted what, when, from where, and what came of it.

    `number` is its place in the chain of its scope, `cursor` its place among all lines. `seq` is
    the record that came of it, `refused` why there is none. `more` has what only some verbs say.
    `told` is the line as a sentence, `title` the run's. `arguments` are those of the call that it is
    about and `rules` those that asked, as long as its run is there. `head` is the hash that ties
    the line to those before it. `told.void` says of a decision that no worker believed it.
    """

    number: int
    cursor: str
    run_id: str
    verb: str
    by: str
    origin: str
    at: float
    seq: int | None
    refused: str
    interrupt_id: str
    verdict: str
    note: str
    digest: str
    reason: str
    scope: str
    endpoint: str
    forked_from: str
    agent: str
    tool: str
    title: str
    arguments: dict[str, Any]
    rules: tuple[str, ...]
    head: str
    told: AuditSentence
    more: dict[str, Any]

    @classmethod
    def of(cls, line: AuditLine) -> "AuditEntry":
        """Read a stored line."""
        found = {_NAMES.get(name, name): value for name, value in line.entry.items()}
        texts = {name: str(found.pop(name, None) or "") for name in _TEXTS}
        arguments, rules, title = dict[str, Any](), tuple[str, ...](), ""
        if isinstance(line, FoundLine):
            title = line.title
            texts["agent"] = texts["agent"] or line.program
            opening = readable(line.opening)
            if isinstance(opening, Asked):
                arguments, rules = dict(opening.args or {}), opening.rules
                texts["tool"] = texts["tool"] or opening.tool
        return cls(
            title=title,
            arguments=arguments,
            rules=rules,
            head=line.head.hex(),
            told=sentence(line),
            number=line.n,
            cursor=line.place,
            run_id=found.pop("run_id", line.scope),
            at=found.pop("at"),
            seq=found.pop("seq", None),
            **texts,
            more=found,
        )


async def void_lines(store: Store, lines: Iterable[FoundLine]) -> set[str]:
    """The places of those lines whose decisions were recorded and did not count. A journal is read
    only where a worker has said that there is one.

    Args:
        store: where the journals are.
        lines: lines of the audit.
    """
    decided: dict[str, dict[int, str]] = {}
    for line in lines:
        seq = line.entry.get("seq")
        if line.is_contested and isinstance(seq, int):
            decided.setdefault(line.scope, {})[seq] = line.place
    found: set[str] = set()
    for run, places in decided.items():
        try:
            records = await store.load(run, min(places) - 1)
        except (KeyMissing, UnknownRun):  # it cannot be read here, or was pruned just now
            continue
        void = disowned(record for _, record in records)
        found.update(place for seq, place in places.items() if seq in void)
    return found


async def entries(store: Store, lines: Sequence[FoundLine]) -> list[AuditEntry]:
    """Lines as they are read, each with whether it counted.

    Args:
        store: where the journals are.
        lines: lines of the audit.
    """
    void = await void_lines(store, lines)
    found: list[AuditEntry] = []
    for line in lines:
        entry = AuditEntry.of(line)
        if line.place in void:
            told = msgspec.structs.replace(entry.told, void=VOID)
            entry = msgspec.structs.replace(entry, told=told)
        found.append(entry)
    return found


async def entries_of(store: Store, run: str, after: int, limit: int) -> list[AuditEntry]:
    """The entries of one run behind a number, oldest first."""
    lines = await store.audit(run, after=after, limit=limit)
    if not lines or run == SECURITY:
        return []
    end = f"0/{lines[-1].n + 1}/{run}"
    found = await store.recent(end, len(lines), wanted=AuditFilter(run=run))
    return await entries(store, found[::-1])


COLUMNS = ("at", "by", "verb", "verdict", "run_id", "agent", "tool", "origin", "refused", "note")
"""What a table has of each line, before the sentence, its place and its hash."""


def csv_of(entries: Iterable[AuditEntry]) -> str:
    """Lines as a table with a heading. What a spreadsheet would take for a formula begins with an
    apostrophe."""
    out = io.StringIO()
    table = csv.writer(out)
    table.writerow([*COLUMNS, "told", "number", "head"])
    for entry in entries:
        row = [getattr(entry, name) for name in COLUMNS]
        table.writerow(
            [_cell(value) for value in (*row, str(entry.told), entry.number, entry.head)]
        )
    return out.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r")):
        return f"'{value}"
    return value
