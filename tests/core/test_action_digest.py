"""Digests name exact things: equal values have one name, different things never share one."""

from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from adjourn.core.action_digest import action_digest, canonical, digest, idempotency_key

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)


def exactly(a: Any, b: Any) -> bool:
    """Equal as JSON: 1 is not true."""
    return canonical(a) == canonical(b)


@given(st.lists(texts, max_size=4), st.lists(texts, max_size=4))
def test_no_two_lists_of_texts_share_a_digest(one: list[str], two: list[str]) -> None:
    assert (digest(*one) == digest(*two)) == (one == two)


def test_moving_a_character_between_fields_changes_the_digest() -> None:
    cases = [("ab", "c"), ("a", "bc"), ("abc",), ("abc", ""), ("", "abc"), ("a", "b", "c"), ("1:a", ""), ("", "1:a")]
    assert len({digest(*fields) for fields in cases}) == len(cases)


@given(st.dictionaries(texts, values, max_size=4))
def test_the_order_of_keys_does_not_matter(value: dict[str, Any]) -> None:
    turned = dict(reversed(value.items()))
    assert canonical(value) == canonical(turned)
    assert digest(value) == digest(turned)


@given(values, values)
def test_different_values_have_different_digests(one: Any, two: Any) -> None:
    assume(not isinstance(one, str) and not isinstance(two, str))
    assert (digest(one) == digest(two)) == exactly(one, two)


def test_true_is_not_one_and_a_number_is_not_its_text() -> None:
    different: list[Any] = [True, 1, "1", 1.5, None, False, 0, "", [], {}]
    assert len({digest([x]) for x in different}) == len(different)


ACTION = ("run", "0.0", "refund", "definition", {"order": "1", "cents": 500})
OTHERS = ("ruN", "0.1", "refunds", "definition2", {"order": "1", "cents": 501})


def test_an_action_is_named_by_run_call_tool_definition_and_arguments() -> None:
    names = {action_digest(*ACTION)}
    for place, other in enumerate(OTHERS):
        changed: list[Any] = list(ACTION)
        changed[place] = other
        names.add(action_digest(*changed))
    assert len(names) == 1 + len(OTHERS)


def test_an_idempotency_key_is_never_an_action_digest() -> None:
    assert idempotency_key("run", "0.0", "refund", {}) != action_digest("run", "0.0", "refund", "", {})
    assert idempotency_key("run", "0.0", "refund", {"a": 1, "b": 2}) == idempotency_key(
        "run", "0.0", "refund", {"b": 2, "a": 1}
    )
    assert len(idempotency_key("run", "0.0", "refund", {})) == 64
