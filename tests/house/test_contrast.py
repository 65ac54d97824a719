"""Every colour of the console, recomputed from its stylesheet: text is legible and marks are seen, in both themes."""

import re
from pathlib import Path

import pytest

TOKENS = Path(__file__).parents[2] / "console" / "src" / "css" / "tokens.css"
STATUSES = ("run", "wait", "pause", "done", "fail", "cancel")
TEXT, MARK = 4.5, 3.0


def themes() -> dict[str, dict[str, str]]:
    text = TOKENS.read_text("utf-8")
    light, dark = re.findall(r"\{([^}]*)\}", text)[:2]
    read = [dict(re.findall(r"--([\w-]+):\s*(#[0-9a-f]{6})", block)) for block in (light, dark)]
    return {"light": read[0], "dark": {**read[0], **read[1]}}


def luminance(colour: str) -> float:
    parts = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_is_legible_on_every_ground_it_stands_on(theme: str) -> None:
    c = themes()[theme]
    pairs = [(ink, ground) for ink in ("ink", "ink-2", "ink-3") for ground in ("surface", "bg", "sunken")]
    pairs += [(s, ground) for s in STATUSES for ground in ("surface", "bg", f"{s}-t")]
    pairs += [("ink-3", "cancel-t"), ("ink", "wait-t"), ("ink-2", "wait-t"), ("on-ink", "ink"), ("on-ink", "fail")]
    poor = [
        f"{ink} on {ground}: {contrast(c[ink], c[ground]):.2f}"
        for ink, ground in pairs
        if contrast(c[ink], c[ground]) < TEXT
    ]
    assert not poor
    assert contrast("#ffffff", c["halt"]) >= TEXT


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_borders_of_fields_bars_and_the_focus_are_seen(theme: str) -> None:
    c = themes()[theme]
    marks = [(mark, ground) for mark in ("edge", "wait-m", "focus") for ground in ("surface", "bg")]
    marks += [(s, "surface") for s in STATUSES]
    poor = [
        f"{mark} on {ground}: {contrast(c[mark], c[ground]):.2f}"
        for mark, ground in marks
        if contrast(c[mark], c[ground]) < MARK
    ]
    assert not poor
