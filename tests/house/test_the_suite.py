"""The suite itself: a test process that crashes or hangs ends the run, and says at which test."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from tests.house.defects import ROOT

LIMIT = 120.0

ENDINGS = {
    "killed": "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
    "exits": "import os; os._exit(0)",
    "hangs": "import threading; threading.Event().wait()",
}


def flags() -> list[str]:
    """How `make test` runs pytest; without the option that only this project's conftest has."""
    plain = {k: v for k, v in os.environ.items() if not k.startswith("MAKE")}
    said = subprocess.run(
        ["make", "-n", "test"], cwd=ROOT, capture_output=True, text=True, check=True, env=plain
    ).stdout
    [line] = [line for line in said.splitlines() if " -m pytest " in line]
    return [flag for flag in shlex.split(line.partition(" -m pytest ")[2]) if flag != "--alone"]


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_test_process_that_ends_oddly_ends_the_run_and_is_named(ending: str, tmp_path: Path) -> None:
    (tmp_path / "test_odd.py").write_text(f"def test_before(): pass\n\n\ndef test_odd():\n    {ENDINGS[ending]}\n")
    (tmp_path / "pytest.ini").write_text("[pytest]\nfaulthandler_timeout = 3\nfaulthandler_exit_on_timeout = true\n")
    # Of all that is installed, only what ends a run: loading the rest takes longer than the test.
    alone = {**os.environ, "PYTEST_ADDOPTS": "", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "xdist", *flags(), "-p", "no:cacheprovider", "-c", "pytest.ini", "test_odd.py"],
        cwd=tmp_path, capture_output=True, text=True, timeout=LIMIT, env=alone, check=False,
    )  # fmt: skip
    assert done.returncode == pytest.ExitCode.TESTS_FAILED, done.stdout + done.stderr
    assert "crashed while running 'test_odd.py::test_odd'" in done.stdout
