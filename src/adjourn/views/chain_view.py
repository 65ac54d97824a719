"""What is known of the audit's chain, as a page says it."""

import msgspec


class ChainView(msgspec.Struct, frozen=True, kw_only=True):
    """The newest `lines` lines were looked at `at` this time: each follows from the one before it in
    its chain, or is named in `broken`. `complete`: there are no others. `whole_at`: when this server
    checked everything last; None: not since it started. `whole_broken` and `whole_says` are what that
    found."""

    lines: int
    complete: bool
    broken: tuple[str, ...]
    at: float
    whole_at: float | None
    whole_broken: tuple[str, ...]
    whole_says: str
