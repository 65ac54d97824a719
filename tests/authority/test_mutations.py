"""Whatever changes between what people saw and what would run: it does not run. Two hundred thousand mutants, none runs."""

from itertools import islice
from random import Random

import pytest
from tests.authority.defects import CONDITIONS
from tests.authority.mutations import (
    DECISION,
    ELSEWHERE,
    FREE,
    INTENT,
    MUTATIONS,
    QUESTION,
    Agreement,
    agreements,
)

from adjourn.core.records import Asked, Decided, Intended

AGREEMENTS, MUTANTS = 5_000, 200_000

pytestmark = pytest.mark.unwatched


@pytest.fixture(scope="module")
def agreed() -> list[Agreement]:
    """What people agreed to, made by chance."""
    return list(islice(agreements(Random(8)), AGREEMENTS))


def test_what_people_agreed_to_runs(agreed: list[Agreement]) -> None:
    """Else the mutants would show nothing."""
    assert {one.objection() for one in agreed} == {""}


def mutants(name: str, agreed: list[Agreement]) -> list[Agreement]:
    """What this mutation makes of them, where it can."""
    random = Random(name)
    return [mutant for one in agreed if (mutant := MUTATIONS[name](random, one)) is not None]


@pytest.mark.parametrize("name", MUTATIONS)
def test_no_mutant_runs(name: str, agreed: list[Agreement]) -> None:
    made = mutants(name, agreed)
    assert len(made) >= AGREEMENTS / 20
    running = [mutant for mutant in made if not mutant.objection()]
    assert not running, f"{len(running)} of {len(made)} would run, for example {running[0]}"


@pytest.mark.parametrize("name", CONDITIONS)
def test_without_a_condition_the_mutants_that_it_stops_would_run(
    name: str, agreed: list[Agreement], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A suite that cannot fail proves nothing."""
    left_out = CONDITIONS[name]
    monkeypatch.setattr(left_out.module, left_out.of, getattr(left_out.module, left_out.of))  # so that it is put back
    left_out.plant()
    assert {one.objection() for one in agreed[:100]} == {""}
    assert not all(mutant.objection() for mutant in mutants(left_out.caught_by, agreed)), left_out.what


def test_there_are_two_hundred_thousand_of_them(agreed: list[Agreement]) -> None:
    random = Random(8)
    always = [name for name, mutate in MUTATIONS.items() if all(mutate(random, one) for one in agreed[:100])]
    assert len(always) * AGREEMENTS >= MUTANTS


@pytest.mark.parametrize("record", [Intended, Asked, Decided])
def test_every_field_of_a_record_is_mutated_or_gives_nobody_a_right(record: type[Intended | Asked | Decided]) -> None:
    changed = {Intended: INTENT, Asked: QUESTION, Decided: DECISION}[record]
    sorted_out = [*changed, *ELSEWHERE[record.__name__], *FREE[record.__name__]]
    assert sorted(sorted_out) == sorted(record.__struct_fields__)
