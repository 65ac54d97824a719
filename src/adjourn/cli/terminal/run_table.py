"""Runs as a table: one line for each, as wide as the terminal allows."""

from collections.abc import Sequence

from rich.text import Text

from adjourn.cli.terminal.activity_line import activity_line
from adjourn.cli.terminal.console import Terminal, fit, widths
from adjourn.cli.terminal.format import DIM, STATUSES, age, brief, money, short_id, status_mark
from adjourn.views.run_view import RunView
from adjourn.views.visible import visible

HEAD = ["STATUS", "", "RUN", "AGENT", "NOW", "COST", "AGE"]
RIGHT = {1, 5, 6}
"""Columns of numbers."""


def run_table(seen: Sequence[RunView], now: float, terminal: Terminal) -> list[Text]:
    """The heading, and a line for each run.

    Args:
        seen: the runs.
        now: the time, for their ages.
        terminal: where it is to be printed.
    """
    cells = [_cells(view, now, terminal.tty) for view in seen]
    wide = widths([HEAD, *cells], len)
    if terminal.tty:
        wide[3] = min(wide[3], 16)
        wide[4] = max(12, min(wide[4], terminal.width - sum(wide[:4]) - sum(wide[5:]) - 12))
    lines = [Text(_columns(HEAD, wide), style=DIM)]
    for view, row in zip(seen, cells, strict=True):
        line = Text(_columns(row, wide))
        line.stylize(STATUSES[view.status][1], 0, wide[0])
        lines.append(line)
    return lines


def _cells(view: RunView, now: float, tty: bool) -> list[str]:
    if view.status in ("completed", "cancelled", "stopped", "failed"):
        since = ""
    else:
        since = age(now - view.updated_at)
    id = short_id(view.run_id) if tty else visible(view.run_id)
    return [
        status_mark(view.status).plain,
        since,
        id,
        visible(view.agent),
        visible(brief(activity_line(view))),
        money(view.usage.cost),
        age(now - view.created_at),
    ]


def _columns(cells: list[str], wide: list[int]) -> str:
    done = [
        cell.rjust(wide[n]) if n in RIGHT else fit(cell, wide[n]) for n, cell in enumerate(cells)
    ]
    return "  ".join(done).rstrip()
