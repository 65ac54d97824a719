"""Engines that say when a run is advanced: the store alone, Restate, Temporal. Safety is the
store's under each of them."""
