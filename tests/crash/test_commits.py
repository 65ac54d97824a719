"""Death before and after every transaction, by SIGKILL, enumerated until the run comes to its end."""

from typing import Any

import pytest
from tests.crash.conftest import campaign
from tests.crash.scenarios import SCENARIOS
from tests.local_server import skip_without
from tests.stores.postgres.server import programs

NAMES = list(SCENARIOS)
PAIRED = list(zip(NAMES[::2], NAMES[1::2], strict=True))


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


ON_POSTGRES = "--postgres"


@pytest.fixture
def postgres_programs() -> None:
    if programs() is None:
        skip_without("PostgreSQL", "tests/stores/postgres/install.sh installs it on Debian")


@pytest.mark.usefixtures("postgres_programs")
def test_g3_death_at_a_commit_on_postgresql_is_recovered_from() -> None:
    """A sample here; every one in `test_g3_death_at_every_commit_on_postgresql_…`."""
    one = [ON_POSTGRES, "parallel", "--stride", "7"]
    two = [ON_POSTGRES, "cancel", "--stride", "9"]
    reports = campaign("commits", one, two)
    assert {name: r["failures"] for name, [r] in reports.items()} == {"parallel": [], "cancel": []}
    assert all(r["recoveries"] >= 5 for [r] in reports.values())


@pytest.mark.crash
@pytest.mark.usefixtures("postgres_programs")
@pytest.mark.parametrize("pair", PAIRED, ids="-".join)
def test_g3_death_at_every_commit_on_postgresql_loses_at_most_the_step_in_flight(pair: tuple[str, str]) -> None:
    reports = campaign("commits", [ON_POSTGRES, pair[0]], [ON_POSTGRES, pair[1]])
    for name in pair:
        [report] = reports[name]
        assert report["failures"] == []
        assert report["deaths"] >= 18
        assert report["recoveries"] == report["deaths"]


@pytest.mark.crash
@pytest.mark.usefixtures("postgres_programs")
def test_g5_recovery_dies_as_well_on_postgresql() -> None:
    one = [ON_POSTGRES, "plain_and_approve", "verifiable", "--stride", "13"]
    two = [ON_POSTGRES, "cancel", "self_resume", "--stride", "17"]
    reports = campaign("pairs", one, two)
    assert [r["failures"] for rs in reports.values() for r in rs] == [[], [], [], []]
    assert all(r["recoveries"] >= 10 for rs in reports.values() for r in rs)


@pytest.mark.crash
@pytest.mark.parametrize("pair", PAIRED, ids="-".join)
def test_g5_every_recovery_dies_at_every_commit(pair: tuple[str, str]) -> None:
    reports = campaign("pairs", [pair[0]], [pair[1]])
    for name in pair:
        [report] = reports[name]
        assert report["failures"] == []
        assert report["recoveries"] >= 100
