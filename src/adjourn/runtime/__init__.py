"""The control surface: a store, programs, and every verb."""
