"""Runs that begin by the clock: one run for each moment of a schedule, however many processes look
at it.

Nothing is stored about a schedule. The id of a run says of which moment it is, and a store begins
no run twice.
"""

import asyncio
import logging
import shlex
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, tzinfo
from functools import cached_property
from typing import Any, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from adjourn.core.cron import Cron
from adjourn.core.duration import Duration, seconds
from adjourn.core.effect import RunsAsStep
from adjourn.core.ids import check_chosen
from adjourn.core.status import RunStatus
from adjourn.errors import AdjournError, InvalidDefinition, RunExists, RunPruned, StoreError
from adjourn.runtime.arguments import checked_labels, checked_priority
from adjourn.runtime.definition import Definition
from adjourn.runtime.fleet_report import unfit_of
from adjourn.runtime.runtime import Runtime

log = logging.getLogger("adjourn.schedules")

CATCH_UP = 300.0
AGAIN = 5.0
"""Seconds after which a run that could not be started is tried again."""
LONGEST = 3600.0
"""Seconds between two looks at the store's clock, however far away the next moment is."""
DONE = ("completed", "cancelled", "failed", "stopped")
"""Whose runs are not waited for, if runs of a schedule may not overlap."""
LABEL = "schedule"
"""The label by which the runs of a schedule are found."""
IN_DOUBT = (
    "%s: %s is not started: a backup was restored after its scheduled time, and the run may "
    "have started in the time that was lost. If it did not, start it by hand: %s"
)


class Schedule:
    """When runs of an agent or flow begin by themselves. Exactly one of `cron` and `every` is
    given.

    Args:
        name: short, unique among the schedules of a store: with the moment it is the run's id.
        program: the agent or flow.
        input: what each run begins with; or a function of the moment, which must give the same for
            the same moment.
        cron: five fields such as `"30 9 * * mon-fri"`, or `"@daily"`.
        every: seconds or a `timedelta`, counted from the beginning of 1970.
        zone: the time zone that `cron` speaks of, such as `"Europe/Oslo"`.
        labels: names and values to filter by; `schedule` is added.
        session: the session of all its runs.
        queue: `"session"`: a run waits until the one before has ended.
        priority: from -1000 to 1000; of the runs that are ready, the larger ones come first.
        overlap: `"skip"`: no run is started while the one before has not ended.
        catch_up: how late a run may be started, in seconds or as a `timedelta`. Of several moments
            that were missed, only the last one counts.
        by: who starts the runs.
    """

    def __init__(
        self,
        name: str,
        program: Definition[Any],
        input: Any = None,
        *,
        cron: str = "",
        every: Duration | None = None,
        zone: str = "UTC",
        labels: Mapping[str, str] | None = None,
        session: str | None = None,
        queue: Literal["session"] | None = None,
        priority: int = 0,
        overlap: Literal["start", "skip"] = "start",
        catch_up: Duration = CATCH_UP,
        by: str = "",
    ) -> None:
        self.name = check_chosen(name, "a schedule's name")
        if len(name) > 100:
            raise InvalidDefinition(
                f"a schedule's name has at most 100 characters, got {len(name)}"
            )
        if bool(cron) == (every is not None):
            raise InvalidDefinition(f"the schedule {name!r} needs either cron= or every=")
        if overlap not in ("start", "skip"):
            raise InvalidDefinition(f"overlap= must be 'start' or 'skip', got {overlap!r:.40}")
        if queue and not session:
            raise InvalidDefinition(f"the schedule {name!r} has queue= without session=")
        if isinstance(input, RunsAsStep):
            raise InvalidDefinition(
                f"schedule {name!r}: input= must be a value or a function, got {input!r}"
            )
        self.program, self.input, self.zone = program, input, zone
        self.labels = {**checked_labels(labels), LABEL: name}
        self.session, self.overlap, self.by = session, overlap, by
        self.queue: Literal["session"] | None = queue
        self.priority, self.catch_up = priority, seconds(catch_up, "catch_up=")
        checked_priority(priority)
        self._zone = _zone(zone)
        if cron:
            self._cron, self.every = Cron.parse(cron), 0
        else:
            self._cron, self.every = None, _whole(every, name)

    @cached_property
    def text(self) -> str:
        """When its runs begin, as people write it."""
        if self._cron is None:
            return f"every {self.every} s"
        if self.zone == "UTC":
            return self._cron.text
        return f"{self._cron.text} ({self.zone})"

    def following(self, after: float) -> float:
        """The first moment after this one, in seconds since 1970.

        Args:
            after: seconds since 1970.
        """
        if self._cron is None:
            return float((after // self.every + 1) * self.every)
        return self._cron.following(after, self._zone)

    def latest(self, until: float) -> float:
        """The last moment that is not after this one, in seconds since 1970.

        Args:
            until: seconds since 1970.
        """
        if self._cron is None:
            return float(until // self.every * self.every)
        return self._cron.latest(until, self._zone)

    def run_id(self, moment: float) -> str:
        """The id of the run that begins at a moment.

        Args:
            moment: seconds since 1970.
        """
        return f"{self.name}-{datetime.fromtimestamp(moment, UTC):%Y-%m-%dT%H%M%SZ}"

    def input_at(self, moment: float) -> Any:
        """What the run of a moment begins with.

        Args:
            moment: seconds since 1970.
        """
        if callable(self.input):
            make: Callable[[datetime], Any] = self.input
            return make(datetime.fromtimestamp(moment, self._zone))
        return self.input


class Scheduler:
    """Starts the runs of schedules. Run as many as you like: each moment has one run.

    Args:
        runtime: an open runtime; with `work=False` the runs are left to the workers.
        schedules: their names are different.
        started: called with each schedule, its moment and its run's id. Another process may have
            started the run.
    """

    def __init__(
        self,
        runtime: Runtime,
        schedules: Sequence[Schedule],
        *,
        started: Callable[[Schedule, float, str], None] | None = None,
    ) -> None:
        names = [schedule.name for schedule in schedules]
        if twice := [name for name in names if names.count(name) > 1]:
            raise InvalidDefinition(f"two schedules are named {twice[0]!r}")
        self._runtime, self._schedules, self._started = runtime, list(schedules), started
        self._done: dict[str, float] = {}
        self._warned: dict[str, str] = {}
        self._unfit: dict[str, str] = {}
        self._bell, self._is_stopped = asyncio.Event(), False

    async def tick(self) -> list[str]:
        """Start what is due now; the ids of those runs. One that cannot be started is tried again
        the next time, until it would be too late. One whose moment was before the store's last
        restore waits for a person, if the backup does not have it: it may have begun."""
        found: list[str] = []
        for schedule in self._schedules:
            now = self._runtime.store.now()
            moment = schedule.latest(now)
            is_late = now - moment > schedule.catch_up
            if is_late or self._done.get(schedule.name, moment - 1) >= moment:
                continue
            if await self._try(schedule, moment):
                found.append(schedule.run_id(moment))
        return found

    async def serve(self) -> None:
        """Start what becomes due, until `stop` is called or the task is cancelled."""
        while not self._is_stopped:
            await self.tick()
            self._bell.clear()
            if not self._is_stopped:
                await self._runtime.clock.wait(self._bell, self._pause())

    def stop(self) -> None:
        """End `serve`. What was started continues."""
        self._is_stopped = True
        self._bell.set()

    def _pause(self) -> float:
        """Seconds until the next look."""
        now = self._runtime.store.now()
        pauses = [schedule.following(now) - now for schedule in self._schedules]
        if self._warned:
            pauses.append(AGAIN)
        return min([LONGEST, *pauses])

    async def _try(self, schedule: Schedule, moment: float) -> bool:
        """Whether the run of this moment is there now."""
        name, id = schedule.name, schedule.run_id(moment)
        try:
            if await self._is_overlapped(schedule, id):
                log.info("%s: %s is not started: the previous run has not ended", name, id)
                self._done[name] = moment
                return False
            if await self._is_in_doubt(moment, id):
                log.warning(IN_DOUBT, name, id, _by_hand(schedule, id))
                self._done[name] = moment
                return False
            await self._warn_of_unfit(schedule)
            await self._start(schedule, moment, id)
        except RunExists as e:  # of another process with another version, or two have one name
            why = "is another run's id" if e.taken else "was started with another input or program"
            log.warning("%s: %s %s", name, id, why)
        except RunPruned:
            pass
        except AdjournError as e:
            if self._warned.get(name) != str(e):  # once, not every time it is tried
                log.warning("%s: %s cannot be started: %s", name, id, e)
            self._warned[name] = str(e)
            if not isinstance(e, StoreError):  # the same again would not help
                self._warned.pop(name)
                self._done[name] = moment
            return False
        except Exception:
            log.exception("%s: %s is not started: its input= failed", name, id)
            self._done[name] = moment
            return False
        self._warned.pop(name, None)
        self._done[name] = moment
        if self._started is not None:
            self._started(schedule, moment, id)
        return True

    async def _warn_of_unfit(self, schedule: Schedule) -> None:
        """Say once of an agent that runs of it wait for nobody: where the workers are, the agent was renamed,
        changed or removed. The schedule goes on, and its runs are kept until a worker has it."""
        name, agent, why = schedule.name, schedule.program.name, ""
        for unfit in await unfit_of(self._runtime.store):
            if unfit.agent == agent and not why:
                why = unfit.why
                if self._unfit.get(agent) != why:
                    said = "%s: %d runs of %s wait: %s. Start a worker with it, or end the schedule"
                    log.warning(said, name, unfit.runs, agent, why)
        self._unfit[agent] = why

    async def _is_in_doubt(self, moment: float, id: str) -> bool:
        """Whether nobody here can know if the run of this moment was begun: a backup was restored
        since, and it is not in it."""
        from adjourn.stores.last_restore import last_restore

        store = self._runtime.store
        return moment <= await last_restore(store) and not await store.audit(id, limit=1)

    async def _is_overlapped(self, schedule: Schedule, id: str) -> bool:
        if schedule.overlap == "start":
            return False
        for status in RunStatus:
            if status in DONE:
                continue
            # by status: runs that a person has begun again may stand between, and have ended
            found = await self._runtime.runs(
                label=(LABEL, schedule.name), status=status.value, limit=2
            )
            if any(run.run_id != id for run in found):
                return True
        return False

    async def _start(self, schedule: Schedule, moment: float, id: str) -> None:
        given = schedule.input_at(moment)
        after: Any = {} if schedule.session else {"after": None}
        await self._runtime.start(
            schedule.program,
            given,
            run_id=id,
            session=schedule.session,
            labels=schedule.labels,
            by=schedule.by,
            queue=schedule.queue,
            priority=schedule.priority,
            **after,
        )


def _by_hand(schedule: Schedule, id: str) -> str:
    """The command that starts the run of a moment."""
    words = ["adjourn", "start", f"APP.PY:{schedule.program.name}", "INPUT", "--id", id]
    if schedule.session:
        words += ["--session", schedule.session]
    for name, value in schedule.labels.items():
        words += ["--label", f"{name}={value}"]
    return shlex.join(words)


def _whole(every: Duration | None, name: str) -> int:
    span = seconds(every or 0, "every=")
    if span < 1 or span != int(span):
        raise InvalidDefinition(
            f"every= of the schedule {name!r} must be an integer number of seconds, at least "
            f"1, got {every!r}"
        )
    return int(span)


def _zone(name: str) -> tzinfo:
    if name == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise InvalidDefinition(
            f"the time zone {name!r:.80} is not known here",
            advice="write one such as Europe/Oslo; where the system has none, install tzdata",
        ) from None
