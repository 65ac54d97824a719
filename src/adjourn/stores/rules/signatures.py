"""Signed decisions, as far as a store goes: whether it asks for seals, and what is undone when one
is not believed.

No cryptography here: who stands behind a seal is for workers to say, whose deciders are not in the
database.
"""

from collections.abc import Sequence

from adjourn.core.belief import disowned
from adjourn.core.decision import says_yes
from adjourn.core.records import AnyRecord, Asked, Decided, Forked
from adjourn.core.signatures import LEEWAY, Sealed, unsigned
from adjourn.core.state import State
from adjourn.errors import Invalid, NotAllowed
from adjourn.stores.rows import parsed
from adjourn.stores.rules.reads_and_writes import ReadRequest
from adjourn.stores.rules.sheet import Sheet
from adjourn.stores.rules.transaction import StoreRule
from adjourn.stores.run_row import RunRow

REQUIRE, STOP = "require seals", "stop requiring seals"
"""What the audit says of it."""


def requiring_seals(required: bool, by: str, origin: str) -> StoreRule:
    """See `Store.signed`."""
    return StoreRule(
        ReadRequest(signed=True, audit=("",)), lambda sheet: signed(sheet, required, by, origin)
    )


def signed(sheet: Sheet, required: bool, by: str, origin: str) -> bool:
    """See `Store.signed`."""
    if required != sheet.is_signed():
        sheet.audited("", {"verb": REQUIRE if required else STOP, "by": by, "from": origin})
        sheet.set_signed(required)
    return sheet.is_signed()


def check_sealed(sheet: Sheet, run: str, record: Sealed) -> None:
    """What decides must carry a seal where the store asks for them; raises `NotAllowed` with what
    to do."""
    if record.seal is None:
        if sheet.is_signed():
            if isinstance(record, Forked):
                what = "keeps people's answers"
            else:
                what = "decides"
            raise NotAllowed(unsigned(what, run))
        return
    apart = abs(record.seal.at - sheet.now)
    if apart > LEEWAY:
        raise Invalid(
            (
                f"the decision was signed {apart:.0f} s away from this store's clock, and at "
                f"most {LEEWAY:.0f} s are allowed"
            ),
            advice="synchronise the clocks, then decide again",
        )


def _votes(
    about: Sequence[str], asked: Asked, records: Sequence[tuple[int, AnyRecord]]
) -> dict[str, int]:
    """By which records people agree to what was asked under these ids."""
    votes: dict[str, int] = {}
    for seq, record in records:
        if isinstance(record, Decided) and record.i in about and says_yes(asked, record):
            votes[record.by] = seq
    return votes


def taken_back(sheet: Sheet, row: RunRow) -> None:
    """A record was disowned: the rows are once more what the journal means without it."""
    records = parsed(sheet.tail(0))
    state = State().fold_all(records)
    void = disowned(record for _, record in records)
    for found in sheet.open_interrupts():
        if found.i not in state.open:
            found.state = "decided"
            sheet.put_interrupt(found)
    for id, opened in state.open.items():
        found = sheet.interrupt(id)
        assert found is not None
        found.state, found.by, found.disowned = "open", "", opened.disowned
        found.votes = {}
        if isinstance(opened.record, Asked):
            valid = [(seq, record) for seq, record in records if seq not in void]
            found.votes = _votes((id, *opened.record.carries), opened.record, valid)
        sheet.put_interrupt(found)
    row.opens = len(state.open)
    row.errors = sum(opened.record.kind == "error" for opened in state.open.values())
    row.requesters = tuple(sorted(state.requesters))
