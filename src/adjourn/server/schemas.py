"""The JSON Schemas of what goes in and out: those of answers are made from their structs, those of
requests are written here."""

from typing import Any

import msgspec

from adjourn.core.ids import CHOSEN
from adjourn.core.interrupt_kind import FOR_PEOPLE
from adjourn.core.status import RunStatus
from adjourn.stores.outbox import TOPICS
from adjourn.views.api_answers import ActionView, schemas

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "number"}
WHOLE: Schema = {"type": "integer"}
FLAG: Schema = {"type": "boolean"}
OBJECT: Schema = {"type": "object"}
OBJECTS: Schema = {"type": "array", "items": OBJECT}
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
KIND: Schema = {"type": "string", "enum": list(FOR_PEOPLE)}
SCOPE: Schema = {
    "type": "string",
    "pattern": r"^(\*|agent:[^\u0000\n]+|tool:[^\u0000\n]+)$",
    "maxLength": 200,
}
HELD: Schema = {
    "type": "string",
    "pattern": r"^(run:[^\u0000\n]+|label:[^=\u0000\n]+=[^\u0000\n]*)$",
    "maxLength": 400,
}
LIMIT: Schema = {"type": "integer", "minimum": 1, "maximum": 200}
AT: Schema = {"type": "integer", "minimum": 1, "maximum": 2**31}
AFTER: Schema = {"type": "integer", "minimum": 0, "maximum": 2**53 - 1}
TIME: Schema = {"type": "number", "minimum": 0, "maximum": 1e12}
LABEL: Schema = {"type": "string", "pattern": "^[^=]+=.*$", "maxLength": 400}
SEARCH: Schema = {"type": "string", "maxLength": 200}
DIGEST: Schema = {"type": "string", "minLength": 1, "maxLength": 200}
TOPIC: Schema = {"type": "string", "enum": list(TOPICS)}
FILTERS: dict[str, Schema] = {
    "agent": SEARCH,
    "session": SEARCH,
    "label": LABEL,
    "text": SEARCH,
    "since": TIME,
    "until": TIME,
}
PAGES: dict[str, Schema] = {"after": {"type": "string", "maxLength": 1000}, "limit": LIMIT}
LINES: dict[str, Schema] = {"after": AFTER, "limit": LIMIT}
WORD: Schema = {**SEARCH, "pattern": r"^[^\u0000]*$"}
KEY: Schema = {"type": "string", "minLength": 1, "maxLength": 500}


def thing(required: tuple[str, ...] = (), **properties: Schema) -> Schema:
    """A request body: these properties and no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def answer(**properties: Schema) -> Schema:
    """A response: these properties, all there."""
    return {"type": "object", "properties": properties, "required": list(properties)}


def ref(struct: type[msgspec.Struct]) -> Schema:
    """The schema of a struct, by its name."""
    return {"$ref": f"#/components/schemas/{struct.__name__}"}


def several(struct: type[msgspec.Struct]) -> Schema:
    """A list of structs."""
    return {"type": "array", "items": ref(struct)}


def many(struct: type[msgspec.Struct]) -> Schema:
    """A page: `items`, and `after` for the next one (null at the end)."""
    return answer(items=several(struct), after={"type": ["string", "null"]})


def maybe(schema: Schema) -> Schema:
    """It, or null."""
    return {"anyOf": [schema, {"type": "null"}]}


EVENT: Schema = {  # of a stream, each of its events
    "type": "object",
    "properties": {"event": TEXT, "data": TEXT, "id": TEXT, "retry": WHOLE},
    "required": ["event", "data"],
}
PROBLEM = answer(type=TEXT, title=TEXT, status=WHOLE, detail=TEXT, code=TEXT)
# and the facts of an error, by name
PROBLEM["properties"] |= {
    "what": TEXT,
    "consequence": TEXT,
    "advice": TEXT,
}
PROBLEM[
    "properties"
] |= {  # of a decision that came too late: what was seen, what is there now, and whose doing it was
    "was": maybe(ref(ActionView)),
    "now": {"anyOf": [ref(ActionView), TEXT, {"type": "null"}]},
    "by": TEXT,
    "how": TEXT,
    "at": maybe(NUMBER),
    "next": maybe(TEXT),
}

COMPONENTS: dict[str, Schema] = {**schemas(), "Problem": PROBLEM}
