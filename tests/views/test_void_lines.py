"""A decision that no worker believed: the audit says so, and nobody is shown it as one that was made."""

from adjourn.core.records import Disowned, Parked
from adjourn.stores.memory.store import MemoryStore
from adjourn.testing.contract.fixtures import approval, claim, commit, wait_for, yes
from adjourn.views.audit_entry import csv_of, entries, entries_of, void_lines
from adjourn.views.audit_words import VOID
from adjourn.views.seen_before import decisions_in


async def forged_and_then_given() -> MemoryStore:
    """Somebody wrote an approval by ana into the file; then ana approved it herself."""
    store = MemoryStore()
    await wait_for(store, approval(tool="send"))
    seq = await store.deliver("r1", yes(by="ana", note="it is fine"))
    lease = await claim(store)
    await commit(store, lease, [Disowned(seq=seq, i="1.0?0", by="ana", why="not signed")], [Parked()])
    await store.deliver("r1", yes(by="ana", note="looked at it"))
    return store


async def test_the_audit_says_of_the_forged_one_that_it_did_not_count_and_of_the_other_nothing() -> None:
    store = await forged_and_then_given()
    given, forged, started = await entries(store, await store.recent())
    assert (given.told.void, forged.told.void, started.told.void) == ("", VOID, "")
    assert str(forged.told).endswith(f"“it is fine” ({VOID})")
    assert VOID in csv_of([forged]) and VOID not in csv_of([given])
    assert [entry.told.void for entry in await entries_of(store, "r1", 0, 10)] == ["", VOID, ""]


async def test_what_was_seen_before_has_only_the_decision_that_counted() -> None:
    store = await forged_and_then_given()
    lines = await store.recent()
    void = await void_lines(store, lines)
    assert len(void) == 1
    [made] = decisions_in([line for line in lines if line.place not in void])
    assert (made.decision.by, made.decision.note) == (("ana",), "looked at it")


async def test_without_a_contested_line_no_journal_is_read() -> None:
    store = MemoryStore()
    await wait_for(store, approval(tool="send"))
    await store.deliver("r1", yes())

    async def load(*_: object) -> list[object]:
        raise AssertionError("a journal was read")

    lines = await store.recent()
    store.load = load  # type: ignore[method-assign]
    assert await void_lines(store, lines) == set()
