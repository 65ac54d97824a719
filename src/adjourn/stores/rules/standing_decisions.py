"""Standing decisions, as far as a store goes: whether a worker may answer under one, how often that
was done, and who takes one back."""

from collections.abc import Iterable

from adjourn.core.authority import standing_flaw
from adjourn.core.decision import chosen, is_instead, says_yes, word_of
from adjourn.core.ids import public_id
from adjourn.core.records import Asked, Decided, Revoked
from adjourn.core.requesters import check_outsider
from adjourn.core.signatures import Trust, is_genuine
from adjourn.core.standing_decision import (
    STANDS,
    Standing,
    StandingDecision,
    fits,
    read_terms,
    stands,
    terms_of,
    under,
)
from adjourn.errors import InvalidAnswer, Refused, Unauthorised, UnknownInterrupt, bare
from adjourn.stores.rules.interrupt_row import InterruptRow
from adjourn.stores.rules.sheet import Sheet
from adjourn.stores.rules.votes import agreed
from adjourn.stores.run_row import RunRow

ANSWER = "answer"
"""The verb of the audit: a use is told as the decision of whoever made the standing one."""


def behind(sheet: Sheet, interrupts: Iterable[str]) -> dict[str, StandingDecision]:
    """The standing decisions that were made about these interrupts, from the records that say
    so."""
    known: dict[str, StandingDecision] = {}
    for id in filter(None, interrupts):
        found = sheet.interrupt(id)
        if found is None or not found.uses:
            continue
        made = sheet.opening(found.seq)
        if isinstance(made, Asked):
            ended = found.state
            if ended == "decided":
                ended = ""
            known[id] = StandingDecision(made, agreed(sheet, found), found.uses, ended)
    return known


def admit_use(sheet: Sheet, row: RunRow, decided: Decided, trust: Trust | None) -> None:
    """A worker decides nothing: its decision follows one that a person made, that stands here and
    now, and that is left. Raises `Unauthorised` otherwise."""
    found = sheet.interrupt(decided.i)
    asked = None if found is None else sheet.opening(found.seq)
    if found is None or not isinstance(asked, Asked):
        raise Unauthorised(row.id, decided.i, "", "its answer belongs to no open question")
    if why := _use_objection(sheet, row, found, asked, decided, trust):
        raise Unauthorised(row.id, asked.call, asked.tool, why)
    told = {
        "verb": ANSWER,
        "by": decided.by,
        "from": "",
        "interrupt": decided.i,
        "verdict": word_of(decided),
        "note": decided.note,
        "digest": decided.digest,
        "under": under(decided),
        "seq": row.seq + 1,
        "tool": asked.tool,
    }
    sheet.audited(row.id, told)


def _use_objection(
    sheet: Sheet,
    row: RunRow,
    found: InterruptRow,
    asked: Asked,
    decided: Decided,
    trust: Trust | None,
) -> str:
    if found.state != "open" or decided.digest != found.digest or decided.edit is not None:
        return "its answer belongs to another question"
    made = sheet.interrupt(under(decided)) if under(decided) else None
    if made is None or not made.uses:
        return "no standing decision is behind its answer"
    if decided.verdict == "deny":
        if made.state != "decided":
            return "the standing decision behind its answer has ended"
        return ""
    known = behind(sheet, [made.i])
    if why := standing_flaw(row.id, known, asked, [decided], sheet.now):
        return why
    says = terms_of(known[made.i].decisions)
    if says is None or (says.times and made.uses >= says.times):
        return "the standing decision behind it is used up"
    if trust is None and sheet.is_signed():
        return "decisions in this store are signed, and its worker has no deciders"
    if not is_genuine(trust, row.id, asked, decided, known):
        return "the signature of the standing decision behind it does not count here"
    return ""


def count_use(sheet: Sheet, found: InterruptRow, decided: Decided) -> None:
    """An interrupt was decided: by a decision that stands from now on, or under one that has one
    use less."""
    if id := under(decided):
        made = sheet.interrupt(id)
        if made is not None:
            made.uses += 1
            sheet.put_interrupt(made)
        return
    if decided.verdict == "deny":
        lasting = not is_instead(decided) and stands(decided) is not None
    else:
        lasting = terms_of(agreed(sheet, found)) is not None
    if lasting and found.kind == "approval":
        found.uses = 1


def admit_revocation(sheet: Sheet, row: RunRow, command: Revoked) -> None:
    """Whether there is something to take back; raises with the reason if not."""
    check_outsider(command.by, (row.id, row.program), "only a person can revoke a decision")
    found = sheet.interrupt(command.i)
    if found is None:
        raise UnknownInterrupt(public_id(row.id, command.i), [])
    if not found.uses or found.state != "decided":
        if found.uses:
            why = f"the standing decision {command.i} is {found.state} already"
        else:
            why = f"the decision about {command.i} does not stand for later calls"
        raise Refused(row.id, "revoke a decision of", row.status.value, why)


def admit_terms(sheet: Sheet, row: RunRow, found: InterruptRow, command: Decided) -> None:
    """Whether what a decision says about later calls can be taken at its word; raises
    `InvalidAnswer` if not."""
    shown = public_id(row.id, found.i)
    said = chosen(command)
    if command.value is None or is_instead(command):
        return
    if set(said) != {STANDS} or command.edit is not None or command.scope:
        raise InvalidAnswer(
            f"interrupt {bare(shown)}: a standing decision must be given alone, without an "
            "edit, a scope or other fields",
            advice="decide this call first, and make a later decision a standing one",
        )
    says = read_terms(said[STANDS])
    asked = sheet.opening(found.seq)
    assert isinstance(asked, Asked)
    if asked.schema is False and says.where:
        raise InvalidAnswer(
            f"interrupt {bare(shown)}: these arguments cannot be changed: a rule says so, or "
            "the call has begun, so a decision stands for the same arguments only",
            advice="leave out where",
        )
    if not fits(says.where, asked.args, asked.args):
        raise InvalidAnswer(
            f"interrupt {bare(shown)}: {says.text} does not match this call",
            advice="correct its conditions",
        )
    if says_yes(asked, command):
        _same_as_others(shown, says, agreed(sheet, found))


def _same_as_others(shown: str, says: Standing, others: list[Decided]) -> None:
    for other in others:
        theirs = stands(other)
        if theirs == says:
            continue
        what = "for this call alone" if theirs is None else theirs.text
        raise InvalidAnswer(
            f"interrupt {bare(shown)}: {other.by!r} has agreed ({what}), and a standing "
            "decision needs the same terms from every approver",
            advice="approve with the same terms, or only this call",
        )
