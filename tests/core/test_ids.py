"""Ids: what people may choose is one alphabet, and a ref is split as it was built."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjourn.core.ids import CHOSEN, check_chosen, check_imported, local_of, public_id, ref_of, split_ref
from adjourn.errors import Invalid
from adjourn.server.schemas import RUN_ID

GOOD = ["a", "7", "order-1", "order 1", "7Q2M-41KD-9XKQ-Z0P1", "a.b_c~2", "x" * 200]
BAD: list[Any] = [
    "", " a", "-rf", ".hidden", "~a", "_a", "a:b", "a?b", "a/b", "a!b", "a#b", "a\\b", "a;b", "a$(b)", "a`b`", "a'b", 'a"b',
    "a&b", "a|b", "a>b", "a*", "a\nb", "a\n", "a\tb", "a\x00", "ünï", "а", "a\u202eb", "a\u00a0b", "x" * 201, None, 7, b"a", ["a"],
]  # fmt: skip
LOCALS = [
    "2.0?0",
    "2.0/1.1?3",
    "each#0[3]/item#0?0",
    "model:?0",
    "model:2.0?1",
    "verify:2.0?0",
    "poison?0",
    "confirm",
    "confirm~2",
]


@pytest.mark.parametrize("id", GOOD)
def test_an_id_of_the_alphabet_is_taken_as_it_is(id: str) -> None:
    assert check_chosen(id, "run_id") == id


@pytest.mark.parametrize("id", BAD)
def test_any_other_is_refused_naming_the_argument_and_the_alphabet(id: Any) -> None:
    with pytest.raises(Invalid, match=r"^interrupt_id must be a short text of letters.*at most 200 characters, got"):
        check_chosen(id, "interrupt_id")


@given(st.text(max_size=220))
def test_the_alphabet_is_that_of_http(text: str) -> None:
    def takes(check: Any) -> bool:
        try:
            return bool(check(text, "run_id"))
        except Invalid:
            return False

    whole = re.fullmatch(RUN_ID["pattern"].removeprefix("^").removesuffix("$"), text) is not None
    assert takes(check_chosen) == whole
    if whole:
        assert check_imported(text) == text, "what can be chosen can be imported"


def test_http_takes_its_pattern_from_here() -> None:
    assert RUN_ID["pattern"] == f"^{CHOSEN}$"


@pytest.mark.parametrize("run", [*GOOD, "order 1; touch pwned", "-rf", "ünï"])
@pytest.mark.parametrize("local", LOCALS)
def test_a_ref_is_split_as_it_was_built(run: str, local: str) -> None:
    ref = ref_of(run, local)
    assert split_ref(ref) == (run, local)
    assert {local_of(run, name) for name in (ref, public_id(run, local), local)} == {local}


@given(
    st.tuples(st.sampled_from(GOOD), st.sampled_from(LOCALS)), st.tuples(st.sampled_from(GOOD), st.sampled_from(LOCALS))
)
def test_two_interrupts_never_share_a_ref(one: tuple[str, str], other: tuple[str, str]) -> None:
    assert (ref_of(*one) == ref_of(*other)) == (one == other)


@pytest.mark.parametrize("run", ["a:b", "a?b", "a/b", "", "a\nb", "\x1b[2J", "x" * 201])
def test_a_journal_from_elsewhere_has_an_id_that_earlier_versions_allowed(run: str) -> None:
    assert check_imported("order 1; touch pwned") == "order 1; touch pwned"
    with pytest.raises(Invalid, match="nothing was imported"):
        check_imported(run)
