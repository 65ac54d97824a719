"""Versions of servers: which are too old, and that the documentation has the table that the doctor goes by."""

from pathlib import Path

import pytest

from adjourn.cli.doctor.server_versions import SERVERS, too_old

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "operations.md"


@pytest.mark.parametrize("server", SERVERS, ids=lambda server: server.name)
def test_the_documentation_has_the_versions_that_the_doctor_goes_by(server: tuple[str, str, str, str]) -> None:
    name, oldest, tested, because = server
    assert f"| {name} | {oldest} | {tested} | {because} |" in PAGE.read_text("utf-8")


@pytest.mark.parametrize(
    ("name", "version", "is_old"),
    [
        ("PostgreSQL", "12.9", True), ("PostgreSQL", "13.0", False), ("PostgreSQL", "9.6", True),
        ("Restate", "1.4.12", True), ("Restate", "1.5.0-rc.1", False), ("Restate", "1.10.0", False), ("Restate", "2.0", False),
        ("Temporal", "1.23.9", True), ("Temporal", "v1.24.0", False), ("Temporal", "", False), ("Temporal", "cloud", False),
    ],
)  # fmt: skip
def test_a_server_is_too_old_or_it_is_not(name: str, version: str, is_old: bool) -> None:
    found = too_old(name, version, "engine")
    assert (found is not None) is is_old
    if found is not None:
        assert found.level == "wrong" and f"{name} {version} is too old" in found.text and found.advice is not None
