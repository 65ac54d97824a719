"""The console's pure modules, by their own tests: what hides is shown as on the command line, forms keep types, JSON loses nothing."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from tests import hostile

from adjourn.cli.visible import hidden, visible

CONSOLE = Path(__file__).parents[2] / "src" / "adjourn" / "console"
NODE = shutil.which("node")
MORE = [
    "", "refund", "Δt and µm", "pаypal.com Привет", "Grüße 東京 😀 e\u0301\u0301\u0301\u0301\u0301", "\u0301leading mark", "a\tb\r\nc",
    "⟨U+202E RIGHT-TO-LEFT OVERRIDE⟩", "ｆｕｌｌｗｉｄｔｈ and fｕll", "𝐛old and b𝐨ld", "x\u2800\u3164y", "\ue000 \U000f0000 \u0378",
    "ⅷ x²ⅸа",
    "".join(map(chr, range(0x20))), "".join(map(chr, range(0x7F, 0xB0))), "".join(map(chr, range(0x2000, 0x2070))), "aԚաꓮᏴⲟϲ ӀI",
]  # fmt: skip


@pytest.mark.skipif(not NODE, reason="needs node")
@pytest.mark.skipif(
    not (CONSOLE / "node_modules" / "esbuild").is_dir(), reason="needs the console's packages: make console"
)
def test_the_units_of_the_console(tmp_path: Path) -> None:
    texts = [*MORE, *hostile.STRINGS.values()]
    expected = tmp_path / "visible.json"
    cases = [{"text": text, "visible": visible(text), "hidden": hidden(text)} for text in texts]
    expected.write_text(json.dumps(cases), "utf-8")
    done = subprocess.run(
        [NODE or "", "test/run.mjs"], cwd=CONSOLE, env={**os.environ, "ADJOURN_VISIBLE": str(expected)}, capture_output=True,
        text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    assert "# skipped 0" in done.stdout
