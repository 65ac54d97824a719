"""What a worker says of itself: a card that is put in the place of the one before."""

from collections.abc import Sequence

from msgspec.structs import replace

from adjourn.stores.fleet import WorkerCard
from adjourn.stores.rules.names import check_names
from adjourn.stores.rules.reads_and_writes import ReadRequest
from adjourn.stores.rules.sheet import Sheet
from adjourn.stores.rules.transaction import StoreRule


def listing(put: WorkerCard | None, drop: Sequence[str]) -> StoreRule:
    """The first half of `Store.roster`."""

    def work(sheet: Sheet) -> None:
        sheet.writes.drop_cards += drop
        if put is not None:
            check_names(worker=put.id)
            sheet.writes.card = replace(put, seen_at=sheet.now)

    return StoreRule(ReadRequest(), work, light=True)
