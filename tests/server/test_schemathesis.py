"""The whole API, driven by its own document: no 5xx, no answer that is not in it. (Schemathesis, all checks, stateful.)"""

import asyncio
import json
import signal
import sys
from pathlib import Path

import pytest
from tests.server.process import Process

from adjourn.server.api.operations import OPERATIONS
from adjourn.server.front_ends.endpoints import FRONT_ENDS

CONFIG = """
[parameters]
"query.follow" = "false"

# What is too long is refused before it is read: 413.
[checks]
negative_data_rejection.expected-statuses = ["400", "401", "403", "404", "405", "409", "413", "415", "422", "423", "428", "429", "5xx"]

[phases.stateful]
generation.max-examples = {stateful}

# Whether an answer fits its question, an edit its tool, or a number a boundary is known to the run, not to the document; nor does
# that know whether an id that an author chose names one interrupt or several, which keys a search has, that many runs are either
# named or found, which names could be taken for another's, what a grant may say, how long a
# span may be, which time it is, which keys a browser can have, whether bytes are a file, or what a message of a front end says.
[[operations]]
include-name = [
    "POST /api/v1/interrupts/{{ref}}/answer", "POST /api/v1/interrupts/{{ref}}/approve",
    "POST /api/v1/interrupts/{{ref}}/deny", "POST /api/v1/runs/{{run_id}}/fork", "POST /api/v1/runs/{{run_id}}/resume",
    "POST /api/v1/interrupts/{{ref}}/retry-all", "GET /api/v1/interrupts/{{ref}}/alike",
    "GET /api/v1/runs", "POST /api/v1/runs/bulk", "POST /api/v1/runs/deny-all",
    "POST /api/v1/people", "POST /api/v1/people/change", "GET /api/v1/numbers", "POST /api/v1/interrupts/{{ref}}/snooze",
    "POST /api/v1/me/notifications", "POST /api/v1/runs/{{run_id}}/say",
    "POST /ag-ui/{{agent}}", "POST /ag-ui/{{agent}}/connect", "POST /ai-sdk/{{agent}}",
]
checks.positive_data_acceptance.expected-statuses = ["2xx", "401", "403", "404", "409", "422", "423", "429"]
"""


ALL = "coverage,fuzzing,stateful"


async def campaign(folder: Path, role: str, examples: int, stateful: int, *, phases: str = ALL, seed: str = "") -> None:
    """One server, one client of this role, every operation. One worker: with a seed, it is the same campaign every time."""
    config = folder / "schemathesis.toml"
    config.write_text(CONFIG.format(stateful=stateful))
    server = await Process.begin(address="memory://", own_users=True, seed=True)
    key = json.loads(server.up["keys"]).get(role)
    try:
        tool = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "schemathesis.cli", "--config-file", str(config), "run", f"{server.up['url']}/api/v1/openapi.json",
            *(["-H", f"Authorization: Bearer {key}"] if key else []), "--checks", "all", "--max-examples", str(examples),
            "--no-color", "--workers", "1", "--phases", phases, "--generation-database", "none", *(["--seed", seed] if seed else []),
            cwd=folder, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
        )  # fmt: skip
        said, _ = await tool.communicate()
        assert tool.returncode == 0, said.decode()[-60_000:]
        count = len(OPERATIONS) + len(FRONT_ENDS)
        assert f"{count} selected / {count} total".encode() in said
    finally:
        assert await server.end(signal.SIGTERM) == 0


async def test_no_request_is_answered_in_a_way_that_is_not_documented(tmp_path: Path) -> None:
    """A sample here; many more in `test_no_request_at_all_…`."""
    await campaign(tmp_path, "admin", examples=10, stateful=5, seed="1")


@pytest.mark.parametrize("role", ["viewer", "operator", "approver", "run", "nobody"])
async def test_whoever_asks_the_answers_are_documented(tmp_path: Path, role: str) -> None:
    phases = (
        "fuzzing,stateful" if role in ("operator", "approver") else "fuzzing"
    )  # others can start nothing to go on with
    await campaign(tmp_path, role, examples=3, stateful=2, phases=phases, seed="1")


@pytest.mark.crash
@pytest.mark.parametrize("role", ["admin", "operator", "approver"])
async def test_no_request_at_all_is_answered_in_a_way_that_is_not_documented(tmp_path: Path, role: str) -> None:
    await campaign(tmp_path, role, examples=1000, stateful=200)
