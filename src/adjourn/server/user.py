"""A user, a key and a session, as they are known; never a secret."""

from dataclasses import dataclass

from adjourn.server.rights import RoleGrant


@dataclass(frozen=True, slots=True)
class User:
    """A person or program that may use the API.

    Attributes:
        name: the name.
        role: what they may do everywhere: none, viewer, operator, approver, admin, or run.
        groups: for approvals that ask for a group.
        created_at: in seconds since 1970.
        run: not a person but this run's own credentials.
        grants: what they may do with some runs.
        tenant: only runs with this tenant's label are there for them; "" for none.
    """

    name: str
    role: str
    groups: tuple[str, ...] = ()
    created_at: float = 0.0
    run: str = ""
    grants: tuple[RoleGrant, ...] = ()
    tenant: str = ""


@dataclass(frozen=True, slots=True)
class Key:
    """What is known of a key.

    Attributes:
        id: its id.
        user: whose it is.
        hint: its last characters.
        created_at: in seconds since 1970.
        expires_at: in seconds since 1970; None: it does not expire.
    """

    id: str
    user: str
    hint: str
    created_at: float
    expires_at: float | None


@dataclass(frozen=True, slots=True)
class Session:
    """What is known of a browser's session.

    Attributes:
        id: its id.
        user: whose it is.
        seen_at: when it was last used, about, in seconds since 1970.
        ends_at: when it ends at the latest.
        key: the id of the key that opened it; empty: none did.
    """

    id: str
    user: str
    seen_at: float
    ends_at: float
    key: str
