"""A step in one line, and its files in one each."""

from adjourn.cli.terminal.format import arguments, exact
from adjourn.core.files import described
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


def file_lines(step: TimelineStep) -> list[str]:
    """Its files, each with its name, its type and its size."""
    return [visible(described(ref)) for ref in step.files]
