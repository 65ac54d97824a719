"""Standing decisions: a worker answers under one as often as it says, as long as it stands, and
never otherwise."""

import random
from typing import Any

import msgspec
import pytest

from adjourn.core.action_digest import action_digest
from adjourn.core.authority import shown_digest
from adjourn.core.journal_authority import violations
from adjourn.core.record_parts import ApprovalSlot
from adjourn.core.records import Asked, Decided, Intended, Move, Revoked
from adjourn.core.standing_decision import UNDER
from adjourn.errors import InvalidAnswer, NotAllowed, Refused, Unauthorised
from adjourn.stores.protocol import Lease, Store
from adjourn.testing.contract.fixtures import (
    TTL,
    ContractFixtures,
    begin,
    claim,
    commit,
    entries,
    no,
    recorded,
    refused,
    replied,
    unchanged,
    yes,
)
from adjourn.testing.contract.signatures import Believes, sealed
from adjourn.testing.fake_clock import FakeClock

CALLS = 8
ANY = {"where": ["*"]}
STEPS = ("use", "use", "intent", "revoke", "later", "takeover", "again")


def send(number: int, **args: Any) -> Asked:
    """The question about the call of this number."""
    call = f"1.{number}"
    given = args or {"cents": number}
    asked = Asked(
        i=f"{call}?0",
        kind="approval",
        call=call,
        tool="send",
        args=given,
        effect="unsafe",
        gate=(ApprovalSlot("rule"),),
        action=action_digest("r1", call, "send", "", given),
    )
    return msgspec.structs.replace(asked, digest=shown_digest("r1", asked))


def use(asked: Asked, by: str = "ana", of: str = "1.0?0") -> Decided:
    """What a worker records of a person's standing decision."""
    return yes(asked.i, by, digest=asked.digest, value={UNDER: of})


def intent(asked: Asked, of: str = "1.0?0") -> Intended:
    """The intent that lives on such an answer."""
    return Intended(
        call=asked.call,
        tool="send",
        digest=asked.action,
        gate=asked.gate,
        grant=asked.i,
        standing=of,
    )


async def stand(store: Store, says: dict[str, Any]) -> Lease:
    """A run in which ana has made a standing decision about its first call, claimed again."""
    lease = await begin(store)
    asked = send(0)
    await commit(store, lease, [replied(*["send"] * CALLS)], [asked])
    await store.deliver("r1", yes(digest=asked.digest, value={"stands": says}))
    return lease


class StandingDecisions(ContractFixtures):
    """What stands for later calls."""

    async def test_a_worker_answers_under_it_and_the_audit_names_the_person(
        self, store: Store
    ) -> None:
        lease = await stand(store, ANY)
        asked = send(1)
        assert (await commit(store, lease, (), [asked, use(asked)])).clean
        assert (await commit(store, lease, (), [intent(asked)])).clean
        line = (await entries(store, "r1"))[-1]
        told = (line["verb"], line["by"], line["interrupt"], line["under"], line["tool"])
        assert told == ("answer", "ana", "1.1?0", "1.0?0", "send")
        assert not await store.verify()

    async def test_it_is_used_as_often_as_it_says_and_not_once_more(self, store: Store) -> None:
        lease = await stand(store, {**ANY, "times": 3})
        for number in (1, 2):
            asked = send(number)
            assert (await commit(store, lease, (), [asked, use(asked)])).clean
        asked = send(3)
        async with refused(store, Unauthorised, "used up"):
            await commit(store, lease, (), [asked, use(asked)])
        both = [send(4), send(5)]
        async with refused(store, Unauthorised, "used up"):
            await commit(store, lease, (), [*both, *map(use, both)])

    async def test_of_two_in_one_commit_that_are_one_too_many_none_lands(
        self, store: Store
    ) -> None:
        lease = await stand(store, {**ANY, "times": 2})
        both = [send(1), send(2)]
        async with refused(store, Unauthorised, "used up"):
            await commit(store, lease, (), [*both, *map(use, both)])

    async def test_what_stands_in_one_run_stands_in_no_other(self, store: Store) -> None:
        await stand(store, ANY)
        lease = await begin(store, "r2", "w2")
        asked = send(1)
        await commit(store, lease, [replied("send", "send")], [asked])
        async with refused(store, Unauthorised, "no standing decision", runs=("r2",)):
            await commit(store, lease, (), [use(asked)])

    async def test_where_decisions_are_signed_the_standing_one_is_what_must_be(
        self, store: Store, clock: FakeClock
    ) -> None:
        await store.signed(True)
        lease = await begin(store)
        asked, later = send(0), send(1)
        await commit(store, lease, [replied("send", "send")], [asked])
        made = yes(digest=asked.digest, value={"stands": ANY})
        await store.deliver("r1", sealed(made, clock.now()))
        moves: list[Move] = [later, use(later)]
        stranger = msgspec.structs.replace(lease, trust=Believes("other"))
        server = msgspec.structs.replace(lease, trust=Believes("k"))
        async with unchanged(store):
            with pytest.raises(Unauthorised, match="signature of the standing decision"):
                await commit(store, stranger, (), moves)
            with pytest.raises(Unauthorised, match="has no deciders"):
                await commit(store, lease, (), moves)
        assert (await commit(store, server, (), moves)).clean
        async with refused(store, Unauthorised, "whose signature counts here"):
            await commit(store, stranger, (), [intent(later)])
        assert (await commit(store, server, (), [intent(later)])).clean

    async def test_a_commit_that_is_made_again_counts_once(self, store: Store) -> None:
        lease = await stand(store, {**ANY, "times": 3})
        seen = (await store.get("r1")).seq
        at = store.now()
        asked = msgspec.structs.replace(send(1), at=at)
        moves: list[Move] = [asked, msgspec.structs.replace(use(asked), at=at)]
        assert (await commit(store, lease, (), moves, seen=seen)).clean
        assert (await commit(store, lease, (), moves, seen=seen)).clean
        asked = send(2)
        assert (await commit(store, lease, (), [asked, use(asked)])).clean
        assert not await store.verify()

    async def test_a_revoked_one_answers_nothing_and_lets_no_intent_through(
        self, store: Store
    ) -> None:
        lease = await stand(store, ANY)
        asked, later = send(1), send(2)
        await commit(store, lease, (), [asked, use(asked)])
        await store.deliver("r1", Revoked(i="1.0?0", by="bo"))
        async with unchanged(store):
            for moves in ([intent(asked)], [later, use(later)]):
                with pytest.raises(Unauthorised, match="revoked"):
                    await commit(store, lease, (), moves)
            own = msgspec.structs.replace(intent(send(0)), standing="")
            with pytest.raises(Unauthorised, match="revoked"):
                await commit(store, lease, (), [own])
        assert not await store.verify()

    async def test_a_worker_that_has_not_seen_the_revocation_moves_nothing(
        self, store: Store
    ) -> None:
        lease = await stand(store, ANY)
        seen = (await store.get("r1")).seq
        await store.deliver("r1", Revoked(i="1.0?0", by="bo"))
        asked = send(1)
        done = await commit(store, lease, (), [asked, use(asked)], seen=seen)
        assert not done.clean
        assert [record.i for record in await recorded(store, Asked)] == ["1.0?0"]

    async def test_after_its_time_no_answer_and_no_intent_lands(
        self, store: Store, clock: FakeClock
    ) -> None:
        lease = await stand(store, {**ANY, "lasts": 60.0})
        asked, later = send(1), send(2)
        await commit(store, lease, (), [asked, use(asked)])
        clock.advance(60.0)
        async with unchanged(store):
            for moves in ([intent(asked)], [later, use(later)]):
                with pytest.raises(Unauthorised, match="standing decision behind it has expired"):
                    await commit(store, lease, (), moves)

    @pytest.mark.parametrize(
        ("asked", "by", "of", "why"),
        [
            (send(1, cents=101), "ana", "1.0?0", "does not cover"),
            (send(1, euros=1), "ana", "1.0?0", "does not cover"),
            (send(1), "bo", "1.0?0", "no standing decision about it"),
            (send(1), "ana", "1.1?0", "no standing decision is behind"),
            (send(1), "ana", "", "no standing decision is behind"),
        ],
        ids=["more", "absent", "another person", "itself", "none"],
    )
    async def test_a_worker_decides_nothing_that_no_person_has(
        self, store: Store, asked: Asked, by: str, of: str, why: str
    ) -> None:
        lease = await stand(store, {"where": ["cents<=100"]})
        async with refused(store, Unauthorised, why):
            await commit(store, lease, (), [asked, use(asked, by, of)])

    async def test_other_tools_definitions_effects_rules_and_agents_are_not_covered(
        self, store: Store
    ) -> None:
        lease = await stand(store, ANY)
        others: list[dict[str, Any]] = [
            {"tool": "pay"},
            {"definition": "other"},
            {"describes": "other"},
            {"effect": "idempotent"},
            {"undo": True},
            {"under": ("clerk",)},
            {"rules": ("ask send",)},
            {"gate": (ApprovalSlot("other"),)},
            {"gate": (ApprovalSlot("rule", ("finance",)),)},
            {"valid_for": 9.0},
            {"schema": False},
        ]
        async with unchanged(store):
            for other in others:
                asked = msgspec.structs.replace(send(1), **other)
                action = action_digest("r1", asked.call, asked.tool, asked.definition, asked.args)
                asked = msgspec.structs.replace(asked, action=action)
                asked = msgspec.structs.replace(asked, digest=shown_digest("r1", asked))
                with pytest.raises(Unauthorised, match="does not cover"):
                    await commit(store, lease, (), [asked, use(asked)])

    async def test_an_intent_that_does_not_say_what_it_lives_on_lands_not(
        self, store: Store
    ) -> None:
        lease = await stand(store, ANY)
        asked = send(1)
        await commit(store, lease, (), [asked, use(asked)])
        async with refused(store, Unauthorised, "was not found"):
            await commit(store, lease, (), [intent(asked, of="")])

    async def test_a_person_cannot_say_that_another_has_decided(self, store: Store) -> None:
        lease = await stand(store, ANY)
        asked = send(1)
        await commit(store, lease, (), [asked])
        async with refused(store, InvalidAnswer):
            await store.deliver("r1", use(asked, "eve"))

    @pytest.mark.parametrize(
        "says",
        [
            {"where": ["cents<=-1"]},
            {"where": ["cents=["]},
            {"where": "*"},
            {"where": ["cents"]},
            {"times": 1},
            {"times": -2},
            {"times": 2.5},
            {"lasts": -1},
            {"lasts": 1e12},
            {"for": 3},
            [],
            None,
        ],
    )
    async def test_what_is_no_standing_decision_is_refused(self, store: Store, says: Any) -> None:
        lease = await begin(store)
        asked = send(0)
        await commit(store, lease, [replied("send")], [asked])
        async with unchanged(store):
            for make in (yes, no):
                with pytest.raises(InvalidAnswer):
                    await store.deliver("r1", make(digest=asked.digest, value={"stands": says}))

    async def test_what_does_not_stand_is_not_revoked_nor_by_the_run_itself(
        self, store: Store
    ) -> None:
        await stand(store, ANY)
        with pytest.raises(NotAllowed):
            await store.deliver("r1", Revoked(i="1.0?0", by="clerk"))
        await store.deliver("r1", Revoked(i="1.0?0", by="bo"))
        async with refused(store, Refused, "revoked already"):
            await store.deliver("r1", Revoked(i="1.0?0", by="bo"))

    @pytest.mark.parametrize("seed", range(6))
    async def test_whatever_happens_in_whatever_order_the_journal_stays_lawful(
        self, store: Store, clock: FakeClock, seed: int
    ) -> None:
        chance = random.Random(seed)
        times, lasts = 4, 50.0
        lease = await stand(store, {**ANY, "times": times, "lasts": lasts})
        until, revoked, used = clock.now() + lasts, False, [send(0)]
        number, began = 1, set[str]()
        last: tuple[list[Move], int] | None = None
        while number < CALLS:
            step = chance.choice(STEPS)
            stands = not revoked and clock.now() < until
            if step == "use":
                asked = msgspec.structs.replace(send(number), at=clock.now())
                answer = msgspec.structs.replace(use(asked), at=clock.now())
                number += 1
                last = ([asked, answer], (await store.get("r1")).seq)
                if await _lands(store, lease, last[0]):
                    assert stands and len(used) < times
                    used.append(asked)
            elif step == "intent":
                asked = chance.choice(used)
                of = "1.0?0"
                if asked.i == of:
                    of = ""
                if await _lands(store, lease, [intent(asked, of)]):
                    assert not revoked and asked.i not in began
                    assert stands or not of
                    began.add(asked.i)
            elif step == "again" and last is not None and last[0][0].at == clock.now():
                await _lands(store, lease, last[0], seen=last[1])
            elif step == "revoke" and not chance.randrange(4):
                revoked = revoked or await _is_revoked(store)
            elif step == "later":
                clock.advance(chance.choice((1.0, 9.0)))
            elif step == "takeover":
                clock.advance(TTL)
                lease = await claim(store, worker=f"w{chance.randrange(10**6)}")
        assert list(violations([record for _, record in await store.load("r1")])) == []
        assert not await store.verify()
        answers = [one for one in await recorded(store, Decided) if one.value == {UNDER: "1.0?0"}]
        assert len(answers) == len(used) - 1 < times


async def _lands(store: Store, lease: Lease, moves: list[Move], *, seen: int | None = None) -> bool:
    """Whether these moves are in the journal now."""
    try:
        return (await commit(store, lease, (), moves, seen=seen)).clean
    except Unauthorised:
        return False


async def _is_revoked(store: Store) -> bool:
    await store.deliver("r1", Revoked(i="1.0?0", by="bo"))
    return True
