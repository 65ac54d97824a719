"""Trying a body or a model call again that has failed: how often, and when. Attempts are counted in the
journal."""

from typing import TYPE_CHECKING, Any

from adjourn.core.codec import legible
from adjourn.core.effect import Effect
from adjourn.core.records import Faulted
from adjourn.driver.program import StepHandle
from adjourn.errors import InvalidDefinition, ToolFailed

if TYPE_CHECKING:
    from adjourn.bodies.body import Body

LONGEST = 300.0
"""Seconds between two attempts, at most."""
BACKOFF, LONGEST_BACKOFF = 0.5, 30.0
"""Seconds between two attempts of what nobody has said how often to try: after the first, and at most."""
REFUSES = {
    Effect.UNSAFE: "an unsafe body that raised may have had an effect, and a retry would repeat it",
    Effect.VERIFIABLE: "for a verifiable body, verify= decides what happened; it is not retried",
}
"""Effects that do not allow another attempt, and why."""


def checked_retries(what: str, retries: Any, effect: Effect) -> int:
    """How often a body may be tried again, or `InvalidDefinition`.

    Args:
        what: whose it is, for the message.
        retries: what was given.
        effect: what the body does to the world.
    """
    if isinstance(retries, bool) or not isinstance(retries, int) or retries < 0:
        raise InvalidDefinition(
            f"{what}: retries= must be an integer of at least 0, got {retries!r:.80}"
        )
    if retries and effect in REFUSES:
        raise InvalidDefinition(
            f"{what}: retries= needs effect='read' or 'idempotent': {REFUSES[effect]}"
        )
    return retries


def again(body: "Body", error: BaseException, text: str, desk: StepHandle) -> Faulted | None:
    """The fact that has a failed body tried again; None if it has failed for good. A `ToolFailed`
    is the body's last word."""
    fault = desk.state.faults.get(body.call.id)
    count = 1 + (fault.count if fault else 0)
    if (
        count > body.declared.retries
        or isinstance(error, ToolFailed)
        or not isinstance(error, Exception)
    ):
        return None
    at = desk.now() + min(LONGEST, body.declared.backoff * 2 ** (count - 1))
    return Faulted(
        step=body.call.id, error=legible(text), kind="retry", transient=True, retry_at=at
    )


def retry_at(now: float, attempt: int, after: float | None = None) -> float:
    """When to try again what has failed `attempt` times; `after` seconds, if the other side says
    so."""
    return now + (
        after if after is not None else min(LONGEST_BACKOFF, BACKOFF * 2 ** (attempt - 1))
    )
