"""Every place where a value can come in has its row in the table of ways: one that is added without a row fails here."""

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.server.secret_doors import DOORS
from tests.server.secret_ways import KEPT, REACH, REFUSED

from adjourn import Agent, Flow, Run, Runtime
from adjourn.core.records import Command, Started
from adjourn.flow.execution import Execution
from adjourn.mcp.mcp_server import OWN_TOOLS
from adjourn.runtime.schedules import Schedule
from adjourn.server.api.operations import OPERATIONS
from adjourn.server.front_ends.ag_ui_input import RUN_AGENT_INPUT
from adjourn.server.front_ends.ai_sdk_input import CHAT

TESTS = Path(__file__).parents[1]
ELSEWHERE = {
    "resource": "server/test_secret_sinks.py::test_fifty_secrets_are_in_nothing_that_is_kept_or_said",
    "result": "bodies/test_sealed_results.py::test_a_secret_result_goes_from_one_body_to_the_next_and_nowhere_else",
    "verified result": "bodies/test_sealed_results.py::test_what_a_verify_finds_is_sealed",
    "client tool": "front_ends/test_client_tools.py::test_a_front_end_is_sent_no_secret",
    "guest": "guests/test_guest_tool.py::test_a_sealed_value_is_opened_by_the_body_and_by_nobody_else",
    "typed": "cli/test_secret_answers.py::test_a_secret_that_is_piped_in_reaches_the_body_alone",
}
"""Ways that have a test of their own."""
INPUTS, ANSWERS = ("input", "flow input"), ("answer", "flow answer", "mcp question 2025", "mcp question 2026")
WORDS = ("words to people",)
CARRIED: dict[str, tuple[str, ...]] = {
    "input": (*INPUTS, "fork", "run again", "schedule", "mcp input"),
    "value": (*ANSWERS, "event", "execution", "mcp decision", "answer that does not fit"),
    "answer": ("checkpoint",), "answers": ("checkpoint",), "approved": ("checkpoint",),
    "instruction": ("instruction", "fork instruction"),
    "text": ("say", "words to people"), "parts": ("say",),
    "edit": ("edit", "edit in clear"), "stands": ("standing decision",), "decision": ("standing decision", *WORDS),
    "result": ("instead", "result", "verified result"),
    "command": ("say", "edit", "event"), "commands": ("say", "answer", "checkpoint"), "asked": ("instruction",),
    "note": WORDS, "reason": WORDS, "why": WORDS,
    "resources": ("resource",), "history": ("fork", "run again"), "saved": ("execution",), "checkpoint": ("checkpoint",),
    "client_tools": ("client tool", "ag-ui result"), "tools": ("client tool", "ag-ui result"), "options": ("client tool",),
    "messages": ("ag-ui message", "ai-sdk message", "ag-ui result"), "context": ("ag-ui context",),
    "resume": ("ag-ui answer", "ag-ui edit", "ai-sdk answer"),
}  # fmt: skip
"""By the name of a parameter or a field that carries what people or programs say: its ways."""
CONTROLS = frozenset({
    # who, when, which
    "by", "run_id", "run", "runs", "agent", "program", "session", "labels", "label", "interrupt_id", "i", "ref", "items", "to",
    "digest", "request_id", "groups", "scope", "tenant", "name", "id", "threadId", "runId", "protocolVersion",
    "parentRunId", "trigger", "messageId", "event", "seal", "requesters", "summary", "forked_from", "of", "at", "at_seq",
    # how
    "after", "before", "queue", "priority", "same_session", "abandon", "now", "decides", "whole", "scrub", "dry_run", "until",
    "since", "limit", "offset", "timeout", "on_change", "older", "status", "archive", "verb", "where", "lift", "like",
    "at_most", "replaces", "beat", "kind", "security", "wanted", "key", "people", "load", "path", "pending_interrupts",
        "other", "search", "graph", "fingerprint", "changes", "verdict", "cron", "every", "zone", "overlap", "catch_up",
    # set up by whoever runs the server, not part of any run
        "url", "topics", "server", "port", "user", "password",
    "sender", "number", "p256dh", "auth", "device", "mine", "agents", "tool", "quiet", "token", "role", "grants", "expires_in", "all",
    "format", "refused",
})  # fmt: skip
"""Parameters and fields that say who, when, which and how."""
VERBS: dict[type[Any], tuple[str, ...]] = {
    Runtime: (), Run: (), Schedule: ("__init__",), Execution: (), Flow: ("start", "start_execution"),
    Agent: ("run", "run_sync", "resume", "resume_sync", "stream"),
}  # fmt: skip
"""Classes and their verbs; without names, all that are public."""


KNOWN = {
    "Runtime.start", "Runtime.again", "Runtime.fork", "Runtime.resume", "Runtime.answer", "Runtime.approve", "Runtime.deny",
    "Runtime.decide_all", "Runtime.deliver", "Runtime.deliver_together", "Runtime.comment", "Run.again", "Run.fork",
    "Run.resume", "Run.answer", "Run.approve", "Run.deny", "Run.emit", "Run.say",
    "Schedule.__init__", "Agent.run", "Agent.run_sync", "Agent.resume", "Agent.resume_sync",
    "Agent.stream", "Flow.start", "Flow.start_execution", "Execution.start", "Execution.continue_with", "Execution.emit",
    "Execution.load", "Execution.resume", "Execution.say",
    "/runs", "/runs/{run_id}/again", "/runs/{run_id}/emit", "/runs/{run_id}/fork",
    "/runs/{run_id}/resume", "/runs/{run_id}/say", "/decisions",
    "/interrupts/{ref}/answer", "/interrupts/{ref}/approve", "/interrupts/{ref}/deny",
    "/interrupts/{ref}/instead", "/interrupts/{ref}/comment",
    "AG-UI", "the AI SDK", "the tool adjourn_decide",
    "Started", "Decided", "Emitted", "Forked", "Resumed", "Said",
    # what is looked for, and whom to tell of which tools: these name nothing that a run would say
    "Runtime.runs", "/audit/export", "/me/notifications", "/me/notifications/change",
}  # fmt: skip
"""Where what people or programs say comes in."""


def doors() -> Iterator[tuple[str, str]]:
    """Where something comes in: the place, and the name of the parameter or the field."""
    for kind, named in VERBS.items():
        verbs = named or [verb for verb, _ in inspect.getmembers(kind, inspect.isfunction) if not verb.startswith("_")]
        for verb in verbs:
            for name in inspect.signature(getattr(kind, verb)).parameters:
                if name != "self":
                    yield f"{kind.__name__}.{verb}", name
    for operation in OPERATIONS:
        if operation.method != "GET":
            yield from ((operation.path, name) for name in _properties(operation.body))
    for place, schema in {"AG-UI": RUN_AGENT_INPUT, "the AI SDK": CHAT}.items():
        yield from ((place, name) for name in _properties(schema))
    for tool, (_, schema, _) in OWN_TOOLS.items():
        yield from ((f"the tool {tool}", name) for name in _properties(schema))
    for record in (Started, *Command.__args__):
        yield from ((record.__name__, name) for name in record.__struct_fields__)


def _properties(schema: "dict[str, Any] | None") -> list[str]:
    found: dict[str, Any] = (schema or {}).get("properties", {})
    return list(found)


def test_every_place_where_a_value_comes_in_has_a_row_or_carries_none() -> None:
    found = {*doors()}
    assert len(found) > 200
    assert not [(place, name) for place, name in sorted(found) if name not in CARRIED and name not in CONTROLS]
    assert {*CARRIED, *CONTROLS} <= {name for _, name in found}, "a row for what is not there any more"


def test_a_verb_that_carries_what_people_say_is_one_that_the_table_knows() -> None:
    """A verb that is added with a name that is known already needs a look as well."""
    carrying = {place for place, name in doors() if name in CARRIED and CARRIED[name] != WORDS}
    assert carrying == KNOWN


def test_the_table_names_only_ways_that_are_tried() -> None:
    tried = {*REACH, *DOORS, *REFUSED, *KEPT}
    named = {way for ways in CARRIED.values() for way in ways}
    assert named <= tried | {*ELSEWHERE}
    assert tried - named == {"model", "mcp argument", "mcp answer"}, "these come from models and from clients of MCP"


@pytest.mark.parametrize("way", ELSEWHERE)
def test_a_way_that_is_tried_elsewhere_is_tried_there(way: str) -> None:
    file, _, name = ELSEWHERE[way].partition("::")
    assert re.search(rf"def {name}\(", (TESTS / file).read_text("utf-8"))
