"""The console's pure modules, by their own tests: what hides is shown as on the command line, forms keep types, JSON loses nothing."""

import json
import os
import shutil
import subprocess
import unicodedata
from pathlib import Path

import pytest
from tests import hostile, posing

from adjourn.views.confusable_characters import CUT, LOOK_ALIKES
from adjourn.views.typescript import modules
from adjourn.views.visible import hidden, shown, visible

CONSOLE = Path(__file__).parents[2] / "console"
NODE = shutil.which("node")
MORE = [
    "", "refund", "Δt and µm", "pаypal.com Привет", "Grüße 東京 😀 e\u0301\u0301\u0301\u0301\u0301", "\u0301leading mark", "a\tb\r\nc",
    "⟨U+202E RIGHT-TO-LEFT OVERRIDE⟩", "ｆｕｌｌｗｉｄｔｈ and fｕll", "𝐛old and b𝐨ld", "x\u2800\u3164y", "\ue000 \U000f0000 \u0378",
    "ⅷ x²ⅸа",
    "".join(map(chr, range(0x20))), "".join(map(chr, range(0x7F, 0xB0))), "".join(map(chr, range(0x2000, 0x2070))), "aԚաꓮᏴⲟϲ ӀI",
]  # fmt: skip


def table() -> list[dict[str, object]]:
    """What the table says, whatever the implementations do."""
    cases: list[dict[str, object]] = [{"text": text, "visible": text, "hidden": 0} for text in posing.ORDINARY]
    for text, marked in posing.MARKED.items():
        left, seen = list(marked), ""
        for char in text:
            seen += shown(left.pop(0)) if left and left[0] == char else char
        assert not left, text
        cases.append({"text": text, "visible": seen, "hidden": len(marked)})
    return cases


def inside_names() -> list[str]:
    """Every character that has another form, and every look-alike, inside a host; and beside one."""
    forms = [c for n in range(0xA1, 0x2FA1E) if unicodedata.normalize("NFKC", c := chr(n)) != c and c != CUT]
    return [text for c in [*forms, *LOOK_ALIKES] for text in (f"a{c}b.com", f"{c} c.com")]


@pytest.mark.parametrize("case", table(), ids=lambda case: case["text"])
def test_the_command_line_marks_what_the_table_says(case: dict[str, object]) -> None:
    assert visible(str(case["text"])) == case["visible"]
    assert hidden(str(case["text"])) == case["hidden"]


def test_in_a_host_everything_that_has_another_form_is_marked() -> None:
    """But for signs that end a name, as their ASCII form does."""
    ends = set(" !\"$'()*,;<>[]^`{|}")
    for text in inside_names():
        if text.endswith("b.com") and unicodedata.normalize("NFKC", text[1])[0] not in ends:
            assert text[1] not in visible(text), text


@pytest.mark.skipif(not NODE, reason="needs node")
@pytest.mark.skipif(
    not (CONSOLE / "node_modules" / "esbuild").is_dir(), reason="needs the console's packages: make console"
)
def test_the_units_of_the_console(tmp_path: Path) -> None:
    for name, text in modules().items():
        (CONSOLE / "src" / "generated").mkdir(exist_ok=True)
        (CONSOLE / "src" / "generated" / name).write_text(text, "utf-8")
    texts = [*MORE, *hostile.STRINGS.values(), *inside_names()]
    expected = tmp_path / "visible.json"
    cases = [{"text": text, "visible": visible(text), "hidden": hidden(text)} for text in texts] + table()
    expected.write_text(json.dumps(cases), "utf-8")
    done = subprocess.run(
        [NODE or "", "test/run.mjs"], cwd=CONSOLE, env={**os.environ, "ADJOURN_VISIBLE": str(expected)}, capture_output=True,
        text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    assert "# skipped 0" in done.stdout
