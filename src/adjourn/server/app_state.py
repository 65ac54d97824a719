"""What the operations share: the runtime, the guard, kept folds, and the one stream about
everything."""

import asyncio
from collections import OrderedDict
from typing import TYPE_CHECKING

from starlette.requests import Request

from adjourn.core.state import State
from adjourn.errors import Misused
from adjourn.runtime.halt_survey import HaltSurvey
from adjourn.runtime.health import HealthCheck
from adjourn.runtime.runtime import Runtime
from adjourn.server.api.numbers import CountedNumbers
from adjourn.server.api.run_views import Glances
from adjourn.server.authentication import Guard
from adjourn.server.change_feed import ChangeFeed
from adjourn.server.journal_cache import JournalCache
from adjourn.server.record_stream import Tapes
from adjourn.server.rights import RunPlace
from adjourn.server.security_log import SecurityLog
from adjourn.server.shortened_interrupts import ShortenedInterrupts
from adjourn.views.api_answers import VerificationView

if TYPE_CHECKING:
    from adjourn.server.notifications.sender import NotificationSender

KNOWN = 50_000


class AppState:
    """One application's state; nothing in it that a restart would miss."""

    def __init__(self, runtime: Runtime, guard: Guard, *, people_times: bool = False) -> None:
        self.runtime, self.guard, self.people_times = runtime, guard, people_times
        self.numbers = CountedNumbers()
        self.folds = JournalCache(runtime)
        self.hub = ChangeFeed(runtime)
        self.security = SecurityLog(lambda: runtime.store)
        self.glances, self.shortened = Glances(), ShortenedInterrupts()
        self.tapes = Tapes()
        self.health = HealthCheck(runtime)
        self.survey = HaltSurvey(runtime, self._state_of)
        self.closing = asyncio.Event()
        self.sending: NotificationSender | None = None
        self.verifying, self.parsing = asyncio.Lock(), asyncio.Lock()
        self.verified: VerificationView | None = None  # what the last check of everything found
        self.verified_at: float | None = None
        self._places: OrderedDict[str, RunPlace] = OrderedDict()

    async def _state_of(self, run: str) -> State:
        _, state = await self.folds.of(run)
        return state

    def sender(self) -> "NotificationSender":
        """What delivers notifications while the application is up."""
        if self.sending is None:
            raise Misused("notifications are not sent before the application's lifespan has begun")
        return self.sending

    def origin_of(self, request: Request) -> str:
        """From where a request comes, for the audit."""
        return f"http {self.guard.address(request) or '?'}"

    async def place_of(self, run: str) -> RunPlace:
        """A run's program, session and labels; they never change, so they are looked up once."""
        found = self._places.get(run)
        if found is None:
            row = await self.runtime.store.get(run)
            found = self._places[run] = RunPlace(row.program, row.session, row.labels)
            while len(self._places) > KNOWN:
                self._places.popitem(last=False)
        return found
