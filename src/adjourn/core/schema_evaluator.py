"""JSON Schema 2020-12, evaluated in bounded time.

A schema and a value from outside may ask for work without end: alternatives of alternatives,
patterns that go back, references in circles. Here each step is counted, patterns are matched in
linear time, and nothing is written out in full.
"""

import reprlib
from collections.abc import Callable, Iterator, Mapping
from operator import ge, gt, le, lt
from typing import Any, NamedTuple, cast

from adjourn.core.action_digest import canonical
from adjourn.core.codec import is_equal
from adjourn.core.pattern import Pattern, anywhere, weight_of
from adjourn.core.schema_document import SchemaDocument, TooMuchWork, Unchecked, UnknownReference
from adjourn.core.schema_formats import format_problem
from adjourn.core.schema_syntax import TYPES, is_array, is_number, is_object, is_text

DEEPEST = 150
"""Schemas inside of schemas, references included."""
UNITS_A_STEP = 100
"""Of a pattern's work: a step takes about a microsecond."""

WORDS = {
    "false": "{value} is not allowed here",
    "type": "{value} is not of type {said}",
    "enum": "{value} is not one of {said}",
    "const": "{said} was expected",
    "multipleOf": "{value} is not a multiple of {said}",
    "minimum": "{value} is less than the minimum of {said}",
    "maximum": "{value} is greater than the maximum of {said}",
    "exclusiveMinimum": "{value} is not greater than {said}",
    "exclusiveMaximum": "{value} is not less than {said}",
    "minLength": "{value} is too short: at least {said} characters",
    "maxLength": "{value} is too long: at most {said} characters",
    "minItems": "{value} is too short: at least {said} items",
    "maxItems": "{value} is too long: at most {said} items",
    "minProperties": "{value} does not have enough properties: at least {said}",
    "maxProperties": "{value} has too many properties: at most {said}",
    "pattern": "{value} does not match {said}",
    "format": "{value} is not {said}",
    "uniqueItems": "{value} has non-unique elements",
    "required": "{said} is a required property",
    "dependentRequired": "{said} is required with {value}",
    "additionalProperties": "additional properties are not allowed ({said} was unexpected)",
    "unevaluatedProperties": "unevaluated properties are not allowed ({said} was unexpected)",
    "contains": "{value} does not contain the right number of items that fit {said}",
    "unevaluatedItems": "unevaluated items are not allowed (item {said} was unexpected)",
    "anyOf": "{value} is not valid under any of the given schemas",
    "oneOf": "{value} is valid under more than one of the given schemas",
    "not": "{value} should not be valid under {said}",
}
"""By keyword: why a value does not fit."""


class SchemaProblem(NamedTuple):
    """Why a value does not fit: the keyword, what it says, the value, and the way to it from inside
    to outside."""

    keyword: str
    said: Any
    value: Any
    way: list[str | int]

    @property
    def text(self) -> str:
        """The problem as people read it, however large the value."""
        return WORDS[self.keyword].format(said=_brief(self.said), value=_brief(self.value))

    def inside(self, name: str | int) -> "SchemaProblem":
        """The same, seen from the container of the value."""
        self.way.append(name)
        return self


_short = reprlib.Repr()
_short.maxstring, _short.maxother, _short.maxlist, _short.maxdict = 100, 100, 10, 10


class Words(str):
    """Words that are shown as they are."""


def _brief(value: Any) -> str:
    if isinstance(value, Words):
        return value
    return _short.repr(value)


class Evaluator:
    """One check of a value. `steps`: how much work it may take. `formats`: whether formats count."""

    def __init__(self, schema: Any, steps: int, formats: bool = False) -> None:
        self._document = SchemaDocument(schema)
        self.left = steps
        self.formats = formats
        self._depth = 0
        self._patterns: dict[str, Pattern] = {}

    def problem(self, schema: Any, value: Any) -> SchemaProblem | None:
        """The first problem, or None; raises `Unchecked`."""
        if schema is True:
            return None
        if not isinstance(schema, dict):
            return SchemaProblem("false", schema, value, [])
        found = cast("dict[str, Any]", schema)
        if self._depth >= DEEPEST:
            raise Unchecked("it is nested too deeply, or refers to itself")
        self._depth += 1
        self.spend(1 + len(found))
        try:
            for name, said in found.items():
                check = CHECKS.get(name)
                if check is not None and (problem := check(self, said, value, found)) is not None:
                    return problem
        finally:
            self._depth -= 1
        return None

    def fits(self, schema: Any, value: Any) -> bool:
        """Whether the value fits."""
        return self.problem(schema, value) is None

    def spend(self, steps: int) -> None:
        """Count work; raises `TooMuchWork`."""
        self.left -= steps
        if self.left < 0:
            raise TooMuchWork("it is too expensive to check")

    def spend_on(self, value: Any) -> None:
        """Count the parts of a value that will be looked at one by one."""
        waiting: list[Any] = [value]
        while waiting:
            part = waiting.pop()
            if is_object(part):
                waiting += part.values()
                self.spend(len(part))
            elif is_array(part):
                waiting += part
                self.spend(len(part))

    def resolve(self, reference: Any) -> Any:
        """What a `$ref` means."""
        try:
            return self._document.resolve(reference)
        except UnknownReference as e:
            raise Unchecked(str(e)) from None

    def is_match(self, pattern: str, text: str) -> bool:
        """Whether the pattern is found in the text."""
        if pattern not in self._patterns:
            self.spend(10 * weight_of(pattern))  # before it is compiled, which takes as long
            self._patterns[pattern] = anywhere(pattern)
        compiled = self._patterns[pattern]
        self.spend(1 + compiled.work(text) // UNITS_A_STEP)
        return compiled.fits(text)


Schema = Mapping[str, Any]
Problem = SchemaProblem | None
Check = Callable[[Evaluator, Any, Any, Schema], Problem]
"""From the evaluator, what the keyword says, the value and the schema around it: the problem."""


def _type(_: Evaluator, said: Any, value: Any, schema: Schema) -> Problem:
    kinds: list[Any] = said if is_array(said) else [said]
    if any(TYPES[kind](value) for kind in kinds):
        return None
    return SchemaProblem("type", said, value, [])


def _enum(run: Evaluator, said: Any, value: Any, schema: Schema) -> Problem:
    run.spend_on(said)
    if any(is_equal(one, value) for one in said):
        return None
    return SchemaProblem("enum", said, value, [])


def _const(run: Evaluator, said: Any, value: Any, schema: Schema) -> Problem:
    run.spend_on(said)
    if is_equal(said, value):
        return None
    return SchemaProblem("const", said, value, [])


def _bound(
    keyword: str,
    counts: Callable[[Any], bool],
    measure: Callable[[Any], Any],
    ok: Callable[[Any, Any], bool],
) -> Any:
    """A check that compares a number, a length or a count."""

    def check(_: Evaluator, said: Any, value: Any, schema: Schema) -> Problem:
        if counts(value) and not ok(measure(value), said):
            return SchemaProblem(keyword, said, value, [])
        return None

    return check


def _itself(value: Any) -> Any:
    return value


def _is_multiple(value: Any, said: Any) -> bool:
    if isinstance(value, int) and isinstance(said, int):
        return value % said == 0
    return (_exact(value) / _exact(said)).denominator == 1


def _exact(number: Any) -> Any:
    from fractions import Fraction

    if isinstance(number, float):
        return Fraction(repr(number))
    return Fraction(number)


def _pattern(run: Evaluator, said: Any, value: Any, schema: Schema) -> Problem:
    if is_text(value) and not run.is_match(said, value):
        return SchemaProblem("pattern", said, value, [])
    return None


def _format(run: Evaluator, said: Any, value: Any, schema: Schema) -> Problem:
    if not run.formats or not is_text(value):
        return None
    run.spend(1 + len(value) // UNITS_A_STEP)
    if words := format_problem(said, value):
        return SchemaProblem("format", Words(words), value, [])
    return None


def _unique(run: Evaluator, said: Any, value: Any, schema: Schema) -> Problem:
    if not said or not is_array(value):
        return None
    run.spend_on(value)
    different = set(map(canonical, map(_normal, value)))
    if len(different) == len(value):
        return None
    return SchemaProblem("uniqueItems", said, value, [])


def _normal(value: Any) -> Any:
    """Equal values have equal bytes: 1.0 is 1."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if is_object(value):
        return {name: _normal(item) for name, item in value.items()}
    if is_array(value):
        return list(map(_normal, value))
    return value


def _required(_: Evaluator, said: Any, value: Any, schema: Schema) -> Problem:
    if is_object(value):
        for name in said:
            if name not in value:
                return SchemaProblem("required", name, value, [])
    return None


def _dependent_required(_: Evaluator, said: Any, value: Any, schema: Schema) -> Problem:
    if is_object(value):
        for name, others in said.items():
            for other in others if name in value else ():
                if other not in value:
                    return SchemaProblem("dependentRequired", other, name, [])
    return None


def _properties(run: Evaluator, said: Any, value: Any, schema: Schema) -> Problem:
    for name, part in said.items() if is_object(value) else ():
        if name in value and (problem := run.problem(part, value[name])):
            return problem.inside(name)
    return None


def _pattern_properties(run: Evaluator, said: Any, value: Any, schema: Schema) -> Problem:
    for pattern, part in said.items() if is_object(value) else ():
        for name in value:
            if run.is_match(pattern, name) and (problem := run.problem(part, value[name])):
                return problem.inside(name)
    return None


def _additional(run: Evaluator, said: Any, value: Any, schema: Schema) -> Problem:
    for name in _extras(run, value, schema) if is_object(value) else ():
        if said is False:
            return SchemaProblem("additionalProperties", name, value, [])
        if problem := run.problem(said, value[name]):
            return problem.inside(name)
    return None


def _extras(run: Evaluator, value: dict[str, Any], schema: Mapping[str, Any]) -> Iterator[str]:
    for name in value:
        if not _is_named(run, schema, name):
            yield name


def _is_named(run: Evaluator, schema: Mapping[str, Any], name: str) -> bool:
    """Whether `properties` or `patternProperties` say something of this property."""
    if name in schema.get("properties", {}):
        return True
    return any(run.is_match(pattern, name) for pattern in schema.get("patternProperties", {}))


def _property_names(run: Evaluator, said: Any, value: Any, schema: Schema) -> Problem:
    for name in value if is_object(value) else ():
        if problem := run.problem(said, name):
            return problem
    return None


def _dependent_schemas(run: Evaluator, said: Any, value: Any, schema: Schema) -> Problem:
    for name, part in said.items() if is_object(value) else ():
        if name in value and (problem := run.problem(part, value)):
            return problem
    return None


def _prefix_items(run: Evaluator, said: Any, value: Any, schema: Schema) -> Problem:
    for place, (part, item) in enumerate(zip(said, value, strict=False)) if is_array(value) else ():
        if problem := run.problem(part, item):
            return problem.inside(place)
    return None


def _items(run: Evaluator, said: Any, value: Any, schema: Schema) -> Problem:
    first = len(schema.get("prefixItems", ()))
    for place in range(first, len(value)) if is_array(value) else ():
        run.spend(1)
        if problem := run.problem(said, value[place]):
            return problem.inside(place)
    return None


def _contains(run: Evaluator, said: Any, value: Any, schema: Schema) -> Problem:
    if not is_array(value):
        return None
    least, most = schema.get("minContains", 1), schema.get("maxContains", len(value))
    found = sum(run.fits(said, item) for item in value)
    if least <= found <= most:
        return None
    return SchemaProblem("contains", said, value, [])


def _all_of(run: Evaluator, said: Any, value: Any, schema: Schema) -> Problem:
    for part in said:
        if problem := run.problem(part, value):
            return problem
    return None


def _any_of(run: Evaluator, said: Any, value: Any, schema: Schema) -> Problem:
    if any(run.fits(part, value) for part in said):
        return None
    return SchemaProblem("anyOf", said, value, [])


def _one_of(run: Evaluator, said: Any, value: Any, schema: Schema) -> Problem:
    fitting = sum(run.fits(part, value) for part in said)
    if fitting == 1:
        return None
    return SchemaProblem("oneOf" if fitting else "anyOf", said, value, [])


def _not(run: Evaluator, said: Any, value: Any, schema: Schema) -> Problem:
    if run.fits(said, value):
        return SchemaProblem("not", said, value, [])
    return None


def _if(run: Evaluator, said: Any, value: Any, schema: Schema) -> Problem:
    return run.problem(schema.get("then" if run.fits(said, value) else "else", True), value)


def _ref(run: Evaluator, said: Any, value: Any, schema: Schema) -> Problem:
    return run.problem(run.resolve(said), value)


def _unevaluated_properties(run: Evaluator, said: Any, value: Any, schema: Schema) -> Problem:
    if not is_object(value):
        return None
    others = dict(schema)
    del others["unevaluatedProperties"]
    known = _evaluated(run, value, others, _own_names)
    for name in value:
        if name not in known and (problem := run.problem(said, value[name])):
            if said is False:
                return SchemaProblem("unevaluatedProperties", name, value, [])
            return problem.inside(name)
    return None


def _unevaluated_items(run: Evaluator, said: Any, value: Any, schema: Schema) -> Problem:
    if not is_array(value):
        return None
    others = dict(schema)
    del others["unevaluatedItems"]
    known = _evaluated(run, value, others, _own_places)
    for place, item in enumerate(value):
        if place not in known and (problem := run.problem(said, item)):
            if said is False:
                return SchemaProblem("unevaluatedItems", place, value, [])
            return problem.inside(place)
    return None


def _evaluated(
    run: Evaluator, value: Any, schema: Any, own: Callable[[Evaluator, Any, Any], set[Any]]
) -> set[Any]:
    """Names or places of the value that this schema, or one inside of it that holds, says something
    about."""
    if not isinstance(schema, dict):
        return set()
    said = cast("dict[str, Any]", schema)
    run.spend(1 + len(value))
    found = own(run, said, value)
    for part in _holding(run, said, value):
        found |= _evaluated(run, value, part, own)
    return found


def _holding(run: Evaluator, schema: dict[str, Any], value: Any) -> Iterator[Any]:
    """The schemas inside of this one that hold for the same value."""
    if "$ref" in schema:
        yield run.resolve(schema["$ref"])
    for key in ("allOf", "anyOf", "oneOf"):
        for part in schema.get(key, ()):
            if run.fits(part, value):
                yield part
    if "if" in schema:
        holds = run.fits(schema["if"], value)
        yield from (
            (schema["if"], schema.get("then", True)) if holds else (schema.get("else", True),)
        )
    if is_object(value):
        for name, part in schema.get("dependentSchemas", {}).items():
            if name in value:
                yield part


def _own_names(run: Evaluator, schema: Any, value: Any) -> set[Any]:
    if "additionalProperties" in schema or "unevaluatedProperties" in schema:
        return set(value)
    return {name for name in value if _is_named(run, schema, name)}


def _own_places(run: Evaluator, schema: Any, value: Any) -> set[Any]:
    if "items" in schema or "unevaluatedItems" in schema:
        return set(range(len(value)))
    found = set(range(min(len(value), len(schema.get("prefixItems", ())))))
    if "contains" in schema:
        for place, item in enumerate(value):
            if run.fits(schema["contains"], item):
                found.add(place)
    return found


CHECKS: dict[str, Check] = {
    "type": _type,
    "enum": _enum,
    "const": _const,
    "multipleOf": _bound("multipleOf", is_number, _itself, _is_multiple),
    "minimum": _bound("minimum", is_number, _itself, ge),
    "maximum": _bound("maximum", is_number, _itself, le),
    "exclusiveMinimum": _bound("exclusiveMinimum", is_number, _itself, gt),
    "exclusiveMaximum": _bound("exclusiveMaximum", is_number, _itself, lt),
    "minLength": _bound("minLength", is_text, len, ge),
    "maxLength": _bound("maxLength", is_text, len, le),
    "minItems": _bound("minItems", is_array, len, ge),
    "maxItems": _bound("maxItems", is_array, len, le),
    "minProperties": _bound("minProperties", is_object, len, ge),
    "maxProperties": _bound("maxProperties", is_object, len, le),
    "pattern": _pattern,
    "format": _format,
    "uniqueItems": _unique,
    "required": _required,
    "dependentRequired": _dependent_required,
    "properties": _properties,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional,
    "propertyNames": _property_names,
    "dependentSchemas": _dependent_schemas,
    "unevaluatedProperties": _unevaluated_properties,
    "prefixItems": _prefix_items,
    "items": _items,
    "contains": _contains,
    "unevaluatedItems": _unevaluated_items,
    "allOf": _all_of,
    "anyOf": _any_of,
    "oneOf": _one_of,
    "not": _not,
    "if": _if,
    "$ref": _ref,
}
