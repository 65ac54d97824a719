"""A run with its steps."""

from msgspec.structs import asdict

from adjourn.views.run_view import RunView
from adjourn.views.step_view import TimelineView


class RunDetail(RunView, frozen=True, kw_only=True):
    """The whole of a run, and its timeline."""

    timeline: TimelineView


def run_detail(view: RunView, timeline: TimelineView) -> RunDetail:
    """Both together.

    Args:
        view: the run.
        timeline: its steps.
    """
    return RunDetail(**asdict(view), timeline=timeline)
