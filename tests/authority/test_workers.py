"""A worker concludes nothing that people did not agree to: the store checks its intents, whatever brought them about."""

import contextlib
from typing import Any

import pytest
from msgspec.structs import replace
from tests.authority.changes import CHANGES
from tests.authority.forks import FORKS
from tests.authority.paths import APPROVALS, EXECUTIONS, Path
from tests.authority.world import STORES, Office, Scene, an_office

from adjourn import AdjournError
from adjourn.agent import conversations
from adjourn.core.journal_authority import violations
from adjourn.core.records import Asked, Intended, Resumed, Said, Started, Suspended
from adjourn.core.state import State
from adjourn.core.status import Status
from adjourn.errors import Invalid, Unauthorised
from adjourn.stores.protocol import Lease

TTL = 60.0
PATHS: dict[str, Path] = {
    **APPROVALS,
    **EXECUTIONS,
    **{f"a fork {name}": path for name, path in FORKS.items()},
    **{f"after {name}": path for name, path in CHANGES.items()},
}


async def taken(office: Office, run: str) -> Lease:
    """The run, in the hands of a worker that nobody wrote. Somebody speaks to it first: a run that waits is not to be had."""
    if (await office.store.get(run)).status == Status.PAUSED:
        await office.store.deliver(run, Resumed(by="ada"))
    else:
        await office.store.deliver(run, Said(text="are you there?", by="eve"))
    lease = await office.store.acquire(run, "forger", TTL)
    assert lease is not None
    return lease


def forgeries(state: State, asked: Asked, interrupts: list[str]) -> list[Intended]:
    """The intents that would start this call: on its own open question, on nothing, on every other question there was."""
    call = state.live[asked.call]
    honest = Intended(
        call=asked.call, tool=asked.tool, attempt=call.attempt + 1, digest=asked.action, effect=asked.effect, undo=asked.undo,
        gate=asked.gate, grant=asked.i,
    )  # fmt: skip
    return [
        honest,
        replace(honest, at=asked.at),
        replace(honest, gate=()),
        replace(honest, grant=""),
        replace(honest, grant="1.0?99"),
        *(replace(honest, grant=i) for i in interrupts if i != asked.i),
    ]


async def forged(scene: Scene) -> int:
    """How many forgeries were tried. None of them is taken, and none leaves a trace."""
    office, tried = scene.office, 0
    await office.close()
    for run in scene.runs:
        lease = await taken(office, run.id)
        journal = await office.store.load(run.id)
        state = State().fold_all(journal)
        interrupts = [record.i for _, record in journal if isinstance(record, Asked | Suspended)]
        for opened in state.open.values():
            if not isinstance(opened.record, Asked) or opened.record.kind not in ("approval", "in_doubt"):
                continue
            for intended in forgeries(state, opened.record, interrupts):
                with pytest.raises(Unauthorised):
                    await office.store.commit(lease, [], [intended], seen=lease.seq)
                tried += 1
        assert await office.store.load(run.id) == journal
        assert not list(violations([record for _, record in journal]))
    return tried


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("path", PATHS)
async def test_a_forged_intent_is_not_recorded(path: str, store: str) -> None:
    async with an_office(store) as office:
        scene = await PATHS[path](office, 2)
        paid = len(office.ledger)
        assert await forged(scene) >= 10
        assert len(office.ledger) == paid


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("path", PATHS)
async def test_a_journal_with_a_forged_intent_is_not_taken_over(path: str, store: str) -> None:
    """A checkpoint from elsewhere may say that a call began. Nobody stands behind that."""
    async with an_office(store) as office, an_office(store) as elsewhere:
        scene = await PATHS[path](office, 2)
        for run in scene.runs:
            [first, *rest] = await office.records(run)
            assert isinstance(first, Started)
            state = State().fold_all(await office.store.load(run.id))
            for opened in state.open.values():
                if isinstance(opened.record, Asked) and opened.record.kind in ("approval", "in_doubt"):
                    for intended in forgeries(state, opened.record, []):
                        with pytest.raises(Invalid, match="cannot be imported"):
                            await elsewhere.store.create(first, [*rest, replace(intended, at=office.clock.now())])
        assert await elsewhere.rt.runs() == []


# The judge


def no_objection(*_: Any) -> str:
    return ""


async def paid_on_the_way(path: Path, store: str) -> int:
    """How much is paid before the path comes to its gate, and nobody has agreed to more. Whether it comes there or not."""
    async with an_office(store) as office:
        with contextlib.suppress(AssertionError, AdjournError):
            await path(office, 2)
        if office.is_open:
            await office.rest(*[await office.rt.get(row.id) for row in await office.rt.runs()])
            await office.check()
        return len(office.ledger)


@pytest.mark.parametrize("path", PATHS)
async def test_a_judge_that_says_yes_to_everything_starts_nothing(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes whatever agreement there is for one. The store does not, and says so to a person."""
    expected = await paid_on_the_way(PATHS[path], "memory")
    monkeypatch.setattr(conversations, "objection", no_objection)
    assert await paid_on_the_way(PATHS[path], "memory") == expected


REASONS: dict[str, str] = {
    "after a tighter rule": "no person was asked about these rules",
    "after another description": "it differs from what was agreed to",
    "yielded and lapsed": "the approval is no longer valid",
    "suspended and shaped": "has not agreed",
    "verified not and lapsed": "the approval is no longer valid",
}


@pytest.mark.parametrize("path", REASONS)
async def test_what_the_store_does_not_take_is_put_before_a_person(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversations, "objection", no_objection)
    async with an_office("memory") as office:
        with contextlib.suppress(AssertionError):
            await PATHS[path](office, 2)
        [row] = await office.rt.runs()
        run = await office.rt.get(row.id)
        await office.rest(run)
        assert {item.kind for item in await office.items(run)} == {"error"}
        assert all(REASONS[path] in str(item.payload) for item in await office.items(run))
        assert await run.status() == "failed"
