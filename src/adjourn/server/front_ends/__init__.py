"""What front ends speak: AG-UI and the message stream of the AI SDK, from one translation of runs."""
