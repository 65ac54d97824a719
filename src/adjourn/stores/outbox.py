"""The outbox: what others are to be told, written in the transaction of the event itself and delivered later.

Nothing is written unless somebody wants to be told. A letter says where to look, never what an agent said.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Protocol

import msgspec

from adjourn.core.codec import encode
from adjourn.core.digest import digest
from adjourn.core.ids import public_id, ref_of
from adjourn.core.records import AnyRecord, Asked, Cancelled, Closed, Completed, Parked, Reminded, Suspended
from adjourn.core.status import Status
from adjourn.errors import Invalid
from adjourn.stores.audit import AuditTx, audited, noted
from adjourn.stores.letter import TOPICS, Endpoint, Letter, Sent
from adjourn.stores.store import RunRow

TOLD = frozenset({Asked, Suspended, Reminded, Parked, Completed, Cancelled})


class OutboxTx(AuditTx, Protocol):
    """What a transaction offers for the outbox."""

    def endpoints(self) -> list[Endpoint]:
        """Who is told, by name."""
        ...

    def put_endpoint(self, endpoint: Endpoint) -> None:
        """Add or replace one."""
        ...

    def drop_endpoint(self, name: str) -> None:
        """Remove one and its letters."""
        ...

    def post(self, letter: Letter) -> None:
        """Add a letter; its `n` is the next number."""
        ...

    def letter(self, n: int) -> Letter | None:
        """The letter of this number."""
        ...

    def put_letter(self, letter: Letter) -> None:
        """Change its state, tries, time and error."""
        ...

    def drop_letter(self, n: int) -> None:
        """Remove it."""
        ...

    def due_letters(self, now: float, limit: int, but: Sequence[str]) -> list[Letter]:
        """Those that are due for all endpoints `but` these, in order; of one run to one endpoint only the first."""
        ...


def tell(tx: OutboxTx, row: RunRow, records: Sequence[AnyRecord]) -> None:
    """Write letters about what was just appended to a run; its row is as it is after all of it."""
    told = [record for record in records if type(record) in TOLD]
    gone = {record.i for record in records if type(record) is Closed}  # it was settled before anybody could see it
    if not told or not (endpoints := tx.endpoints()):
        return
    for record in told:
        if gone and isinstance(record, Asked | Suspended) and record.i in gone:
            continue
        topic, about = _about(row, record)
        if topic:
            _post(tx, endpoints, topic, record.at, row.id, {"run_id": row.id, "agent": row.program, **about})


def tell_halt(tx: OutboxTx, now: float, scope: str, by: str, reason: str, lift: bool) -> None:
    """Write letters about a halt."""
    if endpoints := tx.endpoints():
        topic = "halt.lifted" if lift else "halt.set"
        _post(tx, endpoints, topic, now, "", {"scope": scope, "by": by, "reason": reason})


def _about(row: RunRow, record: AnyRecord) -> tuple[str, dict[str, Any]]:
    match record:
        case Asked() | Suspended() if record.kind not in ("timer", "event"):
            return "interrupt.opened", _interrupt(row, record)
        case Reminded():
            return "interrupt.reminded", {"interrupt_id": public_id(row.id, record.i), "ref": ref_of(row.id, record.i)}
        case Completed():
            return "run.completed", {"status": "stopped" if record.stopped else "completed"}
        case Cancelled():
            return "run.cancelled", {"status": "cancelled", "left_behind": len(record.residue)}
        case Parked() if row.status is Status.STUCK:
            return "run.stuck", {"status": "stuck"}
        case Parked() if row.status is Status.WAITING and row.opens == row.errors > 0:
            return "run.failed", {"status": "failed"}
        case _:
            return "", {}


def _interrupt(row: RunRow, record: Asked | Suspended) -> dict[str, Any]:
    asked = isinstance(record, Asked)
    return {
        "interrupt_id": public_id(row.id, record.i), "ref": ref_of(row.id, record.i), "kind": record.kind,
        "type": record.kind if asked else record.type[:200],
        "tool": record.tool if asked else "", "reason": record.reason[:500] if asked else "", "expires_at": record.expires or None,
        "approvers": record.approvers if asked else 1, "groups": list(record.groups) if asked else [],
        **({"escalated": True} if asked and record.escalated else {}),
    }  # fmt: skip


def _post(tx: OutboxTx, endpoints: Sequence[Endpoint], topic: str, at: float, run: str, data: dict[str, Any]) -> None:
    when = datetime.fromtimestamp(at, UTC).isoformat().replace("+00:00", "Z")
    body = encode({"type": topic, "timestamp": when, "data": data}).decode()
    for endpoint in endpoints:
        if not endpoint.topics or topic in endpoint.topics:
            # The same event has the same id for ever: that is how a receiver knows it again.
            id = f"msg_{digest(endpoint.name, topic, run, data, at)[:32]}"
            tx.post(Letter(0, id, endpoint.name, topic, run, body, at, due_at=at))


def endpoint_digest(endpoint: Endpoint) -> str:
    """Names an endpoint exactly, without giving away its address or its secret."""
    return digest("endpoint", endpoint.name, endpoint.kind, endpoint.url, endpoint.secret, list(endpoint.topics))


def put_endpoint(
    tx: OutboxTx, now: float, put: Endpoint | None, drop: str, by: str, origin: str = ""
) -> list[Endpoint]:
    """See `Store.endpoints`."""
    if put is not None:
        unknown = [t for t in put.topics if t not in TOPICS]
        if not put.name or len(put.name) > 100 or not put.name.isprintable() or unknown:
            raise Invalid(
                f"an endpoint has a short name, and topics among {', '.join(TOPICS)}; not {unknown or put.name!r:.80}"
            )
        told = {"endpoint": put.name, "kind": put.kind, "topics": list(put.topics), "digest": endpoint_digest(put)}
        audited(tx, now, "", {"verb": "add endpoint", "by": by, "from": origin, **told})
        tx.put_endpoint(msgspec.structs.replace(put, at=now))
    if drop:
        audited(tx, now, "", {"verb": "remove endpoint", "by": by, "from": origin, "endpoint": drop})
        tx.drop_endpoint(drop)
    return tx.endpoints()


def _settled(letter: Letter, sent: Sent) -> dict[str, Any]:
    """What the security log says of a letter that a person settled, or that nobody will try again."""
    about = {"endpoint": letter.endpoint, "topic": letter.topic, "letter": letter.n, "about": letter.run}
    if not sent.by:
        return {"verb": "give up letter", "by": "", "from": "", **about, "reason": sent.error[:200]}
    verb = "retry letter" if sent.again else "drop letter"
    return {"verb": verb, "by": sent.by, "from": sent.origin, **about}


def post(
    tx: OutboxTx, now: float, sent: Sequence[Sent], take: int, hold: float, but: Sequence[str] = ()
) -> list[Letter]:
    """See `Store.post`."""
    for x in sent:
        letter = tx.letter(x.n)
        if letter is None or letter.tries != x.tries:  # somebody else has it by now
            continue
        if x.by or (x.error and not x.again):
            noted(tx, now, [_settled(letter, x)])
        if not x.error:
            tx.drop_letter(x.n)
        else:
            state = "due" if x.again else "dead"
            tx.put_letter(msgspec.structs.replace(letter, state=state, due_at=x.again, error=x.error[:500]))
    taken: list[Letter] = []
    for letter in tx.due_letters(now, take, but) if take else []:
        taken.append(msgspec.structs.replace(letter, tries=letter.tries + 1, due_at=now + hold))
        tx.put_letter(taken[-1])
    return taken
