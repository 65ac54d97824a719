"""Commands that only look: `runs`, `show` and the list of `inbox`."""

import sys
import time
from collections.abc import Sequence
from typing import Annotated

import typer
from rich.cells import cell_len
from rich.text import Text

from adjourn.cli import last_list as listing
from adjourn.cli.console_address import run_page
from adjourn.cli.error_report import says
from adjourn.cli.interrupt_lookup import find_run
from adjourn.cli.last_list import ShownItem
from adjourn.cli.loaded_run import LoadedRun, load_run
from adjourn.cli.opened_database import address_of, with_runtime
from adjourn.cli.options import AgentFilter, Db, Json, RunId, StatusFilter, option
from adjourn.cli.runs_watcher import RunsWatcher
from adjourn.cli.suggestions import check_known, check_runs_of
from adjourn.cli.terminal.console import (
    Terminal,
    fit,
    give,
    is_attended,
    is_read,
    out,
    print_json,
    remark,
    say,
    to_json,
    widths,
    wrap,
)
from adjourn.cli.terminal.format import (
    DIM,
    STEPS,
    count,
    duration,
    money,
    short_id,
    status_mark,
)
from adjourn.cli.terminal.halt_line import halt_line, halt_words
from adjourn.cli.terminal.hints import command, typed_again
from adjourn.cli.terminal.interrupt import Item, earlier_line, list_line, look, numbered, seats_line
from adjourn.cli.terminal.run_table import run_table
from adjourn.cli.terminal.step_line import file_lines, line
from adjourn.core.record_codec import dump
from adjourn.errors import Invalid
from adjourn.runtime.runtime import Runtime
from adjourn.stores.protocol import Halt
from adjourn.views.interrupt_view import call_id_of
from adjourn.views.run_view import RunView, run_detail
from adjourn.views.timeline import Timeline
from adjourn.views.timeline_step import TimelineStep
from adjourn.views.timeline_view import timeline_view
from adjourn.views.visible import visible
from adjourn.views.words import CHECK, KINDS, OUTCOMES, OutcomeState, kind_words, shown_kind

app = typer.Typer()


@app.command()
@says("No runs listed")
def runs(
    db: Db = None,
    as_json: Json = False,
    status: StatusFilter = "",
    agent: AgentFilter = "",
    session: Annotated[
        str, typer.Option(help="Only runs of this session.", show_default=False)
    ] = "",
    label: Annotated[str, option("NAME=VALUE", "Only runs with this label.")] = "",
    search: Annotated[
        str,
        option("TEXT", "Only runs with these words or keys: 'tool:refund cost:>0.05 took:>10m'."),
    ] = "",
    after: Annotated[str, option("RUN", "Only runs older than this one.")] = "",
    limit: Annotated[int, typer.Option(help="Maximum number.", min=1, max=1000)] = 30,
    watch: Annotated[
        bool, typer.Option("--watch", "-w", help="Show the list as it changes, until Ctrl-C.")
    ] = False,
) -> None:
    """List runs, newest first."""
    name, found, value = label.partition("=")
    if label and not found:
        raise Invalid(f"a label must be NAME=VALUE, got {label!r}")

    async def listed(rt: Runtime) -> list[RunView]:
        before = (await find_run(rt, after)).id if after else ""
        found = await rt.runs(
            status=status,
            agent=agent,
            session=session,
            label=(name, value) if label else None,
            search=search,
            after=before,
            limit=limit,
        )
        if not found:
            await check_runs_of(rt, agent, session, (name, value) if label else None)
        halts = list(await rt.halts())
        return [(await load_run(rt, run.run_id, halts, unread=True)).view for run in found]

    async def work(rt: Runtime) -> tuple[list[RunView], Sequence[Halt], int, float]:
        seen = await listed(rt)
        return seen, await rt.halts(), len(await rt.inbox(limit=1000)), rt.store.now()

    if watch:
        with_runtime(db, lambda rt: RunsWatcher(rt, lambda: listed(rt), as_json=as_json).follow())
        return
    seen, halts, waiting, now = with_runtime(db, work)
    if give(as_json, seen):
        return
    _print_runs(seen, waiting, now, db)
    say(*map(halt_line, halts))
    if len(seen) == limit:
        older = typed_again(db, {"after": seen[-1].run_id})
        remark(f"Older ones: {older}")


def _print_runs(seen: list[RunView], waiting: int, now: float, db: str | None) -> None:
    terminal = out()
    terminal.print(*run_table(seen, now, terminal))
    told = f"{count(len(seen), 'run')}."
    if waiting:
        items = count(waiting, "item waits", "items wait")
        told += f" {items} for a person: {command(db, 'inbox')}"
    remark(told)


@app.command()
@says("Not shown")
def show(
    run: RunId,
    db: Db = None,
    as_json: Json = False,
    journal: Annotated[
        bool, typer.Option("--journal", help="Print its records, one per line.")
    ] = False,
    checkpoint: Annotated[bool, typer.Option("--checkpoint", help="Print its checkpoint.")] = False,
    sealed: Annotated[
        bool, typer.Option("--sealed", help="With --checkpoint: encrypted with the run's key.")
    ] = False,
    web: Annotated[
        bool,
        typer.Option("--web", help="Print the URL of its page in the console, and open it."),
    ] = False,
) -> None:
    """Show one run: its status and its steps."""
    if sealed and not checkpoint:
        raise Invalid("--sealed needs --checkpoint")

    async def work(rt: Runtime) -> tuple[LoadedRun, list[Halt], str, float]:
        row = await find_run(rt, run)
        halts = list(await rt.halts())
        loaded = await load_run(rt, row.id, halts)
        saved = ""
        if checkpoint:
            saved = (await (await rt.get(row.id)).checkpoint()).to_json(sealed=sealed)
        return loaded, halts, saved, rt.store.now()

    loaded, halts, saved, now = with_runtime(db, work)
    if web:
        _open(run_page(db, loaded.row.id), as_json)
    elif checkpoint or journal:
        _print_raw(loaded, saved)
    elif as_json:
        timeline = Timeline.of(loaded.records)
        steps = timeline_view(loaded.row, loaded.state, timeline, loaded.view.status, now)
        print_json(run_detail(loaded.view, steps))
    else:
        _print_run(loaded, Timeline.of(loaded.records, now), now)
        out().print(*map(halt_line, loaded.held_by(halts)))
        _hints(loaded, db)


def _open(page: str, as_json: bool) -> None:
    """Print the address of a page, and show it to the person at this terminal."""
    if give(as_json, {"url": page}):
        return
    out().print(visible(page))
    if is_attended():
        import webbrowser

        webbrowser.open(page)


def _print_raw(loaded: LoadedRun, saved: str) -> None:
    import json

    if saved:
        out().print(to_json(json.loads(saved), indent=None))
        return
    for seq, record in loaded.records:
        out().print(to_json({"seq": seq, **json.loads(dump(record))}, indent=None))


def _print_run(loaded: LoadedRun, timeline: Timeline, now: float) -> None:
    terminal, view = out(), loaded.view
    usage = view.usage
    head = Text.assemble(status_mark(view.status), "  ", (visible(view.title), "bold"))
    facts = [
        f"{visible(view.agent)} {short_id(view.run_id) if terminal.tty else visible(view.run_id)}",
        f"worked {duration(timeline.worked(now))}",
        f"waited {duration(timeline.waited(now))}",
        f"{usage.total_tokens:,} tok",
    ]
    if usage.cost:
        facts += [money(usage.cost)]
    if view.again_of:
        facts += [f"again of {visible(view.again_of)}"]
    terminal.print(head, Text(" · ".join(facts), style=DIM), "")
    ids = max([2, *(len(step.call_id) for step in timeline.steps)])
    names = min(
        24, max([5, *(len(visible(step.name)) + 2 * step.depth for step in timeline.steps)])
    )
    margin = ids + names + 8  # where the text of a step begins
    last = {step.path: step.number for step in timeline.steps}
    for step in timeline.steps:
        rail = ""
        if step.depth:
            rail = "  " * (step.depth - 1) + ("└ " if last[step.path] == step.number else "├ ")
        terminal.print(_step_line(step, ids, names, terminal, rail))
        told = [visible(f"asked again: {earlier_line(step.earlier)}")] if step.earlier else []
        for below in (*told, *file_lines(step)):
            for piece in wrap(below, max(20, terminal.width - margin)):
                terminal.print(Text(" " * margin + piece, style=DIM))
    for i in loaded.state.interrupts:
        if needed := seats_line(i):
            terminal.print("", *_indented(f"{call_id_of(i)} needs {needed}", 2, terminal))


def _step_line(step: TimelineStep, ids: int, names: int, terminal: Terminal, rail: str) -> Text:
    glyph, colour = STEPS.get(step.status, (" ", ""))
    going = "…" if step.status in ("running", "waiting", "pausing") else ""
    if step.status in ("denied", "expired"):
        end = OUTCOMES[OutcomeState.NOT_RUN]
    elif step.took is None:
        end = time.strftime("%H:%M:%S", time.localtime(step.at))
    else:
        end = duration(step.took) + going
    note = visible(step.note)
    name = fit(visible(step.name), names - len(rail))
    text = line(step)
    if terminal.tty:
        room = terminal.width - ids - names - 20
        note = fit(note, min(len(note), max(16, room // 2)))
        text = fit(text, max(8, room - len(note)))
    else:
        text = f"{text:<32}"
    return Text.assemble(
        f"  {step.call_id:>{ids}}  ",
        (rail, DIM),
        (glyph, colour),
        " ",
        (name, colour if step.status == "waiting" else ""),
        "  ",
        text,
        "  ",
        (note, colour or DIM),
        "  ",
        (f"{end:>8}", DIM),
    )


def _hints(loaded: LoadedRun, db: str | None) -> None:
    view, hints = loaded.view, dict[str, str]()
    run, status = view.run_id, view.status
    if view.interrupts and status in ("waiting", "held", "stuck"):
        hints["Decide"] = command(db, "inbox", run)
    elif status == "failed":
        hints["Try again"] = command(db, "resume", run)
    elif status == "paused":
        hints = {
            "Resume": command(db, "resume", run),
            "Steer": command(db, "resume", run, options=("--instruction", "…")),
        }
    elif view.misfit is not None and not view.misfit.queued:
        hints["No worker fits"] = visible(view.misfit.why)
        hints["Start"] = "a worker of the version that it began with"
        if view.misfit.changes:
            hints["Or accept it"] = command(db, "accept", run)
    elif status == "ready":
        hints["Advance it"] = command(db, "worker", f"app.py:{view.agent}")
    if status not in ("completed", "stopped", "cancelled"):
        hints["Watch"] = command(db, "watch", run)
    if hints:
        space = max(len(word) for word in hints)
        say(
            "",
            *(Text.assemble((f"{word:<{space}}  ", DIM), typed) for word, typed in hints.items()),
        )


def list_inbox(db: str | None, agent: str, kind: str, run: str, limit: int, as_json: bool) -> None:
    """Print what waits for a person, numbered; a number means this list from then on."""

    async def work(rt: Runtime) -> tuple[list[Item], float]:
        run_id = (await find_run(rt, run)).id if run else ""
        wanted = kind.replace(" ", "_")
        check_known(wanted, [*KINDS, CHECK], "kind")
        if wanted in ("limit", CHECK):  # one kind in the store, two for people
            limits = await rt.inbox(agent=agent, kind="limit", run=run_id, limit=1000)
            found = [i for i in limits if shown_kind(i.kind, i.payload) == wanted][:limit]
        else:
            found = await rt.inbox(agent=agent, kind=wanted, run=run_id, limit=limit)
        if not found:
            await check_runs_of(rt, agent)
        return [await look(rt, i, unread=True) for i in found], rt.store.now()

    items, now = with_runtime(db, work)
    seen = [_seen(item, whole=as_json) for item in items]
    listing.remember(address_of(db), seen, read=False)  # if it is cut, nothing of it was shown
    if as_json:
        print_json([numbered(number, item) for number, item in enumerate(items, 1)])
    elif items:
        seen = _print_inbox(items, now)
    sys.stdout.flush()
    kept = listing.remember(address_of(db), seen, read=is_read())
    if as_json:
        return
    if not items:
        remark("The inbox is empty.")
        return
    example = command(db, "inbox", "1" if kept and is_read() else items[0].interrupt.ref)
    remark(f"{count(len(items), 'item')}. Look at one and decide: {example}")


def _indented(text: str, space: int, terminal: Terminal) -> list[Text]:
    return [
        Text(" " * space + piece, style=DIM)
        for piece in wrap(visible(text), max(20, terminal.width - space))
    ]


def _seen(item: Item, *, whole: bool) -> ShownItem:
    return ShownItem(item.interrupt.ref, item.interrupt.digest, whole)


def _print_inbox(items: list[Item], now: float) -> list[ShownItem]:
    """Print the list; what of it was seen, and whether that was all of it."""
    terminal = out()
    cells, lines = (
        [["", "KIND", "WHAT", "WHERE", "EXPIRES"]],
        [list_line(item.interrupt) for item in items],
    )
    for n, (item, gist) in enumerate(zip(items, lines, strict=True), 1):
        i = item.interrupt
        left = duration(i.expires_at - now) if i.expires_at else "–"
        if terminal.tty:
            where = f"{short_id(i.run_id)}  {visible(item.where)}"
        else:
            where = visible(f"{item.where} {i.ref}")
        kind = kind_words(i.kind, i.payload).word.lower()
        if i.escalated:
            kind = f"{kind}, escalated"
        cells.append([str(n), kind, gist.text, where, left])
    wide = widths(cells, cell_len)
    if terminal.tty:
        wide[3] = min(wide[3], 36, terminal.width // 3)  # what is asked has more room than where
        wide[2] = max(16, min(wide[2], terminal.width - wide[0] - wide[1] - wide[3] - wide[4] - 8))
    for n, row in enumerate(cells):
        done = [*map(fit, row[:4], wide), row[4].rjust(wide[4])]
        line = Text("  ".join(done).rstrip(), style=DIM if n == 0 else "")
        if n:
            line.stylize("yellow", wide[0] + 2, wide[0] + 2 + wide[1])
        terminal.print(line)
        if n:
            for halt in items[n - 1].halts:
                words = f"halted {halt_words(halt)}"
                terminal.print(*_indented(words, wide[0] + wide[1] + 4, terminal))
        if n and (needed := seats_line(items[n - 1].interrupt)):
            terminal.print(*_indented(needed, wide[0] + wide[1] + 4, terminal))
    return [
        _seen(item, whole=gist.whole and cell_len(gist.text) <= wide[2])
        for item, gist in zip(items, lines, strict=True)
    ]
