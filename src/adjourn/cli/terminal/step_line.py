"""A step in one line."""

from adjourn.cli.terminal.format import arguments, exact
from adjourn.views.timeline_step import TimelineStep
from adjourn.views.visible import visible
from adjourn.views.words import StepKind


def line(step: TimelineStep) -> str:
    """What a step was about, on one line, with everything in it visible. Nothing is shortened."""
    if step.kind == StepKind.RESIDUE:
        return f"{visible(step.text)} {arguments(step.arguments)}"
    if step.arguments is not None:
        return arguments(step.arguments)
    if step.said is not None:
        return exact(step.said)
    return visible(step.text)
