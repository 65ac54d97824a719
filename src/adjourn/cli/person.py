"""Who acts: the name and the groups behind a key where a database has users, else what the person
says."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from adjourn.cli.extras import needs
from adjourn.cli.opened_database import address_of
from adjourn.cli.options import who
from adjourn.errors import NotAllowed, StoreError
from adjourn.stores.address import file_of

if TYPE_CHECKING:
    from adjourn.server.auth import Identity, Right

KEY = "ADJOURN_KEY"


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody who acts. `role` is "" where nobody has one: the database has no users."""

    name: str
    groups: tuple[str, ...] = ()
    role: str = ""


def person(
    db: str | None,
    by: str | None,
    groups: Sequence[str] = (),
    *,
    right: "Right | None" = None,
    what: str = "a decision",
) -> Person:
    """Who acts on this database. Where it has users, what needs a right needs a key, and whoever
    acts is who the key says.

    Args:
        db: the database as it was named.
        by: `--by`; where a key says who it is, the same name or none.
        groups: `--group`; where a key says which, some of them or none.
        right: what the person must be allowed to do; None for what anybody at the terminal may.
        what: what needs the right, for the message.

    Raises `NotAllowed`, saying what to do.
    """
    key = os.environ.get(KEY, "")
    has_users, known = _recognised(address_of(db), key)
    if not has_users or (right is None and not key):
        return Person(who(by), tuple(groups))
    if not key:
        raise NotAllowed(
            f"this database has users, so {what} needs a key",
            advice=f"set {KEY} to yours; an admin makes one: adjourn user key NAME",
        )
    if known is None or known.run:
        raise NotAllowed(
            f"the key in {KEY} is not the key of a user of this database",
            advice=f"set {KEY} to yours",
        )
    if by and by != known.name:
        raise NotAllowed(
            f"the key in {KEY} belongs to {known.name!r}, not to {by!r}", advice="leave --by out"
        )
    if foreign := sorted(set(groups) - set(known.groups)):
        raise NotAllowed(
            f"{known.name!r} is not in the group {foreign[0]!r}",
            advice="leave --group out: the key says which",
        )
    if right is not None and not known.may(right):
        raise NotAllowed(f"{known.name!r} is {known.role}: {what} needs the right to {right}")
    return Person(known.name, known.groups, known.role)


def _recognised(address: str, key: str) -> "tuple[bool, Identity | None]":
    """Whether a database has users, and whose key this is. A file of users that is not there is not
    made."""
    file = file_of(address)
    path = f"{file}-users" if file else ""
    if not path or not Path(path).exists():
        return False, None
    with needs("server"):
        from adjourn.server.auth import Identity
        from adjourn.server.users import Users
    try:
        users = Users(path)
    except (OSError, StoreError) as e:  # another person's file: who may decide is known there only
        raise NotAllowed(
            f"the users of this database cannot be read here ({e})",
            advice="decide through its server",
        ) from None
    try:
        if key:
            found = users.by_key(key)
        else:
            found = None
        if found:
            known = Identity(found.name, found.role, found.groups, run=found.run)
        else:
            known = None
        return bool(users.all()), known
    finally:
        users.close()
