"""The newest lines of the audit, each checked against the one before it in its chain.

It is a look with an end, for a page that is opened often. What it cannot know is whether older
lines, journals and seals are as they were: that is `Store.verify`.
"""

from collections.abc import Sequence

import msgspec

from adjourn.stores.audit import AuditLine, BrokenChain, Evidenced, chain
from adjourn.stores.protocol import Store


class CheckedTail(msgspec.Struct, frozen=True):
    """What was looked at: the newest `lines`; `is_all`: there are no others. `broken`: where one does
    not follow from the one before it."""

    lines: int
    is_all: bool
    broken: tuple[BrokenChain, ...]


async def checked_tail(store: Store, most: int) -> CheckedTail:
    """Look at the newest lines.

    Args:
        store: where the audit is.
        most: at most so many lines.
    """
    newest = await store.recent(limit=most)
    chains: dict[str, list[AuditLine]] = {}
    for line in newest:
        chains.setdefault(line.scope, []).append(line)
    broken: list[BrokenChain] = []
    for scope, lines in chains.items():
        lines.sort(key=lambda line: line.n)
        if found := await _broken(store, scope, lines):
            broken.append(found)
    return CheckedTail(len(newest), len(newest) < most, tuple(broken))


async def _broken(store: Store, scope: str, lines: Sequence[AuditLine]) -> BrokenChain | None:
    """The first of these lines of one chain that does not follow from the one before it."""
    first, last = lines[0].n, lines[-1].n
    head, count = b"", max(0, first - 2)  # from the one before it, if there is one
    read = await store.audit(scope, after=count, limit=last - count)
    for line in read:
        if line.n != count + 1:
            return BrokenChain(Evidenced.AUDIT, scope, count + 1, "it is missing")
        count = line.n
        if line.n >= first and chain(head, line.body) != line.head:
            return BrokenChain(
                Evidenced.AUDIT, scope, line.n, "it was edited, or moved here from elsewhere"
            )
        head = line.head
    if count != last:
        return BrokenChain(Evidenced.AUDIT, scope, count + 1, "it is missing")
    return None
