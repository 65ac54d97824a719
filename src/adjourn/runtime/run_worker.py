"""What drives the runs of a runtime, whoever begins it: what everybody in the process may ask of
it."""

from collections.abc import Coroutine, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from adjourn.core.ids import places_of
from adjourn.core.interrupt import Interrupt, view
from adjourn.core.records import AnyRecord, Started
from adjourn.core.state import State
from adjourn.driver.program import Program
from adjourn.runtime.advance_result import Advanced, Budget
from adjourn.runtime.advancer import Advancer


class RunWorker:
    """One of a runtime: a `Worker` drives what is due by itself, a `LocalWorker` what somebody
    waits for."""

    outlives = True
    """Whether its runs are still there when it is gone."""

    def __init__(self, advancer: Advancer) -> None:
        self.advancer, self.id = advancer, advancer.id
        self.earlier, self.errors = advancer.earlier, advancer.errors
        self.refusals = advancer.refusals
        self.left = advancer.left

    def register(self, program: Program, *, work: bool = True) -> None:
        """Know this program. `work`: find its runs that are due, and advance them, from now on."""

    def announce(self) -> None:
        """Say from now on who this worker is, where workers are listed."""

    def lend(self) -> None:
        """From now on an engine says which runs it advances. It is listed among the workers all the
        same."""

    def expecting(self, run: str) -> AbstractContextManager[None]:
        """What is written within will wake this run here: nobody else need take it."""
        return nullcontext()

    def begin(self, started: Started, *, new: bool) -> None:
        """A run that this process has just created, if it is `new`: its state is known, so there is
        nothing to look up."""
        raise NotImplementedError

    def wake(self, run: str, *, replaces: str = "", stops: bool = False) -> None:
        """Somebody knows that there is something to do for this run. Harmless if not."""

    async def advance(self, run: str, budget: Budget, *, replaces: str = "") -> Advanced:
        """See `Runtime.advance`."""
        raise NotImplementedError

    def rest(self, run: str) -> Coroutine[Any, Any, tuple[State, Sequence[AnyRecord]]]:
        """The run's state and its records, once it has ended or waits for a person. Raises the
        error if it cannot go on here."""
        raise NotImplementedError

    async def rested(self, run: str) -> None:
        """Return when this process has let go of the run."""

    async def close(self, grace: float) -> None:
        """Start nothing new, cut model calls, wait `grace` for tools in flight, and hand the runs
        back."""

    def closed(self) -> None:
        """The store is closed as well."""

    def swept(self) -> None:
        """Whoever it is lent to has looked for runs that are due."""

    @property
    def is_sweeping(self) -> bool:
        """Whether it looks for runs that are due as often as it should."""
        return True

    # What others in this process know of its runs

    def drives(self, run: str) -> bool:
        """Whether the run is being advanced in this process now."""
        return run in self.advancer.running

    def kept(self, run: str) -> State | None:
        """What the run meant when this process let go of it, if that is still known; see
        `HotStates.look`."""
        return self.advancer.hot.look(run)

    def asked(self, given: str | Interrupt) -> Interrupt | None:
        """An interrupt that was open when this process let go of its run, to build an answer of;
        None if it is not known here.

        What was asked never changes, so nobody need read it again. Whether it is still open is for
        the store to say.
        """
        name = given.ref if isinstance(given, Interrupt) else given
        if isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            places = places_of(name)
        else:
            places = []
        if len(places) != 1 or not places[0][0]:
            return None
        [(run, local)] = places
        state = self.kept(run)
        if state is not None and state.trust is None:
            found = state.open.get(local)
        else:
            found = None
        if found is not None:
            return view(run, found.seq, found.record)
        return None

    def cut(self, run: str, seq: int) -> None:
        """The word at `seq` ends the run's model calls: they need not wait until its driver has
        read it."""
        if drive := self.advancer.running.get(run):
            drive.cut(seq)

    def forget(self, run: str) -> None:
        """The run was erased: this process knows nothing of it any more."""
        self.advancer.forget(run)
