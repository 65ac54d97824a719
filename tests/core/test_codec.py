"""JSON at the edges: what goes into a journal is made plain, what comes from outside is read strictly."""

import enum
import json
import math
import socket
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, cast
from uuid import UUID

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel
from tests.again import in_time

from adjourn import Invalid, NotJSON
from adjourn.core.codec import MAX_BYTES, MAX_DEPTH, encode, loads, plain


class Colour(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


class Address(BaseModel):
    city: str
    since: date


@dataclass
class Customer:
    name: str
    address: Address
    note: object = None


class Parcel(msgspec.Struct):
    weight: float
    to: Address | None = None


ADDRESS = Address(city="Bern", since=date(2024, 2, 29))
plain_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


# Into a journal


@pytest.mark.parametrize(
    ("value", "turned"),
    [
        (ADDRESS, {"city": "Bern", "since": "2024-02-29"}),
        (Customer("Ada", ADDRESS), {"name": "Ada", "address": {"city": "Bern", "since": "2024-02-29"}, "note": None}),
        ([Customer("Ada", ADDRESS, [ADDRESS])][0].note, [{"city": "Bern", "since": "2024-02-29"}]),
        (Parcel(1.5), {"weight": 1.5, "to": None}),
        (datetime(2025, 1, 2, 3, 4, 5, tzinfo=UTC), "2025-01-02T03:04:05Z"),
        (timedelta(hours=1), "PT1H"),
        (Colour.RED, "red"),
        (Level.HIGH, 3),
        (Decimal("1.10"), "1.10"),
        (UUID(int=5), "00000000-0000-0000-0000-000000000005"),
        (Path("/a/b"), "/a/b"),
        ((1, (2, 3)), [1, [2, 3]]),
        ({1: "one", 2: "two"}, {"1": "one", "2": "two"}),
        ({Colour.RED: Level.HIGH}, {"red": 3}),
        (frozenset({7}), [7]),
        (b"text", "text"),
        (True, True),
        (-0.0, -0.0),
        (2**70, 2**70),
        ("\N{PILE OF POO} \u202e", "\N{PILE OF POO} \u202e"),
    ],
)
def test_whatever_pydantic_turns_into_json_is_made_plain(value: Any, turned: Any) -> None:
    made = plain(value)
    assert made == turned
    assert json.loads(encode(made)) == turned


@given(plain_json)
def test_plain_data_stays_as_it_is(value: Any) -> None:
    assert plain(value) == value
    assert loads(encode(plain(value))) == value


@given(plain_json)
def test_plain_gives_a_copy_of_every_container(value: Any) -> None:
    def containers(x: Any) -> set[int]:
        match x:
            case dict():
                inner = list(cast("dict[str, Any]", x).values())
            case list():
                inner = cast("list[Any]", x)
            case _:
                return set()
        return {id(cast("object", x))}.union(*(containers(i) for i in inner))

    assert not containers(value) & containers(plain(value))


def closure() -> Any:
    return lambda: None


@pytest.mark.parametrize(
    ("value", "where"),
    [
        ({"callback": closure()}, "payload.callback: a value of type function"),
        ({"steps": [1, {"then": closure()}]}, "payload.steps[1].then: a value of type function"),
        (Customer("Ada", ADDRESS, closure()), "payload.note: a value of type function"),
        ({"who": Customer("Ada", ADDRESS, [object()])}, "payload.who.note[0]: a value of type object"),
        (print, "payload: a value of type builtin_function_or_method"),
        ({"amount": math.nan}, "payload.amount: the number nan"),
        ([1.0, math.inf], "payload[1]: the number inf"),
        ({"text": "\ud800"}, "payload.text: a lone surrogate"),
        ({"\udfff": 1}, "payload: a lone surrogate"),
        ({"kind": int}, "payload.kind: a value of type type"),
        (ValueError("x"), "payload: a value of type ValueError"),
        (b"\xff", "payload: a value of type bytes"),
        ({1: "a", "1": "b"}, "payload.1: a key that appears twice"),
        ({object(): 1}, "payload: a key of type object"),
    ],
)
def test_what_cannot_be_json_is_refused_naming_the_path(value: Any, where: str) -> None:
    with pytest.raises(NotJSON) as caught:
        plain(value, "payload")
    assert str(caught.value).startswith(where)
    assert caught.value.path == where.partition(":")[0]


def test_a_nan_inside_a_model_is_refused_naming_its_field() -> None:
    class Reading(BaseModel):
        value: float

    with pytest.raises(NotJSON, match=r"^payload\.readings\[0\]\.value: the number nan"):
        plain({"readings": [Reading(value=math.nan)]}, "payload")


def test_a_socket_and_a_file_are_refused() -> None:
    with socket.socket() as s, pytest.raises(NotJSON, match=r"^payload\.conn: a value of type socket"):
        plain({"conn": s}, "payload")
    with open(__file__, encoding="utf-8") as file:
        with pytest.raises(NotJSON, match=r"^payload\.log: a value of type TextIOWrapper"):
            plain({"log": file}, "payload")
        assert file.tell() == 0


def test_a_cycle_is_refused_not_followed() -> None:
    ring: list[Any] = []
    ring.append(ring)
    loop: dict[str, Any] = {}
    loop["self"] = [loop]
    customer = Customer("Ada", ADDRESS)
    customer.note = customer
    for cycle in (ring, loop, customer):
        with pytest.raises(NotJSON):
            plain(cycle)


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def test_nesting_has_a_limit_on_the_way_in() -> None:
    assert plain(nested(MAX_DEPTH)) == nested(MAX_DEPTH)
    with pytest.raises(NotJSON, match="deeper than"):
        plain(nested(MAX_DEPTH + 2))
    with pytest.raises(NotJSON, match="deeper than"):
        plain(nested(100_000))


# From outside


@pytest.mark.parametrize("text", ["{}", "[1, 2.5, -3e2, true, null]", '{"a": {"a": 1}}', '"\\ud83d\\ude00"', " 1 "])
def test_ordinary_json_is_read(text: str) -> None:
    assert loads(text) == loads(text.encode()) == json.loads(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"a": 1, "a": 2}', "'a' appears twice"),
        ('[{"x": {"b": 1, "c": 2, "b": 1}}]', "'b' appears twice"),
        ('{"\\u0061": 1, "a": 2}', "'a' appears twice"),
        ("NaN", "NaN is not valid JSON"),
        ('{"a": [Infinity]}', "Infinity is not valid JSON"),
        ("-Infinity", "-Infinity is not valid JSON"),
        ("1e400", "out of range"),
        ("-1e999", "out of range"),
        ('"\\ud800"', "lone surrogate"),
        ('{"\\udc00": 1}', "lone surrogate"),
        ('"\\ud83d\\u0041"', "lone surrogate"),
        ('"\ud800"', "lone surrogate"),
        ("", "not valid JSON"),
        ("{", "not valid JSON"),
        ("[1,]", "not valid JSON"),
        ("{'a': 1}", "not valid JSON"),
        ("1 2", "not valid JSON"),
        ('"a\nb"', "not valid JSON"),
        ("9" * 5000, "not valid JSON"),
        (b"\xff\xfe", "not UTF-8"),
        ('"a"'.encode("utf-16"), "not UTF-8"),
        (b"\xef\xbb\xbf{}", "not valid JSON"),
    ],
)
def test_what_is_not_strict_json_is_refused_saying_why(text: str | bytes, said: str) -> None:
    with pytest.raises(Invalid) as caught:
        loads(text, what="the answer")
    assert str(caught.value).startswith("the answer")
    assert said in str(caught.value)


@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 10_000, 1_000_000])
@pytest.mark.parametrize(("opens", "closes"), [("[", "]"), ('{"a":', "}")])
def test_deep_nesting_is_refused_before_anything_is_built(depth: int, opens: str, closes: str) -> None:
    with pytest.raises(Invalid, match="deeper than 100 levels"):
        loads(opens * depth + "1" + closes * depth)
    with pytest.raises(Invalid, match="deeper than 100 levels"):
        loads(opens * depth)


def test_brackets_inside_texts_are_not_nesting() -> None:
    text = json.dumps(["[{" * 500, '\\"[[' * 500, {"[": "]"}])
    assert loads(text) == json.loads(text)


def test_the_deepest_that_is_allowed_is_read() -> None:
    assert loads("[" * MAX_DEPTH + "]" * MAX_DEPTH) is not None


def measured(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds, and megabytes at the peak."""
    tracemalloc.start()
    begun = time.perf_counter()
    try:
        work()
        return time.perf_counter() - begun, tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()


def test_a_hundred_megabytes_are_refused_without_being_read() -> None:
    text = "[" * 100_000_000

    def refuse() -> None:
        with pytest.raises(Invalid, match=f"100,000,000 bytes, and at most {MAX_BYTES:,}"):
            loads(text)

    seconds, megabytes = measured(refuse)
    in_time(seconds, 1)
    assert megabytes < 1


def test_a_long_text_full_of_quotes_and_brackets_is_read_in_bounded_time_and_memory() -> None:
    text = json.dumps('{"a": [1]},' * 1_000_000)
    seconds, megabytes = measured(lambda: loads(text))
    in_time(seconds, 5)
    assert megabytes < 10 * len(text) / 1e6
