"""The README's first program is as strict as the source: a newcomer's editor shows nothing red."""

import json
import subprocess
import sys
from pathlib import Path

from tests.docs.test_snippets import ROOT, blocks_of, is_python


def errors_in(program: str, folder: Path) -> list[str]:
    """What pyright says about it in its strict mode."""
    (folder / "quickstart.py").write_text(program, "utf-8")
    settings = {"typeCheckingMode": "strict", "include": ["quickstart.py"], "extraPaths": [str(ROOT / "src")]}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings), "utf-8")
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable, "-p", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    said = json.loads(done.stdout)
    assert said["summary"]["filesAnalyzed"] == 1
    return [f"{found['range']['start']['line'] + 1}: {found['message']}" for found in said["generalDiagnostics"]]


def test_the_quickstart_passes_the_strict_type_checker_as_written(tmp_path: Path) -> None:
    first = next(block for block in blocks_of((ROOT / "README.md").read_text("utf-8")) if is_python(block))
    assert not errors_in(first.text, tmp_path)


def test_a_quickstart_with_a_mistake_would_not_pass(tmp_path: Path) -> None:
    assert errors_in("from adjourn import Agent\n\nAgent(model=3)\n", tmp_path)
