"""The JSON Schemas of what goes in and out, once: requests are checked by them and the OpenAPI document is made of them."""

from typing import Any

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "number"}
WHOLE: Schema = {"type": "integer"}
FLAG: Schema = {"type": "boolean"}
ANYTHING: Schema = {}
NAME: Schema = {"type": "string", "minLength": 1, "maxLength": 200}
NOTE: Schema = {"type": "string", "maxLength": 10_000}
LABELS: Schema = {"type": "object", "additionalProperties": {"type": "string", "maxLength": 200}, "maxProperties": 50}


def thing(required: tuple[str, ...] = (), **properties: Schema) -> Schema:
    """A request body: these properties and no others."""
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


def answer(**properties: Schema) -> Schema:
    """A response: these properties, all there."""
    return {"type": "object", "properties": properties, "required": list(properties)}


def many(items: Schema, **more: Schema) -> Schema:
    """A page: `items`, and `after` for the next one (null at the end)."""
    return answer(items={"type": "array", "items": items}, after={"type": ["string", "null"]}, **more)


def ref(name: str) -> Schema:
    """A named schema."""
    return {"$ref": f"#/components/schemas/{name}"}


NULLABLE_TEXT: Schema = {"type": ["string", "null"]}
NULLABLE_NUMBER: Schema = {"type": ["number", "null"]}

USAGE = answer(
    requests=WHOLE, input_tokens=WHOLE, output_tokens=WHOLE, cache_read_tokens=WHOLE, cost=NUMBER, estimated=FLAG
)
CALL = answer(
    call_id=TEXT,
    tool=TEXT,
    arguments={"type": "object"},
    reason=TEXT,
    rule=TEXT,
    digest=TEXT,
    description=TEXT,
    effect=TEXT,
    undo=FLAG,
)
INTERRUPT = answer(
    id=TEXT, run_id=TEXT, agent=TEXT, kind=TEXT, type=TEXT, payload=ANYTHING, call={"anyOf": [CALL, {"type": "null"}]},
    answer_schema=ANYTHING, path=TEXT, opened_at=NUMBER, expires_at=NULLABLE_NUMBER, choices={"type": "object"}, on_expiry=TEXT,
    approvers=WHOLE, groups={"type": "array", "items": TEXT}, digest=TEXT, said=TEXT,
)  # fmt: skip
RUN = answer(
    id=TEXT, kind=TEXT, program=TEXT, status=TEXT, title=TEXT, session=TEXT, labels={"type": "object"}, seq=WHOLE, interrupts=WHOLE,
    held={"type": "array", "items": TEXT}, worker=TEXT, epoch=WHOLE, created_at=NUMBER, updated_at=NUMBER,
)  # fmt: skip
RUN_STATE = answer(
    run=ref("Run"), input=ANYTHING, steps=WHOLE, usage=ref("Usage"), interrupts={"type": "array", "items": ref("Interrupt")},
    calls={"type": "array", "items": {"type": "object"}}, done={"type": "array", "items": {"type": "object"}}, data={"type": "object"},
    text=TEXT, output=ANYTHING, undone={"type": "array"}, residue={"type": "array"}, children={"type": "array", "items": {"type": "object"}},
)  # fmt: skip
RECORD = answer(seq=WHOLE, record={"type": "object"})
HALT = answer(scope=TEXT, by=TEXT, reason=TEXT, at=NUMBER)
AUDIT = answer(at=NUMBER, run=TEXT, verb=TEXT, by=TEXT)
PROBLEM: Schema = {
    "type": "object",
    "properties": {"type": TEXT, "title": TEXT, "status": WHOLE, "detail": TEXT, "code": TEXT},
    "required": ["type", "title", "status", "detail", "code"],
}

COMPONENTS: dict[str, Schema] = {
    "Usage": USAGE, "Interrupt": INTERRUPT, "Run": RUN, "RunState": RUN_STATE, "Record": RECORD, "Halt": HALT, "Audit": AUDIT,
    "Problem": PROBLEM,
}  # fmt: skip
