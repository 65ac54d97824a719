"""Agents and tools: what a user writes."""
