"""Programs that are not the project's, which some tests start: what `make programs` installs."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.local_server import skip_without

HERE = Path(__file__).parent / "programs"


def program(name: str) -> str:
    """The path of a program. Without it the test is skipped; in CI it fails."""
    places = (str(HERE), str(Path(sys.executable).parent), os.environ.get("PATH", ""), "/usr/sbin")
    found = shutil.which(name, path=os.pathsep.join(places))
    if found is None:
        skip_without(name, "tests/deploy/install.sh installs it on Debian")
    return found


def run(name: str, *given: str, folder: Path | None = None, text: str = "") -> str:
    """What a program says that must succeed."""
    done = subprocess.run(
        [program(name), *given], cwd=folder, input=text, capture_output=True, text=True, timeout=60, check=False
    )
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    return said
