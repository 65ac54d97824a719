"""What a policy is written with: its rules and the conditions on a call's arguments."""

from adjourn.core.argument_conditions import (
    email_in,
    eq,
    ge,
    gt,
    host_in,
    le,
    lt,
    matches,
    ne,
    one_of,
    path_under,
    under,
)
from adjourn.core.policy import Policy
from adjourn.core.policy_rule import Verdict, allow, ask, deny

__all__ = [
    # rules
    "Policy",
    "Verdict",
    "allow",
    "ask",
    "deny",
    # conditions
    "eq",
    "ne",
    "gt",
    "ge",
    "lt",
    "le",
    "one_of",
    "matches",
    "email_in",
    "host_in",
    "path_under",
    "under",
]
