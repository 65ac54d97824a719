"""JSON Schema: how answers and edits are checked by a process that has no program, only the
record."""

from typing import Any, cast

from adjourn.core.codec import encode
from adjourn.core.pattern import InvalidPattern, anywhere
from adjourn.core.schema_document import (
    EndlessDefaults,
    SchemaDocument,
    TooMuchWork,
    Unchecked,
    UnknownReference,
    filled,
    subschemas,
)
from adjourn.errors import InvalidAnswer, InvalidDefinition

MAX_BYTES = 100_000
"""Of a schema, as JSON."""
MAX_DEPTH = 60
STEPS = 300_000
"""The work of a check, at about a microsecond each."""


def check(schema: Any, value: Any, what: str, steps: int = STEPS, *, formats: bool = False) -> None:
    """Raise `InvalidAnswer`, naming the place, if `value` does not fit, or if that cannot be found
    out in `steps`.

    References to other documents are not followed. `TooMuchWork` is raised as it is if fewer than
    `STEPS` were given: the caller may then give more, elsewhere. `formats`: dates, addresses and
    the like are checked too. What people answer is; what was recorded without that stays valid.
    """
    if schema is None or schema is True:
        return
    from adjourn.core.schema_evaluator import Evaluator

    try:
        problem = Evaluator(schema, steps, formats).problem(schema, value)
    except TooMuchWork:
        if steps < STEPS:
            raise
        raise InvalidAnswer(
            f"{what} is too expensive to check against its schema",
            consequence="nothing was recorded",
            advice="make it smaller",
        ) from None
    except (
        Unchecked,
        RecursionError,
        ArithmeticError,
        ValueError,
        TypeError,
        LookupError,
        AttributeError,
    ) as e:
        if isinstance(e, Unchecked | ValueError):
            reason = str(e)
        else:
            reason = type(e).__name__
        raise InvalidAnswer(
            f"{what} cannot be checked against its schema ({reason})",
            consequence="nothing was recorded",
        ) from None
    if problem is not None:
        where = "".join(f"[{name!r:.80}]" for name in reversed(problem.way))[:300]
        raise InvalidAnswer(
            f"{what}{where}: {problem.text[:300]}",
            consequence="nothing was recorded, the question stays open",
            place=tuple(reversed(problem.way)),
            reason=problem.text[:300],
        )


def check_schema(schema: Any, what: str) -> None:
    """Raise `InvalidDefinition` if this is not a JSON Schema that can be checked in bounded
    time."""
    check_size(schema, what)
    document = SchemaDocument(schema)
    waiting: list[tuple[Any, int]] = [(schema, 0)]
    while waiting:
        part, depth = waiting.pop()
        if depth > MAX_DEPTH:
            raise InvalidDefinition(f"{what} is nested deeper than {MAX_DEPTH} schemas")
        if isinstance(part, bool):
            continue
        if not isinstance(part, dict):
            raise InvalidDefinition(
                f"{what} is not a valid JSON Schema: {part!r:.80} is not an object, true or false"
            )
        _check_part(cast("dict[str, Any]", part), document, what)
        for inner in subschemas(cast("dict[str, Any]", part)):
            waiting.append((inner, depth + 1))


def check_size(schema: Any, what: str) -> None:
    """Raise `InvalidDefinition` for a schema that is too large to be checked."""
    if (size := len(encode(schema))) > MAX_BYTES:
        raise InvalidDefinition(
            f"{what} has {size:,} bytes as JSON, and at most {MAX_BYTES:,} are allowed"
        )


def _check_part(schema: dict[str, Any], document: SchemaDocument, what: str) -> None:
    """One schema, without those inside of it."""
    from adjourn.core.schema_syntax import SAYS

    for name, said in schema.items():
        if name == "$dynamicRef":
            raise InvalidDefinition(f"{what}: $dynamicRef is not supported", advice="use $ref")
        makes_sense, wanted = SAYS.get(name, (None, ""))
        if makes_sense is not None and not makes_sense(said):
            raise InvalidDefinition(
                f"{what} is not a valid JSON Schema: {name!r} is {wanted}, not {said!r:.80}"
            )
    patterns = [schema["pattern"]] if "pattern" in schema else []
    for pattern in (*patterns, *schema.get("patternProperties", ())):
        try:
            anywhere(pattern)
        except InvalidPattern as e:
            raise InvalidDefinition(
                f"{what}: the pattern {pattern!r:.80} cannot be matched in linear time ({e})",
                advice=(
                    "write one without look-around and backreferences, or leave it out "
                    "and check in the tool"
                ),
            ) from None
    try:
        if "$ref" in schema:
            document.resolve(schema["$ref"])
    except UnknownReference as e:
        raise InvalidDefinition(f"{what}: $ref {e}") from None


def check_defaults(schema: dict[str, Any], what: str) -> None:
    """Raise `InvalidDefinition` for a default that does not end, or does not fit its own schema: it
    is filled in first."""
    document = SchemaDocument(schema)
    waiting: list[Any] = [schema]
    try:
        filled(schema, {})
    except EndlessDefaults as e:
        raise InvalidDefinition(f"{what}: {e}") from None
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            found = cast("dict[str, Any]", part)
            waiting += subschemas(found)
            if "default" in found:
                _check_default(found, document, what)


def _check_default(schema: dict[str, Any], document: SchemaDocument, what: str) -> None:
    from adjourn.core.schema_evaluator import Evaluator

    default = schema["default"]
    try:
        problem = Evaluator(document.root, STEPS).problem(schema, filled(schema, default, document))
    except (Unchecked, EndlessDefaults) as e:
        raise InvalidDefinition(
            f"{what}: the default {default!r:.80} cannot be checked: {e}"
        ) from None
    if problem is not None:
        raise InvalidDefinition(
            f"{what}: the default {default!r:.80} does not fit its own schema: {problem.text[:200]}"
        )
