"""The kill switch."""

from adjourn.core.halt import check_scope
from adjourn.stores.audit import audited, noted
from adjourn.stores.outbox import tell_halt
from adjourn.stores.rules.transaction import Tx
from adjourn.stores.store import Halt


def halt(tx: Tx, now: float, scope: str, by: str, reason: str, lift: bool, origin: str = "") -> list[Halt]:
    """See `Store.halt`."""
    if scope:
        check_scope(scope)
        what = {"verb": "unhalt" if lift else "halt", "by": by, "from": origin, "scope": scope, "reason": reason}
        audited(tx, now, "", what)
        if lift:
            noted(tx, now, [what])
        tell_halt(tx, now, scope, by, reason, lift)
        if lift:
            tx.drop_halt(scope)
        elif scope not in {h.scope for h in tx.halts()}:
            tx.put_halt(Halt(scope, by, reason, now))
    return tx.halts()
