"""How a run in the foreground came to rest, told: its output as data, the rest as talk, and the
commands that go on."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from rich.text import Text

from adjourn.cli.terminal.console import out, print_line, say, to_json
from adjourn.cli.terminal.format import DIM, EXIT, arguments, count, duration, sentence_mark
from adjourn.cli.terminal.hints import command, how_to_decide
from adjourn.cli.terminal.live_view import JsonView, LiveView
from adjourn.core.interrupt_kind import NOT_FOR_PEOPLE
from adjourn.errors import RunFailed
from adjourn.runtime.outcome import Cancelled, Completed, Outcome, Paused, Stopped
from adjourn.views.visible import lines, visible


@dataclass(frozen=True, slots=True)
class OutputTarget:
    """Where a run can be found again: the database as it was named (None: the usual one), and its
    program."""

    db: str | None
    program: str
    saved: bool = True
    """False: the run lives in this process only, and what is printed names no command that could
    find it."""


@dataclass(frozen=True, slots=True)
class EndReport:
    """Tells of one run."""

    run_id: str
    view: LiveView
    place: OutputTarget

    def _here(self) -> str:
        return command(self.place.db, "run", self.place.program, options=("--resume", self.run_id))

    def tell(self, outcome: Outcome[Any], now: float) -> int:
        """Say how it rests; the code to exit with."""
        self.view.rest()
        match outcome:
            case Completed():
                self._done(outcome, now)
            case Stopped():
                self._output(outcome.status, outcome.partial)
                say(
                    Text.assemble(
                        sentence_mark("stopped"), f"  by {visible(outcome.by)}  ", self._facts(now)
                    )
                )
            case Cancelled():
                self._cancelled(outcome)
            case Paused():
                self._waits(outcome)
        return EXIT[outcome.status]

    def _facts(self, now: float) -> Text:
        usage = self.view.state.usage
        worked = duration(self.view.timeline.worked(now))
        return Text(
            f"{visible(self.run_id)} · worked {worked} · {usage.total_tokens:,} tok", style=DIM
        )

    def _output(self, status: str, value: Any) -> None:
        if isinstance(self.view, JsonView):
            ended = {"event": "end", "run_id": self.run_id, "status": status, "output": value}
            print_line(ended)
        elif value is not None:
            out().print(*(lines(value) if isinstance(value, str) else lines(to_json(value))))

    def _done(self, outcome: Completed[Any], now: float) -> None:
        say(Text.assemble(sentence_mark("completed"), "  ", self._facts(now)))
        ended: Any = self.view.state.ended
        self._output(outcome.status, ended.output)

    def _cancelled(self, outcome: Cancelled) -> None:
        self._output(outcome.status, None)
        line = Text.assemble(sentence_mark("cancelled"), f". {len(outcome.undone)} undone")
        if left := outcome.residue:
            named = "; ".join(map(_left, left))
            line = Text.assemble(line, ", ", (f"{len(left)} not undone", "red"), f": {named}")
        say(Text.assemble(line, "."))

    def _waits(self, outcome: Paused) -> None:
        self._output(outcome.status, None)
        db, run = self.place.db, self.run_id
        if outcome.status == "paused":
            steps = reversed(self.view.timeline.steps)
            at = next((step.call_id for step in steps if step.call_id), "")
            where = f"step {visible(at)}" if at else "the start"
            told = f" at {where}. The run is saved, nothing is running."
            say(Text.assemble(sentence_mark("paused"), told))
            steer = command(db, "resume", run, options=("--instruction", "…"))
            resume = command(db, "resume", run)
            self._hints([("resume", resume), ("steer", steer), ("here", self._here())])
            return
        waiting = [
            interrupt for interrupt in outcome.interrupts if interrupt.kind not in NOT_FOR_PEOPLE
        ]
        told = f" for a person: {count(len(waiting), 'item')}. The run is saved."
        say(Text.assemble(sentence_mark(outcome.status), told))
        for interrupt in waiting:
            self._hints((word.lower(), typed) for word, typed in how_to_decide(db, interrupt))
        self._hints([("here", self._here())])

    def failed(self, failed: RunFailed) -> int:
        """Say why it failed; the code to exit with."""
        self.view.rest()
        self._output("failed", None)
        errors = [
            o.record.payload for o in self.view.state.open.values() if o.record.kind == "error"
        ]
        said = "; ".join(str(e.get("error")) for e in errors) or str(failed)
        say(Text.assemble(sentence_mark("failed"), "  ", visible(said)))
        self._hints([("again", self._here())])
        return EXIT["failed"]

    def _hints(self, hints: Iterable[tuple[str, str]]) -> None:
        if self.place.saved:
            say(*(Text.assemble((f"   {word:<8}", DIM), typed) for word, typed in hints))


def _left(residue: Mapping[str, Any]) -> str:
    """A call that was left behind, and why."""
    return (
        f"{visible(str(residue.get('tool')))} {arguments(residue.get('arguments'))}, "
        f"{visible(str(residue.get('why', '')))}"
    )
