"""`audit` and `verify`: every attempt is on record, and the record cannot be edited unseen."""

import pytest

from adjourn.core.records import CancelAsked, Claimed, Completed, Parked, PauseAsked, Resumed, Said
from adjourn.errors import AlreadyDecided, InvalidDefinition, Refused, UnknownRun
from adjourn.stores.audit import chain
from adjourn.stores.store import Store
from adjourn.testing.clock import FakeClock
from adjourn.testing.promises.ground import Ground, approval, begin, commit, started, wait_for, yes


class Auditing(Ground):
    """Who wanted what, when, from where, why, and what came of it."""

    async def test_a_command_is_a_line_with_who_when_whence_and_where_it_stands(
        self, store: Store, clock: FakeClock
    ) -> None:
        await begin(store, by="ana")
        clock.advance(5)
        await store.deliver("r1", PauseAsked(by="bo", reason="lunch"), origin="cli")
        first, second = [line.entry for line in await store.audit("r1")]
        assert first.items() >= {"verb": "start", "by": "ana", "seq": 1, "run": "r1"}.items()
        wanted = {"verb": "pause", "by": "bo", "from": "cli", "reason": "lunch", "seq": 3, "at": clock.now()}
        assert second.items() >= wanted.items()

    async def test_a_decision_is_a_line_with_what_was_shown(self, store: Store) -> None:
        await wait_for(store, approval(digest="d"))
        await store.deliver("r1", yes(by="ana", note="fine", digest="d"))
        wanted = {"verb": "answer", "interrupt": "1.0?0", "verdict": "approve", "note": "fine", "digest": "d", "seq": 5}
        assert (await store.audit("r1"))[-1].entry.items() >= wanted.items()

    async def test_a_refused_attempt_is_a_line_with_the_reason(self, store: Store) -> None:
        await wait_for(store, approval())
        await store.deliver("r1", yes(by="ana"))
        with pytest.raises(AlreadyDecided):
            await store.deliver("r1", yes(by="bo"))
        with pytest.raises(Refused):
            await store.deliver("r1", Resumed(by="cy"))
        *_, second, third = [line.entry for line in await store.audit("r1")]
        assert (second["by"], "'ana'" in second["refused"], "seq" in second) == ("bo", True, False)
        assert (third["by"], "ready" in third["refused"]) == ("cy", True)

    async def test_an_attempt_on_an_unknown_run_is_a_global_line(self, store: Store) -> None:
        with pytest.raises(UnknownRun):
            await store.deliver("r1", CancelAsked(by="ana"))
        [line] = await store.audit("")
        assert (line.scope, line.n, line.entry["by"]) == ("", 1, "ana")
        assert "'r1'" in line.entry["refused"]

    async def test_a_second_cancel_is_a_line_although_nothing_was_appended(self, store: Store) -> None:
        await begin(store)
        await store.deliver("r1", CancelAsked(by="ana"))
        await store.deliver("r1", CancelAsked(by="bo"))
        assert [line.entry["by"] for line in await store.audit("r1")] == ["", "ana", "bo"]

    async def test_a_halt_and_its_lifting_are_global_lines(self, store: Store) -> None:
        await store.halt("tool:send", by="ana", reason="spilled", origin="console")
        await store.halt("tool:send", by="bo", lift=True)
        await store.halt("")
        with pytest.raises(InvalidDefinition):
            await store.halt("nonsense")
        first, second = [line.entry for line in await store.audit("")]
        wanted = {"verb": "halt", "by": "ana", "scope": "tool:send", "reason": "spilled", "from": "console"}
        assert first.items() >= wanted.items()
        assert (second["verb"], second["by"]) == ("unhalt", "bo")

    async def test_what_was_said_is_not_in_the_audit(self, store: Store) -> None:
        await begin(store)
        await store.deliver("r1", Said(text="a secret", by="ana"))
        assert all("a secret" not in line.body for line in await store.audit())

    async def test_an_imported_journal_is_one_line(self, store: Store) -> None:
        await store.create(started(by="ana"), [Claimed(epoch=1), Parked()])
        [line] = await store.audit("r1")
        assert line.entry.items() >= {"verb": "import", "by": "ana", "seq": 3}.items()

    async def test_what_failed_as_a_whole_leaves_no_line(self, store: Store) -> None:
        with pytest.raises(Refused):
            await store.create(started(), [Parked(), Parked()])
        assert await store.audit() == []

    async def test_lines_are_numbered_and_chained_by_scope(self, store: Store) -> None:
        for run in ("r1", "r2"):
            await store.create(started(run))
            for n in range(3):
                await store.deliver(run, Said(text=str(n)))
        for run in ("r1", "r2"):
            head = b""
            for n, line in enumerate(await store.audit(run), 1):
                head = chain(head, line.body)
                assert (line.n, line.head) == (n, head)

    async def test_lines_come_in_pages_and_of_all_scopes_by_time(self, store: Store, clock: FakeClock) -> None:
        for n, run in enumerate(("r1", "r2", "r1", "r2")):
            clock.advance(1)
            await (store.create(started(run)) if n < 2 else store.deliver(run, PauseAsked()))
        assert [line.scope for line in await store.audit()] == ["r1", "r2", "r1", "r2"]
        assert [line.n for line in await store.audit("r1", limit=1)] == [1]
        assert [line.n for line in await store.audit("r1", after=1)] == [2]
        assert await store.audit("r3") == []

    async def test_what_nobody_touched_is_not_broken(self, store: Store) -> None:
        assert await store.verify() == []
        lease = await begin(store)
        await store.deliver("r1", Said(text="hi"))
        await store.halt("*")
        with pytest.raises(UnknownRun):
            await store.deliver("nowhere", Said(text="hi"))
        await commit(store, lease, (), [Completed()])
        assert await store.verify() == []
