"""Where journals live. Every store passes one contract suite: `adjourn.testing.StoreContract`."""

from adjourn.stores.protocol import Store

__all__ = ["Store"]
