"""A line of the audit as a sentence: who did what to which call, with which words, and whether it
was refused. Every surface takes its words from here."""

from collections.abc import Mapping
from typing import Any, cast

import msgspec

from adjourn.core.call_phrase import listed, shown_value
from adjourn.core.decision import chosen
from adjourn.core.duration import moment
from adjourn.core.halt import scope_parts
from adjourn.core.record_codec import readable
from adjourn.core.records import Asked, Checked, Decided, Suspended
from adjourn.stores.audit import AuditLine, FoundLine
from adjourn.views.words import CHECK, asking_hook, shown_kind

ACTS: Mapping[str, tuple[str, str]] = {
    "approve": ("approved", "approve"),
    "deny": ("denied", "deny"),
    "value": ("answered", "answer"),
    "instead": ("gave the result instead of", "give the result instead of"),
    "dismiss": ("dismissed", "dismiss"),
    "answer": ("answered", "answer"),
    "start": ("started", "start"),
    "import": ("imported", "import"),
    "assign": ("assigned", "assign"),
    "unassign": ("removed the assignment of", "remove the assignment of"),
    "snooze": ("snoozed", "snooze"),
    "unsnooze": ("ended the snooze of", "end the snooze of"),
    "comment": ("commented on", "comment on"),
    "fork": ("forked", "fork"),
    "again": ("ran again", "run again"),
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
    "erase archive": ("erased the archive of", "erase the archive of"),
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
    "revoke": ("revoked the standing decision on", "revoke the standing decision on"),
    "hold": ("put a legal hold on", "put a legal hold on"),
    "lift hold": ("lifted the legal hold on", "lift the legal hold on"),
    "give up letter": ("gave up on a message to", "give up on a message to"),
    "lose lines": ("lost lines of the security log", "keep the security log"),
    "want wakes": ("handed the waking of runs to an engine", "hand the waking of runs over"),
    "want no wakes": ("took the waking of runs back", "take the waking of runs back"),
    "require seals": ("required signed decisions", "require signed decisions"),
    "stop requiring seals": (
        "stopped requiring signed decisions",
        "stop requiring signed decisions",
    ),
    "login": ("logged in", "log in"),
    "logout": ("logged out", "log out"),
    "request": ("made a request", "make a request"),
    "export": ("exported", "export"),
    "expire": ("answered in time:", "answer in time:"),
    "escalate": ("answered, so that others are asked:", "answer:"),
    "veto": ("vetoed", "veto"),
}
"""What was done, and how an attempt is called. A verb that is not here stands for itself."""
UNNAMED: Mapping[str, str] = {
    "expire": "no one",
    "escalate": "no one",
    "give up letter": "the server",
    "lose lines": "the server",
    "want wakes": "a worker",
    "want no wakes": "a worker",
    "require seals": "a worker",
    "stop requiring seals": "a worker",
}
"""Who did what has no name in its line, where it is not someone."""
KINDS: Mapping[str, str] = {
    "limit": "a limit",
    "error": "an error",
    "in_doubt": "whether it happened:",
    "undo": "an undo that failed:",
}
"""What a decision is about that is no approval."""


VOID = "did not count: not signed by a person whom the worker trusts"
"""Of a decision that no worker took for one."""


class ArgumentChange(msgspec.Struct, frozen=True):
    """An argument that was changed. `was` or `now` is "" where there was or is none."""

    name: str
    was: str
    now: str


class AuditSentence(msgspec.Struct, frozen=True):
    """The parts of a sentence. `who` did `did` to `what`, which begins with the name of `tool` unless
    that is ""; `changes` and `note` belong to it. `void`: it was recorded, and why it did not count."""

    who: str
    did: str
    what: str
    changes: tuple[ArgumentChange, ...] = ()
    note: str = ""
    refused: str = ""
    void: str = ""
    tool: str = ""

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
        if self.void:
            text += f" ({self.void})"
        return text


def sentence(line: AuditLine) -> AuditSentence:
    """What a line says."""
    entry = line.entry
    opening = record = None
    title = ""
    if isinstance(line, FoundLine):
        title = line.title
        opening = readable(line.opening)
        record = readable(line.record)
    refused = str(entry.get("refused") or "")
    done, wanted = ACTS.get(entry.get("verdict") or "", ("", ""))
    if not done:
        verb = str(entry["verb"])
        done, wanted = ACTS.get(verb, (verb, verb))
    if refused:
        done = f"tried to {wanted}"
    return AuditSentence(
        who=str(entry.get("by") or "") or _unnamed(entry),
        did=done,
        what=_what(entry, line.scope, title, opening)
        + _to(entry)
        + _choice(opening, record)
        + _standing(entry),
        changes=_changes(opening, record),
        note=str(entry.get("note") or entry.get("reason") or _hook_said(record)),
        refused=refused,
        tool=_tool(entry, opening),
    )


def _tool(entry: Mapping[str, Any], opening: Any) -> str:
    """The tool whose name the object begins with, as `_what` writes it."""
    if isinstance(opening, Asked):
        listed_call = not opening.phrase and opening.kind not in KINDS
        check = shown_kind(opening.kind, opening.payload) == CHECK
        return opening.tool if listed_call and not check else ""
    if not isinstance(opening, Suspended) and (entry.get("interrupt") or entry.get("hook")):
        return str(entry.get("tool") or "")
    return ""


def _unnamed(entry: Mapping[str, Any]) -> str:
    """Who did it, if it was not a person."""
    if entry.get("hook"):
        return f"the hook {entry['hook']}"
    return UNNAMED.get(str(entry["verb"]), "someone")


def _hook_said(record: Any) -> str:
    if isinstance(record, Checked):
        return record.reason
    return ""


def _to(entry: Mapping[str, Any]) -> str:
    """To whom an item was given, or until when it was put off."""
    if entry["verb"] == "assign":
        return f" to {entry.get('to', '')}"
    if entry["verb"] == "snooze":
        return f" until {moment(float(entry.get('until', 0))):%Y-%m-%d %H:%M} UTC"
    return ""


def _choice(opening: Any, record: Any) -> str:
    """What somebody chose, of what was offered: `run` lets a call in doubt run again."""
    if not isinstance(opening, Asked) or not isinstance(record, Decided):
        return ""
    choice = chosen(record).get("choice")
    if not isinstance(choice, str):
        return ""
    return f" → {choice}"


def _standing(entry: Mapping[str, Any]) -> str:
    """That a decision stands for later calls, or follows one that does: then nobody was asked."""
    if entry.get("under"):
        return f" by the standing decision {entry['under']}"
    if entry.get("stands"):
        return f", standing for {entry['stands']}"
    return ""


def _what(entry: Mapping[str, Any], scope: str, title: str, opening: Any) -> str:
    """The object: a call, a halt, an endpoint, or a run by its title."""
    if isinstance(opening, Asked):
        if shown_kind(opening.kind, opening.payload) == CHECK:
            return f"the check {asking_hook(opening.payload)}"
        kind = KINDS.get(opening.kind, "")
        return f"{kind} {call_of(opening)}".strip()
    if isinstance(opening, Suspended):
        return f"the question “{_question(opening)}”"
    if entry.get("tool") and (entry.get("interrupt") or entry.get("hook")):
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
