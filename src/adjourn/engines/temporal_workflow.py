"""The workflow of a run in Temporal: it asks for an advance, sleeps until it is woken, and knows
nothing but the run's id. Replayed by Temporal, so it has no clock and no I/O of its own."""

from datetime import timedelta

from temporalio import workflow
from temporalio.common import RetryPolicy

from adjourn.engines.pace import next_look

WORKFLOW, ACTIVITY, WAKE = "AdjournRun", "adjourn-advance", "wake"
LONG = timedelta(days=1)
"""A run that is parked for longer begins anew in Temporal, with a history of nothing."""
EVENTS = 1_000
"""So does one whose history in Temporal has more events."""
ATTEMPT = timedelta(hours=1)
"""An advance that takes longer is asked for again: it continues, and is waited for again."""
HEARTBEAT = timedelta(seconds=10)
"""A worker that says nothing for so long is taken for dead."""
RETRIES = RetryPolicy(
    initial_interval=timedelta(seconds=0.2),
    backoff_coefficient=2.0,
    maximum_interval=timedelta(seconds=5),
    maximum_attempts=0,
)


@workflow.defn(name=WORKFLOW)
class RunWorkflow:
    """One for each run that is not over."""

    def __init__(self) -> None:
        self._woken = False

    @workflow.signal(name=WAKE)
    def wake(self) -> None:
        """The run is due, or may be."""
        self._woken = True

    @workflow.run
    async def run(self, run: str) -> None:
        """Advance the run until it is over.

        Args:
            run: its id.
        """
        seq, looks = -1, 0
        while workflow.info().get_current_history_length() < EVENTS:
            self._woken = False
            found = await self._advance(run)
            if found["is_over"] and not self._woken:
                return
            if found["more"] or self._woken:
                continue
            if found["seq"] == seq:
                looks += 1
            else:
                seq, looks = found["seq"], 0
            if not await self._slept(found["wake_in"], looks):
                break
        workflow.continue_as_new(run)

    async def _advance(self, run: str) -> dict[str, int | float]:
        return await workflow.execute_activity(
            ACTIVITY,
            run,
            result_type=dict,
            start_to_close_timeout=ATTEMPT,
            heartbeat_timeout=HEARTBEAT,
            retry_policy=RETRIES,
        )

    async def _slept(self, wake_in: float, looks: int) -> bool:
        """Sleep until the run is woken or its time comes; False if it was parked for long."""
        time = LONG
        if wake_in:
            time = min(LONG, timedelta(seconds=next_look(wake_in, looks)))
        try:
            await workflow.wait_condition(lambda: self._woken, timeout=time)
        except TimeoutError:
            return time < LONG
        return True
