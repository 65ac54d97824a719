"""The kill switch."""

from adjourn.core.halt import check_scope, scopes
from adjourn.core.records import Asked
from adjourn.errors import Halted
from adjourn.stores.audit import SECURITY
from adjourn.stores.protocol import Halt
from adjourn.stores.rules.interrupt_row import InterruptRow
from adjourn.stores.rules.names import check_names
from adjourn.stores.rules.outbox import tell_halt
from adjourn.stores.rules.reads_and_writes import ReadRequest
from adjourn.stores.rules.sheet import Sheet
from adjourn.stores.rules.transaction import StoreRule
from adjourn.stores.run_row import RunRow


def halting(scope: str, by: str, reason: str, lift: bool, origin: str) -> StoreRule:
    """See `Store.halt`."""
    ask = ReadRequest(halts=True)
    if scope:
        ask = ReadRequest(
            halts=True, audit=("", SECURITY), endpoints=True, asleep="blocked" if lift else ""
        )
    return StoreRule(ask, lambda sheet: halt(sheet, scope, by, reason, lift, origin))


def _about(scope: str) -> dict[str, str]:
    """The agent or the tool that is halted, as other lines name theirs."""
    kind, _, name = scope.partition(":")
    if name:
        return {kind: name}
    return {}


def halt(sheet: Sheet, scope: str, by: str, reason: str, lift: bool, origin: str) -> list[Halt]:
    """See `Store.halt`."""
    if scope:
        check_scope(scope)
        check_names(scope=scope, by=by, reason=reason)
        what = {
            "verb": "unhalt" if lift else "halt",
            "by": by,
            "from": origin,
            "scope": scope,
            "reason": reason,
        }
        if lift and scope not in sheet.halted():
            sheet.audited("", {**what, **_about(scope), "refused": "it was not halted"})
        else:
            sheet.audited("", what | _about(scope))
            if lift:
                sheet.noted([what])
            tell_halt(sheet, scope, by, reason, lift)
        if lift:
            sheet.drop_halt(scope)
            for row in sheet.asleep():
                if scope in row.blocked:
                    sheet.wake(row)
        elif scope not in sheet.halted():
            sheet.put_halt(Halt(scope, by, reason, sheet.now))
    return sheet.halts()


def admit_under_halt(sheet: Sheet, row: RunRow, found: InterruptRow) -> None:
    """What lets work go on is refused while that work is halted; a denial is not."""
    halts = {halt.scope: halt for halt in sheet.halts()}
    if not halts:
        return
    opening = sheet.opening(found.seq)
    asked = isinstance(opening, Asked)
    for scope in sorted(
        scopes((row.program, *(opening.under if asked else ())), opening.tool if asked else "")
    ):
        if scope in halts:
            raise Halted(scope, halts[scope].reason)
