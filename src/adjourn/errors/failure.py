"""What failed, in a store, a model, a tool or a run: retry, or stop."""

from typing import TYPE_CHECKING, Any

from adjourn.errors.error import AdjournError, restored
from adjourn.errors.invalid import Invalid
from adjourn.errors.not_found import NotFound

if TYPE_CHECKING:
    from adjourn.runtime.checkpoint import Checkpoint


class StoreError(AdjournError):
    """The store failed. Whether the last write was saved is unknown; reload before doing
    anything."""

    status = 503


class KeyMissing(AdjournError):
    """A run is encrypted, and the key that opens it is not here. Nothing was changed: give the key,
    and try again."""

    status = 503


class LeaseLost(AdjournError):
    """Another worker has this run (a newer epoch). Drop what you have; nothing of yours was
    written."""

    status = 409


class LeaseBusy(AdjournError):
    """Another live worker has this run. Not an acknowledgement: try again later."""

    status = 409


class EngineError(AdjournError):
    """An engine that says when runs are advanced cannot be reached, or refuses. The runs are safe in
    their store."""

    status = 503


class ModelError(AdjournError):
    """A model call failed. `transient`: another attempt may succeed.

    Args:
        what: what happened.
        transient: whether another attempt may succeed.
        retry_after: seconds to wait before it, if the provider says so.
        kind: what kind of failure it is, as it is recorded.
    """

    status = 502
    transient: bool
    retry_after: float | None
    kind: str

    def __init__(
        self,
        what: str,
        *,
        transient: bool = False,
        retry_after: float | None = None,
        kind: str = "model",
    ) -> None:
        super().__init__(what, kind=kind, transient=transient, retry_after=retry_after)


class RunFailed(AdjournError):
    """The run cannot continue by itself. Its checkpoint has everything done so far; resuming it
    retries the failed step.

    Args:
        what: what failed.
        checkpoint: the run as data.
        run_id: the run's id.
        resumable: whether a retry may help.
        consequence: what that means.
        advice: what to do next.
    """

    run_id: str
    resumable: bool

    def __init__(
        self,
        what: str,
        checkpoint: "Checkpoint | None" = None,
        *,
        run_id: str = "",
        resumable: bool = True,
        consequence: str = "",
        advice: str = "",
    ) -> None:
        self.checkpoint = checkpoint
        super().__init__(
            what, consequence=consequence, advice=advice, run_id=run_id, resumable=resumable
        )


class InDoubt(AdjournError):
    """Raise it in a tool that cannot tell whether its effect happened. The call is then in doubt,
    not failed."""


class ToolFailed(AdjournError):
    """Raise it in a tool for an error the model should read, without a traceback in the logs."""


class PauseRequest(BaseException):
    """How a body stops to wait. A `BaseException`, so that `except Exception` cannot swallow it.

    Args:
        fields: what the pause is recorded with.
    """

    def __init__(self, **fields: Any) -> None:
        self.fields = fields
        super().__init__("a tool or chunk paused here")

    def __reduce__(self) -> tuple[Any, ...]:
        return restored, (type(self), self.args), dict(self.__dict__)


def can_resume(error: BaseException) -> bool:
    """Whether a retry may help: no for bad credentials or an invalid request, yes for timeouts and
    outages.

    Args:
        error: what was raised.
    """
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, RunFailed):
            return seen.resumable
        if isinstance(seen, ModelError):
            return seen.transient
        if isinstance(seen, Invalid | NotFound):
            return False
        seen = seen.__cause__
    return True
