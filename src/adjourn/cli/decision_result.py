"""Recording a decision, and seeing what comes of it."""

import asyncio
from dataclasses import dataclass
from typing import Any, NamedTuple

from rich.text import Text

from adjourn.cli.person import Person
from adjourn.cli.terminal.console import out, remark, say
from adjourn.cli.terminal.format import EXIT, arguments, brief, duration, status_mark
from adjourn.cli.terminal.hints import command
from adjourn.cli.terminal.interrupt import title
from adjourn.cli.terminal.prompt import Choice
from adjourn.core.decision import Decision
from adjourn.core.interrupt import Interrupt
from adjourn.runtime.runtime import Runtime
from adjourn.views.timeline import Timeline
from adjourn.views.timeline_step import TimelineStep
from adjourn.views.visible import visible


class VerbWords(NamedTuple):
    """What is said of a decision that was recorded, and of one that was not."""

    done: str
    not_done: str


VERB_WORDS: dict[str, VerbWords] = {
    "approve": VerbWords("Approved", "Not approved"),
    "deny": VerbWords("Denied", "Not denied"),
    "answer": VerbWords("Answered", "Not answered"),
    "instead": VerbWords("Result given, not run,", "Not answered"),
    "dismiss": VerbWords("Dismissed", "Not dismissed"),
}


@dataclass(frozen=True, slots=True)
class DecisionResult:
    """A decision that was recorded, and what came of it within the time that was waited."""

    interrupt: Interrupt
    choice: Choice
    by: str
    seq: int
    status: str
    step: TimelineStep | None
    advance: str
    """What advances its run, if nothing does."""

    def print(self) -> None:
        """Say what is recorded, and nothing else."""
        interrupt, terminal = self.interrupt, out()
        what = visible(title(interrupt))
        if interrupt.call:
            what = f"{visible(interrupt.call.tool)} {arguments(self.choice.edit or interrupt.call.arguments)}"
        edited = ", edited" if self.choice.edit is not None else ""
        if self.choice.verb in ("deny", "instead", "dismiss"):
            glyph = ("⊘ ", "")
        else:
            glyph = ("✓ ", "green")
        terminal.print(
            Text.assemble(
                glyph,
                f"{VERB_WORDS[self.choice.verb].done} by {visible(self.by)}{edited}: {brief(what)}",
            )
        )
        if self.choice.stands is not None:
            terminal.print(f"  It also covers {visible(self.choice.stands.text)}.")
        step = self.step
        if step is not None and step.ran and step.took is not None:
            ran = "ran" if step.status == "completed" else "ran and failed"
            terminal.print(f"  {visible(step.name)} {ran}, {duration(step.took)}.")
        mark = Text.assemble("  ", visible(interrupt.run_id), " is ", status_mark(self.status))
        say(mark)
        if self.status == "ready":
            remark(f"  It continues when a worker with its agent or flow runs: {self.advance}")

    def as_json(self) -> dict[str, Any]:
        """The decision as data."""
        interrupt = self.interrupt
        return {
            "interrupt_id": interrupt.id,
            "ref": interrupt.ref,
            "run_id": interrupt.run_id,
            "decision": self.choice.verb,
            "by": self.by,
            "seq": self.seq,
            "status": self.status,
        }


async def record(
    rt: Runtime, interrupt: Interrupt, choice: Choice, by: Person, digest: str, request_id: str = ""
) -> int:
    """Record a decision; its seq. Whatever is decided on the command line is decided here.

    Args:
        interrupt: what it is about; only its ref counts, the rest is read again.
        choice: the decision.
        by: whose it is.
        digest: of what the person was shown; "" if they were shown nothing.
        request_id: the same again gets the same answer.

    Raises what the runtime's verbs raise.
    """
    said: Any = {"by": by.name, "note": choice.note, "digest": digest, "request_id": request_id}
    if choice.verb == "approve":
        return await rt.approve(
            interrupt.ref,
            edit=choice.edit,
            scope=choice.scope,
            groups=by.groups,
            stands=choice.stands,
            **said,
        )
    if choice.verb == "deny":
        return await rt.deny(interrupt.ref, stands=choice.stands, **said)
    value = choice.value
    if choice.verb == "instead":
        value = Decision.instead(value, choice.note)
    elif choice.verb == "dismiss":
        value = Decision.dismiss(choice.note)
    return await rt.answer(interrupt.ref, value, groups=by.groups, **said)


async def outcome_of(
    rt: Runtime, interrupt: Interrupt, choice: Choice, by: Person, seq: int, patience: float
) -> DecisionResult:
    """Wait `patience` seconds for the run of a recorded decision to come to rest."""
    status = await come_to_rest(rt, interrupt.run_id, patience)
    step = None
    if interrupt.call:
        steps = Timeline.of(await rt.store.load(interrupt.run_id), rt.store.now()).steps
        step = next((s for s in steps if s.call_id == interrupt.call.call_id), None)
    advance = command(rt.address, "worker", "app.py:agent")
    return DecisionResult(interrupt, choice, by.name, seq, status, step, advance)


async def come_to_rest(rt: Runtime, run_id: str, patience: float) -> str:
    """The run's status once it rests, or after `patience` seconds."""
    run = await rt.get(run_id)
    bell = asyncio.Event()
    end = rt.store.subscribe(run_id, bell.set)
    try:
        async with asyncio.timeout(patience or 0.0):
            while await run.status() not in EXIT:
                await bell.wait()
                bell.clear()
    except TimeoutError:
        pass
    finally:
        end()
    return await run.status()
