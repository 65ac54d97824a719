"""A call in a few words: the author's template, checked when it is written; values that cannot pass for the words around them."""

from typing import Any

import pytest

from adjourn import InvalidDefinition, Tool, tool
from adjourn.core.call_phrase import LONGEST, check_template, listed, phrase


def pay(order_id: str, cents: int, note: str = "") -> str:
    """Pay."""
    return "paid"


def test_a_tool_says_its_call_in_its_author_s_words() -> None:
    made = tool(describe="refund {cents} of order {order_id}")(pay)
    assert made.phrase({"order_id": "4417", "cents": 48250}) == "refund 48250 of order 4417"
    assert tool(pay).phrase({"order_id": "4417"}) == ""


def test_a_tool_with_a_schema_of_its_own_may_say_it_too() -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {"to": {"type": "string"}}}

    def mail(to: str) -> str:
        return to

    assert Tool("mail", "", schema, mail, describe="mail to {to}").phrase({"to": "ana"}) == "mail to ana"


@pytest.mark.parametrize(
    ("template", "says"),
    [
        ("order {order}", r"names {order}, which is not a parameter.*its parameters are: order_id, cents, note"),
        ("order {order_id.__class__}", r"must be the name of a parameter"),
        ("order {order_id[0]}", r"must be the name of a parameter"),
        ("order {order_id!r}", r"only a parameter's name may stand"),
        ("order {order_id:>99999}", r"only a parameter's name may stand"),
        ("order {}", r"must be the name of a parameter"),
        ("order {0}", r"must be the name of a parameter"),
        ("order {order_id", r"cannot be read.*write {{ for a literal brace"),
        ("order }", r"cannot be read"),
        ("two\nlines", r"one line of at most 200 characters"),
        ("x" * (LONGEST + 1), r"one line of at most 200 characters"),
        (7, r"must be a string"),
    ],
)
def test_a_template_that_is_none_is_an_error_where_it_is_written(template: Any, says: str) -> None:
    with pytest.raises(InvalidDefinition, match=rf"(?s)tool 'pay': describe=.*{says}"):
        tool(describe=template)(pay)


def test_doubled_braces_are_braces() -> None:
    check_template("{{order_id}}", [], "x")
    assert phrase("{{order_id}} {a}", {"a": 1}) == "{order_id} 1"


def test_what_a_model_sends_is_put_in_and_never_read() -> None:
    hostile = "{cents} {0.__class__} {order_id!r}"
    assert phrase("order {order_id}", {"order_id": hostile, "cents": 1}) == f'order "{hostile}"'


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("4417", "4417"), ("", '""'), ("Nordvarme AS", '"Nordvarme AS"'), ('x" approved by ana', '"x\\" approved by ana"'),
        ("a\nb", '"a\\nb"'), (12, "12"), (1.5, "1.5"), (True, "true"), (None, "null"), ([1, "a"], '[1, "a"]'),
        ("x" * 99, "x" * 59 + "…"),
    ],
)  # fmt: skip
def test_a_value_cannot_be_taken_for_the_words_around_it(value: Any, shown: str) -> None:
    assert phrase("of {a}", {"a": value}) == f"of {shown}"


def test_a_parameter_that_was_left_out_is_a_dash() -> None:
    assert phrase("of {a}", {}) == "of –"


def test_without_a_template_the_first_three_required_arguments_are_listed() -> None:
    args = {"z": 1, "order_id": "4417", "cents": 5, "note": "x y", "more": 2}
    assert listed("refund", args, ["order_id", "cents", "note", "more"]) == 'refund order_id 4417, cents 5, note "x y"'
    assert listed("refund", args) == "refund z 1, order_id 4417, cents 5"
    assert listed("refund", {}) == listed("refund", None) == "refund"
    assert len(phrase("{a} " * 9, {"a": "x" * 60})) == LONGEST
