"""One concept has one field name, wherever a person or a client sees it: views, outcomes, events, OpenAPI document, MCP tools,
`--json`, webhooks and audit. What a value *is*, and not only how it is called, is compared in `tests/views/test_surfaces.py`.

Parameters of Python functions are not fields: `rt.inbox(run=)` takes a run's id, or a `Run`. Neither are records and audit lines
as they are stored (`adjourn.records`), nor what front ends read under names that their protocols fix (`/ag-ui`, `/ai-sdk`).
"""

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, cast

import msgspec
import pytest

from adjourn import Cancelled, Completed, Interrupt, Paused, PendingToolCall, Stopped
from adjourn.cli.commands import cancel, checkpoint, fork
from adjourn.cli.terminal.interrupt import NumberedInterrupt
from adjourn.driver.live_feed import Published, TextArrived
from adjourn.driver.watch import Recorded, ToolCallApprovalRequired
from adjourn.mcp.mcp_server import OWN_TOOLS
from adjourn.server.openapi import openapi
from adjourn.stores.notification_body import HaltNotice, InterruptNotice, ReminderNotice, RunNotice

PACKAGE = Path(__file__).parents[2] / "src" / "adjourn"
PYTHON = (
    Completed,
    Paused,
    Stopped,
    Cancelled,
    Interrupt,
    PendingToolCall,
    Recorded,
    ToolCallApprovalRequired,
    TextArrived,
    Published,
)
COMMANDS = (cancel.Found, checkpoint.CheckpointView, fork.Fork, NumberedInterrupt)
WEBHOOKS = (HaltNotice, InterruptNotice, ReminderNotice, RunNotice)
PRINTED = ("cli", "mcp")
"""Rooms whose dictionaries are printed, or answered to a client."""
COMMAND_NAMES = ("command_table.py", "tenant_option.py")
"""Whose dictionaries name commands."""
FOREIGN = ("/ag-ui", "/ai-sdk")
"""Where the names are those of another protocol."""

TEXT, WHOLE, TIME, FLAG = "string", "integer", "number", "boolean"
ANY, OTHER = "any", "other"
"""`ANY`: whatever its type, or a type that the source does not say; `OTHER`: an object, an array or a reference."""


class Field(NamedTuple):
    """A field that somebody sees, and the type of its JSON."""

    name: str
    type: str
    where: str


class Concept(NamedTuple):
    """What a field means, its name, and the names that mean the same, each with the JSON type that gives it away."""

    meaning: str
    name: str
    not_: dict[str, str]


CONCEPTS = (
    Concept("the id of a run", "run_id", {"run": TEXT, "runId": TEXT, "of": TEXT, "job": TEXT, "execution_id": TEXT}),
    Concept("the agent or flow that it runs", "agent", {"program": TEXT, "flow": TEXT, "agent_name": TEXT}),
    Concept("the run from which it was forked", "forked_from", {"forked_of": TEXT, "parent": TEXT}),
    Concept("the id of a call", "call_id", {"call": TEXT, "callId": TEXT, "tool_call_id": TEXT}),
    Concept("what a call is given", "arguments", {"args": ANY, "params": ANY, "kwargs": ANY}),
    Concept("what a tool gave", "result", {"returned": ANY, "return_value": ANY}),
    Concept("a call in a line", "action", {"phrase": TEXT, "call": TEXT}),
    Concept("an interrupt's name in the whole store", "ref", {"item": TEXT, "interrupt": TEXT}),
    Concept("how many interrupts are open", "open_interrupts", {"opens": WHOLE, "interrupt_count": WHOLE}),
    Concept("what a run waits for", "interrupts", {"waits_for": ANY}),
    Concept("the number of a record", "seq", {"recorded": WHOLE, "record": WHOLE, "position": WHOLE, "at": WHOLE}),
    Concept("the record after which a fork begins", "at_seq", {"fork_at": WHOLE, "forked_at": WHOLE, "cut_at": WHOLE}),
    Concept("when it happened", "at", {"time": TIME, "timestamp": TIME, "when": TIME, "date": TIME}),
    Concept("when it is over", "expires_at", {"ends_at": TIME, "expires": TIME, "expiry": TIME}),
    Concept("how long it took, in seconds", "took", {"duration": TIME, "elapsed": TIME, "took_seconds": TIME}),
    Concept("the number in a list", "number", {"n": WHOLE, "no": WHOLE, "k": WHOLE, "num": WHOLE}),
    Concept("halts that keep a run from continuing", "held_by", {"blocked": ANY, "held": ANY, "blocked_by": ANY}),
    Concept("why somebody did it, in their words", "note", {"comment": TEXT, "remark": TEXT}),
    Concept("from where it was done", "origin", {"from": TEXT, "source": TEXT, "ip": TEXT}),
    Concept("the words of an agent", "said", {"words": ANY, "spoke": ANY, "utterance": ANY}),
    Concept("what was left behind by a cancel", "residue", {"left_behind": ANY, "leftover": ANY}),
    Concept("what a flow remembers", "state", {"data_of_flow": ANY, "flow_state": ANY}),
    Concept("tokens and cost", "usage", {"tokens_used": ANY, "consumption": ANY}),
    Concept("a key that makes a call happen once", "idempotency_key", {"idempotencyKey": TEXT, "once": TEXT}),
    Concept("whether everything that there is is there", "complete", {"is_all": FLAG, "all_there": FLAG}),
    Concept("the name of a person who has it", "person", {"user": TEXT, "owner": TEXT, "username": TEXT}),
    Concept("the id of a key", "key_id", {"keyId": TEXT}),
    Concept("JSON Schema of an answer", "answer_schema", {"answerSchema": ANY, "expects": ANY}),
)
EXCEPTIONS = {
    ("at", "BODY fork_run"): "the argument of `run.fork(at=)`, whose name is fixed: the number of a record",
    ("at", "/fork-preview?"): "the same argument, of its preview",
    ("user", "BODY add_mailbox"): "the user name at a mail server, which need not be a person's",
    ("from", "cli/db.py"): "the schema from which a database is migrated",
    ("from", "cli/user.py"): "an audit line as it is stored",
    ("item", "cli/error_report.py"): "the argument of a command that is typed again",
}
"""Fields that may have such a name: the name, the end of the place, and the reason."""


def named(properties: dict[str, Any], where: str) -> Iterator[Field]:
    """The properties of a JSON Schema, once for each type that one may have."""
    for name, schema in properties.items():
        for part in schema.get("anyOf", [schema]):
            found = part.get("type", OTHER)
            kinds = cast("list[str]", found if isinstance(found, list) else [found])
            yield from (Field(name, kind, where) for kind in kinds if kind != "null")


def of_schema(schema: Any, where: str) -> Iterator[Field]:
    """The properties of a JSON Schema, and of those in it."""
    if isinstance(schema, list):
        for part in cast("list[Any]", schema):
            yield from of_schema(part, where)
    if isinstance(schema, dict):
        found = cast("dict[str, Any]", schema)
        if isinstance(found.get("properties"), dict):
            yield from named(found["properties"], where)
        for part in found.values():
            yield from of_schema(part, where)


def of_document() -> Iterator[Field]:
    """What the OpenAPI document names."""
    document = openapi()
    for name, schema in document["components"]["schemas"].items():
        yield from of_schema(schema, name)
    for path, operations in document["paths"].items():
        if path.startswith(FOREIGN):
            continue
        for operation in operations.values():
            for parameter in operation["parameters"]:
                if parameter["in"] != "header":
                    yield from named({parameter["name"]: parameter["schema"]}, f"{path}?")
            yield from of_schema(operation.get("requestBody"), f"BODY {operation['operationId']}")
            yield from of_schema(operation["responses"], f"ANSWER {operation['operationId']}")


def of_structs(structs: Iterable[type[msgspec.Struct]]) -> Iterator[Field]:
    """The fields of structs, with their types as far as they are JSON's."""
    words: dict[Any, str] = {str: TEXT, int: WHOLE, float: TIME, bool: FLAG}
    for struct in structs:
        for field in msgspec.structs.fields(struct):
            yield Field(field.name, words.get(field.type, OTHER), struct.__name__)


def of_dictionaries(source: str, where: str) -> Iterator[Field]:
    """The keys of dictionaries that are written out."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Dict):
            for key in node.keys:
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    yield Field(key.value, ANY, where)


def of_printed() -> Iterator[Field]:
    """What the command line and the server of MCP write by hand."""
    for room in PRINTED:
        for file in sorted((PACKAGE / room).rglob("*.py")):
            if file.name in COMMAND_NAMES:
                continue
            yield from of_dictionaries(file.read_text("utf-8"), f"{room}/{file.name}")
    for name, (_, schema, _) in OWN_TOOLS.items():
        yield from of_schema(schema, name)


def seen() -> Iterator[Field]:
    """Every field that a person or a client sees."""
    yield from of_document()
    yield from of_structs((*PYTHON, *COMMANDS, *WEBHOOKS))
    yield from of_printed()


def second_names(fields: Iterable[Field]) -> list[str]:
    """Every field whose concept has another name."""
    found: dict[str, None] = {}
    for field in fields:
        for concept in CONCEPTS:
            kind = concept.not_.get(field.name)
            if kind is None or not (kind in (ANY, field.type) or (field.type == ANY and kind == TEXT)):
                continue
            if any(field.name == name and field.where.endswith(end) for name, end in EXCEPTIONS):
                continue
            found[f"{field.where}: {field.name} is {concept.meaning}: call it {concept.name}"] = None
    return list(found)


def test_no_concept_has_a_second_name() -> None:
    found = second_names(seen())
    assert not found, "\n".join(found)


@pytest.mark.parametrize("concept", CONCEPTS, ids=lambda concept: concept.name)
def test_the_name_of_each_concept_is_used_and_is_no_second_name_of_another(concept: Concept) -> None:
    assert concept.name in {field.name for field in seen()}
    assert not second_names([Field(concept.name, OTHER, "here")])


def test_every_exception_is_needed() -> None:
    found = [*seen()]
    idle = [name for name, end in EXCEPTIONS if not any(one.name == name and one.where.endswith(end) for one in found)]
    assert not idle, f"nobody needs the exceptions for {idle}"
