"""Signed decisions: a store that asks for seals takes none without, and what a worker disowns never
happened."""

from typing import Any

import msgspec
import pytest

from adjourn.core.action_digest import action_digest
from adjourn.core.authority import shown_digest
from adjourn.core.record_parts import ApprovalSlot, DecisionSeal
from adjourn.core.records import Asked, Decided, Disowned, Emitted, Intended, Parked
from adjourn.core.signatures import Sealed
from adjourn.errors import AlreadyDecided, Invalid, NotAllowed, Unauthorised
from adjourn.stores.protocol import Filter, Store
from adjourn.testing.contract.fixtures import (
    ContractFixtures,
    answer,
    approval,
    begin,
    claim,
    commit,
    entries,
    no,
    open_ids,
    refused,
    replied,
    suspend,
    unchanged,
    wait_for,
    yes,
)
from adjourn.testing.fake_clock import FakeClock


def sealed(record: Any, at: float) -> Any:
    """The record with a seal; whose it is, no store can tell."""
    return msgspec.structs.replace(record, seal=DecisionSeal("k", at, "n", "c2ln"))


def gated() -> tuple[Asked, Intended]:
    """A call that needs an agreement: the question, and the intent that lives on its answer."""
    action = action_digest("r1", "1.0", "send", "", None)
    asked = Asked(
        i="1.0?0",
        kind="approval",
        call="1.0",
        tool="send",
        effect="unsafe",
        gate=(ApprovalSlot("rule"),),
        action=action,
    )
    asked = msgspec.structs.replace(asked, digest=shown_digest("r1", asked))
    return asked, Intended(call="1.0", tool="send", digest=action, gate=asked.gate, grant="1.0?0")


class Believes:
    """Somebody's trust: only what carries the seal of this key."""

    def __init__(self, kid: str) -> None:
        self.kid = kid

    def flaw(self, run: str, record: Sealed, of: str) -> str:
        """See `signatures.Trust`."""
        if record.seal is not None and record.seal.kid == self.kid:
            return ""
        return "not theirs"


class Signing(ContractFixtures):
    """Whether decisions must carry a seal, and what becomes of those that are not believed."""

    async def test_an_id_and_whether_seals_are_asked_for_outlive_the_process(
        self, store: Store, clock: FakeClock
    ) -> None:
        before = await store.identity()
        await store.signed(True)
        async with self.reopened(store, clock) as again:
            assert (await again.identity(), await again.signed()) == (before, True)

    async def test_asking_for_seals_is_set_and_lifted_and_both_are_in_the_audit(
        self, store: Store
    ) -> None:
        assert await store.signed() is False
        assert await store.signed(True, by="ana", origin="cli") is True
        assert await store.signed(True, by="bo") is True
        assert await store.signed() is True
        assert await store.signed(False, by="cy") is False
        lines = [(entry["verb"], entry["by"]) for entry in await entries(store, "")]
        assert lines == [("require seals", "ana"), ("stop requiring seals", "cy")]
        assert not await store.verify()

    @pytest.mark.parametrize("command", [yes(), no()], ids=["yes", "no"])
    async def test_a_decision_without_a_seal_is_refused_and_says_what_to_do(
        self, store: Store, clock: FakeClock, command: Decided
    ) -> None:
        await wait_for(store, approval())
        await store.signed(True)
        async with refused(
            store, NotAllowed, r"must be signed, and this one is not.*--signing-key"
        ):
            await store.deliver("r1", command)
        assert "must be signed" in (await store.audit("r1"))[-1].entry["refused"]
        await store.deliver("r1", sealed(command, clock.now()))

    async def test_an_answer_and_an_event_that_answers_need_a_seal_and_other_words_do_not(
        self, store: Store, clock: FakeClock
    ) -> None:
        lease = await begin(store)
        await commit(store, lease, [replied("ask")])
        await suspend(store, lease, event="paid")
        await store.signed(True)
        async with unchanged(store):
            for command in (answer(1), Emitted(event="paid", by="ana")):
                with pytest.raises(NotAllowed, match="must be signed"):
                    await store.deliver("r1", command)
        await store.deliver("r1", Emitted(event="other", by="ana"))
        await store.deliver("r1", sealed(Emitted(event="paid", by="ana"), clock.now()))
        assert await open_ids(store) == []

    @pytest.mark.parametrize("off", [-301.0, 301.0])
    async def test_a_seal_of_another_time_is_refused(
        self, store: Store, clock: FakeClock, off: float
    ) -> None:
        await wait_for(store, approval())
        async with refused(store, Invalid, "301 s away from"):
            await store.deliver("r1", sealed(yes(), clock.now() + off))

    async def test_a_request_is_the_same_whenever_it_was_signed(
        self, store: Store, clock: FakeClock
    ) -> None:
        await wait_for(store, approval())
        first = await store.deliver("r1", sealed(yes(), clock.now()), request="q")
        clock.advance(5)
        assert await store.deliver("r1", sealed(yes(), clock.now()), request="q") == first

    async def test_what_is_disowned_is_open_again_and_names_who_decided(self, store: Store) -> None:
        await wait_for(store, approval())
        seq = await store.deliver("r1", yes(by="eve"))
        assert await open_ids(store) == []
        lease = await claim(store)
        await commit(
            store, lease, [Disowned(seq=seq, i="1.0?0", by="eve", why="not signed")], [Parked()]
        )
        [found] = await store.inbox(Filter())
        assert found.id == "r1:1.0?0" and found.disowned == ("eve",)
        assert not await store.verify()
        await store.deliver("r1", yes(by="ana"))
        with pytest.raises(AlreadyDecided, match="ana"):
            await store.deliver("r1", yes(by="bo"))

    async def test_lines_about_what_was_disowned_are_marked_and_others_are_not(
        self, store: Store
    ) -> None:
        await wait_for(store, approval())
        seq = await store.deliver("r1", yes(by="eve"))
        assert [line.is_contested for line in await store.recent()] == [False, False]
        lease = await claim(store)
        await commit(store, lease, [Disowned(seq=seq, i="1.0?0", by="eve")], [Parked()])
        await store.deliver("r1", yes(by="ana"))
        lines = await store.recent()
        contested = [(line.entry["verb"], line.is_contested) for line in lines]
        assert contested == [("answer", True), ("answer", True), ("start", False)]

    async def test_of_several_votes_only_the_disowned_one_is_gone(self, store: Store) -> None:
        gate = (ApprovalSlot("rule", (), 2),)
        await wait_for(store, approval(gate=gate, approvers=2))
        await store.deliver("r1", yes(by="ana"))
        seq = await store.deliver("r1", yes(by="eve"))
        assert await open_ids(store) == []
        lease = await claim(store)
        await commit(store, lease, [Disowned(seq=seq, i="1.0?0", by="eve")], [Parked()])
        assert await open_ids(store) == ["r1:1.0?0"]
        with pytest.raises(AlreadyDecided, match=r"^ana has already approved"):
            await store.deliver("r1", yes(by="ana"))
        await store.deliver("r1", yes(by="eve"))  # as herself, this time
        assert await open_ids(store) == []

    async def test_a_denial_that_is_disowned_gives_the_votes_back(self, store: Store) -> None:
        gate = (ApprovalSlot("rule", (), 2),)
        await wait_for(store, approval(gate=gate, approvers=2))
        await store.deliver("r1", yes(by="ana"))
        seq = await store.deliver("r1", no(by="eve"))
        lease = await claim(store)
        await commit(store, lease, [Disowned(seq=seq, i="1.0?0", by="eve")], [Parked()])
        await store.deliver("r1", yes(by="bo"))
        assert await open_ids(store) == []

    async def test_an_answer_and_an_event_that_are_disowned_leave_the_question_open(
        self, store: Store
    ) -> None:
        lease = await begin(store)
        await commit(store, lease, [replied("ask", "ask")])
        await suspend(store, lease, event="paid")
        await suspend(store, lease, id="1.1?0", call="1.1")
        answered = await store.deliver("r1", answer(1, id="1.1?0", by="eve"))
        emitted = await store.deliver("r1", Emitted(event="paid", by="eve"))
        assert await open_ids(store) == []
        facts = [
            Disowned(seq=answered, i="1.1?0", by="eve"),
            Disowned(seq=emitted, i="1.0?0", by="eve"),
        ]
        await commit(store, lease, facts)
        assert await open_ids(store) == ["r1:1.0?0", "r1:1.1?0"]
        assert (await store.get("r1")).requesters == ()

    async def test_a_gated_intent_needs_what_the_worker_trusts(
        self, store: Store, clock: FakeClock
    ) -> None:
        asked, intended = gated()
        await wait_for(store, asked)
        await store.deliver("r1", sealed(yes(by="ana", digest=asked.digest), clock.now()))
        lease = await claim(store)
        stranger = msgspec.structs.replace(lease, trust=Believes("other"))
        server = msgspec.structs.replace(lease, trust=Believes("k"))
        async with refused(store, Unauthorised, "whose signature counts here"):
            await commit(store, stranger, (), [intended])
        assert (await commit(store, server, (), [intended])).clean

    async def test_where_seals_are_asked_for_a_worker_that_cannot_verify_them_begins_nothing_gated(
        self, store: Store, clock: FakeClock
    ) -> None:
        asked, intended = gated()
        await wait_for(store, asked)
        await store.signed(True)
        await store.deliver("r1", sealed(yes(by="ana", digest=asked.digest), clock.now()))
        lease = await claim(store)
        async with refused(store, Unauthorised, "no deciders to verify them with"):
            await commit(store, lease, (), [intended])
