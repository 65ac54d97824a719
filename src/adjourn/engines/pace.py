"""How long an engine lets a run rest that is due again at a time."""

IDLE = 30.0
"""Seconds between two looks at a run in which nothing happens, at most."""


def next_look(wake_in: float, looks: int) -> float:
    """Seconds until the next look: those that the run asked for, and more if it did so again and
    again while nothing happened, as one that waits for another run of its session.

    Args:
        wake_in: the seconds that it asked for.
        looks: how often nothing had happened before.
    """
    return max(wake_in, min(2.0 ** min(looks, 10) - 1, IDLE))
