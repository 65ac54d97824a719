"""The outbox: what others are to be told, written in the transaction of the event itself and
delivered later.

Nothing is written unless somebody wants to be told. A letter says where to look, never what an
agent said.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from adjourn.core.action_digest import digest
from adjourn.core.codec import encode
from adjourn.core.duration import moment
from adjourn.core.interrupt_kind import NOT_FOR_PEOPLE
from adjourn.core.records import (
    AnyRecord,
    Asked,
    Closed,
    Parked,
    Reminded,
    RunCancelled,
    RunCompleted,
    Suspended,
)
from adjourn.core.status import RunStatus
from adjourn.errors import Invalid
from adjourn.stores.audit import SECURITY
from adjourn.stores.notification_body import (
    HaltNotice,
    Notice,
    RunNotice,
    interrupt_notice,
    reminder_notice,
)
from adjourn.stores.outbox import TOPICS, DeliveryAttempt, Endpoint, Notification
from adjourn.stores.rules.names import check_names, cleaned
from adjourn.stores.rules.reads_and_writes import ReadRequest
from adjourn.stores.rules.sheet import Sheet
from adjourn.stores.rules.transaction import StoreRule
from adjourn.stores.run_row import RunRow

TOLD = frozenset({Asked, Suspended, Reminded, Parked, RunCompleted, RunCancelled})
TOPIC_OF = {
    RunStatus.COMPLETED: "run.completed",
    RunStatus.STOPPED: "run.completed",
    RunStatus.CANCELLED: "run.cancelled",
    RunStatus.FAILED: "run.failed",
    RunStatus.STUCK: "run.stuck",
}
"""What is said of a run that has come to this status."""
PARKED = (RunStatus.FAILED, RunStatus.STUCK)
ENDED = (RunStatus.COMPLETED, RunStatus.STOPPED, RunStatus.CANCELLED)


def tell(sheet: Sheet, row: RunRow, records: Sequence[AnyRecord]) -> None:
    """Write letters about what was just appended to a run; its row is as it is after all of it."""
    told = [record for record in records if type(record) in TOLD]
    if not told or not (endpoints := sheet.endpoints()):
        return
    # it was settled before anybody could see it
    gone = {record.i for record in records if type(record) is Closed}
    for record in told:
        if gone and isinstance(record, Asked | Suspended) and record.i in gone:
            continue
        topic, notice = _notice(row, record, sheet.now)
        if notice is not None:
            _post(sheet, endpoints, topic, record.at, row.id, notice)


def tell_halt(sheet: Sheet, scope: str, by: str, reason: str, lift: bool) -> None:
    """Write letters about a halt."""
    if endpoints := sheet.endpoints():
        topic = "halt.lifted" if lift else "halt.set"
        _post(sheet, endpoints, topic, sheet.now, "", HaltNotice(scope=scope, by=by, reason=reason))


def _notice(row: RunRow, record: AnyRecord, now: float) -> tuple[str, Notice | None]:
    """A record's topic and what is said about it; None: nothing is."""
    run, agent = row.id, row.program
    if isinstance(record, Asked | Suspended):
        if record.kind in NOT_FOR_PEOPLE:
            return "", None
        return "interrupt.opened", interrupt_notice(run, agent, record)
    if isinstance(record, Reminded):
        return "interrupt.reminded", reminder_notice(run, agent, record)
    status = row.shown(now, ())
    if status not in (PARKED if isinstance(record, Parked) else ENDED):
        return "", None
    residue = len(record.residue) if isinstance(record, RunCancelled) else 0
    return TOPIC_OF[status], RunNotice(
        run_id=run, agent=agent, status=status, residue_count=residue
    )


def _post(
    sheet: Sheet, endpoints: Sequence[Endpoint], topic: str, at: float, run: str, notice: Notice
) -> None:
    data = msgspec.to_builtins(notice)
    when = moment(at).isoformat().replace("+00:00", "Z")
    body = encode({"type": topic, "timestamp": when, "data": data}).decode()
    for endpoint in endpoints:
        if endpoint.url and (not endpoint.topics or topic in endpoint.topics):
            # The same event has the same id for ever: that is how a receiver knows it again.
            id = f"msg_{digest(endpoint.name, topic, run, data, at)[:32]}"
            sheet.post(Notification(0, id, endpoint.name, topic, run, body, at, due_at=sheet.now))


def endpoint_digest(endpoint: Endpoint) -> str:
    """Names an endpoint exactly, without giving away its address or its secret."""
    return digest(
        "endpoint",
        endpoint.name,
        endpoint.kind,
        endpoint.url,
        endpoint.secret,
        list(endpoint.topics),
    )


def endpointing(put: Endpoint | None, drop: str, by: str, origin: str) -> StoreRule:
    """See `Store.endpoints`."""
    ask = ReadRequest(endpoints=True, audit=("",) if put or drop else ())
    return StoreRule(ask, lambda sheet: put_endpoint(sheet, put, drop, by, origin))


def put_endpoint(
    sheet: Sheet, put: Endpoint | None, drop: str, by: str, origin: str
) -> list[Endpoint]:
    """See `Store.endpoints`."""
    check_names(by=by)
    if put is not None:
        check_names(url=put.url, secret=put.secret)
        unknown = [t for t in put.topics if t not in TOPICS]
        if not put.name or len(put.name) > 100 or not put.name.isprintable() or unknown:
            raise Invalid(
                f"an endpoint must have a short name and topics among {', '.join(TOPICS)}, "
                f"got {unknown or put.name!r:.80}"
            )
        told = {
            "endpoint": put.name,
            "kind": put.kind,
            "topics": list(put.topics),
            "digest": endpoint_digest(put),
        }
        sheet.audited("", {"verb": "add endpoint", "by": by, "from": origin, **told})
        sheet.put_endpoint(msgspec.structs.replace(put, at=sheet.now))
    if drop:
        sheet.audited("", {"verb": "remove endpoint", "by": by, "from": origin, "endpoint": drop})
        sheet.drop_endpoint(drop)
    return sheet.endpoints()


def _settled(letter: Notification, sent: DeliveryAttempt) -> dict[str, Any]:
    """What the security log says of a letter that a person settled, or that nobody will try
    again."""
    about = {
        "endpoint": letter.endpoint,
        "topic": letter.topic,
        "letter": letter.n,
        "about": letter.run,
    }
    if not sent.by:
        return {"verb": "give up letter", "by": "", "from": "", **about, "reason": sent.error[:200]}
    verb = "retry letter" if sent.again else "drop letter"
    return {"verb": verb, "by": sent.by, "from": sent.origin, **about}


def settling(sent: Sequence[DeliveryAttempt]) -> StoreRule:
    """The first half of `Store.post`."""
    ask = ReadRequest(letters=tuple({x.n: None for x in sent}), audit=(SECURITY,))
    return StoreRule(ask, lambda sheet: settle(sheet, sent))


def settle(sheet: Sheet, sent: Sequence[DeliveryAttempt]) -> None:
    """Take down what came of these attempts."""
    for x in sent:
        letter = sheet.letter(x.n)
        if letter is None or letter.tries != x.tries:  # somebody else has it by now
            continue
        if x.by or (x.error and not x.again):
            sheet.noted([_settled(letter, x)])
        if not x.error:
            sheet.drop_letter(x.n)
        else:
            state = "due" if x.again else "dead"
            sheet.put_letter(
                msgspec.structs.replace(
                    letter, state=state, due_at=x.again, error=cleaned(x.error[:500])
                )
            )


def taking(limit: int, hold: float, but: Sequence[str]) -> StoreRule:
    """The second half of `Store.post`: what is due is read when the settling is written."""
    return StoreRule(ReadRequest(take=limit, but=tuple(but)), lambda sheet: take(sheet, hold))


def take(sheet: Sheet, hold: float) -> list[Notification]:
    """Take the letters that are due, for so many seconds."""
    taken = [
        msgspec.structs.replace(x, tries=x.tries + 1, due_at=sheet.now + hold)
        for x in sheet.due_letters()
    ]
    for letter in taken:
        sheet.put_letter(letter)
    return taken
