"""Signed decisions, as far as a store goes: whether it asks for seals, and what is undone when one is not believed.

No cryptography here: who stands behind a seal is for workers to say, whose deciders are not in the database.
"""

from adjourn.core.authority import says_yes
from adjourn.core.records import Asked, Decided, Forked, disowned, parse
from adjourn.core.signatures import LEEWAY, Sealed, unsigned
from adjourn.core.state import State
from adjourn.errors import Invalid, NotAllowed
from adjourn.stores.audit import audited
from adjourn.stores.rules.transaction import Tx
from adjourn.stores.store import RunRow

REQUIRE, STOP = "require seals", "stop requiring seals"
"""What the audit says of it."""


def signed(tx: Tx, now: float, required: bool | None, by: str, origin: str) -> bool:
    """See `Store.signed`."""
    if required is not None and required != tx.is_signed():
        audited(tx, now, "", {"verb": REQUIRE if required else STOP, "by": by, "from": origin})
        tx.set_signed(required)
    return tx.is_signed()


def check_sealed(tx: Tx, run: str, record: Sealed, now: float) -> None:
    """What decides must carry a seal where the store asks for them; raises `NotAllowed` with what to do."""
    if record.seal is None:
        if tx.is_signed():
            what = "keeps people's answers" if isinstance(record, Forked) else "decides"
            raise NotAllowed(unsigned(what, run))
        return
    if abs(record.seal.at - now) > LEEWAY:
        raise Invalid(
            f"the decision was signed {abs(record.seal.at - now):.0f} s from now by this store's clock; at most {LEEWAY:.0f} "
            "are accepted: set the clocks, and decide again"
        )


def taken_back(tx: Tx, row: RunRow) -> None:
    """A record was disowned: the rows are once more what the journal means without it."""
    records = [(seq, parse(body)) for seq, body in tx.tail(row, 0)]
    state = State().fold_all(records)
    void = disowned(record for _, record in records)
    for found in tx.open_interrupts(row):
        if found.i not in state.open:
            found.state = "decided"
            tx.put_interrupt(row, found)
    for i, opened in state.open.items():
        found = tx.interrupt(row, i)
        assert found is not None
        found.state, found.by, found.disowned = "open", "", opened.disowned
        about = (i, *(opened.record.carries if isinstance(opened.record, Asked) else ()))
        found.votes = {
            record.by: seq for seq, record in records
            if isinstance(record, Decided) and record.i in about and seq not in void
            and isinstance(opened.record, Asked) and says_yes(opened.record, record)
        }  # fmt: skip
        tx.put_interrupt(row, found)
    row.opens = len(state.open)
    row.errors = sum(opened.record.kind == "error" for opened in state.open.values())
    row.requesters = tuple(sorted(state.requesters))
