"""Runs, steps and interrupts as people see them: pure functions of a journal and its rows."""
