"""Two of everything: what one of a kind survives, two of it at once survive too, wherever their worker dies."""

import pytest
from tests.crash.pairs import PAIRS, lived, points

from adjourn.core.journal_authority import violations
from adjourn.stores.protocol import Filter


@pytest.mark.parametrize("workers", [1, 2], ids=["one worker", "two workers"])
@pytest.mark.parametrize("name", PAIRS)
async def test_two_of_a_kind_end_alike_wherever_their_worker_dies(name: str, workers: int) -> None:
    expected, life = await lived(name, None, workers=workers)
    died = 0
    for point in points():
        got, life = await lived(name, point, workers=workers)
        assert got == expected, f"{name}, {point}"
        died += bool(point.operation)
        for row in await life.store.runs(Filter()):
            records = [record for _, record in await life.store.load(row.id)]
            assert list(violations(records)) == [], f"{name}, {point}"
        assert not await life.store.verify(), f"{name}, {point}"
    assert died > 8, "nobody died: the enumeration proves nothing"
