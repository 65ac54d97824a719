"""The page about the house is made twice alike, is close to the source, and says that the rooms have an order."""

import re
from typing import Any

import pytest
from tests.house.house_page import FACADES, PAGE, cycles, page, room_edges, rooms, walk_legs

AWAY = 0.2
"""How far a figure of the page may be from the source, as a part of it: a page that changes with every commit is no page."""
AT_LEAST = 12
FIGURE = re.compile(r"(?<![\w.])\d[\d,]*")


@pytest.fixture(scope="module")
def legs() -> list[dict[str, Any]]:
    return walk_legs()


def figures(row: str) -> list[int]:
    return [int(figure.replace(",", "")) for figure in FIGURE.findall(row)]


def rows_of(text: str) -> dict[str, list[int]]:
    """The figures of each line of a table, by its first cells."""
    found: dict[str, list[int]] = {}
    for line in text.splitlines():
        if line.startswith("| ") and not line.startswith("|--"):
            cells = [cell.strip() for cell in line.strip("| ").split("|")]
            key = cells[0] if cells[0].startswith("`") or cells[0] == "all" else " ".join(cells[:2])
            found[key] = [number for cell in cells[1:] for number in figures(cell) if cell[:1].isdigit()]
    return found


def test_it_is_made_twice_alike_to_the_byte(legs: list[dict[str, Any]]) -> None:
    assert page(legs) == page(walk_legs())


def test_the_page_is_close_to_the_source(legs: list[dict[str, Any]]) -> None:
    advice = "run `python -m tests.house.house_page`"
    written, now = rows_of(PAGE.read_text("utf-8")), rows_of(page(legs))
    assert set(written) <= set(now), advice  # a room that is new comes with the next page
    far = [
        f"{key}: the page says {old}, the source {new}"
        for key in written
        for old, new in zip(written[key][:3], now[key][:3], strict=True)
        if abs(old - new) > max(AT_LEAST, AWAY * new)
    ]
    assert not far, "\n".join([advice, *far])


SAYINGS = ("Rooms that import each other in a circle: ", "An HTTP approve reads the interrupt ")


def test_what_the_page_promises_is_what_was_found(legs: list[dict[str, Any]]) -> None:
    written, now = (
        [line for line in text.splitlines() if line.startswith(SAYINGS)]
        for text in (PAGE.read_text("utf-8"), page(legs))
    )
    assert written == now, "run `python -m tests.house.house_page`"
    assert [line for line in now if "none. " in line]
    assert [line for line in now if "1 time(s)" in line and "0 time(s)" in line]


def test_no_rooms_import_each_other_in_a_circle() -> None:
    assert not cycles(room_edges())
    assert cycles(frozenset({("a", "b"), ("b", "c"), ("c", "a"), ("d", "a"), ("a", "e")})) == {"a", "b", "c", "d"}


def test_an_approval_over_http_reads_the_interrupt_once_and_copies_no_runtime(legs: list[dict[str, Any]]) -> None:
    [approve] = [leg for leg in legs if leg["name"].endswith("/approve`")]
    assert approve["interrupt_reads"] == 1
    assert approve["runtime_copies"] == 0


def test_a_new_page_has_every_room(legs: list[dict[str, Any]]) -> None:
    found = {room["room"] for room in rooms()} - {"__init__"} - FACADES
    assert {"core", "driver", "runtime", "server", "cli"} <= found
    assert not [name for name in found if f"| `{name}` |" not in page(legs)]
