"""The console's types and words, made from the structs and tables of this package when the console
is built."""

import json
from collections.abc import Mapping
from typing import Any

from adjourn.views import confusable_characters, words
from adjourn.views.api_answers import schemas

HEAD = "/** Made from `adjourn.views.typescript` when the console is built; do not edit. */\n"
PREFIX = "#/components/schemas/"


def types_module() -> str:
    """What the API answers, as types."""
    parts = [HEAD, "export type Json = unknown;\n"]
    for name, schema in schemas().items():
        if "enum" in schema:
            parts.append(f"export type {name} = {_type(schema)};\n")
        else:
            parts.append(_interface(name, schema))
    return "".join(parts)


def _interface(name: str, schema: dict[str, Any]) -> str:
    described = " ".join(schema.get("description", "").split())
    fields = [
        f"  {field}: {_type(kind)};\n" for field, kind in schema.get("properties", {}).items()
    ]
    return f"/** {described} */\nexport interface {name} {{\n{''.join(fields)}}}\n"


def _type(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return schema["$ref"].removeprefix(PREFIX)
    if "anyOf" in schema:
        return " | ".join(_type(one) for one in schema["anyOf"])
    if "enum" in schema:
        return " | ".join(json.dumps(value) for value in schema["enum"])
    match schema.get("type"):
        case "string":
            return "string"
        case "integer" | "number":
            return "number"
        case "boolean":
            return "boolean"
        case "null":
            return "null"
        case "array":
            return f"({_type(schema.get('items', {}))})[]"
        case "object":
            return f"Record<string, {_type(schema.get('additionalProperties', {}))}>"
        case _:
            return "Json"


def words_module() -> str:
    """How things are called."""
    rights = {role: sorted(rights - {"none"}) for role, rights in words.RIGHTS.items()}
    tables: dict[str, tuple[str, Any]] = {
        "STATUS_WORDS": ("Record<RunStatus, string>", _capitalised(words.STATUSES)),
        "KIND_WORDS": (
            "Record<string, { word: string; asks: string; note: string }>",
            {
                kind: {"word": row.word, "asks": row.asks, "note": row.note}
                for kind, row in {**words.KINDS, words.CHECK: words.CHECK_WORDS}.items()
            },
        ),
        "DECISIONS": ("Record<DecisionKind, string>", _capitalised(words.DECISIONS)),
        "OUTCOMES": ("Record<OutcomeState, string>", words.OUTCOMES),
        "REPEATS": ("Record<string, string>", words.REPEATS),
        "EFFECTS": ("Record<string, string>", words.EFFECTS),
        "EXPIRY": ("Record<string, string>", words.EXPIRY),
        "OCCASIONS": (
            "Record<string, string>",
            {topic: row.occasion for topic, row in words.TOPICS.items()},
        ),
        "ROLES": ("Record<string, string>", words.ROLES),
        "RIGHTS": ("Record<string, readonly string[]>", rights),
        "CHOICES": (
            "Record<string, Record<string, readonly [word: string, what: string, deed: string]>>",
            {
                kind: {name: list(row) for name, row in found.items()}
                for kind, found in words.CHOICES.items()
            },
        ),
        "PROSE": ("readonly string[]", list(words.PROSE)),
    }
    parts = [HEAD, 'import type { OutcomeState, RunStatus, DecisionKind } from "./types";\n']
    for name, (kind, table) in tables.items():
        parts.append(
            f"export const {name}: {kind} = {json.dumps(table, ensure_ascii=False, indent=2)};\n"
        )
    return "".join(parts)


def _capitalised(table: Mapping[Any, str]) -> dict[str, str]:
    return {key.value: word[:1].upper() + word[1:] for key, word in table.items()}


def modules() -> dict[str, str]:
    """Each module of the console that is made here, by its name."""
    return {
        "types.ts": types_module(),
        "words.ts": words_module(),
        "confusable_characters.ts": HEAD + confusable_characters.for_the_console(),
    }
