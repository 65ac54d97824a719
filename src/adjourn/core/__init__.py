"""The pure core: no await, no I/O, no clock. Everything here is a function of the journal."""
