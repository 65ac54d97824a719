"""Which versions of other people's servers Adjourn works with: what `adjourn doctor` says, and the table of
the documentation."""

import re
from typing import NamedTuple

from adjourn.cli.doctor.finding import Finding, wrong


class SupportedServer(NamedTuple):
    """Versions of a server.

    Attributes:
        name: what people call it.
        oldest: the oldest that has what Adjourn needs.
        tested: with which the tests of this version of Adjourn ran.
        because: what an older one lacks.
    """

    name: str
    oldest: str
    tested: str
    because: str


SERVERS = (
    SupportedServer(
        "PostgreSQL", "13", "15", "trusted extensions (`pg_trgm`) for a role of its own"
    ),
    SupportedServer("Restate", "1.5", "1.7", "retry policies that a service brings along"),
    SupportedServer("Temporal", "1.24", "1.32", "a start that signals the workflow that is there"),
)


def too_old(name: str, version: str, check: str) -> Finding | None:
    """That a server is older than Adjourn needs; None if it is not, or does not say.

    Args:
        name: one of `SERVERS`.
        version: what it says.
        check: the name of the finding.
    """
    [server] = [one for one in SERVERS if one.name == name]
    numbers = _numbers(version)
    if not numbers or numbers >= _numbers(server.oldest):
        return None
    text = f"{name} {version} is too old"
    return wrong(check, text, "Upgrade", f"to version {server.oldest} or newer")


def _numbers(version: str) -> tuple[int, ...]:
    found = re.match(r"v?(\d+(?:\.\d+)*)", version)
    if found is None:
        return ()
    return tuple(map(int, found[1].split(".")))
