"""Who is told of events, and what is on its way to them."""

from typing import Literal

import msgspec

TOPICS = (
    "interrupt.opened", "interrupt.reminded", "run.completed", "run.cancelled", "run.failed", "run.stuck", "halt.set", "halt.lifted",
)  # fmt: skip


class Endpoint(msgspec.Struct, frozen=True):
    """Somebody who is told of events. `topics`: of these only; empty: of all. `secret` signs what is sent."""

    name: str
    kind: Literal["webhook", "apprise"]
    url: str
    secret: str = ""
    topics: tuple[str, ...] = ()
    at: float = 0.0


class Letter(msgspec.Struct, frozen=True):
    """One event for one endpoint. `state` is `due`, or `dead` when nobody will try again."""

    n: int
    id: str
    endpoint: str
    topic: str
    run: str
    body: str
    at: float
    state: str = "due"
    tries: int = 0
    due_at: float = 0.0
    error: str = ""


class Sent(msgspec.Struct, frozen=True):
    """What came of attempt number `tries` at a letter: no `error`, it arrived; `again`, when to try next (0: never).

    `by` and `origin`: who, and from where, if it was a person who let it be tried again, or gave it up.
    """

    n: int
    tries: int
    error: str = ""
    again: float = 0.0
    by: str = ""
    origin: str = ""
