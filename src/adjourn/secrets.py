"""Secrets: values that reach the body of a tool, and nothing else."""

from adjourn.bodies.sealed_arguments import unseal
from adjourn.bodies.secret_types import Secret
from adjourn.stores.secret_keys import KeyRing, seal

__all__ = ["KeyRing", "Secret", "seal", "unseal"]
