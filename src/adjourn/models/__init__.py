"""Models: messages in, deltas and one reply out."""
