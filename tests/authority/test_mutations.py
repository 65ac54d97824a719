"""Whatever changes between what people saw and what would run: it does not run."""

from collections import Counter
from random import Random

import pytest
from tests.authority.mutations import DECISION, ELSEWHERE, FREE, INTENT, MUTATIONS, QUESTION, agreements

from adjourn.core.records import Asked, Decided, Intended

PARTS, MUTANTS = 4, 50_000
"""Two hundred thousand in all."""


@pytest.mark.unwatched
@pytest.mark.parametrize("part", range(PARTS))
def test_of_two_hundred_thousand_mutations_none_runs(part: int) -> None:
    random, seen, wrong = Random(part), Counter[str](), list[str]()
    for agreement in agreements(random):
        assert agreement.objection() == "", agreement
        for name, mutate in MUTATIONS.items():
            mutant = mutate(random, agreement)
            if mutant is None:
                continue
            seen[name] += 1
            if not mutant.objection():
                wrong.append(f"{name}: {mutant}")
        if seen.total() >= MUTANTS or len(wrong) > 100:
            break
    assert not wrong, f"{len(wrong)} of {seen.total()} would run: {Counter(w.split(':')[0] for w in wrong)}; {wrong[0]}"
    assert set(seen) == set(MUTATIONS), "every mutation was tried"


@pytest.mark.parametrize("record", [Intended, Asked, Decided])
def test_every_field_of_a_record_is_mutated_or_gives_nobody_a_right(record: type[Intended | Asked | Decided]) -> None:
    changed = {Intended: INTENT, Asked: QUESTION, Decided: DECISION}[record]
    sorted_out = [*changed, *ELSEWHERE[record.__name__], *FREE[record.__name__]]
    assert sorted(sorted_out) == sorted(record.__struct_fields__)
