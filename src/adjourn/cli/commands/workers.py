"""`adjourn workers`: who works on the runs of a database, and what waits for them."""

import typer
from rich.text import Text

from adjourn.cli.error_report import says
from adjourn.cli.opened_database import with_runtime
from adjourn.cli.options import Db, Json
from adjourn.cli.terminal.console import columns, give, out, print_section, remark, widths
from adjourn.cli.terminal.format import DIM, age, count
from adjourn.views.fleet_view import FleetView, LimitView, QueueView, UnfitView, WorkerView
from adjourn.views.visible import visible

app = typer.Typer()
STATES = {
    "working": ("▶", "cyan", "working"),
    "idle": ("○", DIM, "idle"),
    "draining": ("◐", "magenta", "draining"),
    "not_answering": ("✗", "red", "not answering"),
}
WORKERS = ("WORKER", "STATE", "SEEN", "SLOTS", "ADVANCES", "VERSION")
QUEUES = ("AGENT", "READY", "OLDEST", "WORKING", "WORKERS")
LIMITS = ("LIMIT", "AT WORK", "WAITING", "OLDEST")
UNFIT = ("AGENT", "RUNS", "OLDEST", "WHY")


@app.command()
@says("Not shown")
def workers(db: Db = None, as_json: Json = False) -> None:
    """List workers, ready runs, and runs that no worker fits."""
    fleet = with_runtime(db, lambda rt: rt.fleet())
    if give(as_json, fleet):
        return
    _print_workers(fleet)
    print_section(QUEUES, [_queue_cells(queue, fleet.now) for queue in fleet.queues])
    print_section(LIMITS, [_limit_cells(limit, fleet.now) for limit in fleet.limits])
    print_section(UNFIT, [_unfit_cells(unfit, fleet.now) for unfit in fleet.unfit])
    remark(_sentence(fleet))


def _sentence(fleet: FleetView) -> str:
    said = f"{fleet.alive} of {count(len(fleet.workers), 'worker')} alive, "
    said += f"{fleet.running} of {count(fleet.slots, 'slot')} in use."
    if fleet.ready:
        oldest = age(fleet.now - fleet.oldest_at)
        said += f" {count(fleet.ready, 'run is', 'runs are')} ready, the oldest for {oldest}."
    if fleet.unfit:
        lost = sum(unfit.runs for unfit in fleet.unfit)
        said += (
            f" {count(lost, 'run fits', 'runs fit')} no worker: they wait for a worker that fits."
        )
    return said


def _print_workers(fleet: FleetView) -> None:
    rows = [_worker_cells(worker, fleet.now) for worker in fleet.workers]
    terminal = out()
    wide = widths([WORKERS, *rows], len)
    advances = WORKERS.index("ADVANCES")  # the one that may be long: it gives way to the others
    others = sum(wide) - wide[advances] + 2 * (len(wide) - 1)
    wide[advances] = max(12, min(wide[advances], terminal.width - others))
    terminal.print(Text(columns(WORKERS, wide), style=DIM))
    for worker, row in zip(fleet.workers, rows, strict=True):
        line, begin = Text(columns(row, wide)), wide[0] + 2
        line.stylize(STATES[worker.state][1], begin, begin + wide[1])
        terminal.print(line)


def _worker_cells(view: WorkerView, now: float) -> tuple[str, ...]:
    glyph, _, word = STATES[view.state]
    seen = "–"
    if view.seen_at:
        seen = f"{age(now - view.seen_at)} ago"
    slots = "–"
    if view.slots:
        slots = f"{view.running} of {view.slots}"
    return (
        f"{visible(view.host)} {view.pid}",
        f"{glyph} {word}",
        seen,
        slots,
        ", ".join(map(visible, view.programs)) or "–",
        visible(view.version) or "–",
    )


def _queue_cells(queue: QueueView, now: float) -> tuple[str, ...]:
    return (
        visible(queue.agent),
        str(queue.ready),
        _since(queue.oldest_at, now),
        str(queue.working),
        str(queue.workers),
    )


def _unfit_cells(unfit: UnfitView, now: float) -> tuple[str, ...]:
    return (
        visible(unfit.agent),
        str(unfit.runs),
        _since(unfit.oldest_at, now),
        visible(unfit.why),
    )


def _limit_cells(limit: LimitView, now: float) -> tuple[str, ...]:
    working = str(limit.working)
    if limit.most:
        working = f"{limit.working} of {limit.most}"
    name = f"tool:{visible(limit.tool)}"
    if limit.rate:
        name += f" {limit.rate} in {age(limit.per)}"
    return name, working, str(limit.waiting), _since(limit.oldest_at, now)


def _since(at: float, now: float) -> str:
    if not at:
        return "–"
    return age(now - at)
