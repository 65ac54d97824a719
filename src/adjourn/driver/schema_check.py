"""Checking a value against a schema without holding up the event loop."""

import asyncio
from typing import Any

from adjourn.core.schema import check, check_size
from adjourn.core.schema_document import TooMuchWork
from adjourn.driver.threads import in_thread
from adjourn.errors import InvalidAnswer, InvalidDefinition

INLINE = 3_000
"""Steps that are taken at once: a few milliseconds. What needs more goes to a thread."""
DEADLINE = 5.0
"""Seconds that a check in a thread may take."""


async def check_value(schema: Any, value: Any, what: str) -> None:
    """Raise `InvalidAnswer` if `value` does not fit, or if that cannot be found out in bounded
    time; formats count. See `core.schema.check`."""
    try:
        check_size(schema, f"the schema of {what}")
        check(schema, value, what, INLINE, formats=True)
    except InvalidDefinition as e:
        raise InvalidAnswer(str(e), consequence="nothing was recorded") from None
    except TooMuchWork:
        await _in_time(schema, value, what)


async def _in_time(schema: Any, value: Any, what: str) -> None:
    try:
        await asyncio.wait_for(
            in_thread(lambda: check(schema, value, what, formats=True)), DEADLINE
        )
    except TimeoutError:
        raise InvalidAnswer(
            f"{what} could not be checked against its schema within {DEADLINE:g} s",
            consequence="nothing was recorded",
            advice="make it smaller",
        ) from None
