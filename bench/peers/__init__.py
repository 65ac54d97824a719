"""The same workload in other frameworks, each in an environment of its own: `make bench-peers`."""
