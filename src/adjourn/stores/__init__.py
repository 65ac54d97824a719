"""Where journals live. Every store passes one contract suite: `adjourn.testing.StoreContract`."""
