"""What came of a command to many runs, as data: a line for each."""

import msgspec

from adjourn.core.status import RunStatus
from adjourn.views.cancel_preview import CancelPreview


class RefusedDecision(msgspec.Struct, frozen=True, kw_only=True):
    """Why one of several decisions was not recorded."""

    code: str
    detail: str
    what: str
    consequence: str
    advice: str


class BulkPreview(msgspec.Struct, frozen=True, kw_only=True):
    """What a cancel of one run would do: calls that finish first, calls that are undone, and the
    tools of those that stay."""

    in_flight: int
    undone: int
    stays: tuple[str, ...]

    @classmethod
    def of(cls, preview: CancelPreview) -> "BulkPreview":
        """The numbers of a whole preview."""
        return cls(
            in_flight=len(preview.in_flight),
            undone=len(preview.undo),
            stays=tuple(left.tool for left in preview.residue),
        )


class BulkItem(msgspec.Struct, frozen=True, kw_only=True):
    """What came of one of several runs. `status` is the one before; null if the run does not exist.
    `refused`: why nothing was done. `preview`: of a cancel that was only looked at."""

    run_id: str
    title: str
    status: RunStatus | None
    refused: RefusedDecision | None
    preview: BulkPreview | None
