"""Nothing that an agent wrote can act on a terminal, or hide from a person."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.again import in_time

from adjourn.views.visible import hidden, lines, visible

CORPUS = [
    ("\x1b[31mred\x1b[0m", "⟨U+001B ESCAPE⟩[31mred⟨U+001B ESCAPE⟩[0m"),
    ("\x1b]0;title\x07", "⟨U+001B ESCAPE⟩]0;title⟨U+0007 BELL⟩"),
    ("\x1b]8;;http://x\x1b\\click", "⟨U+001B ESCAPE⟩]8;;http://x⟨U+001B ESCAPE⟩\\click"),
    ("\x9b2J", "⟨U+009B CONTROL SEQUENCE INTRODUCER⟩2J"),
    ("a\u202eb\u202c", "a⟨U+202E RIGHT-TO-LEFT OVERRIDE⟩b⟨U+202C POP DIRECTIONAL FORMATTING⟩"),
    ("\u2066x\u2069", "⟨U+2066 LEFT-TO-RIGHT ISOLATE⟩x⟨U+2069 POP DIRECTIONAL ISOLATE⟩"),
    ("in\u200bvisible", "in⟨U+200B ZERO WIDTH SPACE⟩visible"),
    ("\ufeffx", "⟨U+FEFF ZERO WIDTH NO-BREAK SPACE⟩x"),
    ("one\ntwo\r\n", "one⟨U+000A LINE FEED⟩two⟨U+000D CARRIAGE RETURN⟩⟨U+000A LINE FEED⟩"),
    ("a\tb\x00\x7f", "a⟨U+0009 CHARACTER TABULATION⟩b⟨U+0000 NULL⟩⟨U+007F DELETE⟩"),
    ("\u2028\u2029\x85", "⟨U+2028 LINE SEPARATOR⟩⟨U+2029 PARAGRAPH SEPARATOR⟩⟨U+0085 NEXT LINE⟩"),
    ("rm\u00a0-rf\u2003/", "rm⟨U+00A0 NO-BREAK SPACE⟩-rf⟨U+2003 EM SPACE⟩/"),
    ("\U000e0041\U000e0042", "⟨U+E0041 TAG LATIN CAPITAL LETTER A⟩⟨U+E0042 TAG LATIN CAPITAL LETTER B⟩"),
    ("x\ufe0f\U000e0100", "x⟨U+FE0F VARIATION SELECTOR-16⟩⟨U+E0100 VARIATION SELECTOR-17⟩"),
    ("\u3164\u2800", "⟨U+3164 HANGUL FILLER⟩⟨U+2800 BRAILLE PATTERN BLANK⟩"),
    ("\ue000\u0378", "⟨U+E000 PRIVATE USE⟩⟨U+0378 NOT ASSIGNED⟩"),
    ("p\u0430ypal", "p⟨U+0430 CYRILLIC SMALL LETTER A⟩ypal"),
    ("\u0301x", "⟨U+0301 COMBINING ACUTE ACCENT⟩x"),
    ("⟨U+202E⟩", "⟨U+27E8 MATHEMATICAL LEFT ANGLE BRACKET⟩U+202E⟩"),
]


@pytest.mark.parametrize(("given", "shown"), CORPUS)
def test_what_hides_is_shown_by_number_and_name(given: str, shown: str) -> None:
    assert visible(given) == shown


@pytest.mark.parametrize(
    "text", ["plain", "naïve Ångström", "Привет", "日本語", "Δt = 3 µm", "“photos 1–4” ✓", "a\u0301"]
)
def test_ordinary_text_of_any_script_stays_as_it_is(text: str) -> None:
    assert visible(text) == text
    assert hidden(text) == 0


@given(st.text())
def test_the_result_is_always_one_printable_line(text: str) -> None:
    assert visible(text).isprintable()


@given(st.text(), st.text())
def test_two_texts_never_look_the_same(one: str, other: str) -> None:
    assert (visible(one) == visible(other)) == (one == other)


def test_hidden_characters_are_counted_without_line_feeds_and_tabs() -> None:
    assert hidden("a\n\tb") == 0
    assert hidden("a\u202e\n\u200b") == 2


def test_a_text_with_lines_keeps_them_where_each_has_its_margin() -> None:
    assert lines("a\r\nb\x1b\nc") == ["a", "b⟨U+001B ESCAPE⟩", "c"]


def test_a_large_text_is_quick_and_whole() -> None:
    text = "é\u202eabc " * 20_000
    began = time.process_time()
    shown = visible(text)
    in_time(time.process_time() - began, 2)
    assert shown.count("⟨U+202E RIGHT-TO-LEFT OVERRIDE⟩") == 20_000
