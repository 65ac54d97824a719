"""Colour, width and characters: for a terminal that wants them, and never in a pipe."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from tests.cli.conftest import AtTerminal, Run, screen

from adjourn.cli.terminal.console import fit, wrap
from adjourn.cli.terminal.format import age, duration, exact, short_id


def test_a_pipe_gets_no_colour_even_if_colour_is_forced(process: Run, waiting: str) -> None:
    for command in (["runs"], ["show", waiting], ["inbox"], ["inbox", waiting]):
        said = process(*command, FORCE_COLOR="1", TTY_COMPATIBLE="1", COLUMNS="40")
        assert "\x1b" not in said.out + said.err
        assert waiting in said.out or command[0] == "inbox", "in a pipe nothing is shortened"


def test_a_terminal_gets_sixteen_colours_and_no_color_none(terminal: AtTerminal, waiting: str) -> None:
    coloured = terminal("runs")
    assert coloured.end() == 0 and "\x1b[33m◆ waiting" in coloured.text and "\x1b[38" not in coloured.text
    for env in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        plain = terminal("runs", **env)
        assert plain.end() == 0 and "◆ waiting" in plain.text and "\x1b" not in plain.text


def test_a_narrow_terminal_shortens_lists_but_no_approval(terminal: AtTerminal, waiting: str) -> None:
    for words in (["runs"], ["show", waiting], ["watch", waiting, "--rest"]):
        one = terminal(*words, columns=60, NO_COLOR="1")
        assert one.end() in (0, 3)
        shown = [line for line in screen(one.text) if "adjourn " not in line]
        assert all(cell_len(line) <= 60 for line in shown), words
    item = terminal("inbox", waiting, columns=50, NO_COLOR="1")
    item.answer("ater  ?", "later")
    assert item.end() == 3 and "48250" in item.text and '"photos 1-4"' in item.text


def test_without_utf8_there_are_ascii_glyphs(process: Run, waiting: str) -> None:
    for command, glyph in ((["runs"], "! waiting"), (["inbox", waiting], "! refund needs approval")):
        said = process(*command, PYTHONIOENCODING="ascii")
        assert said.out.isascii() and said.err.isascii() and glyph in said.out


@given(st.text(), st.integers(4, 90))
def test_wrapping_loses_nothing_and_keeps_the_width(text: str, width: int) -> None:
    text = "".join(c for c in text if c.isprintable())
    pieces = wrap(text, width)
    assert "".join(pieces) == text
    assert all(cell_len(piece) <= width for piece in pieces)


def test_a_named_character_is_not_cut() -> None:
    assert wrap("some words ⟨U+202E RIGHT-TO-LEFT OVERRIDE⟩x", 34) == [
        "some words ",
        "⟨U+202E RIGHT-TO-LEFT OVERRIDE⟩x",
    ]


@given(st.text(), st.integers(1, 40))
def test_a_cell_has_exactly_its_width(text: str, width: int) -> None:
    text = "".join(c for c in text if c.isprintable())
    assert cell_len(fit(text, width)) == width


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.012, "12ms"), (0.3, "0.3s"), (43, "43s"), (61, "1m01s"), (660, "11m"), (59_280, "16h28m"), (400_000, "4d")],
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_ages_have_one_unit() -> None:
    assert [age(s) for s in (5, 65, 7200, 200_000)] == ["5s", "1m", "2h", "2d"]


def test_values_are_shown_exactly() -> None:
    assert exact({"a": [1, 2.5, None, True, 'say "hi"\\']}) == '{"a": [1, 2.5, null, true, "say \\"hi\\"\\\\"]}'


def test_generated_ids_are_shortened_and_given_ones_are_not() -> None:
    assert short_id("7Q2M-41KD-9XKQ-Z0P1") == "7Q2M-41KD"
    assert short_id("A539-FDE9-276A-90E8-302F") == "A539-FDE9", "one that the server made of a request's key"
    assert short_id("order-4417-of-ana") == "order-4417-of-ana"
