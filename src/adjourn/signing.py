"""Keys and proofs: who signs decisions, and whether the audit is as it was written."""

from adjourn.driver.decider_keys import Deciders, SigningKey
from adjourn.stores.seals import Anchor
from adjourn.stores.verification import Verification

__all__ = ["Anchor", "Deciders", "SigningKey", "Verification"]
