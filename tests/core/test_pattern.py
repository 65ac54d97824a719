"""Patterns are matched in linear time, and in bounded time whatever pattern and text."""

import time

import pytest
from tests.again import in_time

from adjourn.core.pattern import HEAVIEST, WORK, InvalidPattern, Pattern, anywhere, whole

CATASTROPHIC = [
    r"(a+)+",
    r"([a-z]+)+@corp\.com",
    r"(a|a)*b",
    r"(a|aa)+b",
    r"(.*)*x",
    r"(x+x+)+y",
    r"(\w+\s?)+:",
    r"(?:a?){30}a{30}",
    r"^(([a-z])+.)+[A-Z]([a-z])+$",
]


@pytest.mark.parametrize("pattern", CATASTROPHIC)
def test_what_stalls_a_backtracking_engine_takes_no_time(pattern: str) -> None:
    started = time.process_time()
    for text in ("a" * 26 + "!", "a" * 10_000 + "!", "aé" * 10_000):
        whole(pattern).fits(text)
        anywhere(pattern).fits(text)
    in_time(time.process_time() - started, 1.0)


@pytest.mark.parametrize("pattern", [r"(.*\w){200}", r"(?:a?){1000}a{1000}", r"[\w\d]{1,100}x", r"((\w?){5}){20}"])
def test_a_heavy_pattern_gets_shorter_texts(pattern: str) -> None:
    """The longest text that it takes is matched within the bound; a longer one is not matched at all."""
    compiled = whole(pattern)
    longest = "aé" * (WORK // compiled.weight // 2)
    started = time.process_time()
    compiled.fits(longest)
    in_time(time.process_time() - started, 1.0)
    with pytest.raises(ValueError, match="too long for this pattern"):
        compiled.fits(longest + "aé")


@pytest.mark.parametrize(
    ("pattern", "weight"),
    [
        ("a", 1),
        ("", 1),
        ("abc", 3),
        (r"\d{4}-\d{2}-\d{2}", 8 * 8 + 2),
        (r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", 8 * 8 + 3 * 33 + 1 + 12 * 8),
        (r"(ab){10}", 20),
        (r"((a{10}){10}){10}", 1000),
        (r"\[a{2,}", 3),
        (r"[]a{3}]", 8 + 3 + 1),
        ("a{x}", 4),
    ],
)
def test_what_is_repeated_weighs_as_often_as_it_is(pattern: str, weight: int) -> None:
    assert Pattern(pattern, None).weight == weight


@pytest.mark.parametrize(
    "pattern", [r"(?=a)", r"(?!a)", r"(?<=a)b", r"(?<!a)b", r"(a)\1", r"(?P<x>a)(?P=x)", "(", "[", "*", "a{2,1}"]
)
def test_what_the_engine_does_not_know_is_refused_with_a_reason(pattern: str) -> None:
    for make in (whole, anywhere):
        with pytest.raises(InvalidPattern) as refused:
            make(pattern)
        assert "\n" not in str(refused.value)
        assert len(str(refused.value)) > 10


def test_a_pattern_that_repeats_too_often_is_refused_before_it_is_compiled() -> None:
    started = time.process_time()
    with pytest.raises(InvalidPattern, match="too large"):
        whole(f"(?:(?:a{{{HEAVIEST}}}){{1000}}){{1000}}")
    in_time(time.process_time() - started, 0.1)


@pytest.mark.parametrize(
    ("value", "error"), [(5, TypeError), (None, TypeError), (b"a", TypeError), ("\ud800", ValueError)]
)
def test_what_is_not_a_string_is_an_error_and_not_a_mismatch(value: object, error: type[Exception]) -> None:
    with pytest.raises(error):
        whole(".*").fits(value)


def test_a_pattern_is_found_anywhere_or_describes_the_whole() -> None:
    assert anywhere("b").fits("abc")
    assert not whole("b").fits("abc")
    assert not anywhere("^b$").fits("a\nb\n")
