"""Flows: event-driven graphs of chunks, on the same journal as agents."""
