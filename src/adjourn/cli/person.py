"""Who acts: the name and the groups behind a key where a database has users, else what the person
says."""

import os
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from adjourn.cli.extras import needs
from adjourn.cli.opened_database import address_of, check_exists
from adjourn.cli.options import who
from adjourn.cli.tenant_option import tenant
from adjourn.errors import NotAllowed, StoreError
from adjourn.stores.address import is_postgres
from adjourn.stores.item_note import GROUP

if TYPE_CHECKING:
    from adjourn.server.identity import Identity
    from adjourn.server.rights import Right
    from adjourn.server.users import Users

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
    if known is None or known.name.startswith("@"):
        raise NotAllowed(
            f"the key in {KEY} is not the key of a user of this database",
            advice=f"set {KEY} to yours",
        )
    if by and by != known.name:
        raise NotAllowed(
            f"the key in {KEY} belongs to {known.name!r}, not to {by!r}", advice="remove --by"
        )
    if foreign := sorted(set(groups) - set(known.groups)):
        raise NotAllowed(
            f"{known.name!r} is not in the group {foreign[0]!r}",
            advice="remove --group: the key decides the groups",
        )
    if known.tenant and known.tenant != tenant():
        raise NotAllowed(
            f"{known.name!r} works for the tenant {known.tenant!r}",
            advice=f"add --tenant {known.tenant}",
        )
    if right is not None and not known.may_role(right):
        if known.may(right):
            advice = "rights on some runs only work at the server: use its API or its console"
        else:
            advice = ""
        raise NotAllowed(
            f"{known.name!r} is {known.role}: {what} needs the right to {right}", advice=advice
        )
    return Person(known.name, known.groups, known.role)


def _recognised(address: str, key: str) -> "tuple[bool, Identity | None]":
    """Whether a database has users, and whose key this is."""
    with needs("server"):
        from adjourn.server.authentication import identity_of
    users = _users_of(address)
    if users is None:
        return False, None
    with closing(users):
        found = users.by_key(key) if key else None
        return bool(users.all()), identity_of(found) if found else None


def deciders(db: str | None) -> list[str]:
    """The people who may decide and their groups, as `group:NAME`; nobody where a database has no
    users.

    Args:
        db: the database as it was named.
    """
    from adjourn.views.words import RIGHTS, Role

    users = _users_of(address_of(db))
    if users is None:
        return []
    found: set[str] = set()
    with closing(users):
        for user in users.all():
            if "decide" in RIGHTS.get(cast("Role", user.role), ()):
                found.update((user.name, *(f"{GROUP}{group}" for group in user.groups)))
    return sorted(found)


def _users_of(address: str) -> "Users | None":
    """The users of a database; None if it has no place for them. A file of users that is not there
    is not made."""
    with needs("server"):
        from adjourn.server.users import Users, users_path
    path = users_path(address)
    if is_postgres(address):
        check_exists(address)
    elif not path or not Path(path).exists():
        return None
    try:
        return Users(path)
    except (OSError, StoreError) as e:  # another person's file: who may decide is known there only
        raise NotAllowed(
            f"the users of this database cannot be read here ({e})",
            advice="decide through its server",
        ) from None
