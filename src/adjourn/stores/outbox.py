"""Who is told of events, and what is on its way to them."""

from collections.abc import Sequence
from typing import Literal, Protocol

import msgspec

TOPICS = (
    "interrupt.opened",
    "interrupt.reminded",
    "run.completed",
    "run.cancelled",
    "run.failed",
    "run.stuck",
    "halt.set",
    "halt.lifted",
)


EndpointKind = Literal["webhook", "apprise", "push"]


class Endpoint(msgspec.Struct, frozen=True):
    """Somebody who is told of events. `topics`: of these only; empty: of all. `secret` signs what
    is sent; of a person's own, it is an `OwnEndpoint`. Without a `url` it is told nothing."""

    name: str
    kind: EndpointKind
    url: str
    secret: str = ""
    topics: tuple[str, ...] = ()
    at: float = 0.0


HELD = "quiet hours"
"""Why a letter to one person waits, if nothing is wrong with it."""


LetterState = Literal["due", "dead"]
"""`dead`: nobody will try again."""


class Notification(msgspec.Struct, frozen=True):
    """One event for one endpoint."""

    n: int
    id: str
    endpoint: str
    topic: str
    run: str
    body: str
    at: float
    state: LetterState = "due"
    tries: int = 0
    due_at: float = 0.0
    error: str = ""


class DeliveryAttempt(msgspec.Struct, frozen=True):
    """What came of attempt number `tries` at a letter: no `error`, it arrived; `again`, when to try
    next (0: never).

    `by` and `origin`: who, and from where, if it was a person who let it be tried again, or gave it
    up.
    """

    n: int
    tries: int
    error: str = ""
    again: float = 0.0
    by: str = ""
    origin: str = ""


class Wake(msgspec.Struct, frozen=True):
    """That a run is due, for whoever drives it from outside: at once, or from `not_before` on. A
    run has at most one; a newer one has another number."""

    n: int
    run: str
    not_before: float


class Outbox(Protocol):
    """Who is told of events, the letters that are on their way to them, and who is to be woken."""

    async def endpoints(
        self, put: Endpoint | None = None, *, drop: str = "", by: str = "", origin: str = ""
    ) -> list[Endpoint]:
        """Who is notified of events. Returns all endpoints afterwards.

        While there are none, no notifications are written. Otherwise those of an event are written
        in its own transaction.

        Args:
            put: add or replace this one.
            drop: remove this one and its notifications.
            by, origin: who does it, and from where, for the audit.
        """
        ...

    async def post(
        self,
        sent: Sequence[DeliveryAttempt] = (),
        *,
        take: int = 0,
        hold: float = 60.0,
        but: Sequence[str] = (),
    ) -> list[Notification]:
        """Record delivery attempts, and take notifications that are due.

        Those of a run go to an endpoint in order, one after the other. An attempt that is not the
        notification's last is ignored.

        Args:
            sent: the attempts.
            take: how many to take.
            hold: no other process gets those for so many seconds.
            but: none for these endpoints.
        """
        ...

    async def letters(
        self, state: str = "", *, after: int = 0, limit: int = 100
    ) -> list[Notification]:
        """Notifications that have not arrived, in order.

        Args:
            state: those that are `due`, those that are `dead`, or (empty) both.
            after: only those with a larger number.
            limit: at most so many.
        """
        ...

    async def waking(self, wanted: bool | None = None, *, by: str = "", origin: str = "") -> bool:
        """Whether wakes are wanted.

        While they are not, none are written, and none are there. From the moment they are, there is
        one for every run that is due, or will be at a time.

        Args:
            wanted: set this first.
            by, origin: who does it, and from where, for the audit.
        """
        ...

    async def wakes(
        self, done: Sequence[Wake] = (), *, take: int = 0, hold: float = 60.0
    ) -> list[Wake]:
        """Acknowledge wakes, and take those that are due.

        Where they are wanted, whatever makes a run due, or due at a time, writes one in its own
        transaction: a new run, a command, a park with a time, a run that is released, a halt that
            is lifted. It is there
        until it is acknowledged, or until a newer one says when the run is due now; an
        acknowledgement never removes a newer one. A run may be woken although nothing is to be
        done, and again by one that was taken and not acknowledged. That a holder has died is not a
        wake: the program that told it to advance the run has no answer, and wakes it again.

        Args:
            done: acknowledge these.
            take: how many to take.
            hold: no other process gets those for so many seconds.
        """
        ...
