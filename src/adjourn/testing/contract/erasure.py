"""Erasing: the content of a run is gone, who erased it and why stays, and every chain holds."""

from typing import Any

import msgspec
import pytest

from adjourn.core.messages import Text
from adjourn.core.records import (
    CancelAsked,
    Erased,
    Forked,
    Late,
    Parked,
    Replied,
    RunCancelled,
    RunCompleted,
    Said,
)
from adjourn.core.state import State
from adjourn.core.status import ENDED, Status
from adjourn.errors import Invalid, Refused, RunErased, RunPruned, UnknownRun
from adjourn.stores.audit_key import SecretKey
from adjourn.stores.erasure import Pruning
from adjourn.stores.fleet import Misfit
from adjourn.stores.outbox import Endpoint
from adjourn.stores.protocol import Filter, Store
from adjourn.testing.contract.fixtures import (
    ContractFixtures,
    answer,
    approval,
    begin,
    bring,
    check_fields,
    claim,
    commit,
    ids,
    refused,
    started,
    unchanged,
)
from adjourn.testing.fake_clock import FakeClock

CANARY = "canary"


async def told(store: Store, run: str = "r1") -> None:
    """A run that has ended, with something to erase wherever there can be."""
    lease = await begin(
        store, run, input=f"{CANARY} input", labels={"customer": CANARY}, by="ana", session="s1"
    )
    await commit(
        store,
        lease,
        [Replied(parts=(Text(text=f"{CANARY} reply"),))],
        [approval(kind="error"), Parked()],
    )
    await store.deliver(run, answer({"choice": "retry", "why": CANARY}), request=f"q-{CANARY}")
    await store.deliver(run, Said(text=f"{CANARY} said", by="ana"), request="q2")
    await commit(store, await claim(store, run), (), [RunCompleted(output=f"{CANARY} output")])


def fork_of(run: str, **fields: Any) -> Forked:
    """The line behind which a fork of a run begins."""
    return Forked(of=run, at_seq=1, by="ana", **fields)


class Erasing(ContractFixtures):
    """What is left of a run that was erased, and what is not."""

    async def test_of_an_erased_run_only_the_tombstone_is_left(self, store: Store) -> None:
        await told(store)
        before = await store.get("r1")
        done = await store.erase("r1", by="ann", reason="asked to", origin="cli")
        row = await store.get("r1")
        told_of = {"by": "ann", "reason": "asked to"}
        check_fields(done, run="r1", **told_of, seq=row.seq, at=row.erased)
        [(seq, record)] = await store.load("r1")
        assert isinstance(record, Erased)
        check_fields(record, **told_of, status="completed")
        assert seq == row.seq == before.seq + 1 and row.erased > 0
        check_fields(row, status=Status.COMPLETED, title="erased by ann: asked to", labels={})
        check_fields(row, input_digest="", salt=b"", requesters=())
        assert CANARY not in repr(row) + repr(await store.load("r1"))
        assert await store.inbox(Filter(run="r1", interrupt="1.0?0")) == []
        check_fields(row, id="r1", program="clerk", session="s1", created_at=before.created_at)

    async def test_lists_show_it_by_its_tombstone_and_not_by_what_it_was_about(
        self, store: Store
    ) -> None:
        await told(store)
        await told(store, "r2")
        await store.erase("r1", by="ann", reason="asked to")
        assert await ids(store, text="asked to") == ["r1"]
        assert await ids(store, text=CANARY) == ["r2"]
        assert await ids(store, label=("customer", CANARY)) == ["r2"]
        assert await ids(store, session="s1") == ["r2", "r1"]

    async def test_every_chain_holds_with_signed_seals_before_and_after(self, store: Store) -> None:
        key = SecretKey(b"k" * 32)
        await commit(store, await begin(store, "r1"), (), [approval(), Parked()])
        await store.seal(key)
        await store.deliver("r1", Said(text="continue", by="ana"))
        await store.seal(key)
        await commit(store, await claim(store), (), [RunCompleted(output="done")])
        await store.seal(key)
        await told(store, "r2")
        await store.erase("r1", by="ann", reason="asked to")
        await store.erase("r2", by="ann", reason="asked to")
        assert await store.verify([key]) == []
        await store.seal(key)
        assert await store.verify([key]) == []

    async def test_the_audit_stays_and_says_who_erased_it_and_why(self, store: Store) -> None:
        await told(store)
        before = await store.audit("r1")
        done = await store.erase("r1", by="ann", reason="asked to", origin="cli")
        lines = await store.audit("r1")
        assert lines[:-1] == before
        told_of = {
            "verb": "erase",
            "by": "ann",
            "from": "cli",
            "reason": "asked to",
            "seq": done.seq,
        }
        assert lines[-1].entry.items() >= told_of.items()

    async def test_twice_is_the_same_as_once(self, store: Store, clock: FakeClock) -> None:
        await told(store)
        first = await store.erase("r1", by="ann", reason="asked to")
        clock.advance(60)
        lines = await store.audit("r1")
        async with unchanged(store):
            assert await store.erase("r1", by="bo", reason="once more") == first
        assert await store.audit("r1") == lines

    @pytest.mark.parametrize("status", sorted(set(Status) - ENDED))
    async def test_a_run_that_has_not_ended_is_not_erased(
        self, store: Store, status: Status
    ) -> None:
        await bring(store, status)
        async with refused(store, Refused, "cancel it first"):
            await store.erase("r1", by="ann", reason="asked to")
        assert "cancel it first" in (await store.audit("r1"))[-1].entry["refused"]
        assert await store.verify() == []

    @pytest.mark.parametrize("status", sorted(ENDED))
    async def test_a_run_that_has_ended_is_erased_and_stays_what_it_was(
        self, store: Store, status: Status
    ) -> None:
        await bring(store, status)
        await store.erase("r1", by="ann", reason="asked to")
        assert (await store.get("r1")).status == status
        assert await store.verify() == []

    async def test_a_run_that_is_not_there_is_unknown_and_the_attempt_is_in_the_audit(
        self, store: Store
    ) -> None:
        with pytest.raises(UnknownRun):
            await store.erase("r9", by="ann", reason="asked to")
        assert (await store.audit(""))[-1].entry["refused"] == "no run 'r9'"

    async def test_nothing_more_comes_into_it(self, store: Store) -> None:
        await told(store)
        await store.erase("r1", by="ann", reason="asked to")
        async with unchanged(store):
            for request in ("", "q2"):
                with pytest.raises(RunErased, match="erased by ann: asked to"):
                    await store.deliver("r1", Said(text="more", by="ana"), request=request)
            with pytest.raises(RunErased):
                await store.create(started("r1", input=f"{CANARY} input"))
            assert await store.acquire("r1", "w2", 30.0) is None
        assert await store.verify() == []

    async def test_what_a_body_comes_to_late_is_not_recorded(self, store: Store) -> None:
        lease = await begin(store)
        await store.deliver("r1", CancelAsked(by="ana"))
        await commit(store, lease, (), [RunCancelled()])
        seen = (await store.get("r1")).seq
        await store.erase("r1", by="ann", reason="asked to")
        async with refused(store, RunErased):
            await store.commit(lease, [Late(call="1.0", value=CANARY)], [], seen=seen)

    async def test_its_letters_and_notes_go_and_those_of_others_stay(self, store: Store) -> None:
        await store.endpoints(Endpoint("hook", "webhook", "https://example.org", "s", (), 0.0))
        await told(store)
        await told(store, "r2")
        await store.misfits(Misfit("r1", (await store.get("r1")).seq, CANARY))
        assert {letter.run for letter in await store.letters()} == {"r1", "r2"}
        await store.erase("r1", by="ann", reason="asked to")
        assert {letter.run for letter in await store.letters()} == {"r2"}
        assert (await store.load("r2")) and CANARY in repr(await store.load("r2"))

    async def test_a_state_that_somebody_kept_says_no_more_than_a_new_one(
        self, store: Store
    ) -> None:
        await told(store)
        records = await store.load("r1")
        states: list[State] = []
        for last in range(1, len(records) + 1):  # they stopped looking at each of them
            states.append(State().fold_all(records[:last]))
            assert states[-1].messages
        await store.erase("r1", by="ann", reason="asked to")
        new = State().fold_all(await store.load("r1"))
        for kept in states:
            kept.fold_all(await store.load("r1", kept.seq))
            assert CANARY not in repr(kept)
            check_fields(kept, status=new.status, seq=new.seq, erased=new.erased)
            assert kept.messages == new.messages

    async def test_no_journal_from_elsewhere_says_that_it_was_erased(self, store: Store) -> None:
        forged = Erased(run="r1", kind="agent", program="clerk", status="completed", by="ann")
        for rest in ([forged], [RunCompleted(), forged]):
            with pytest.raises(Invalid, match="only a store can record"):
                await store.create(started(), rest)
        with pytest.raises(UnknownRun):
            await store.get("r1")

    @pytest.mark.parametrize("gone", ["erased", "pruned"])
    async def test_no_copy_of_it_begins_that_was_read_before(
        self, store: Store, clock: FakeClock, gone: str
    ) -> None:
        for run in ("r1", "r2"):
            await told(store, run)
        clock.advance(60)
        seq = (await store.get("r1")).seq
        again = started("new", input=f"{CANARY} input", options={"again_of": "r1"})
        fork = started("new", input=f"{CANARY} input", forked_from="r1@1")
        assert await store.create(msgspec.structs.replace(again, run="before"))
        refusal: type[Exception] = RunErased
        if gone == "erased":
            await store.erase("r1", by="dpo", reason="request 7")
        else:
            refusal = RunPruned
            await store.prune("r1", Pruning(seq=seq, before=clock.now(), by="ana"))
        with pytest.raises(refusal, match="run r1 was"):
            await store.create(again)
        with pytest.raises(refusal, match="run r1 was"):
            await store.create(fork, [fork_of("r1")])
        with pytest.raises(UnknownRun):
            await store.get("new")
        # who sends the same again finds what began before
        assert not await store.create(msgspec.structs.replace(again, run="before"))
        # a copy that was made elsewhere, and is carried here, is its own; and others go on
        assert await store.create(fork, [fork_of("r1", at=5.0)])
        assert await store.create(started("other", input="x", forked_from="r2@1"), [fork_of("r2")])
        for of in ("r2", "unknown"):
            assert await store.create(started(f"again {of}", options={"again_of": of}))

    async def test_whoever_follows_it_is_told(self, store: Store) -> None:
        await told(store)
        rings: list[str] = []
        end = store.subscribe("r1", lambda: rings.append("r1"))
        await store.erase("r1", by="ann", reason="asked to")
        end()
        assert rings

    async def test_an_erasure_outlives_the_process(self, store: Store, clock: FakeClock) -> None:
        await told(store)
        done = await store.erase("r1", by="ann", reason="asked to")
        async with self.reopened(store, clock) as again:
            assert (await again.get("r1")).erased == done.at
            [(_, record)] = await again.load("r1")
            assert type(record) is Erased
            assert await again.scrub() and await again.verify() == []
            assert await again.erase("r1", by="bo", reason="once more") == done
