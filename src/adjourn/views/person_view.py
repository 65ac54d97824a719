"""Who may use the API and the console: people and programs, their keys and their sessions."""

import msgspec

from adjourn.views.words import Role


class KeyView(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a key: its id and its last characters, never the key."""

    id: str
    hint: str
    created_at: float
    expires_at: float | None


class PersonView(msgspec.Struct, frozen=True, kw_only=True):
    """A user. `grants`: what they may do with some runs, beyond what the role allows everywhere.
    `tenant`: only its runs are there for them. `seen_at`: when a session of theirs was last used;
    null if none is open."""

    name: str
    role: Role
    groups: tuple[str, ...]
    grants: tuple[str, ...]
    tenant: str
    created_at: float
    keys: tuple[KeyView, ...]
    sessions: int
    seen_at: float | None


class NewKey(msgspec.Struct, frozen=True, kw_only=True):
    """A key that was made; it is shown this once."""

    name: str
    id: str
    key: str
    expires_at: float | None


class SessionView(msgspec.Struct, frozen=True, kw_only=True):
    """A browser's session. `key_id`: the id of the key that opened it. `is_this`: the one that asks."""

    id: str
    name: str
    seen_at: float
    expires_at: float
    key_id: str
    is_this: bool


class EndedSessions(msgspec.Struct, frozen=True, kw_only=True):
    """How many sessions were ended."""

    count: int
