"""What comes of advancing one run: it rests, is another's, or does not fit; and how long it may
take."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from adjourn.core.duration import Duration, optional_seconds
from adjourn.errors import Invalid
from adjourn.runtime.open_runtime import OpenRuntime

if TYPE_CHECKING:
    from adjourn.core.state import State
    from adjourn.runtime.run import Run
    from adjourn.views.fleet_view import FleetView

IDLE = "a tenant's runtime advances no runs"
ELSEWHERE = "a worker without a tenant advances its runs"


class Rested(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The run is not this process's any more, and nothing of it is in flight here.

    `more`: its time was over before it came to rest, or it has become long and continues as new; it
        was handed back and is
    due at once.

    Attributes:
        status: `"ready"`, `"waiting"`, `"paused"`, `"stuck"`, `"completed"`, `"cancelled"` and so
            on, as the run's row says it.
        seq: the last record that is known here.
        wake_at: when it continues by itself at the latest, in seconds since 1970 by the store's
            clock; 0: only if a person acts.
        blocked: the halts that it waits for.
        more: call `advance` again.
    """

    status: str
    seq: int
    wake_at: float = 0.0
    blocked: tuple[str, ...] = ()
    more: bool = False

    @classmethod
    def of(cls, state: "State", handed_back: bool) -> "Rested":
        """How a run was left that was driven to this state.

        Args:
            state: its folded journal.
            handed_back: whether it was handed back before it rested.
        """
        parked = None if handed_back else state.parked
        return cls(
            status=status_of(state),
            seq=state.seq,
            wake_at=parked.wake_at if parked else 0.0,
            blocked=tuple(parked.blocked) if parked else (),
            more=handed_back,
        )


def status_of(state: "State") -> str:
    """The status of a run that was taken, as its row says it."""
    assert state.status is not None, "a run that was taken has begun"
    return state.status.value


class Busy(msgspec.Struct, frozen=True, kw_only=True):
    """Another worker has the run.

    Attributes:
        worker: which one.
        until: when its lease ends, in seconds since 1970.
    """

    worker: str
    until: float = 0.0


class Unfit(msgspec.Struct, frozen=True, kw_only=True):
    """This runtime cannot advance the run.

    Attributes:
        why: the reason.
        changes: how the definition differs, if that is the reason.
    """

    why: str
    changes: tuple[str, ...] = ()


Advanced = Rested | Busy | Unfit
Beat = Callable[[], None]


class Budget(msgspec.Struct, frozen=True):
    """What whoever advances a run gives it. Without `at_most` it is driven until it rests."""

    at_most: float | None = None
    beat: Beat | None = None


class AdvanceVerb(OpenRuntime):
    """`Runtime.advance` and `Runtime.fleet`."""

    if TYPE_CHECKING:

        def _begin_work(self) -> None:
            """From here on this process runs bodies."""
            ...

    async def advance(
        self,
        run: "str | Run[Any]",
        *,
        at_most: Duration | None = None,
        replaces: str = "",
        beat: Beat | None = None,
    ) -> Rested | Busy | Unfit:
        """Take one run and drive it until it rests, or until `at_most` seconds are over: then
        nothing new is started, what is in flight ends, and the run is handed back. Raises
        `UnknownRun`; `StoreError` if the store fails.

        It is what the worker of a runtime does with each run that is due. Other schedulers call it
        in a `Runtime(work=False)`, from as many processes as they like: of those who do it at the
        same time one has the run, the others get `Busy`. If it is cancelled, bodies in flight are
        cut off and the run is handed back.

        Args:
            run: a run, or its id.
            at_most: seconds, or a `timedelta`. A tool that takes longer is waited for.
            replaces: the id of a worker that is known to be gone, for example the one that had this
                run before.
            beat: called now and then while it is at work, at least three times within a lease. If
                it raises, the run is handed back and the error is raised here.
        """
        budget = Budget(optional_seconds(at_most, "at_most") or None, beat)
        self._begin_any()
        id = getattr(run, "id", run)
        if not isinstance(id, str):
            raise Invalid(f"advance needs a run or its id, got {run!r:.80}")
        return await self.worker.advance(id, budget, replaces=replaces)

    def lend_worker(self) -> None:
        """From now on an engine says which runs this runtime advances, by `advance`: it is a worker
        like others, of a `Runtime(work=False)`."""
        self._begin_any()
        self.worker.lend()

    def _begin_any(self) -> None:
        """From here on this process runs bodies, whosever run it is. Raises `NotAllowed` for a
        tenant's."""
        from adjourn.stores.tenant_store import check_whole

        check_whole(self.store, "advancing runs")
        self._begin_work()

    async def fleet(self) -> "FleetView":
        """Who works on the runs of this store, what is ready for them, and what no worker fits."""
        from adjourn.runtime.fleet_report import fleet_of

        return await fleet_of(self.store)
