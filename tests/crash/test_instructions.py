"""Death at any instruction.

A process that dies leaves its files, nothing else; two deaths that leave the same files cannot be told apart. So the rig
looks at the files before every opcode of the commit path and every line of the rest of the package, recovers from every
state that it has seen, and kills real processes: around each place where the state changes, and then everywhere, spread
evenly, for as long as it has time (`ADJOURN_CRASH_SECONDS`, 75 in `make crash`).
"""

import os

import pytest
from tests.crash.conftest import campaign
from tests.crash.scenarios import SCENARIOS

SECONDS = os.environ.get("ADJOURN_CRASH_SECONDS", "75")


def test_g3_a_death_at_any_opcode_of_the_commit_path_is_recovered_from() -> None:
    options = ["plain_and_approve", "--seconds", "5", "--parts", "2", "--part"]
    reports = campaign("instructions", [*options, "0"], [*options, "1"])["plain_and_approve"]
    assert [r["failures"] for r in reports] == [[], []]
    assert reports[0]["opcodes"] > 5_000
    assert reports[0]["lines"] > 1_000
    assert reports[0]["states"] >= 15
    assert sum(r["deaths"] for r in reports) >= 60


@pytest.mark.crash
def test_g3_kills_at_the_opcodes_of_the_commit_path_and_the_lines_of_the_rest() -> None:
    options = ["plain_and_approve", "--seconds", SECONDS, "--parts", "2", "--part"]
    reports = campaign("instructions", [*options, "0"], [*options, "1"])["plain_and_approve"]
    assert [r["failures"] for r in reports] == [[], []]
    assert sum(r["deaths"] for r in reports) >= 100


@pytest.mark.crash
def test_g3_every_state_that_any_scenario_can_leave_is_recovered_from() -> None:
    names = list(SCENARIOS)
    reports = campaign("instructions", names[::2], names[1::2])
    assert {name: r["failures"] for name, [r] in reports.items()} == {name: [] for name in SCENARIOS}
