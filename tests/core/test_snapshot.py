"""A state that was written down and read again goes on as the one that never was, at every record."""

import asyncio
import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from tests.core.test_commute import lived, meddlings, scripts
from tests.flow.random_flows import Built, shapes
from tests.flow.test_random import in_one_runtime, moves

from adjourn.core import snapshot as image
from adjourn.core import transcript
from adjourn.core.belief import FoldAgain
from adjourn.core.messages import UserMessage, files_in
from adjourn.core.record_parts import CancelCause
from adjourn.core.records import AnyRecord, Started
from adjourn.core.state import State
from adjourn.stores.memory import MemoryStore
from adjourn.testing import FakeClock, env

EVERY: Any = list(HealthCheck)


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Stretches of two, so that there are some."""
    with monkeypatch.context() as patch:
        patch.setattr(image, "SEGMENT", 2)
        patch.setattr(transcript, "SEGMENT", 2)
        yield


def again(state: State) -> State:
    """The state, written down and read again."""
    stretches = image.stretches(state)
    parts = {which: image.packed(image.stretch(state, which)) for which in stretches}
    return image.read(image.packed(image.rest(state)), parts)


def check(journal: Sequence[tuple[int, AnyRecord]]) -> None:
    """Fold it twice: once as always, and once with a state that is read again after every record."""
    state, other = State(), State()
    for at, numbered in enumerate(journal, 1):
        try:
            state.fold_all([numbered])
        except FoldAgain:
            state = State().fold_all(journal[:at])
            other = again(state)
            continue
        other = again(other.fold_all([numbered]))
        assert other == state, f"record {numbered[0]}"
        shared = [id for id, call in other.effects.items() if id in other.live and other.live[id] is not call]
        assert not shared, "a call that goes on is one call, wherever it is listed"


@settings(max_examples=60, deadline=None, suppress_health_check=EVERY)
@given(scripts, meddlings)
def test_an_agents_state_goes_on_from_where_it_was_written_down(
    script: list[list[str]], meddling: dict[int, list[str]]
) -> None:
    async def main() -> None:
        _, store = await lived(script, meddling)
        check(await store.load("r1"))

    asyncio.run(main())


@settings(max_examples=40, deadline=None, suppress_health_check=EVERY)
@given(shapes(), moves)
def test_a_flows_state_goes_on_from_where_it_was_written_down(shape: Any, choices: list[tuple[int, str]]) -> None:
    async def main() -> None:
        built, clock = Built(shape), FakeClock()
        store = MemoryStore(now=clock.now)
        turns, outcome = itertools.islice(itertools.cycle(choices), 2_000), None
        while outcome is None:
            async with env([built.flow], store=store, clock=clock) as test:
                outcome = await in_one_runtime(test, built.flow, turns)
            built = built.again()
        check(await store.load("r"))

    asyncio.run(main())


def test_what_a_chain_numbered_is_forgotten_with_the_chain() -> None:
    nothing: list[Any] = []
    choice: Any = {"is": "if", "name": "i", "conditions": ["c"], "branches": [nothing]}
    graph: Any = {"name": "f", "chains": [{"items": [{"is": "each", "name": "e", "body": [choice]}]}]}
    state = State().fold_all([(1, Started(run="r", kind="flow", program="f", graph=graph, input=[1, 2, 3]))])
    flow = state.flow
    assert flow is not None and len(flow.counts) == 4  # the flow's own, and one for each element
    for call in list(flow.tokens):
        flow.given(call, True)
    assert list(flow.counts) == [""] and not flow.joins and not flow.tokens


@pytest.mark.parametrize(("cause", "stored"), [("IN_DOUBT", "@in_doubt"), ("ERROR", "@error"), ("NONE", "")])
def test_why_a_person_gave_up_is_written_down_as_ever(cause: str, stored: str) -> None:
    state = State().fold_all([(1, Started(run="r", kind="agent", program="a", input="go"))])
    state.gave_up = CancelCause[cause]
    assert stored.encode() in image.rest(state)
    assert again(state).gave_up is CancelCause(stored)


def test_where_files_stand_is_known_without_opening_a_stretch() -> None:
    started = Started(run="r", kind="agent", program="a", input="go", at=1.0)
    state = State().fold_all([(1, started)])
    said = state.threads[""].transcript
    for n in range(9):
        file = {"$file": f"{n}" * 64, "type": "image/png", "size": 1}
        said.append(UserMessage("look", (file,)) if n % 4 == 1 else UserMessage("and"))
    found = again(again(state)).threads[""].transcript
    packed = [part for part in found.segments if isinstance(part, image.Packed)]
    assert len(packed) == 5
    assert found.may_have_files()
    assert all(part.is_packed for part in packed)
    assert [file["$file"][0] for file in found.files()] == ["1", "5"]
    assert [part.is_packed for part in packed] == [True, False, True, False, True]
    found.append(UserMessage("more", ({"$file": "a" * 64, "type": "image/png", "size": 1},)))
    assert list(found.files()) == list(files_in(list(found)))
