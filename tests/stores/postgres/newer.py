"""A version of Adjourn with one migration more, in a process of its own: `python -m tests.stores.postgres.newer ADDRESS`.

It says `adjourn db upgrade` for that database, and does to the table that every step writes what later versions may do to it.
"""

import sys

from adjourn.stores.postgres import migrations

NUMBER = 900
WAITS = 0.5
"""Seconds that it waits for those who use a table."""
SCRIPT = "alter table adjourn.run add column newer integer not null default 7; create table adjourn.newer (n bigint primary key);"


def main(address: str) -> None:
    """Upgrade it."""
    known = migrations.scripts()
    migrations.LONGEST = WAITS
    migrations.scripts = lambda: [*known, (NUMBER, SCRIPT)]
    from adjourn.cli import main as adjourn

    sys.argv = ["adjourn", "db", "upgrade", "--db", address]
    adjourn()


if __name__ == "__main__":
    main(sys.argv[1])
