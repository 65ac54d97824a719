"""JSON Schema in bounded time: the same verdicts as everybody else's, and no schema or value that takes for ever."""

import functools
import time
import warnings
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from tests.again import in_time

from adjourn.core.schema import MAX_BYTES, MAX_DEPTH, STEPS, check, check_defaults, check_schema
from adjourn.core.schema_document import EndlessDefaults, TooMuchWork, filled, names_of, possible
from adjourn.core.schema_evaluator import CHECKS, WORDS, Evaluator
from adjourn.core.schema_syntax import SAYS
from adjourn.errors import InvalidAnswer, InvalidDefinition

# The same verdicts as the reference implementation

NAMES = st.sampled_from(["a", "b", "c", "ab"])
PATTERNS = st.sampled_from(["^a", "b$", "[0-9]+", ".", "^$", "a|b", "^(a+)+$"])
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from([0.0, 1.0, 1.5, -2.0])
    | st.sampled_from(["", "a", "b", "ab", "12"])
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4), max_leaves=8
)
COUNTS = st.integers(0, 3)
TYPES = st.sampled_from(["array", "boolean", "integer", "null", "number", "object", "string"])
REFERENCES = st.sampled_from(["#/$defs/one", "#/$defs/two", "#other"])


def keywords(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    schemas, table = st.lists(inner, min_size=1, max_size=3), st.dictionaries(NAMES, inner, max_size=3)
    one: dict[str, st.SearchStrategy[Any]] = {
        "type": TYPES | st.lists(TYPES, min_size=1, max_size=3, unique=True),
        "enum": st.lists(VALUES, max_size=3),
        "const": VALUES,
        "format": st.sampled_from(["date", "colour"]),
        "multipleOf": st.integers(1, 3),
        "pattern": PATTERNS,
        "uniqueItems": st.booleans(),
        "required": st.lists(NAMES, max_size=2, unique=True),
        "dependentRequired": st.dictionaries(NAMES, st.lists(NAMES, max_size=2, unique=True), max_size=2),
        "patternProperties": st.dictionaries(PATTERNS, inner, max_size=2),
        "$ref": REFERENCES,
        **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), st.integers(-2, 2) | st.just(0.5)),
        **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"), COUNTS),
        **dict.fromkeys(("minContains", "maxContains"), COUNTS),
        **dict.fromkeys(("properties", "dependentSchemas"), table),
        **dict.fromkeys(("additionalProperties", "propertyNames", "unevaluatedProperties", "items", "contains"), inner),
        **dict.fromkeys(("unevaluatedItems", "not", "if", "then", "else"), inner),
        **dict.fromkeys(("prefixItems", "allOf", "anyOf", "oneOf"), schemas),
    }  # fmt: skip
    assert set(CHECKS) <= set(one)
    return st.lists(st.sampled_from(sorted(one)), max_size=4, unique=True).flatmap(
        lambda chosen: st.fixed_dictionaries({name: one[name] for name in chosen})
    )


SCHEMAS = st.recursive(
    st.booleans() | st.just(dict[str, Any]()) | TYPES.map(lambda kind: {"type": kind}), keywords, max_leaves=6
)
FINAL = st.booleans() | TYPES.map(lambda kind: {"type": kind}) | st.just({"properties": {"a": {"type": "integer"}}})


def is_valid(schema: Any, value: Any) -> bool:
    try:
        check(schema, value, "value")
    except InvalidAnswer as e:
        assert "cannot be checked" not in str(e)
        return False
    return True


@settings(max_examples=1500, deadline=None)
@given(SCHEMAS, FINAL, FINAL, VALUES)
@example({"unevaluatedProperties": False, "allOf": [{"properties": {"a": True}}]}, True, True, {"a": 1, "b": 2})
@example({"unevaluatedItems": False, "contains": {"type": "null"}, "prefixItems": [True]}, True, True, [1, None, 2])
@example({"contains": False, "minContains": 0}, True, True, [1])
@example({"if": {"type": "object"}, "then": {"required": ["a"]}, "unevaluatedProperties": False}, True, True, {"a": 1})
def test_the_verdict_is_that_of_the_reference_implementation(schema: Any, one: Any, two: Any, value: Any) -> None:
    other = {"$anchor": "other", "type": "string"}
    root = {"$defs": {"one": one, "two": two, "three": other}, "allOf": [schema]}
    check_schema(root, "schema")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        wanted = Draft202012Validator(root).is_valid(value)  # pyright: ignore[reportUnknownMemberType]
    assert is_valid(root, value) == wanted


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(st.sampled_from([*SAYS, "default", "x-mine"]), VALUES | SCHEMAS, max_size=3))
@example({"$anchor": ""})
@example({"$anchor": "a b"})
def test_what_is_accepted_as_a_schema_is_one(schema: Any) -> None:
    try:
        check_schema(schema, "schema")
    except InvalidDefinition:
        return
    Draft202012Validator.check_schema(schema)  # pyright: ignore[reportUnknownMemberType]


def test_every_keyword_that_can_fail_has_words() -> None:
    passed_on = {
        "properties",
        "patternProperties",
        "propertyNames",
        "dependentSchemas",
        "prefixItems",
        "items",
        "allOf",
        "if",
        "$ref",
    }
    assert set(CHECKS) - passed_on <= set(WORDS)
    assert set(CHECKS) <= {*SAYS, "const"}


@pytest.mark.parametrize(
    ("schema", "value", "said"),
    [
        ({"type": "integer"}, "x", "answer: 'x' is not of type 'integer'"),
        ({"required": ["a"]}, {}, "answer: 'a' is a required property"),
        ({"properties": {"a": {"items": {"type": "integer"}}}}, {"a": [1, None]}, "answer['a'][1]: None is not of type"),
        ({"additionalProperties": False, "properties": {"a": True}}, {"b": 1}, "answer: additional properties are not allowed ('b'"),
        ({"enum": ["a", "b"]}, "c", "answer: 'c' is not one of ['a', 'b']"),
        ({"anyOf": [{"type": "null"}, {"minimum": 5}]}, 3, "answer: 3 is not valid under any of the given schemas"),
        (False, 1, "answer: 1 is not allowed here"),
        ({"maxLength": 3}, "x" * 10_000, "is too long: at most 3 characters"),
        ({"multipleOf": 0.1}, 0.35, "answer: 0.35 is not a multiple of 0.1"),
    ],
)  # fmt: skip
def test_a_problem_is_named_with_its_place(schema: Any, value: Any, said: str) -> None:
    with pytest.raises(InvalidAnswer) as refused:
        check(schema, value, "answer")
    assert said in str(refused.value)
    assert len(str(refused.value)) < 500


def test_decimal_fractions_are_multiples_of_decimal_fractions() -> None:
    check({"multipleOf": 0.1}, 0.3, "value")
    check({"multipleOf": 0.01}, 19.99, "value")
    check({"multipleOf": 1e-7}, 10**40, "value")


# No bombs


def doubling(key: str, levels: int, leaf: Any) -> dict[str, Any]:
    """Each level asks for the next one twice: 2 ** levels."""
    parts: dict[str, Any] = {f"l{n}": {key: [{"$ref": f"#/$defs/l{n + 1}"}] * 2} for n in range(levels)}
    return {"$defs": {**parts, f"l{levels}": leaf}, "$ref": "#/$defs/l0"}


NESTED: Any = functools.reduce(lambda inner, _: [inner], range(90), 1)
HUGE: dict[str, int] = {f"k{n}": n for n in range(20_000)}

BOMBS: list[tuple[Any, Any]] = [
    (doubling("anyOf", 25, {"type": "string"}), 5),
    (doubling("oneOf", 25, {"type": "string"}), 5),
    (doubling("allOf", 25, {"type": "integer"}), 5),
    ({**doubling("anyOf", 25, {"properties": {"b": True}}), "unevaluatedProperties": False}, {"a": 1}),
    ({"$ref": "#"}, 1),
    ({"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}, 1),
    ({"items": {"$ref": "#"}, "anyOf": [{"items": {"$ref": "#"}}, {"items": {"$ref": "#"}}]}, NESTED),
    ({"pattern": "^(a+)+$"}, "a" * 26 + "!"),
    ({"patternProperties": {f"^(a+)+{n}$": False for n in range(200)}}, {"a" * 200 + str(n): 1 for n in range(200)}),
    ({"patternProperties": {r"(.*\w){200}": False}}, {"é" * 1_000 + str(n): 1 for n in range(100)}),
    ({"allOf": [{"pattern": rf"(.*\w){{{n}}}"} for n in range(50, 150)]}, "é" * 2_000),
    ({"uniqueItems": True}, [{"a": [n]} for n in range(30_000)]),
    ({"items": {"enum": list(range(5_000))}}, [-1] * 5_000),
    ({"anyOf": [{"const": list(range(10_000))}] * 500}, [*range(9_999), -1]),
    ({"anyOf": [{"type": "string"}] * 2_000}, HUGE),
    ({"items": {"anyOf": [{"type": "string"}] * 500}}, [HUGE] * 100),
    ({"unevaluatedProperties": False, "anyOf": [{"patternProperties": {f"k{n}$": True}} for n in range(100)]}, HUGE),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "value"), BOMBS)
def test_no_schema_and_no_value_takes_for_ever(schema: Any, value: Any) -> None:
    started = time.process_time()
    try:
        check(schema, value, "answer")
    except InvalidAnswer as e:
        assert len(str(e)) < 500
    in_time(time.process_time() - started, 4.0)


@pytest.mark.parametrize("key", ["anyOf", "oneOf", "allOf"])
def test_no_schema_takes_for_ever_to_be_looked_at(key: str) -> None:
    leaf = {"type": "object", "properties": {"a": {"type": "integer", "default": 5}}}
    schema = doubling(key, 40, leaf)
    started = time.process_time()
    check_schema(schema, "schema")
    assert possible(schema, "a")
    assert not possible(schema, "b")
    assert names_of(schema) == ["a"]
    filled(schema, {})
    in_time(time.process_time() - started, 1.0)


def test_a_check_that_needs_more_than_it_was_given_says_so_to_the_caller() -> None:
    schema = {"items": {"type": "integer"}}
    with pytest.raises(TooMuchWork):
        check(schema, list(range(1_000)), "answer", steps=100)
    check(schema, list(range(1_000)), "answer")
    with pytest.raises(InvalidAnswer, match="too expensive"):
        check(schema, list(range(STEPS)), "answer")


def test_a_step_is_about_as_much_work_as_any_other() -> None:
    """The budget is in steps; the promise is in seconds. No bomb finds a step that is a hundred times as expensive."""
    worst = 0.0
    for schema, value in BOMBS:
        evaluator = Evaluator(schema, STEPS)
        started = time.process_time()
        try:
            evaluator.problem(schema, value)
        except Exception:
            pass
        spent = STEPS - evaluator.left
        worst = max(worst, (time.process_time() - started) / max(spent, 1_000))
    assert worst < 20e-6


@pytest.mark.parametrize(
    ("schema", "says"),
    [
        ({"enum": ["x" * MAX_BYTES]}, "bytes as JSON"),
        ({"pattern": "(?=a)"}, "linear time"),
        ({"patternProperties": {r"(a)\1": True}}, "linear time"),
        ({"$defs": {"a": {"properties": {"b": {"pattern": "("}}}}}, "linear time"),
        ({"$ref": "https://example.com/schema"}, "other documents are not followed"),
        ({"$ref": "#/$defs/missing"}, "does not exist"),
        ({"$dynamicRef": "#node"}, "not supported"),
        ({"type": "text"}, "'type' is one or several of"),
        ({"properties": {"a": 5}}, "'properties' is an object whose values are schemas"),
        ({"required": "a"}, "'required' is a list of strings without duplicates"),
        ({"minLength": -1}, "'minLength' is an integer of at least 0"),
        ([], "not an object"),
        ("string", "not an object"),
    ],
)
def test_a_schema_that_cannot_be_checked_is_refused_when_it_is_defined(schema: Any, says: str) -> None:
    with pytest.raises(InvalidDefinition, match=says) as refused:
        check_schema(schema, "answer_schema")
    assert str(refused.value).startswith("answer_schema")


def test_a_schema_that_is_too_deep_is_refused() -> None:
    schema: dict[str, Any] = {}
    for _ in range(MAX_DEPTH + 1):
        schema = {"not": schema}
    with pytest.raises(InvalidDefinition, match="nested deeper"):
        check_schema(schema, "answer_schema")


@pytest.mark.parametrize(
    "schema", [{"type": "text"}, {"properties": []}, {"$ref": 5}, {"pattern": "(?=a)"}, {"minimum": "a"}, {"multipleOf": 0}, {"enum": 5}]
)  # fmt: skip
def test_a_wrong_schema_from_a_record_refuses_the_answer(schema: Any) -> None:
    for value in ("a", {"a": 1}, 5):
        try:
            check(schema, value, "answer")
        except InvalidAnswer as e:
            assert "nothing was recorded" in str(e)


# Defaults

MONEY = {"type": "object", "properties": {"cents": {"type": "integer", "default": 5}, "to": {"type": "string"}}}


DEFAULTS: list[tuple[Any, Any, Any]] = [
    (MONEY, {}, {"cents": 5}),
    (MONEY, {"cents": 6}, {"cents": 6}),
    (MONEY, {"cents": None}, {"cents": None}),
    ({"properties": {"p": MONEY}}, {"p": {}}, {"p": {"cents": 5}}),
    ({"properties": {"p": MONEY}}, {}, {}),
    ({"properties": {"p": {**MONEY, "default": {}}}}, {}, {"p": {"cents": 5}}),
    ({"$defs": {"m": MONEY}, "properties": {"p": {"$ref": "#/$defs/m"}}}, {"p": {}}, {"p": {"cents": 5}}),
    ({"$defs": {"c": {"default": 7}}, "properties": {"p": {"$ref": "#/$defs/c"}}}, {}, {"p": 7}),
    ({"definitions": {"m": MONEY}, "$ref": "#/definitions/m"}, {}, {"cents": 5}),
    ({"$defs": {"m": {"$anchor": "money", **MONEY}}, "$ref": "#money"}, {}, {"cents": 5}),
    ({"allOf": [MONEY, {"properties": {"x": {"default": 1}}}]}, {}, {"cents": 5, "x": 1}),
    ({"properties": {"p": {"allOf": [{"default": 3}]}}}, {}, {"p": 3}),
    ({"properties": {"p": {"anyOf": [MONEY, {"type": "null"}]}}}, {"p": {}}, {"p": {"cents": 5}}),
    ({"properties": {"p": {"anyOf": [MONEY, {"type": "null"}]}}}, {"p": None}, {"p": None}),
    ({"anyOf": [MONEY, {"properties": {"x": {"default": 1}}}]}, {}, {}),
    ({"items": MONEY}, [{}, {"cents": 1}, 5], [{"cents": 5}, {"cents": 1}, 5]),
    ({"prefixItems": [MONEY], "items": {"properties": {"x": {"default": 1}}}}, [{}, {}], [{"cents": 5}, {"x": 1}]),
    ({"additionalProperties": MONEY}, {"a": {}}, {"a": {"cents": 5}}),
    ({"patternProperties": {"^p": MONEY}}, {"p1": {}, "q": {}}, {"p1": {"cents": 5}, "q": {}}),
    (MONEY, 5, 5),
    (True, {}, {}),
    (None, {}, {}),
]


@pytest.mark.parametrize(("schema", "value", "complete"), DEFAULTS)
def test_defaults_are_filled_in_wherever_no_choice_is_needed(schema: Any, value: Any, complete: Any) -> None:
    before = repr(value)
    assert filled(schema, value) == complete
    assert filled(schema, filled(schema, value)) == complete
    assert repr(value) == before


def test_a_default_that_was_filled_in_belongs_to_the_value() -> None:
    schema: dict[str, Any] = {"properties": {"tags": {"default": [{"a": []}]}}}
    filled(schema, {})["tags"][0]["a"].append(1)
    assert schema == {"properties": {"tags": {"default": [{"a": []}]}}}


ENDLESS: list[Any] = [
    {"properties": {"a": {"$ref": "#", "default": {}}}},
    {"properties": {"a": {"$ref": "#", "default": {}}, "b": {"$ref": "#", "default": {}}}},
    {"items": {"$ref": "#"}, "properties": {"a": {"$ref": "#", "default": [{}, {}]}}},
]


@pytest.mark.parametrize("schema", ENDLESS)
def test_defaults_without_an_end_are_refused(schema: Any) -> None:
    started = time.process_time()
    with pytest.raises(EndlessDefaults):
        filled(schema, {})
    with pytest.raises(InvalidDefinition, match="are endless"):
        check_defaults(schema, "input_schema")
    in_time(time.process_time() - started, 4.0)


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"a": {"type": "integer", "default": "x"}}},
        {"properties": {"a": {"type": "string", "default": None}}},
        {"$defs": {"m": {"enum": [1], "default": 2}}},
        {"properties": {"a": {"type": "object", "required": ["b"], "default": {}}}},
    ],
)
def test_a_default_that_does_not_fit_its_own_schema_is_refused(schema: Any) -> None:
    with pytest.raises(InvalidDefinition, match="does not fit its own schema"):
        check_defaults(schema, "input_schema")


def test_a_default_may_need_defaults_itself() -> None:
    check_defaults({"properties": {"a": {"properties": {"b": {"default": 1}}, "required": ["b"], "default": {}}}}, "x")


# Arguments


@pytest.mark.parametrize(
    ("schema", "has", "has_not"),
    [
        (MONEY, ["cents", "to"], ["cent", "cents.x", "to.x"]),
        ({"properties": {}}, [], ["a"]),
        ({"type": "object"}, ["a", "a.b"], []),
        ({}, ["a", "a.b"], []),
        (True, ["a", "a.b"], []),
        (False, [], ["a"]),
        ({"type": "array"}, [], ["a"]),
        ({**MONEY, "additionalProperties": True}, ["cents", "x", "x.y"], ["cents.y"]),
        ({**MONEY, "additionalProperties": False}, ["cents"], ["x"]),
        ({"additionalProperties": {"type": "integer"}}, ["x"], ["x.y"]),
        ({"additionalProperties": MONEY}, ["x", "x.cents"], ["x.y"]),
        ({"patternProperties": {"^p": MONEY}, "additionalProperties": False}, ["p1", "p1.cents"], ["q"]),
        ({"properties": {"p": MONEY}}, ["p", "p.cents"], ["cents", "p.x"]),
        ({"properties": {"p": {"anyOf": [MONEY, {"type": "null"}]}}}, ["p.cents"], ["p.x"]),
        ({"properties": {"p": {"type": "array", "items": MONEY}}}, ["p"], ["p.cents", "p.0.cents"]),
        ({"allOf": [MONEY, {"properties": {"x": {"type": "string"}}}]}, ["cents", "x"], ["y"]),
        ({"oneOf": [MONEY, {"properties": {"x": True}}]}, ["cents", "x", "x.y"], ["y"]),
        ({**MONEY, "if": {"required": ["to"]}, "then": {"properties": {"x": True}}}, ["cents", "x"], ["y"]),
        ({**MONEY, "then": {"required": ["to"]}}, ["cents"], ["y"]),
        ({"$defs": {"m": MONEY}, "$ref": "#/$defs/m"}, ["cents"], ["x"]),
        ({"$defs": {"n": {"properties": {"next": {"$ref": "#/$defs/n"}}}}, "$ref": "#/$defs/n"}, ["next.next.next"], ["x"]),
        ({"properties": {"a.b": {"type": "string"}}}, [], ["a.b"]),
    ],
)  # fmt: skip
def test_which_arguments_are_possible(schema: Any, has: list[str], has_not: list[str]) -> None:
    assert [path for path in has if not possible(schema, path)] == []
    assert [path for path in has_not if possible(schema, path)] == []
