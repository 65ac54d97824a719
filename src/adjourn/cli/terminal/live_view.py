"""A run as it goes by: its records as lines, what is being written below them; or all of it as
JSON, one event a line."""

import time
from collections.abc import Iterable, Iterator, Mapping

import msgspec
from rich.cells import cell_len
from rich.text import Text

from adjourn.cli.terminal.console import WIDE, fit, print_line, wrap
from adjourn.cli.terminal.format import DIM, STEPS, duration, exact, money, status_mark
from adjourn.cli.terminal.screen import Screen
from adjourn.cli.terminal.step_line import file_lines, line
from adjourn.cli.terminal.value_rows import marked
from adjourn.core.belief import FoldAgain
from adjourn.core.ids import depth, undo_target
from adjourn.core.records import AnyRecord, Broke, CancelAsked, Replied
from adjourn.core.state import State
from adjourn.driver.live_feed import Published, TextArrived
from adjourn.driver.watch import Event, Recorded
from adjourn.views.cancel_preview import cancel_preview
from adjourn.views.timeline import Numbered, Timeline
from adjourn.views.timeline_step import TimelineStep
from adjourn.views.visible import lines, visible
from adjourn.views.words import StepKind

TAIL = 4
"""Lines of a reply that is being written; the whole reply is written once it is recorded."""
ENDINGS = (StepKind.END, StepKind.RESIDUE)
LIVES = (StepKind.TOOL, StepKind.AGENT, StepKind.CHUNK, StepKind.UNDO, StepKind.INTERRUPT)
"""What takes time."""


class LiveView:
    """Takes in events and knows where the run is. `status` is what people see, as far as it was
    looked up."""

    def __init__(self) -> None:
        self.state, self.timeline = State(), Timeline()
        self._records: list[tuple[int, AnyRecord]] = []
        self.status = "ready"
        self.undos = 0
        """How many undos a cancel set out to do."""

    def take(self, event: Event) -> None:
        """Take in one event and show it."""
        if isinstance(event, Recorded):
            self.know(event.seq, event.record)
            self.recorded(event.seq, event.record)
        elif isinstance(event, TextArrived | Published):
            self.heard(event)

    def know(self, seq: int, record: AnyRecord) -> None:
        """Take in one record and show nothing."""
        if isinstance(record, CancelAsked) and not self.undos:
            self.undos = len(cancel_preview(self.state).undo)
        self._records.append((seq, record))
        try:
            self.state.fold(seq, record)
        except FoldAgain:
            self.state = State().fold_all(self._records)
        self.timeline.take(seq, record)

    def running(self) -> list[TimelineStep]:
        """What is being done, apart from thinking. A call that only reads says nothing before it
        has returned."""
        going = self.status in ("running", "pausing", "cancelling")
        flying = [
            s
            for s in self.timeline.steps
            if s.status == "running" or (s.status == "ready" and going)
        ]
        return [s for s in flying if s.call_id in self.state.live and s.kind != StepKind.AGENT]

    def recorded(self, seq: int, record: AnyRecord) -> None:
        """A record has come."""

    def heard(self, item: TextArrived | Published) -> None:
        """Something live has come."""

    def paint(self, now: float) -> None:
        """Show how things are at this moment."""

    def rest(self) -> None:
        """Nothing changes for a while: leave the terminal to others."""


class JsonView(LiveView):
    """Every event on stdout, one line each: `record` with its `seq`, or `live`."""

    def recorded(self, seq: int, record: AnyRecord) -> None:
        """See `LiveView.recorded`."""
        print_line(
            {
                "event": "record",
                "run_id": self.state.run,
                "seq": seq,
                "record": msgspec.to_builtins(record),
            },
        )

    def heard(self, item: TextArrived | Published) -> None:
        """See `LiveView.heard`."""
        print_line({"event": "live", **msgspec.to_builtins(item)})


class TextView(LiveView):
    """Steps as lines. `keys` is what a person can do, by status, for the last line of a
    terminal."""

    def __init__(
        self, screen: Screen, keys: Mapping[str, str] | None = None, *, ending: bool = True
    ) -> None:
        super().__init__()
        self.screen, self._keys, self._ending = screen, keys or {}, ending
        self._told: dict[int, tuple[str, str]] = {}
        self._said: dict[str, str] = {}
        self._whole: dict[str, str] = {}
        self._thinks: set[str] = set()
        self._since: tuple[str, float] = ("", 0.0)
        self._undone = 0
        self._ids = 5
        self._now = 0.0

    # What stays

    def recorded(self, seq: int, record: AnyRecord) -> None:
        """See `LiveView.recorded`."""
        if isinstance(record, Replied | Broke):
            self._said.pop(record.path, None)
            self._thinks.discard(record.path)
        news = [text for step in self.timeline.changed(seq - 1) for text in self._news(step)]
        if news:
            self.screen.write(
                *news, below=self._below(max(self._now, record.at)) if self._now else None
            )

    def recall(self, records: Iterable[Numbered], last: int) -> int:
        """Take in the past and write the `last` steps of it; how many it had before those."""
        for seq, record in records:
            self.know(seq, record)
        steps = self.timeline.steps
        self._told = {step.number: (step.status, step.note) for step in steps[:-last]}
        if found := [text for step in steps[-last:] for text in self._news(step)]:
            self.screen.write(*found)
        self._told = {step.number: (step.status, step.note) for step in steps}
        return max(0, len(steps) - last)

    def _news(self, step: TimelineStep) -> Iterator[Text]:
        """The lines of a step, if there is something new to say of it."""
        key = (step.status, step.note)
        before = self._told.get(step.number)
        if (
            before == key
            or (before and step.kind == StepKind.PAUSE)
            or (step.kind in ENDINGS and not self._ending)
        ):
            return
        lives = step.kind in LIVES
        quiet = step.status == "ready" and (
            before is None or not step.note or before[1] == step.note
        )
        if lives and (quiet or (step.status == "running" and self.screen.moves)):
            return
        self._told[step.number] = key
        if step.kind == StepKind.MODEL and isinstance(step.said, str):
            self._whole[step.path] = step.said
        yield from self._lines(step)
        margin = " " * cell_len(self._head("", " ", "", "", "  " * step.depth, 0.0).plain)
        for file in file_lines(step):
            for piece in wrap(file, max(20, self.screen.terminal.width - len(margin) - 1)):
                yield Text.assemble(margin, marked(piece))

    def _lines(self, step: TimelineStep) -> Iterator[Text]:
        glyph, colour = STEPS.get(step.status, (" ", ""))
        if step.took is not None and step.status != "waiting":
            took = duration(step.took)
        else:
            took = ""
        note = visible(
            step.note + (f": {step.reason}" if step.status == "waiting" and step.reason else "")
        )
        place = undo_target(step.call_id)  # an undo stands at the call that it takes back
        head = self._head(place, glyph, colour, self._name(step), "  " * step.depth, _moment(step))
        width = self.screen.terminal.width
        room = max(20, width - cell_len(head.plain) - 1)
        tail = "  ".join(part for part in (note, took) if part)
        if step.kind == StepKind.MODEL:
            if isinstance(step.said, str):
                said = lines(step.said)
            elif step.said:
                said = [exact(step.said)]
            else:
                said = []
            body = [piece for one in said for piece in wrap(one, room)] or [""]
        else:
            left = room - cell_len(tail) - 2
            text = line(step)
            body = [
                text
                if width >= WIDE or cell_len(text) <= max(left, 12)
                else fit(text, max(left, 12)).rstrip()
            ]
        if not body[0]:
            body[0], tail = tail, ""
        joined = width >= WIDE or cell_len(body[-1]) + cell_len(tail) + 2 <= room
        for n, piece in enumerate(body):
            start = head if n == 0 else Text(" " * cell_len(head.plain))
            if tail and joined and n == len(body) - 1:
                end = f"  {tail}"
            else:
                end = ""
            yield Text.assemble(start, marked(piece), (end, colour or DIM))
        if tail and not joined:
            for piece in wrap(tail, room):
                yield Text.assemble(" " * cell_len(head.plain), (piece, colour or DIM))

    def _head(self, id: str, glyph: str, colour: str, name: str, margin: str, at: float) -> Text:
        clock = time.strftime("%H:%M:%S", time.localtime(at))
        self._ids = max(self._ids, len(id))
        return Text.assemble(
            (clock, DIM),
            f"  {visible(id):<{self._ids}} {margin}",
            (glyph, colour),
            " ",
            (f"{name:<14}", colour),
            "  ",
        )

    def _name(self, step: TimelineStep) -> str:
        name = visible(step.name)
        if step.kind == StepKind.UNDO and step.status == "completed":
            self._undone += 1
            return f"{self._undone}/{max(self._undone, self.undos)} {name}"
        return name

    # What changes

    def heard(self, item: TextArrived | Published) -> None:
        """See `LiveView.heard`."""
        if isinstance(item, Published):
            self.screen.write(
                Text.assemble(
                    self._head(item.call_id, " ", "", "published", "", time.time()),
                    marked(exact(item.item)),
                )
            )
        elif item.thinking:
            self._thinks.add(item.path)
        else:
            before = "" if item.whole else self._said.get(item.path, "")
            self._said[item.path] = before + item.text

    def paint(self, now: float) -> None:
        """See `LiveView.paint`."""
        if not self.screen.moves:
            return
        if self._since[0] != self.status:
            self._since = (self.status, now)
        self._now = now
        self.screen.draw(self._below(now))

    def _below(self, now: float) -> list[Text]:
        if not self.screen.moves:
            return []
        below = [
            text for path, said in self._said.items() for text in self._writing(path, said, now)
        ]
        for step in self.running():
            text = fit(line(step), 40).rstrip()
            head = self._head(step.call_id, "●", "blue", visible(step.name), "  " * step.depth, now)
            below.append(Text.assemble(head, text, (f"  {duration(now - step.since)}…", DIM)))
        if not below and self.status == "running":
            thinks = "thinking…" if self._thinks else "…"
            below = [Text.assemble(self._head("", "●", "blue", "model", "", now), (thinks, DIM))]
        width = min(self.screen.terminal.columns, 78)
        return [*below, Text("─" * width, style=DIM), self._bar(now)]

    def _writing(self, path: str, said: str, now: float) -> Iterator[Text]:
        """The end of a reply that is being written."""
        # that came late: it is recorded already
        if not said or self._whole.get(path, "").endswith(said):
            return
        head = self._head("", "●", "blue", "model", "  " * depth(path), now)
        room = max(20, self.screen.terminal.columns - cell_len(head.plain) - 2)
        pieces = [piece for one in lines(said[-TAIL * room * 2 :]) for piece in wrap(one, room)][
            -TAIL:
        ]
        for n, piece in enumerate(pieces):
            cursor = "▌" if n == len(pieces) - 1 else ""
            yield Text.assemble(
                head if n == 0 else " " * cell_len(head.plain), marked(piece + cursor)
            )

    def _bar(self, now: float) -> Text:
        usage = self.state.usage
        facts = [duration(now - self._since[1])]
        if usage.cost:
            facts.append(money(usage.cost))
        if usage.total_tokens:
            facts.append(f"{usage.total_tokens:,} tok")
        keys = self._keys.get(self.status, self._keys.get("", ""))
        return Text.assemble(status_mark(self.status), " ", " · ".join(facts), "   ", (keys, DIM))

    def rest(self) -> None:
        """See `LiveView.rest`."""
        self._now = 0.0
        self.screen.clear()


def _moment(step: TimelineStep) -> float:
    """When what a step's line says came about."""
    last = step.spans[-1] if step.spans else None
    if last is None:
        return step.at
    if last.end is None:
        return last.start
    return last.end
