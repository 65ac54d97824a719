"""A journal as people read it: one line per step, in the order in which things began."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, cast

from adjourn.cli.visible import visible
from adjourn.cli.words import KINDS, arguments, exact
from adjourn.core import records as r
from adjourn.core.conversation import OUTPUT_TOOL
from adjourn.core.messages import Text, ToolCall

Numbered = tuple[int, r.AnyRecord]


@dataclass(slots=True)
class Step:
    """One line. `id` is a call's address in its run; `status` one of the words of `STATUSES`, or "" for none.

    `text` is made visible already; the others are as they were recorded.
    """

    id: str
    name: str
    text: str = ""
    status: str = ""
    note: str = ""
    path: str = ""
    at: float = 0.0
    took: float | None = None
    arguments: Any = None
    result: Any = None
    ran: bool = False

    def end(self, status: str, note: str, took: float | None) -> None:
        """It has come to its end, or to a stop."""
        self.status, self.note, self.took = status, note, took


@dataclass(slots=True)
class Timeline:
    """The steps of a journal, and how long it was worked on and waited for."""

    steps: list[Step] = field(default_factory=list[Step])
    worked: float = 0.0
    waited: float = 0.0
    words: dict[str, str] = field(default_factory=dict[str, str])
    """What the model said in the reply that asked for a call, by call id."""
    _calls: dict[str, Step] = field(default_factory=dict[str, Step])
    _turns: dict[str, int] = field(default_factory=dict[str, int])
    _asked: dict[str, Step] = field(default_factory=dict[str, Step])
    _pause: Step | None = None
    _claimed: float = 0.0
    _rested: float = 0.0

    @classmethod
    def of(cls, records: Iterable[Numbered], now: float) -> "Timeline":
        """Read a journal; `now` is for what has not ended."""
        timeline = cls()
        for _, record in records:
            timeline._take(record)
        timeline._until(now)
        return timeline

    def _take(self, x: r.AnyRecord) -> None:
        self._clock(x)
        match x:
            case r.Replied() | r.Broke():
                self._reply(x)
            case r.Asked() | r.Suspended():
                self._opened(x)
            case r.Decided():
                self._decided(x)
            case r.Intended() | r.Returned() | r.Closed() | r.Faulted() | r.Doubted():
                self._moved(x)
            case _:
                self._said(x)

    def _add(self, id: str, name: str, text: str = "", status: str = "", *, at: float, path: str = "") -> Step:
        step = Step(id, name, text, status, path=path, at=at)
        self.steps.append(step)
        return step

    # Time

    def _clock(self, x: r.AnyRecord) -> None:
        if isinstance(x, r.Started):
            self._rested = x.at
        elif isinstance(x, r.Claimed):
            if self._claimed:
                self.worked += x.at - self._claimed
                worker = x.worker.split("|")
                pid = f"process {worker[1]}" if len(worker) > 1 and worker[1].isdigit() else "another worker"
                self._add("", "taken over", f"by {pid}: the one before it was gone", at=x.at)
            else:
                self.waited += max(0.0, x.at - self._rested)
            self._claimed = x.at
        elif isinstance(x, r.Parked | r.Completed | r.Cancelled) and self._claimed:
            self.worked += x.at - self._claimed
            self._claimed, self._rested = 0.0, x.at

    def _until(self, now: float) -> None:
        last = self.steps[-1].name if self.steps else ""
        if self._claimed:
            self.worked += max(0.0, now - self._claimed)
        elif last not in ("completed", "stopped", "cancelled") and self._rested:
            self.waited += max(0.0, now - self._rested)
        for step in self.steps:
            if step.took is None and step.status in ("running", "waiting", "paused"):
                step.took = max(0.0, now - step.at)

    # Records

    def _reply(self, x: r.Replied | r.Broke) -> None:
        turn = self._turns[x.path] = self._turns.get(x.path, 0) + 1
        prefix = f"{x.path}/" if x.path else ""
        if isinstance(x, r.Broke):
            step = self._add(
                f"{prefix}{turn}", "model", exact(x.text) if x.text else "", "cancelled", at=x.at, path=x.path
            )
            step.end("cancelled", "cut off", x.took)
            return
        text = "".join(p.text for p in x.parts if isinstance(p, Text))
        calls = [p for p in x.parts if isinstance(p, ToolCall)]
        step = self._add(f"{prefix}{turn}", "model", exact(text) if text else "", at=x.at, path=x.path)
        step.took = x.took
        for k, part in enumerate(calls):
            if part.tool == OUTPUT_TOOL:
                step.text = step.text or exact(part.args)
                continue
            id = f"{prefix}{turn}.{k}"
            call = self._add(id, part.tool, arguments(part.args), "ready", at=x.at, path=x.path)
            call.arguments = part.args
            self._calls[id] = call
            self.words[id] = text

    def _opened(self, x: r.Asked | r.Suspended) -> None:
        step = self._calls.get(x.call)
        if step is None:
            name = x.kind.replace("_", " ")
            step = self._add(x.call, name, exact(gist(x.payload)), at=x.at)
            self._calls.update({x.call: step} if x.call else {})
        step.status, step.at, step.took = "waiting", x.at, None
        step.note = x.type if isinstance(x, r.Suspended) and x.type != "question" else KINDS.get(x.kind, x.kind)
        if x.kind == "error":
            step.status = "failed"
        self._asked[x.i] = step

    def _decided(self, x: r.Decided) -> None:
        step = self._asked.get(x.i)
        if step is None:
            return
        verb = {"approve": "approved", "deny": "denied"}.get(x.verdict, "answered")
        value: Any = x.value
        if isinstance(value, dict) and "choice" in value:
            verb = f"«{cast('dict[str, Any]', value)['choice']}»"
        note = f"{verb} by {x.by or 'somebody'}" + (f": {x.note}" if x.note else "")
        goes_on = x.verdict == "approve" or verb == "«run»"
        status = "cancelled" if x.verdict == "deny" else "ready" if goes_on else "completed"
        step.end(status, note, max(0.0, x.at - step.at))
        if x.edit is not None:
            step.text, step.note, step.arguments = arguments(x.edit), "edited, " + note, x.edit

    def _moved(self, x: r.Intended | r.Returned | r.Closed | r.Faulted | r.Doubted) -> None:
        if isinstance(x, r.Closed):
            if (step := self._asked.get(x.i)) and x.why in ("expired", "abandoned", "void"):
                step.end("cancelled", "expired" if x.why == "expired" else "dropped", max(0.0, x.at - step.at))
            return
        if isinstance(x, r.Faulted):
            self._faulted(x)
            return
        step = self._calls.get(x.call) or self._spawned(x)
        if isinstance(x, r.Intended):
            step.status, step.at, step.took = "running", x.at, None
            step.note = f"again, attempt {x.attempt}" if x.attempt > 1 else step.note
        elif isinstance(x, r.Doubted):
            step.note = "in doubt"
        else:
            self._returned(step, x)

    def _spawned(self, x: r.Intended | r.Returned | r.Doubted) -> Step:
        """A call that no reply asked for: a flow's chunk, or an undo."""
        name = x.tool if isinstance(x, r.Intended) else x.call.rpartition("/")[2].partition("#")[0]
        step = self._calls[x.call] = self._add(x.call, f"undo {name}" if "!" in x.call else name, at=x.at)
        return step

    def _returned(self, step: Step, x: r.Returned) -> None:
        step.result, step.ran = x.error or x.value, x.ran
        took = x.took or max(0.0, x.at - step.at)
        if not x.ran:
            step.end("cancelled", step.note or f"not run: {x.error}", took)
        else:
            step.end("failed" if x.error else "completed", x.error or step.note, took)

    def _faulted(self, x: r.Faulted) -> None:
        name = "model" if x.step.startswith("model:") else x.step
        step = self._calls.get(x.step) or self._add("", name, at=x.at)
        step.end("failed", x.error, step.took)

    def _said(self, x: r.AnyRecord) -> None:
        match x:
            case r.Started():
                self._add("", "started", f"by {visible(x.by)}" if x.by else "", at=x.at)
            case r.PauseAsked():
                self._pause = self._add("", "paused", _by(x.by, x.reason), "paused", at=x.at)
            case r.Resumed():
                if self._pause is not None:
                    self._pause.took = max(0.0, x.at - self._pause.at)
                    self._pause = None
                self._add("", "resumed", _by(x.by, x.instruction), at=x.at)
            case r.CancelAsked():
                self._add("", "cancel", _by(x.by, x.reason), at=x.at)
            case r.Said():
                self._add("", "said", _by(x.by, x.text), at=x.at)
            case r.Emitted():
                self._add("", "event", _by(x.by, x.event), at=x.at)
            case r.Completed():
                name = "stopped" if x.stopped else "completed"
                step = self._add("", name, visible(x.stopped) or exact(x.output), name, at=x.at)
                step.result = x.output
            case r.Cancelled():
                left = f"{len(x.undone)} undone, {len(x.residue)} left behind"
                self._add("", "cancelled", left, "cancelled", at=x.at)
                for one in x.residue:
                    what = f"{visible(str(one.get('tool')))} {arguments(one.get('arguments'))}"
                    self._add(str(one.get("call", "")), "left behind", what, at=x.at).note = str(one.get("why", ""))
            case _:
                pass


def _by(by: str, text: str) -> str:
    return visible(f"by {by or 'somebody'}" + (f": {text}" if text else ""))


def gist(payload: Any) -> Any:
    """What a payload is about, in one value."""
    if isinstance(payload, dict):
        for name in ("question", "error", "condition"):
            if payload.get(name):  # pyright: ignore[reportUnknownMemberType]
                return payload[name]  # pyright: ignore[reportUnknownVariableType]
    return payload  # pyright: ignore[reportUnknownVariableType]
