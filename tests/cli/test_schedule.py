"""`adjourn schedule`: each moment has one run, left to the workers, however many processes there are."""

import json
import signal
import subprocess
import sys
import threading
from datetime import datetime
from pathlib import Path

import pytest
from tests.cli import shop
from tests.cli.conftest import SECONDS, Run

SHOP = str(Path(shop.__file__))
FILE = f"""
import sys
sys.path.insert(0, {str(Path(SHOP).parent)!r})
from shop import refunds
from adjourn.schedules import Schedule
each = Schedule("each", refunds, "x", every=1)
both = [each, Schedule("nightly", refunds, "y", cron="0 3 * * *", zone="Europe/Oslo")]
"""


def test_it_says_when_the_next_runs_would_begin_and_starts_none(adjourn: Run) -> None:
    said = adjourn("schedule", f"{SHOP}:refunds", "x", "--cron", "30 9 * * mon-fri", "--next", "3", "--json")
    lines = [json.loads(line) for line in said.out.splitlines()]
    assert [line["schedule"] for line in lines] == ["refunds"] * 3
    for line in lines:
        at = datetime.fromisoformat(line["at"])
        assert at.timestamp() % 3600 == 1800 and line["run_id"].endswith("T093000Z")
    assert not Path("adjourn.db").exists()


def test_schedules_of_a_file_say_everything_themselves(adjourn: Run) -> None:
    Path("jobs.py").write_text(FILE)
    said = adjourn("schedule", "jobs.py:both", "--next", "1")
    assert said.code == 0 and [line.split()[1].partition("-")[0] for line in said.out.splitlines()] == [
        "each",
        "nightly",
    ]
    said = adjourn("schedule", "jobs.py:both", "--cron", "@daily")
    assert said.code == 2 and "has its own settings" in said.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "--cron FIELDS or --every SPAN is required"),
        (("--cron", "nightly"), "has 1 fields"),
        (("--every", "soon"), "--every must be a duration"),
        (("--every", "1h", "--cron", "@daily"), "either cron= or every="),
        (("--cron", "@daily", "--zone", "Oslo"), "time zone 'Oslo'"),
        (("--cron", "@daily", "--catch-up", "5"), "--catch-up must be a duration"),
        (("--cron", "@daily", "--label", "team"), "NAME=VALUE"),
    ],
)
def test_what_makes_no_sense_is_refused(adjourn: Run, words: tuple[str, ...], said: str) -> None:
    done = adjourn("schedule", f"{SHOP}:refunds", "x", *words)
    assert done.code == 2 and said in done.err and not Path("adjourn.db").exists()


@pytest.mark.parametrize("place", ["sqlite", "postgres"])
def test_two_processes_start_each_moment_once_and_end_at_a_signal(
    adjourn: Run, place: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    if place == "postgres":
        monkeypatch.setenv("ADJOURN_DB", request.getfixturevalue("postgres").fresh())
    Path("jobs.py").write_text(FILE)
    command = [sys.executable, "-m", "adjourn", "schedule", "jobs.py:each", "--json"]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    patience = threading.Timer(SECONDS, lambda: [one.kill() for one in both])
    patience.start()
    try:
        seen: set[str] = set()
        for one in both:
            assert one.stdout is not None
            seen |= {json.loads(one.stdout.readline())["run_id"] for _ in range(2)}
        for one in both:
            one.send_signal(signal.SIGTERM)
        for one in both:
            rest, said = one.communicate(timeout=SECONDS)
            seen |= {json.loads(line)["run_id"] for line in rest.splitlines()}
            assert one.returncode == 0 and "each: refunds, every 1 s" in said and "Stopped." in said
    finally:
        patience.cancel()
        for one in both:
            one.kill()
            one.communicate()
    runs = adjourn("runs", "--label", "schedule=each", "--json").json
    assert {run["run_id"] for run in runs} == seen and len(runs) == len(seen)
    assert {run["status"] for run in runs} == {"ready"}
