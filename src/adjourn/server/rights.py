"""What whoever asks may do: everywhere by their role, with some runs by a grant (`approver of
agent:refunds where team=eu`). Decisions are for people: a run's own credentials can never decide."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, cast, get_args

from adjourn.errors import Invalid
from adjourn.stores.tenant_store import TENANT
from adjourn.views.words import RIGHTS, Right, Role

GRANTABLE = tuple(role for role in get_args(Role) if role not in ("none", "run"))
_ADVICE = "write it as 'ROLE of agent:NAME where LABEL=VALUE and LABEL=VALUE'"


class RunPlace(NamedTuple):
    """What rights may depend on. It is fixed when a run starts."""

    program: str
    session: str
    labels: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class RoleGrant:
    """A role for some runs.

    Attributes:
        role: what may be done with them.
        agent: runs of this agent or flow only; "" for any.
        session: runs of this session only; "" for any.
        labels: runs that have all of these labels only.
    """

    role: str
    agent: str = ""
    session: str = ""
    labels: tuple[tuple[str, str], ...] = ()

    def covers(self, run: RunPlace) -> bool:
        """Whether it is about a run.

        Args:
            run: the run.
        """
        return (
            (not self.agent or run.program == self.agent)
            and (not self.session or run.session == self.session)
            and all(run.labels.get(name) == value for name, value in self.labels)
        )

    def has(self, right: Right) -> bool:
        """Whether its role has a right; an unknown one has none.

        Args:
            right: the right.
        """
        return has_right(self.role, right)

    def __str__(self) -> str:
        text = self.role
        if self.agent:
            text += f" of agent:{self.agent}"
        elif self.session:
            text += f" of session:{self.session}"
        if self.labels:
            text += " where " + " and ".join(f"{name}={value}" for name, value in self.labels)
        return text


def has_right(role: str, right: Right) -> bool:
    """Whether a role has a right; an unknown role has none.

    Args:
        role: the role.
        right: the right.
    """
    return right in RIGHTS.get(cast("Role", role), frozenset[Right]())


def parse_grant(text: str) -> RoleGrant:
    """A grant as it is written. Raises `Invalid`.

    Args:
        text: `ROLE`, then ` of agent:NAME` or ` of session:NAME`, then ` where LABEL=VALUE`, with
            ` and ` between labels. One of the two must be there.
    """
    head, _, where = text.partition(" where ")
    role, of, about = head.partition(" of ")
    kind, found, name = about.partition(":")
    if role not in GRANTABLE:
        raise Invalid(
            f"a grant begins with one of {', '.join(GRANTABLE)}, got {text!r:.80}", advice=_ADVICE
        )
    if of and (kind not in ("agent", "session") or not found or not name):
        raise Invalid(
            f"a grant must be of agent:NAME or session:NAME, got {text!r:.80}", advice=_ADVICE
        )
    labels: list[tuple[str, str]] = []
    for part in filter(None, where.split(" and ")):
        label, equal, value = part.partition("=")
        if not label or not equal or not value:
            raise Invalid(f"a label must be LABEL=VALUE, got {part!r:.80}", advice=_ADVICE)
        labels.append((label, value))
    grant = RoleGrant(
        role,
        agent=name if kind == "agent" else "",
        session=name if kind == "session" else "",
        labels=tuple(labels),
    )
    if str(grant) != text or not (of or labels) or not text.isprintable():
        raise Invalid(f"a grant must say for which runs it is, got {text!r:.80}", advice=_ADVICE)
    return grant


def kept_grants(text: str) -> tuple[RoleGrant, ...]:
    """Grants as they are kept, one a line. One that cannot be read gives nothing.

    Args:
        text: the lines.
    """
    found: list[RoleGrant] = []
    for line in filter(None, text.split("\n")):
        try:
            found.append(parse_grant(line))
        except Invalid:
            continue
    return tuple(found)


def may_on(
    role: str, grants: Iterable[RoleGrant], tenant: str, right: Right, run: RunPlace
) -> bool:
    """The one rule: whether somebody has a right on a run. A tenant's people have none on runs
    without that tenant's label, whatever else they were given.

    Args:
        role: what the person may do everywhere.
        grants: what they may do with some runs.
        tenant: their tenant; "" for none.
        right: the right.
        run: the run.
    """
    if tenant and run.labels.get(TENANT) != tenant:
        return False
    if has_right(role, right):
        return True
    return any(grant.has(right) and grant.covers(run) for grant in grants)
