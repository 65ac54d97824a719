"""What the driver needs from an agent or a flow."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from adjourn.core import plan
from adjourn.core.messages import Message
from adjourn.core.plan import Step
from adjourn.core.records import Fact
from adjourn.core.request_digest import Outgoing
from adjourn.core.state import State

if TYPE_CHECKING:
    from adjourn.driver.located_run import LocatedRun


class StepHandle(Protocol):
    """What a running step may use. One per step; it dies with it.

    `cut`: the driver itself has cancelled the step. `lost`: why something of it could not be
        recorded. The step says
    with `in_thread` that its body cannot be stopped, and with `settle` how long the world may need
    if it is cut.
    """

    cut: bool
    lost: BaseException | None
    settle: float

    @property
    def in_thread(self) -> bool:
        """Whether its body is at work in a thread now."""
        ...

    @in_thread.setter
    def in_thread(self, is_so: bool) -> None: ...

    @property
    def partial(self) -> str:
        """What a model has said so far, in pieces."""
        ...

    @property
    def first_word(self) -> float:
        """When the first piece of a model's reply arrived; 0.0 before that."""
        ...

    @property
    def run_id(self) -> str:
        """The run."""
        ...

    @property
    def place(self) -> "LocatedRun":
        """The run and its store, for what this process keeps of it."""
        ...

    @property
    def epoch(self) -> int:
        """The lease's epoch: what a target may check to refuse a worker that was replaced."""
        ...

    @property
    def state(self) -> State:
        """The run, folded. Look, don't touch."""
        ...

    @property
    def resources(self) -> Mapping[str, Any]:
        """The live objects that whoever advances the run has."""
        ...

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The driver's event loop, for bodies that run in threads."""
        ...

    @property
    def request(self) -> Sequence[Message]:
        """For a model call: the messages, as they stood when it was planned."""
        ...

    async def files(self, digests: Collection[str]) -> dict[str, bytes]:
        """The bytes of files that the run's conversation refers to."""
        ...

    @property
    def outgoing(self) -> Outgoing:
        """For a model call: what of its request is recorded."""
        ...

    @property
    def upto(self) -> int:
        """The last record that `request` contains."""
        ...

    @property
    def heard(self) -> tuple[str, ...]:
        """The queued calls whose late results `request` contains."""
        ...

    def failed(self, error: BaseException) -> None:
        """Keep an error, so that whoever waits in this process gets it as the cause."""
        ...

    def now(self) -> float:
        """The store's time."""
        ...

    def post(self, fact: Fact) -> None:
        """Append a fact with whatever else lands."""
        ...

    @property
    def process(self) -> int:
        """The process in which the step began; a body that forks ends in its copy."""
        ...

    async def fence(self) -> None:
        """Right before touching the world: raises `LeaseLost` if another worker has taken the
        run."""
        ...

    async def record(self, fact: Fact) -> None:
        """Append a fact and return once it is durable. Raises `LeaseLost` if another worker has the
        run."""
        ...

    def publish(self, item: Any, *, path: str | None = None, thinking: bool = False) -> None:
        """Send an item to whoever watches; with `path`, a piece of that agent's reply."""
        ...


class Program(plan.Planner, Protocol):
    """An agent or a flow, as the driver sees it."""

    @property
    def kind(self) -> str:
        """`"agent"` or `"flow"`."""
        ...

    @property
    def fingerprint(self) -> dict[str, Any]:
        """Names and schemas: what a resumed run depends on."""
        ...

    def missing(self, resources: Mapping[str, Any]) -> set[str]:
        """Resources that it needs and that are not there."""
        ...

    def check_requester(self, by: str) -> None:
        """Raise `Invalid` if a rule wants somebody else than who shaped the run, and `by` names
        nobody."""
        ...

    async def perform(self, step: Step, desk: StepHandle) -> Fact:
        """Run a step; the one fact that ends it."""
        ...
