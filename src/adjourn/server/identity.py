"""Who asks, once they are recognised, and what they may do."""

from dataclasses import dataclass, replace

from adjourn.server.rights import RoleGrant, RunPlace, has_right, may_on
from adjourn.views.words import Right


@dataclass(frozen=True, slots=True)
class Identity:
    """A caller who was recognised.

    Attributes:
        name: the user's name.
        role: viewer, operator, approver, admin, or run.
        groups: the user's groups.
        csrf: what a browser's session must send with every change.
        run: not a person but this run's own credentials.
        local: whether it is the admin of this start.
        grants: what the user may do with some runs, beyond what the role allows everywhere.
        tenant: only runs with this tenant's label are there for the user; "" for none.
    """

    name: str
    role: str
    groups: tuple[str, ...] = ()
    csrf: str = ""
    run: str = ""
    local: bool = False
    grants: tuple[RoleGrant, ...] = ()
    tenant: str = ""

    def may(self, right: Right) -> bool:
        """Whether the user has a right at all, perhaps on some runs only.

        Args:
            right: the right.
        """
        return self.may_role(right) or any(grant.has(right) for grant in self.grants)

    def may_role(self, right: Right) -> bool:
        """Whether the role has a right; an unknown one has none.

        Args:
            right: the right.
        """
        return has_right(self.role, right)

    def may_everywhere(self, right: Right) -> bool:
        """Whether the user has a right on all runs, and on what is about no run.

        Args:
            right: the right.
        """
        return not self.tenant and self.may_role(right)

    def may_on(self, right: Right, run: RunPlace) -> bool:
        """Whether the user has a right on a run.

        Args:
            right: the right.
            run: the run.
        """
        return may_on(self.role, self.grants, self.tenant, right, run)

    def has_rights_of(self, other: "Identity") -> bool:
        """Whether it is the same user with the same rights.

        Args:
            other: whom it is compared with.
        """
        return replace(self, csrf="") == replace(other, csrf="")
