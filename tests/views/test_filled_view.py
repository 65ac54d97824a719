"""A view takes from its source what nobody says otherwise."""

from dataclasses import dataclass

import msgspec
import pytest

from adjourn.views.filled_view import filled


class PointView(msgspec.Struct, frozen=True, kw_only=True):
    x: int
    y: int
    label: str = ""


@dataclass
class Point:
    x: int
    y: int
    label: str = "home"


def test_a_field_is_as_the_source_has_it_or_else_as_it_is_given() -> None:
    assert filled(PointView, Point(1, 2)) == PointView(x=1, y=2, label="home")
    assert filled(PointView, Point(1, 2), y=3, label="") == PointView(x=1, y=3)


def test_a_field_that_neither_has_is_not_left_out() -> None:
    with pytest.raises(AttributeError, match="label"):
        filled(PointView, PointWithoutLabel(1, 2))


@dataclass
class PointWithoutLabel:
    x: int
    y: int
