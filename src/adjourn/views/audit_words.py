"""A line of the audit as a sentence: who did what to which call, with which words, and whether it
was refused. Every surface takes its words from here."""

from collections.abc import Mapping
from typing import Any, cast

import msgspec

from adjourn.core.call_phrase import listed, shown_value
from adjourn.core.halt import scope_parts
from adjourn.core.record_codec import parse
from adjourn.core.records import Asked, Decided, Suspended
from adjourn.stores.audit import AuditLine, FoundLine

ACTS: Mapping[str, tuple[str, str]] = {
    "approve": ("approved", "approve"),
    "deny": ("denied", "deny"),
    "value": ("answered", "answer"),
    "instead": ("gave the result in the place of", "give the result in the place of"),
    "dismiss": ("dismissed", "dismiss"),
    "answer": ("answered", "answer"),
    "start": ("started", "start"),
    "import": ("imported", "import"),
    "fork": ("forked", "fork"),
    "pause": ("paused", "pause"),
    "resume": ("resumed", "resume"),
    "cancel": ("cancelled", "cancel"),
    "say": ("wrote to", "write to"),
    "emit": ("sent an event to", "send an event to"),
    "accept": ("accepted the changed agent of", "accept the changed agent of"),
    "upgrade": ("upgraded", "upgrade"),
    "chapter": ("began a chapter in", "begin a chapter in"),
    "restore": ("held after a backup was restored:", "hold"),
    "erase": ("erased", "erase"),
    "prune": ("removed after its time", "remove"),
    "halt": ("halted", "halt"),
    "unhalt": ("lifted the halt of", "lift the halt of"),
    "add endpoint": ("added the endpoint", "add the endpoint"),
    "remove endpoint": ("removed the endpoint", "remove the endpoint"),
    "test endpoint": ("sent a test to", "send a test to"),
    "add user": ("added the user", "add the user"),
    "change user": ("changed the user", "change the user"),
    "remove user": ("removed the user", "remove the user"),
    "make key": ("made a key for", "make a key for"),
    "revoke key": ("revoked a key of", "revoke a key of"),
    "end sessions": ("ended sessions of", "end sessions of"),
    "login": ("logged in", "log in"),
    "logout": ("logged out", "log out"),
    "request": ("made a request", "make a request"),
    "export": ("exported", "export"),
    "expire": ("answered in time:", "answer in time:"),
    "escalate": ("answered, so that others are asked:", "answer:"),
}
"""What was done, and how an attempt is called. A verb that is not here stands for itself."""
UNNAMED: Mapping[str, str] = {"expire": "no one", "escalate": "no one"}
"""Who did what has no name in its line, where it is not someone."""
KINDS: Mapping[str, str] = {
    "limit": "a limit",
    "error": "an error",
    "in_doubt": "whether it happened:",
    "undo": "an undo that failed:",
}
"""What a decision is about that is no approval."""


class ArgumentChange(msgspec.Struct, frozen=True):
    """An argument that was changed. `was` or `now` is "" where there was or is none."""

    name: str
    was: str
    now: str


class AuditSentence(msgspec.Struct, frozen=True):
    """The parts of a sentence. `who` did `did` to `what`; `changes` and `note` belong to it."""

    who: str
    did: str
    what: str
    changes: tuple[ArgumentChange, ...] = ()
    note: str = ""
    refused: str = ""

    def __str__(self) -> str:
        text = " ".join(part for part in (self.who, self.did, self.what) if part)
        told: list[str] = []
        for change in self.changes:
            told.append(f"{change.name} {change.was or '–'} → {change.now or '–'}")
        if self.note:
            told.append(f"“{self.note}”")
        if told:
            text += f": {', '.join(told)}"
        if self.refused:
            text += f" (refused: {self.refused})"
        return text


def sentence(line: AuditLine) -> AuditSentence:
    """What a line says."""
    entry = line.entry
    opening = record = None
    title = ""
    if isinstance(line, FoundLine):
        title = line.title
        opening = parse(line.opening) if line.opening else None
        record = parse(line.record) if line.record else None
    refused = str(entry.get("refused") or "")
    done, wanted = ACTS.get(entry.get("verdict") or "", ("", ""))
    if not done:
        verb = str(entry["verb"])
        done, wanted = ACTS.get(verb, (verb, verb))
    if refused:
        done = f"tried to {wanted}"
    return AuditSentence(
        who=str(entry.get("by") or "") or UNNAMED.get(str(entry["verb"]), "someone"),
        did=done,
        what=_what(entry, line.scope, title, opening),
        changes=_changes(opening, record),
        note=str(entry.get("note") or entry.get("reason") or ""),
        refused=refused,
    )


def _what(entry: Mapping[str, Any], scope: str, title: str, opening: Any) -> str:
    """The object: a call, a halt, an endpoint, or a run by its title."""
    if isinstance(opening, Asked):
        kind = KINDS.get(opening.kind, "")
        return f"{kind} {call_of(opening)}".strip()
    if isinstance(opening, Suspended):
        return f"the question “{_question(opening)}”"
    if entry.get("tool") and entry.get("interrupt"):
        return str(entry["tool"])
    if entry.get("scope"):
        return _halted(str(entry["scope"]))
    for name in ("endpoint", "about"):
        if entry.get(name):
            return str(entry[name])
    if entry.get("event"):
        return f"{title or scope}, {entry['event']}"
    if title:
        return f"“{title}”"
    if scope and not scope.startswith("@"):
        return f"run {scope}"
    return ""


def call_of(asked: Asked) -> str:
    """The call that is asked about in a few words: those of its tool, or its first arguments."""
    if asked.phrase:
        return asked.phrase
    required: list[str] = []
    if isinstance(asked.schema, dict):
        required = list(asked.schema.get("required", ()))
    return listed(asked.tool, asked.args, required)


def _question(opening: Suspended) -> str:
    payload = opening.payload
    if isinstance(payload, dict):
        asked = cast("dict[str, Any]", payload).get("question")
        if isinstance(asked, str):
            return asked[:200]
    return opening.type


def _halted(scope: str) -> str:
    kind, name = scope_parts(scope)
    if name:
        return f"{kind} {name}"
    return "everything"


def _changes(opening: Any, record: Any) -> tuple[ArgumentChange, ...]:
    """What an approver changed, argument by argument."""
    if not isinstance(opening, Asked) or not isinstance(record, Decided) or record.edit is None:
        return ()
    before = cast("dict[str, Any]", opening.args or {})
    found: list[ArgumentChange] = []
    for name in dict.fromkeys((*before, *record.edit)):
        if before.get(name) != record.edit.get(name) or (name in before) != (name in record.edit):
            found.append(ArgumentChange(name, _value(before, name), _value(record.edit, name)))
    return tuple(found)


def _value(args: Mapping[str, Any], name: str) -> str:
    if name in args:
        return shown_value(args[name])
    return ""
