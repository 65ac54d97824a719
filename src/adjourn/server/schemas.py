"""The JSON Schemas of what goes in and out, once: requests are checked by them and the OpenAPI document is made of them."""

from typing import Any

from adjourn.core.ids import CHOSEN
from adjourn.core.run_status import RunStatus
from adjourn.stores.notification import TOPICS

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "number"}
WHOLE: Schema = {"type": "integer"}
FLAG: Schema = {"type": "boolean"}
OBJECT: Schema = {"type": "object"}
OBJECTS: Schema = {"type": "array", "items": OBJECT}
TEXTS: Schema = {"type": "array", "items": TEXT}
ANYTHING: Schema = {}
NAME: Schema = {"type": "string", "minLength": 1, "maxLength": 200, "pattern": r"^[^\u0000]*$"}
NOTE: Schema = {"type": "string", "maxLength": 10_000}
RUN_ID: Schema = {"type": "string", "pattern": f"^{CHOSEN}$"}
LABELS: Schema = {
    "type": "object",
    "propertyNames": {"pattern": r"^[^\u0000]*$"},
    "additionalProperties": {"type": "string", "maxLength": 200, "pattern": r"^[^\u0000]*$"},
    "maxProperties": 50,
}
STATUS: Schema = {"type": "string", "enum": [status.value for status in RunStatus]}
KIND: Schema = {"type": "string", "enum": ["approval", "question", "limit", "error", "in_doubt", "undo"]}
SCOPE: Schema = {"type": "string", "pattern": r"^(\*|agent:[^\u0000\n]+|tool:[^\u0000\n]+)$", "maxLength": 200}
HELD: Schema = {"type": "string", "pattern": r"^(run:[^\u0000\n]+|label:[^=\u0000\n]+=[^\u0000\n]*)$", "maxLength": 400}
LIMIT: Schema = {"type": "integer", "minimum": 1, "maximum": 200}
AFTER: Schema = {"type": "integer", "minimum": 0, "maximum": 2**53 - 1}
TIME: Schema = {"type": "number", "minimum": 0, "maximum": 1e12}
LABEL: Schema = {"type": "string", "pattern": "^[^=]+=.*$", "maxLength": 400}
SEARCH: Schema = {"type": "string", "maxLength": 200}
DIGEST: Schema = {"type": "string", "minLength": 1, "maxLength": 200}
TOPIC: Schema = {"type": "string", "enum": list(TOPICS)}


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


def maybe(schema: Schema) -> Schema:
    """It, or null."""
    return {"anyOf": [schema, {"type": "null"}]}


USAGE = answer(
    requests=WHOLE, input_tokens=WHOLE, output_tokens=WHOLE, cache_read_tokens=WHOLE, cost=NUMBER, estimated=FLAG,
)  # fmt: skip
CALL = answer(
    call_id=TEXT, tool=TEXT, arguments=OBJECT, reason=TEXT, rule=TEXT, digest=TEXT, description=TEXT, effect=TEXT, undo=FLAG,
)  # fmt: skip
SEAT = answer(rule=TEXT, groups=TEXTS, not_requester=FLAG, filled_by=TEXT)
INTERRUPT = answer(
    id=TEXT, ref=TEXT, run_id=TEXT, agent=TEXT, kind=TEXT, type=TEXT, payload=ANYTHING, call=maybe(CALL), answer_schema=ANYTHING,
    path=TEXT, opened_at=NUMBER, expires_at=maybe(NUMBER), choices=OBJECT, on_expiry=TEXT, approvers=WHOLE, groups=TEXTS, digest=TEXT,
    action=TEXT, seq=WHOLE, said=TEXT, slots={"type": "array", "items": SEAT}, requesters=TEXTS, disowned=TEXTS, escalated=FLAG,
)  # fmt: skip
INBOX_ITEM = answer(**INTERRUPT["properties"], whole=FLAG)
CLOSED = answer(
    why=TEXT, by=TEXT, at=maybe(NUMBER), seq=maybe(WHOLE), note=TEXT, edit=maybe(OBJECT), value=ANYTHING,
)  # fmt: skip
VOTE = answer(by=TEXT, at=NUMBER, note=TEXT)
RETRIED = answer(ref=TEXT, run_id=TEXT, seq=maybe(WHOLE), refused=maybe(answer(code=TEXT, detail=TEXT)))
RUN = answer(
    id=TEXT, kind=TEXT, program=TEXT, status=STATUS, title=TEXT, session=TEXT, labels=OBJECT, seq=WHOLE, interrupts=WHOLE,
    held=TEXTS, worker=TEXT, epoch=WHOLE, created_at=NUMBER, updated_at=NUMBER, erased_at=maybe(NUMBER),
)  # fmt: skip
MISFIT = answer(why=TEXT, changes=TEXTS, digest=TEXT, queued=FLAG)
RUN_STATE = answer(
    run=ref("Run"), input=ANYTHING, steps=WHOLE, usage=ref("Usage"), interrupts={"type": "array", "items": ref("Interrupt")},
    calls=OBJECTS, done=OBJECTS, data=OBJECT, text=TEXT, output=ANYTHING, undone={"type": "array"}, residue={"type": "array"},
    children=OBJECTS, graph=maybe(OBJECT), started_by=TEXT, forked_from=TEXT, misfit=maybe(ref("Misfit")),
    holds={"type": "array", "items": ref("Halt")},
)  # fmt: skip
GLANCE = answer(
    id=TEXT, seq=WHOLE, status=TEXT, now=TEXT, detail=TEXT, expires_at=maybe(NUMBER), waits=WHOLE, steps=WHOLE, tokens=WHOLE, cost=NUMBER,
    since=NUMBER, shape=OBJECTS,
)  # fmt: skip
STEP = answer(
    n=WHOLE, seq=WHOLE, record=WHOLE, kind=TEXT, id=TEXT, name=TEXT, text=TEXT, quoted=FLAG, status=TEXT, note=TEXT, path=TEXT,
    level=WHOLE, at=NUMBER, took=maybe(NUMBER), spans=OBJECTS, arguments=ANYTHING, result=ANYTHING, error=TEXT, ran=FLAG, digest=TEXT,
    key=TEXT, effect=TEXT, undo=FLAG, reason=TEXT, rules=TEXTS, attempt=WHOLE, tokens=WHOLE, interrupt=maybe(TEXT),
)  # fmt: skip
REQUEST = answer(
    seq=WHOLE, path=TEXT, agent=TEXT, what=TEXT, model=TEXT, messages=WHOLE, digest=TEXT, proof=TEXT,
    request=maybe(OBJECT),
)  # fmt: skip
RECORD = answer(seq=WHOLE, record=OBJECT)
HALT = answer(scope=TEXT, by=TEXT, reason=TEXT, at=NUMBER)
AUDIT: Schema = {
    "type": "object",
    "properties": {"at": NUMBER, "run": TEXT, "verb": TEXT, "by": TEXT, "from": TEXT, "seq": WHOLE, "refused": TEXT},
    "required": ["at", "run", "verb"],
}
ENDPOINT = answer(name=TEXT, kind=TEXT, url=TEXT, topics=TEXTS, at=NUMBER)
LETTER = answer(
    n=WHOLE, id=TEXT, endpoint=TEXT, topic=TEXT, run_id=maybe(TEXT), at=NUMBER, state=TEXT, tries=WHOLE, due_at=NUMBER, error=TEXT,
)  # fmt: skip
EVENT: Schema = {  # of a stream, each of its events
    "type": "object",
    "properties": {"event": TEXT, "data": TEXT, "id": TEXT, "retry": WHOLE},
    "required": ["event", "data"],
}
PROGRAM = answer(name=TEXT, kind=TEXT, picture=maybe(TEXT))
ME = answer(name=TEXT, role=TEXT, groups=TEXTS, csrf=TEXT, link=FLAG)
SHOWN = answer(ref=TEXT, digest=TEXT, tool=TEXT, arguments=maybe(OBJECT), payload=ANYTHING)
PROBLEM = answer(type=TEXT, title=TEXT, status=WHOLE, detail=TEXT, code=TEXT)
PROBLEM["properties"] |= {"what": TEXT, "consequence": TEXT, "advice": TEXT}  # and the facts of an error, by name
PROBLEM["properties"] |= {  # of a decision that came too late: what was seen, what is there now, and whose doing it was
    "was": maybe(ref("Shown")), "now": {"anyOf": [ref("Shown"), TEXT, {"type": "null"}]},
    "by": TEXT, "how": TEXT, "at": maybe(NUMBER), "next": maybe(TEXT),
}  # fmt: skip

COMPONENTS: dict[str, Schema] = {
    "Usage": USAGE, "Interrupt": INTERRUPT, "InboxItem": INBOX_ITEM, "Retried": RETRIED,
    "Run": RUN, "RunState": RUN_STATE, "Misfit": MISFIT, "Glance": GLANCE, "Step": STEP, "Request": REQUEST,
    "Record": RECORD, "Halt": HALT, "Audit": AUDIT,
    "Endpoint": ENDPOINT, "Letter": LETTER, "Shown": SHOWN, "Problem": PROBLEM,
}  # fmt: skip
