"""What may be kept of a user."""

from collections.abc import Iterable

from adjourn.errors import Invalid
from adjourn.server.rights import GRANTABLE, parse_grant

ROLES = ("none", *GRANTABLE)


def checked_name(name: str) -> str:
    """A name that cannot be taken for something else. Raises `Invalid`."""
    is_odd = name.startswith("@") or name != name.strip() or not name.isprintable()
    if not name or len(name) > 100 or is_odd:
        raise Invalid(
            f"a user's name must be a short string that does not begin with '@', got {name!r:.80}"
        )
    return name


def checked_role(role: str) -> str:
    """A role that a user may have. Raises `Invalid`."""
    if role not in ROLES:
        raise Invalid(f"a role must be one of {', '.join(ROLES)}, got {role!r:.40}")
    return role


def checked_groups(groups: Iterable[str]) -> str:
    """Groups as they are kept, one a line. Raises `Invalid`."""
    named = tuple(groups)
    if any(not g or "\n" in g for g in named):
        raise Invalid("a group's name must be one line")
    return "\n".join(named)


def checked_grants(grants: Iterable[str]) -> str:
    """Grants as they are kept, one a line. Raises `Invalid`."""
    return "\n".join(str(parse_grant(text)) for text in grants)
