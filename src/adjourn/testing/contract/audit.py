"""`audit`, `seal` and `verify`: every attempt is on record, and what is sealed cannot be changed
unseen."""

import msgspec
import pytest

from adjourn.core.fork import Answers
from adjourn.core.records import (
    Asked,
    CancelAsked,
    Checked,
    Claimed,
    Closed,
    Decided,
    Emitted,
    Forked,
    Parked,
    PauseAsked,
    Resumed,
    RunCancelled,
    RunCompleted,
    Said,
    Stepped,
)
from adjourn.errors import (
    AlreadyDecided,
    AuditBroken,
    Invalid,
    InvalidDefinition,
    NotAllowed,
    Refused,
    UnknownRun,
)
from adjourn.stores.audit import SECURITY, chain
from adjourn.stores.audit_key import SecretKey
from adjourn.stores.outbox import Endpoint
from adjourn.stores.protocol import Store
from adjourn.stores.seals import Anchor, Covered, Seal, seal_hash, sealed_head
from adjourn.testing.contract.fixtures import (
    ContractFixtures,
    approval,
    at_once,
    begin,
    claim,
    commit,
    created,
    entries,
    ids,
    names,
    question,
    started,
    suspend,
    wait_for,
    yes,
)
from adjourn.testing.fake_clock import FakeClock

KEY, OTHER = SecretKey(b"k" * 32), SecretKey(b"o" * 32)


class Auditing(ContractFixtures):
    """Who wanted what, when, from where, why, and what came of it."""

    async def test_a_command_is_a_line_with_who_when_whence_and_where_it_stands(
        self, store: Store, clock: FakeClock
    ) -> None:
        await begin(store, by="ana")
        clock.advance(5)
        await store.deliver("r1", PauseAsked(by="bo", reason="lunch"), origin="cli")
        first, second = await entries(store, "r1")
        assert first.items() >= {"verb": "start", "by": "ana", "seq": 1, "run": "r1"}.items()
        wanted = {
            "verb": "pause",
            "by": "bo",
            "from": "cli",
            "reason": "lunch",
            "seq": 3,
            "at": clock.now(),
        }
        assert second.items() >= wanted.items()

    async def test_a_decision_is_a_line_with_what_was_shown(self, store: Store) -> None:
        await wait_for(store, approval(digest="d"))
        await store.deliver("r1", yes(by="ana", note="fine", digest="d"))
        wanted = {
            "verb": "answer",
            "interrupt": "1.0?0",
            "verdict": "approve",
            "note": "fine",
            "digest": "d",
            "seq": 5,
        }
        assert (await store.audit("r1"))[-1].entry.items() >= wanted.items()

    async def test_an_event_is_a_line_with_its_name_and_what_it_answered(
        self, store: Store
    ) -> None:
        await suspend(store, await begin(store), event="go")
        await store.deliver("r1", Emitted(event="news", value="a secret", by="ana"))
        with pytest.raises(NotAllowed):
            await store.deliver("r1", Emitted(event="go", by="bo", decides=False))
        await store.deliver("r1", Emitted(event="go", by="ana"))
        _, *lines = await entries(store, "r1")
        wanted: list[tuple[str, list[str], bool]] = [
            ("news", [], False),
            ("go", ["1.0?0"], True),
            ("go", ["1.0?0"], False),
        ]
        assert [(entry["event"], entry["answers"], "refused" in entry) for entry in lines] == wanted
        assert "a secret" not in str(lines)

    async def test_a_fork_is_a_line_with_where_it_was_cut_and_what_was_kept(
        self, store: Store
    ) -> None:
        cases: tuple[tuple[str, Answers, list[str] | None], ...] = (
            ("r1", "reopen", None),
            ("r2", "keep", ["1.0?0"]),
        )
        for run, answers, kept in cases:
            said = Decided(i="1.0?0", verdict="value", value=1)
            here = Forked(of="r0", at_seq=5, by="ana", answers=answers)
            rest = [Claimed(epoch=1), *question(), said, here]
            await store.create(started(run, by="ana", forked_from="r0@5"), rest)
            [line] = await entries(store, run)
            assert (line["verb"], line["of"], line["cut_at"]) == ("fork", "r0@5", 5)
            assert (line["answers"], line.get("kept")) == (answers, kept)

    async def test_an_endpoint_is_a_line_that_names_it_exactly_and_gives_nothing_away(
        self, store: Store
    ) -> None:
        put = Endpoint(
            "ops", "webhook", "https://example.com/hidden", "whsec_hidden", ("run.failed",)
        )
        await store.endpoints(put, by="ana")
        await store.endpoints(drop="ops", by="bo")
        first, second = await entries(store, "")
        assert (
            first.items()
            >= {"verb": "add endpoint", "by": "ana", "endpoint": "ops", "kind": "webhook"}.items()
        )
        assert (
            first["topics"] == ["run.failed"]
            and len(first["digest"]) == 64
            and "hidden" not in str(first)
        )
        told_of = {"verb": "remove endpoint", "by": "bo", "endpoint": "ops"}
        assert second.items() >= told_of.items()

    async def test_the_security_log_is_a_chain_of_its_own_that_other_lists_do_not_show(
        self, store: Store, clock: FakeClock
    ) -> None:
        await begin(store)
        await store.note(
            [{"verb": "login", "by": "ana", "from": "10.0.0.1"}, {"verb": "logout", "by": "ana"}]
        )
        clock.advance(1)
        await store.halt("*", by="ana", reason="x")
        await store.halt("*", by="bo", lift=True)
        lines = await store.audit(SECURITY)
        assert [(line.n, line.entry["verb"]) for line in lines] == [
            (1, "login"),
            (2, "logout"),
            (3, "unhalt"),
        ]
        assert (
            lines[0].entry.items()
            >= {"by": "ana", "from": "10.0.0.1", "at": clock.now() - 1}.items()
        )
        assert lines[1].head == chain(lines[0].head, lines[1].body)
        lines = [*await store.audit(), *await store.recent()]
        assert {line.scope for line in lines} == {"r1", ""}
        [last] = await store.recent(limit=1, security=True)
        assert last.n == 3
        assert [x.n for x in await store.recent(last.place, security=True)] == [2, 1]

    async def test_no_run_takes_the_name_of_a_chain_that_is_not_its_own(self, store: Store) -> None:
        for run in ("", SECURITY, "@x"):
            with pytest.raises(Invalid, match="id"):
                await store.create(started(run))
        assert await store.audit() == []

    async def test_a_refused_attempt_is_a_line_with_the_reason(self, store: Store) -> None:
        await wait_for(store, approval())
        await store.deliver("r1", yes(by="ana"))
        with pytest.raises(AlreadyDecided):
            await store.deliver("r1", yes(by="bo"))
        with pytest.raises(Refused):
            await store.deliver("r1", Resumed(by="cy"))
        *_, second, third = await entries(store, "r1")
        assert second["by"] == "bo" and "ana has already" in second["refused"]
        assert "seq" not in second
        assert (third["by"], "not paused" in third["refused"]) == ("cy", True)

    async def test_an_attempt_on_an_unknown_run_is_a_global_line(self, store: Store) -> None:
        with pytest.raises(UnknownRun):
            await store.deliver("r1", CancelAsked(by="ana"))
        [line] = await store.audit("")
        assert (line.scope, line.n, line.entry["by"]) == ("", 1, "ana")
        assert "'r1'" in line.entry["refused"]

    async def test_a_second_cancel_is_a_line_that_says_that_nothing_was_done(
        self, store: Store
    ) -> None:
        await begin(store)
        await store.deliver("r1", CancelAsked(by="ana"))
        await store.deliver("r1", CancelAsked(by="bo"), request="q1")
        await store.deliver("r1", CancelAsked(by="bo"), request="q1")
        told = [(line.entry["by"], line.entry.get("refused")) for line in await store.audit("r1")]
        assert told == [("", None), ("ana", None), ("bo", "it is cancelling already")]

    async def test_what_is_not_on_is_not_lifted_and_the_audit_says_so(self, store: Store) -> None:
        await begin(store)
        assert await store.halt("tool:send", by="bo", lift=True) == []
        await store.hold("run:r1", by="bo", reason="x", lift=True)
        told = [(line["verb"], line.get("refused")) for line in await entries(store, "")]
        assert told == [("unhalt", "it was not halted"), ("lift hold", "it was not on hold")]
        assert not [line for line in await entries(store, "@security") if line.get("by") == "bo"]

    async def test_a_halt_and_its_lifting_are_global_lines(self, store: Store) -> None:
        await store.halt("tool:send", by="ana", reason="spilled", origin="console")
        await store.halt("tool:send", by="bo", lift=True)
        await store.halt("")
        with pytest.raises(InvalidDefinition):
            await store.halt("nonsense")
        first, second = await entries(store, "")
        wanted = {
            "verb": "halt",
            "by": "ana",
            "scope": "tool:send",
            "reason": "spilled",
            "from": "console",
        }
        assert first.items() >= wanted.items()
        assert (second["verb"], second["by"]) == ("unhalt", "bo")

    async def test_what_no_one_answered_in_time_is_a_line(self, store: Store) -> None:
        lease = await begin(store)
        asked = [approval(f"1.{k}?0", call=f"1.{k}", tool="pay") for k in range(2)]
        await commit(store, lease, (), asked)
        await commit(store, lease, (), [Closed(i="1.0?0", why="expired")])
        lines = await entries(store, "r1")
        again = [
            Closed(i="1.1?0", why="void"),
            approval("1.1?1", call="1.1", tool="pay", escalated=True),
        ]
        await commit(store, lease, (), again)
        found = (await entries(store, "r1"))[len(lines) - 1 :]
        assert [line["verb"] for line in found] == ["expire", "escalate"]
        assert [line["interrupt"] for line in found] == ["1.0?0", "1.1?1"]
        assert all(line["by"] == "" and line["tool"] == "pay" for line in found)
        records = dict(await store.load("r1"))
        assert isinstance(records[found[0]["seq"]], Closed)
        assert isinstance(records[found[1]["seq"]], Asked)

    async def test_what_a_hook_vetoed_is_a_line_that_does_not_say_why(self, store: Store) -> None:
        lease = await begin(store)
        veto = Checked(step="check:1.0", tool="pay", verdict="veto", hooks=("a", "b"), reason="odd")
        await commit(store, lease, [Checked(step="check:1.1", tool="pay", hooks=("a",)), veto], ())
        [line] = [line for line in await entries(store, "r1") if line["verb"] == "veto"]
        assert (line["by"], line["hook"], line["tool"]) == ("", "b", "pay")
        assert dict(await store.load("r1"))[line["seq"]].reason == "odd"  # pyright: ignore
        assert "odd" not in str(line)

    async def test_what_was_said_is_not_in_the_audit(self, store: Store) -> None:
        await begin(store)
        await store.deliver("r1", Said(text="a secret", by="ana"))
        assert "a secret" not in str(await store.audit())

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
            for number in range(3):
                await store.deliver(run, Said(text=str(number)))
        for run in ("r1", "r2"):
            head = b""
            for number, line in enumerate(await store.audit(run), 1):
                head = chain(head, line.body)
                assert (line.n, line.head) == (number, head)

    async def test_lines_come_in_pages_and_of_all_scopes_by_time(
        self, store: Store, clock: FakeClock
    ) -> None:
        for number, run in enumerate(("r1", "r2", "r1", "r2")):
            clock.advance(1)
            await (store.create(started(run)) if number < 2 else store.deliver(run, PauseAsked()))
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
        await commit(store, lease, (), [RunCompleted()])
        assert await store.verify() == []


class Sealing(ContractFixtures):
    """One chain over everything: what is sealed cannot vanish, and `verify` says how far it can
    vouch for the rest."""

    async def test_a_store_has_an_id(self, store: Store) -> None:
        assert len(await store.identity()) >= 32
        assert await store.identity() == await store.identity()

    async def test_a_seal_says_where_every_chain_stood_that_was_touched(
        self, store: Store, clock: FakeClock
    ) -> None:
        assert await store.seal() is None
        for run in ("r1", "r2"):
            await begin(store, run)
        await store.halt("*", by="ana", reason="x")
        seal = await store.seal()
        assert seal is not None and (seal.k, seal.at, seal.prev) == (1, clock.now(), b"")
        assert seal.covered == [await where(store, scope) for scope in ("", "r1", "r2")]
        assert await store.seal() is None
        await store.deliver("r2", Said(text="hi"))
        seal = await store.seal()
        assert seal is not None and seal.covered == [await where(store, "r2")]
        one, two = await store.seals()
        assert (one.k, two.k) == (1, 2)
        assert await store.seals(1) == await store.seals(-1) == [two]
        assert await store.seals(0, 1) == [one]

    async def test_seals_are_chained_and_bound_to_their_store(self, store: Store) -> None:
        id, prev = await store.identity(), b""
        for number in range(3):
            await store.create(started(f"r{number}"))
            seal = await store.seal()
            assert seal is not None and seal.prev == prev
            assert seal.hash == seal_hash(id, seal.k, seal.at, seal.prev, seal.body)
            prev = seal.hash
        assert seal_hash("another", 1, 0.0, b"", "") != seal_hash(id, 1, 0.0, b"", "")

    async def test_a_run_is_touched_by_commands_by_parking_and_by_its_end_and_by_nothing_else(
        self, store: Store
    ) -> None:
        lease = await begin(store)
        await store.seal()
        await commit(store, lease, [Stepped(call="1.0", key="a")])
        await store.renew(lease, 30.0)
        assert await store.seal() is None
        await commit(store, lease, (), [Parked(wake_at=1.0)])
        assert await store.seal() is not None
        lease = await claim(store, worker="w2", ttl=30.0)
        assert await store.seal() is None
        await store.deliver("r1", CancelAsked())
        assert await store.seal() is not None
        await commit(store, lease, (), [RunCancelled()])
        assert await store.seal() is not None

    async def test_a_seal_covers_at_most_so_many_and_the_next_the_rest(self, store: Store) -> None:
        await created(store, *names(5))
        for wanted in (["r0", "r1"], ["r2", "r3"], ["r4"]):
            seal = await store.seal(most=2)
            assert seal is not None and scopes(seal) == wanted
        assert await store.seal(most=2) is None

    async def test_of_many_sealers_each_number_and_each_scope_is_one_s(self, store: Store) -> None:
        for number in range(20):
            await store.create(started(f"r{number:02}"))
        numbers: list[int] = []
        covered: list[str] = []
        for seal in await at_once(30, lambda _: store.seal(most=3)):
            if seal is not None:
                numbers.append(seal.k)
                covered += scopes(seal)
        assert sorted(numbers) == list(range(1, 8))
        assert sorted(covered) == sorted(await ids(store))
        assert await store.verify() == []

    async def test_with_a_key_a_seal_is_signed_and_what_is_signed_is_left_to_who_has_one(
        self, store: Store
    ) -> None:
        await store.create(started("r1"))
        plain = await store.seal()
        assert plain is not None and (plain.kid, plain.sig) == ("", b"")
        signed = await store.seal(KEY)
        assert signed is not None and signed.covered == [] and signed.kid == KEY.kid
        assert KEY.fits(signed.hash, signed.sig) and not OTHER.fits(signed.hash, signed.sig)
        assert await store.seal(KEY) is None
        await store.create(started("r2"))
        assert await store.seal() is None
        assert (await store.verify()).lines == 1
        again = await store.seal(KEY)
        assert again is not None and scopes(again) == ["r2"]

    async def test_nothing_is_sealed_on_top_of_a_store_that_has_lost_a_seal(
        self, store: Store
    ) -> None:
        await store.create(started("r1"))
        seal = await store.seal()
        assert seal is not None
        await store.create(started("r2"))
        for lost in (
            Seal(seal.k, seal.at, seal.prev, seal.body, b"x" * 32),
            Seal(9, 0.0, b"", "[]", b""),
        ):
            with pytest.raises(AuditBroken, match="nothing was sealed"):
                await store.seal(after=lost)
        assert await store.seals() == [seal]
        assert await store.seal(after=seal) is not None

    async def test_a_check_says_what_is_sealed_what_is_signed_and_what_is_neither(
        self, store: Store
    ) -> None:
        lease = await begin(store)
        found = await store.verify()
        assert (list(found), found.seal, found.lines, found.records) == ([], None, 1, 2)
        await store.seal(KEY)
        await commit(store, lease, [Stepped(call="1.0", key="a")])
        await store.deliver("r1", Said(text="hi"))
        found = await store.verify([KEY])
        assert list(found) == [] and found.seal is not None and found.signed_from == found.seal
        assert (found.seal.k, found.lines, found.records) == (1, 1, 2)
        assert "1 line and 2 records since then are chained, not sealed" in str(
            found
        ) and KEY.kid in str(found)
        unchecked = await store.verify()
        assert (
            list(unchecked) == []
            and "not checked" in str(unchecked)
            and "can rewrite" in str(unchecked)
        )

    async def test_a_check_with_a_key_that_signed_nothing_says_so(self, store: Store) -> None:
        assert await store.verify([KEY]) == []
        await store.create(started("r1"))
        assert str(await store.verify([KEY])) == f"seals: none is signed by {KEY.kid}"
        await store.seal(KEY)
        assert await store.verify([OTHER, KEY]) == []
        assert [broken.what for broken in await store.verify([OTHER])] == ["seal", "seals"]

    async def test_an_anchor_is_found_again_and_a_foreign_one_is_not(
        self, store: Store, clock: FakeClock
    ) -> None:
        await store.create(started("r1"))
        seal = await store.seal(KEY)
        assert seal is not None
        anchor = Anchor.read(str(Anchor.of(await store.identity(), seal)))
        clock.advance(60)
        await store.create(started("r2"))
        await store.seal(KEY)
        assert await store.verify([KEY], anchor) == []
        for field, value in (
            ("store", "0" * 32),
            ("k", 9),
            ("hash", "0" * 64),
            ("at", 1.0),
            ("sig", "AAAA"),
        ):
            changed = msgspec.structs.replace(anchor, **{field: value})
            assert {broken.what for broken in await store.verify([KEY], changed)} == {"anchor"}, (
                field
            )

    async def test_seals_outlive_the_store_that_made_them(
        self, store: Store, clock: FakeClock
    ) -> None:
        await store.create(started("r1"))
        seal, id = await store.seal(), await store.identity()
        async with self.reopened(store, clock) as again:
            assert await again.seals() == [seal] and await again.identity() == id
            assert await again.verify() == []


def scopes(seal: Seal) -> list[str]:
    """What a seal covers."""
    return [covered.scope for covered in seal.covered]


async def where(store: Store, scope: str) -> Covered:
    """Where the chains of a scope stand."""
    last = (await store.audit(scope))[-1]
    if not scope:
        return Covered(scope, last.n, last.head.hex())
    row = await store.get(scope)
    return Covered(scope, last.n, last.head.hex(), row.seq, sealed_head(row.salt, row.head))
