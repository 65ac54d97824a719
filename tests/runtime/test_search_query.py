"""What people type to find runs: words, keys, bounds, and what is told of a key that there is not."""

from typing import Any

import pytest

from adjourn.errors import Invalid
from adjourn.runtime.search_query import searched
from adjourn.stores.protocol import Filter
from adjourn.stores.run_entry import line
from adjourn.stores.run_index import Bound, RunSearch

NOW = 1_800_000_000.0


def read(text: str, **fields: Any) -> Filter:
    return searched(text, Filter(**fields), NOW)


def test_words_are_looked_for_in_small_letters_and_quotation_marks_keep_them_together() -> None:
    assert read('Refund "Card  Expired" re_1').search == RunSearch(("refund", "card  expired", "re_1"))


def test_nothing_typed_asks_for_nothing() -> None:
    assert read("  ") == read('""') == Filter()


def test_keys_of_the_list_set_its_filter() -> None:
    found = read("agent:desk status:Failed since:2d before:2027-01-01")
    assert (found.program, found.status, found.search) == ("desk", "failed", None)
    assert (found.since, found.until) == (NOW - 2 * 86_400, 1_798_761_600.0)


def test_keys_of_the_index_must_be_equal_to_a_line_of_it() -> None:
    found = read('tool:refund arg.Order_ID:4417 label.team:"eu west"').search
    assert found == RunSearch((line("tool", "refund"), line("arg.Order_ID", "4417"), line("label.team", "eu west")))


@pytest.mark.parametrize(
    ("text", "bound"),
    [
        ("cost:>0.05", Bound("cost", 0.05)),
        ("cost:$2", Bound("cost", 2.0)),
        ("cost:<=2", Bound("cost", 2.0, most=True)),
        ("took:>10m", Bound("took", 600.0)),
        ("waited:<90s", Bound("waited", 90.0, most=True)),
        ("tokens:5000", Bound("tokens", 5000.0)),
    ],
)
def test_numbers_are_bounds(text: str, bound: Bound) -> None:
    assert read(text).search == RunSearch(bounds=(bound,))


def test_an_address_is_a_word() -> None:
    assert read("https://example.org/x").search == RunSearch(("https://example.org/x",))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("costt:>3", "did you mean 'cost'"),
        ("zebra:3", "use one of agent, status"),
        ("cost:much", "cost must be a number"),
        ("cost:>-1", "cost must be a number"),
        ("took:inf", "took must be a number"),
        ("status:sleeping", "unknown status 'sleeping'"),
        ("since:yesterday", "is not a time"),
        ("arg.:4", "unknown key"),
        ("w " * 21, "at most 20 words"),
        ("x" * 1001, "at most 1000 characters"),
    ],
)
def test_what_cannot_be_is_refused_and_never_taken_as_a_word(text: str, says: str) -> None:
    with pytest.raises(Invalid) as refused:
        read(text)
    assert says in f"{refused.value} {refused.value.advice}"


def test_a_list_that_is_filtered_already_is_not_filtered_otherwise() -> None:
    assert read("agent:desk", program="desk").program == "desk"
    with pytest.raises(Invalid, match="agent is given twice"):
        read("agent:desk", program="cook")
