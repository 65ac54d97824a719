"""Death before and after every transaction, by SIGKILL, enumerated until the run comes to its end."""

from typing import Any

import pytest
from tests.crash.conftest import campaign
from tests.crash.scenarios import SCENARIOS

NAMES = list(SCENARIOS)


@pytest.fixture(scope="module")
def commits() -> dict[str, list[dict[str, Any]]]:
    return campaign("commits", NAMES[::2], NAMES[1::2])


@pytest.mark.parametrize("scenario", NAMES)
def test_g3_death_at_every_commit_loses_at_most_the_step_in_flight(
    commits: dict[str, list[dict[str, Any]]], scenario: str
) -> None:
    [report] = commits[scenario]
    assert report["failures"] == []
    assert report["deaths"] >= 12
    assert report["recoveries"] == report["deaths"]


def test_g5_recovery_dies_as_well_and_is_recovered_from() -> None:
    """A sample here; every pair in `test_g5_every_recovery_dies_at_every_commit`."""
    one = ["plain_and_approve", "verifiable", "--stride", "23"]
    two = ["cancel", "self_resume", "--stride", "29"]
    reports = campaign("pairs", one, two)
    assert [r["failures"] for rs in reports.values() for r in rs] == [[], [], [], []]
    assert all(r["recoveries"] >= 5 for rs in reports.values() for r in rs)


@pytest.mark.crash
@pytest.mark.parametrize("pair", list(zip(NAMES[::2], NAMES[1::2], strict=True)), ids="-".join)
def test_g5_every_recovery_dies_at_every_commit(pair: tuple[str, str]) -> None:
    reports = campaign("pairs", [pair[0]], [pair[1]])
    for name in pair:
        [report] = reports[name]
        assert report["failures"] == []
        assert report["recoveries"] >= 100
