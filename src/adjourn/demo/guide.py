"""The card of things to try. Each task is ticked from the journals, no matter who did it and
how."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, TypeVar
from urllib.parse import quote

from adjourn.core import records as r
from adjourn.core.ids import WorkerId
from adjourn.core.state import State
from adjourn.runtime.runtime import Runtime
from adjourn.views.timeline import Numbered

T = TypeVar("T")


async def tasks(rt: Runtime, pid: int | None) -> list[dict[str, Any]]:
    """The four tasks, each as it stands now.

    Args:
        rt: the runtime of the demo.
        pid: the process of the worker that lives now; None while there is none.
    """
    journals = {run: await rt.store.load(run) for run in ("DEMO-1", "DEMO-2", "DEMO-3", "DEMO-4")}
    return [
        _refund(journals["DEMO-1"]),
        _research(journals["DEMO-2"]),
        _deployment(journals["DEMO-3"]),
        _worker(journals["DEMO-4"], pid),
    ]


def _task(
    id: str, title: str, text: str, done: bool, link: str, command: str = ""
) -> dict[str, Any]:
    return {"id": id, "title": title, "text": text, "done": done, "link": link, "command": command}


def _all(journal: Sequence[tuple[int, object]], kind: type[T]) -> list[T]:
    """The records of one kind, in order."""
    return [record for _, record in journal if isinstance(record, kind)]


def _first(journal: Sequence[tuple[int, object]], kind: type[T]) -> T | None:
    return next(iter(_all(journal, kind)), None)


def _refund(journal: list[Numbered]) -> dict[str, Any]:
    title = "Approve a refund, but less"
    decided, asked = _first(journal, r.Decided), _first(journal, r.Asked)
    if decided is None:
        text = (
            "The agent wants to pay 48250 back. Read it, change the amount, approve: "
            "only what you approved runs."
        )
        if asked:
            link = f"/inbox/{quote(f'DEMO-1:{asked.i}', safe='')}"
        else:
            link = "/inbox"
        return _task("refund", title, text, False, link)
    state = State().fold_all(journal)
    if decided.edit is not None and asked is not None:
        args: Any = asked.args
        text = (
            f"{decided.by} changed {args['cents']} to {decided.edit.get('cents')} and "
            f"approved. Only that ran."
        )
    elif decided.verdict == "approve":
        text = f"{decided.by} approved it as it was. It ran once."
    else:
        text = f"{decided.by} denied it. Nothing ran, and the agent was told why."
    return _task("refund", title, text, state.ended is not None, "/runs/DEMO-1")


def _research(journal: list[Numbered]) -> dict[str, Any]:
    title = "Pause a run, steer it, resume it"
    instructions = filter(None, [record.instruction for record in _all(journal, r.Resumed)])
    paused = _first(journal, r.PauseAsked) is not None
    if told := next(instructions, ""):
        return _task(
            "research",
            title,
            f"You said “{told}”. It read that, and nothing was done twice.",
            True,
            "/runs/DEMO-2",
        )
    if paused:
        return _task(
            "research",
            title,
            "It is paused and costs nothing. Resume it with an instruction.",
            False,
            "/runs/DEMO-2",
        )
    text = "A research run is writing, until you come. Pause it, tell it to finish in three lines, resume."
    return _task("research", title, text, False, "/runs/DEMO-2")


def _deployment(journal: list[Numbered]) -> dict[str, Any]:
    title = "Cancel a deployment and watch it undo"
    end = _first(journal, r.RunCancelled)
    if end is None:
        text = "It took four actions. Three are undone in reverse, one stays, with the reason."
        return _task("deployment", title, text, False, "/runs/DEMO-3")
    text = (
        f"{len(end.undone)} undone, the last action first; {len(end.residue)} not undone, with "
        "the reason."
    )
    return _task("deployment", title, text, True, "/runs/DEMO-3")


def _worker(journal: list[Numbered], pid: int | None) -> dict[str, Any]:
    title = "Kill the worker"
    if taken := _taken(journal):
        seq, before, after = taken[-1]
        gone, new = _pid(before.worker), _pid(after.worker)
        text = (
            f"Process {gone} ended; process {new} continued from record {seq - 1}. Nothing was "
            "counted twice."
        )
        return _task("worker", title, text, True, "/runs/DEMO-4")
    text = (
        "Paste this in a terminal. The run stops mid-step, and another worker continues from "
        "the last record."
    )
    return _task("worker", title, text, False, "/runs/DEMO-4", f"kill -9 {pid}" if pid else "")


def _taken(journal: list[Numbered]) -> list[tuple[int, r.Claimed, r.Claimed]]:
    """Where a worker took the run from one that had not parked it: the seq, and both claims."""
    found: list[tuple[int, r.Claimed, r.Claimed]] = []
    claimed: r.Claimed | None = None
    for (_, previous), (seq, record) in pairwise(journal):
        if isinstance(previous, r.Claimed):
            claimed = previous
        if (
            isinstance(record, r.Claimed)
            and claimed is not None
            and not isinstance(previous, r.Parked)
        ):
            found.append((seq, claimed, record))
    return found


def _pid(worker: str) -> str:
    process = WorkerId.parse(worker).process
    if process is None:
        return ""
    return str(process)
