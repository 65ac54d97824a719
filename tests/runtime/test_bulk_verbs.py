"""Many runs at once: each answers for itself, one refusal stops nobody, and the same request acts once."""

from collections.abc import AsyncIterator

import pytest

from adjourn import Interrupt, Invalid, Runtime
from adjourn.core.records import Asked, CancelAsked, Decided, Parked, PauseAsked, Resumed, RunCompleted
from adjourn.runtime.bulk_verbs import MOST, BulkOutcome
from adjourn.stores.memory import MemoryStore
from adjourn.stores.protocol import Filter, Store
from adjourn.testing.contract.fixtures import approval, begin, claim, commit, recorded, started, wait_for

RECORDED = {"pause": PauseAsked, "cancel": CancelAsked, "resume": Decided, "deny": Decided}


@pytest.fixture
async def rt() -> AsyncIterator[Runtime]:
    """A runtime that advances nothing: its store has what the test puts there."""
    async with Runtime(MemoryStore()) as opened:
        yield opened


def outcomes(found: list[BulkOutcome]) -> dict[str, str]:
    """By run, what it was refused with; "" if it was not."""
    return {one.run_id: type(one.refused).__name__ if one.refused else "" for one in found}


def error(id: str) -> Asked:
    return approval(id, kind="error", step="model", payload={"error": "away"})


async def failed(store: Store, run: str) -> None:
    await wait_for(store, error("1.0?0"), run=run)


async def test_each_run_answers_for_itself_and_one_refusal_stops_nobody(rt: Runtime) -> None:
    for run in ("r1", "r2", "r3"):
        await rt.store.create(started(run))
    await commit(rt.store, await begin(rt.store, "over"), (), [RunCompleted()])
    done = await rt.bulk("pause", ["r1", "over", "gone", "r2"], by="ana", note="lunch")
    assert outcomes(done) == {"r1": "", "over": "Refused", "gone": "UnknownRun", "r2": ""}
    for run in ("r1", "r2"):
        [asked] = await recorded(rt.store, PauseAsked, run)
        assert (asked.by, asked.reason) == ("ana", "lunch")
        [line] = [line.entry for line in await rt.store.audit(run) if line.entry["verb"] == "pause"]
        assert line["by"] == "ana"
    assert await recorded(rt.store, PauseAsked, "r3") == []


async def test_the_same_request_acts_on_no_run_twice(rt: Runtime) -> None:
    ids = [f"r{n}" for n in range(3)]
    for run in ids:
        await rt.store.create(started(run))
    for _ in range(2):
        done = await rt.bulk("cancel", [*ids, *ids], by="ana", note="spilled", request_id="q1")
        assert outcomes(done) == dict.fromkeys(ids, "")
    for run in ids:
        assert len(await recorded(rt.store, CancelAsked, run)) == 1


async def test_a_dry_run_says_what_would_be_and_changes_nothing(rt: Runtime) -> None:
    await wait_for(rt.store, approval(), run="r1")
    before = await rt.store.load("r1")
    [one, gone] = await rt.bulk("cancel", ["r1", "gone"], by="ana", dry_run=True)
    assert one.preview is not None and one.preview.undo == () and one.status == "waiting"
    assert outcomes([gone]) == {"gone": "UnknownRun"}
    assert await rt.store.load("r1") == before


async def test_a_dry_run_of_a_cancel_refuses_what_the_cancel_would(rt: Runtime) -> None:
    await rt.store.create(started("r1"))
    await commit(rt.store, await begin(rt.store, "over"), (), [RunCompleted()])
    would = await rt.bulk("cancel", ["r1", "over"], by="ana", dry_run=True)
    done = await rt.bulk("cancel", ["r1", "over"], by="ana")
    assert outcomes(would) == outcomes(done) == {"r1": "", "over": "Refused"}
    assert str(would[1].refused) == str(done[1].refused)


async def test_denying_refuses_every_call_that_waits_and_nothing_else(rt: Runtime) -> None:
    await wait_for(rt.store, approval(), approval("1.1?0"), run="two")
    await wait_for(rt.store, approval(kind="limit"), run="limit")
    done = await rt.bulk("deny", ["two", "limit"], by="ana", note="not this week", request_id="q")
    assert outcomes(done) == {"two": "", "limit": "Invalid"}
    decided = await recorded(rt.store, Decided, "two")
    assert [(x.i, x.verdict, x.note) for x in decided] == [(i, "deny", "not this week") for i in ("1.0?0", "1.1?0")]
    assert await recorded(rt.store, Decided, "limit") == []


async def test_the_same_denial_again_denies_nothing_that_was_asked_since(rt: Runtime) -> None:
    await wait_for(rt.store, approval(), run="asks")
    silent = await begin(rt.store, "asks not")

    async def deny() -> dict[str, str]:
        return outcomes(await rt.bulk("deny", ["asks", "asks not"], by="ana", note="no", request_id="q1"))

    assert await deny() == {"asks": "", "asks not": "Invalid"}
    await commit(rt.store, await claim(rt.store, "asks"), [], [approval("2.0?0"), Parked()])
    await commit(rt.store, silent, [], [approval("2.0?0"), Parked()])
    assert await deny() == {"asks": "", "asks not": "Invalid"}
    assert [x.i for x in await recorded(rt.store, Decided, "asks")] == ["1.0?0"]
    assert await recorded(rt.store, Decided, "asks not") == []
    other = await rt.bulk("deny", ["asks"], by="ana", note="another note", request_id="q1")
    assert outcomes(other) == {"asks": "RequestReused"}
    assert outcomes(await rt.bulk("deny", ["asks"], by="ana", note="no", request_id="q2")) == {"asks": ""}


@pytest.mark.parametrize("verb", ["pause", "resume", "cancel"])
async def test_the_same_request_again_finds_its_first_whatever_became_of_the_run(rt: Runtime, verb: str) -> None:
    if verb == "resume":
        await failed(rt.store, "r")
    else:
        await rt.store.create(started("r"))
    assert outcomes(await rt.bulk(verb, ["r"], by="ana", request_id="q1")) == {"r": ""}
    if verb == "resume":  # it fails again, and waits for somebody
        await commit(rt.store, await claim(rt.store, "r"), [], [error("model?1"), Parked()])
    elif verb == "pause":  # somebody lets it go on
        await rt.store.deliver("r", Resumed(by="bo"))
    assert outcomes(await rt.bulk(verb, ["r"], by="ana", request_id="q1")) == {"r": ""}
    assert len(await recorded(rt.store, RECORDED[verb], "r")) == 1


async def test_of_what_waits_in_a_run_all_is_denied_or_nothing(rt: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    await wait_for(rt.store, approval(), approval("1.1?0"), run="r")
    looked = rt.store.inbox

    async def slow(wanted: Filter) -> list[Interrupt]:
        monkeypatch.undo()
        found = await looked(wanted)
        await rt.deny("r:1.0?0", by="bo")  # somebody is faster with one of the two
        return found

    monkeypatch.setattr(rt.store, "inbox", slow)
    assert outcomes(await rt.bulk("deny", ["r"], by="ana")) == {"r": ""}
    assert [(x.i, x.by) for x in await recorded(rt.store, Decided, "r")] == [("1.0?0", "bo"), ("1.1?0", "ana")]


async def test_resuming_continues_what_was_paused_and_retries_what_failed(rt: Runtime) -> None:
    await failed(rt.store, "failed")
    lease = await begin(rt.store, "paused")
    await rt.store.deliver("paused", PauseAsked(by="bo"))
    await commit(rt.store, lease, (), [Parked()])
    await wait_for(rt.store, approval(), run="waits")
    found = [run.run_id for run in await rt.runs(status="failed")]
    assert found == ["failed"]
    done = await rt.bulk("resume", ["failed", "paused", "waits"], by="ana")
    assert outcomes(done) == {"failed": "", "paused": "", "waits": "Refused"}
    assert [row.id for row in await rt.store.runs(Filter(status="ready"))] == ["paused", "failed"]


@pytest.mark.parametrize("verb", RECORDED)
async def test_a_thousand_runs_report_each_outcome(rt: Runtime, verb: str) -> None:
    ids = [f"r{n}" for n in range(MOST)]
    over = {f"r{n}" for n in range(0, MOST, 7)}
    for run in ids:
        if run in over:
            await commit(rt.store, await begin(rt.store, run), (), [RunCompleted()])
        elif verb == "resume":
            await failed(rt.store, run)
        elif verb == "deny":
            await wait_for(rt.store, approval(), run=run)
        else:
            await rt.store.create(started(run))
    done = await rt.bulk(verb, ids, by="ana", note="spilled")
    assert [one.run_id for one in done] == ids
    assert {one.run_id for one in done if one.refused} == over
    assert all(str(one.refused) for one in done if one.refused)
    for run in ids:
        assert len(await recorded(rt.store, RECORDED[verb], run)) == (run not in over), run


@pytest.mark.parametrize(
    ("verb", "runs", "by", "says"),
    [
        ("erase", ["r1"], "ana", "'erase' cannot be used on several runs"),
        ("pause", ["r1"], "", "needs by="),
        ("pause", [f"r{n}" for n in range(MOST + 1)], "ana", "at most 1000 runs"),
    ],
)
async def test_what_cannot_be_is_refused_whole(rt: Runtime, verb: str, runs: list[str], by: str, says: str) -> None:
    await rt.store.create(started("r1"))
    with pytest.raises(Invalid, match=says):
        await rt.bulk(verb, runs, by=by)
    assert len(await rt.store.load("r1")) == 1
