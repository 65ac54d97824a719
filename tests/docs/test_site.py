"""The documentation is built without a warning: every link and every anchor leads somewhere."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.docs.api_pages import write
from tests.docs.test_snippets import ROOT


def test_the_documentation_is_built_without_a_warning(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    (tmp_path / ".ci").mkdir()
    for name in ("mkdocs.yml", ".ci/mkdocs_hook.py"):
        shutil.copy(ROOT / name, tmp_path / name)
    write(tmp_path / "docs" / "reference" / "api")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr[-4000:]
    assert (tmp_path / "site" / "reference" / "api" / "adjourn.html").is_file()
