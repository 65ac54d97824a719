"""The runtime's views of a run, on the command line: a run looked at, and a step in one line."""

from collections.abc import Sequence
from dataclasses import dataclass

from adjourn.cli.terminal.format import arguments, exact
from adjourn.core.state import State
from adjourn.core.status import Status
from adjourn.runtime.runtime import Runtime
from adjourn.stores.protocol import Halt, RunRow
from adjourn.views.run_view import Glance, glance
from adjourn.views.timeline import Numbered, Step
from adjourn.views.visible import visible


@dataclass(frozen=True, slots=True)
class Look(Glance):
    """A glance with the records that it was made of."""

    records: list[Numbered]


async def look_at(rt: Runtime, row: RunRow, halts: Sequence[Halt]) -> Look:
    """Read a run's journal and look at it."""
    records = await rt.store.load(row.id)
    noted = await rt.store.misfits(runs=(row.id,)) if row.status == Status.READY else []
    g = glance(row, State().fold_all(records), halts, rt.store.now(), noted[0] if noted else None)
    return Look(g.row, g.state, g.status, g.doing, records)


async def status_of(rt: Runtime, run_id: str) -> tuple[str, Halt | None]:
    """The status that people see, and the halt that holds the run up, if one does."""
    row = await rt.store.get(run_id)
    if row.blocked:
        for halt in await rt.halts():
            if halt.scope in row.blocked:
                return "held", halt
    return row.shown(rt.store.now(), ()), None


def line(step: Step) -> str:
    """What a step was about, on one line, with everything in it visible. Nothing is shortened."""
    if step.kind == "left":
        return f"{visible(step.text)} {arguments(step.arguments)}"
    if step.arguments is not None:
        return arguments(step.arguments)
    return exact(step.said) if step.said is not None else visible(step.text)
