"""`adjourn checkpoint`: a saved run in a file. `show` what it is, `verify` that it is whole,
`resume` it with its program."""

import asyncio
import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import typer
from rich.text import Text

from adjourn.agent.agent import Agent
from adjourn.cli.commands.run import EARLIER, decider_here, view_of
from adjourn.cli.doctor.finding import (
    Finding,
    fine,
    look,
    report_findings,
    wrong,
)
from adjourn.cli.error_report import says
from adjourn.cli.foreground import Foreground
from adjourn.cli.interrupt_lookup import full_digest
from adjourn.cli.opened_database import VARIABLE, address_of, with_runtime
from adjourn.cli.options import By, Digest, Json, Note, Program, Resources, option, who
from adjourn.cli.person import Person, person
from adjourn.cli.program_loader import program_of, resources_of
from adjourn.cli.terminal.console import give, out, print_line, remark, say, to_json
from adjourn.cli.terminal.format import DIM, status_mark
from adjourn.cli.terminal.hints import DIGITS, command
from adjourn.cli.terminal.interrupt import item_of, list_line, render
from adjourn.cli.terminal.live_view import TextView
from adjourn.cli.terminal.log_lines import log_to
from adjourn.cli.terminal.prompt import given_answer
from adjourn.cli.terminal.summary import OutputTarget
from adjourn.core.codec import loads
from adjourn.core.decision import Decision
from adjourn.core.envelope import Envelope, key_id, unseal
from adjourn.core.interrupt import Interrupt
from adjourn.core.interrupt_kind import NOT_FOR_PEOPLE
from adjourn.core.program_changes import changes
from adjourn.core.secret_places import has_secrets
from adjourn.errors import AnswerRequired, CheckpointInvalid, Invalid, NotFound, UnknownInterrupt
from adjourn.flow.flow import Flow
from adjourn.runtime.checkpoint import SECRET, Checkpoint, key_ring, taken_over
from adjourn.runtime.resumption import Continuation, enter, prepare
from adjourn.runtime.run import Run
from adjourn.runtime.runtime import Runtime
from adjourn.runtime.sealed_checkpoint import is_sealed_checkpoint, opened_text
from adjourn.views.interrupt_view import InterruptView
from adjourn.views.run_view import UsageView
from adjourn.views.visible import lines, visible

app = typer.Typer(
    name="checkpoint",
    help="A saved run in a file: show, verify or resume it.",
    no_args_is_help=True,
)

File = Annotated[str, typer.Argument(metavar="FILE", help="The checkpoint; - reads it from stdin.")]


def _read(file: str, db: str | None) -> bytes:
    """The checkpoint in a file. `db`: where the key of its run is, if it is sealed."""
    data = _bytes_of(file)
    if not is_sealed_checkpoint(data):
        return data

    async def opened(rt: Runtime) -> bytes:
        return str(opened_text(data)).encode()

    return with_runtime(db, opened)


def _bytes_of(file: str) -> bytes:
    if file == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(file).read_bytes()
    except OSError as e:
        raise NotFound(
            f"{file!r} cannot be read: {e.strerror or e}", advice="name the file of a checkpoint"
        ) from None


KeyDb = Annotated[
    str | None,
    typer.Option(
        "--db",
        metavar="PATH",
        help="For a sealed checkpoint: the database of its run (or ADJOURN_DB).",
    ),
]


# Show


@app.command()
@says("Not shown")
def show(file: File, db: KeyDb = None, as_json: Json = False) -> None:
    """Show a checkpoint and what it waits for. It is verified first."""
    data = _read(file, db)
    saved = Checkpoint.from_json(data)
    envelope = unseal(data, key_ring()).envelope
    if give(as_json, _shown(saved, envelope)):
        return
    terminal, state = out(), saved.state
    facts = [
        f"{visible(envelope.program)} {visible(saved.run_id)}",
        f"{saved.seq} records",
        f"{saved.usage.total_tokens:,} tok",
        f"signed by key {envelope.kid}" if envelope.mac else "not signed",
    ]
    asked = saved.input if isinstance(saved.input, str) else ""
    first = next(iter(lines(asked)), "")
    terminal.print(
        Text.assemble(status_mark(state.view), "  ", (first, "bold")),
        Text(" · ".join(facts), style=DIM),
    )
    records = list(enumerate(saved.records, 1))
    for interrupt in saved.interrupts:
        terminal.print("", *render(item_of(records, interrupt, time.time()), terminal.width))
    if state.ended is None:
        wanted = _flags(saved.interrupts)
        typed = command(
            None, "checkpoint resume", file, f"app.py:{envelope.program}", options=wanted
        )
        say("", Text.assemble(("Resume  ", DIM), typed))


def _flags(waiting: list[Interrupt]) -> list[str]:
    if not waiting:
        return []
    first = waiting[0]
    if first.kind == "approval":
        flags = ["--approve"]
    else:
        told = "-" if has_secrets(first.answer_schema) else "VALUE"
        flags = ["--answer", next(iter(first.choices), told)]
    named = ["--item", first.ref] if len(waiting) > 1 else []
    return [*flags, *named, "--digest", first.digest[:DIGITS]]


class CheckpointView(msgspec.Struct, frozen=True, kw_only=True):
    """A checkpoint: the run in it, as far as the checkpoint says, and the envelope."""

    run_id: str
    agent: str
    kind: str
    status: str
    seq: int
    session: str
    input: Any
    output: Any
    usage: UsageView
    interrupts: tuple[InterruptView, ...]
    signed: bool
    kid: str
    digest: str
    version: int


def _shown(saved: Checkpoint, envelope: Envelope) -> CheckpointView:
    records, ended = list(enumerate(saved.records, 1)), saved.state.ended
    return CheckpointView(
        run_id=saved.run_id,
        agent=envelope.program,
        kind=envelope.kind,
        status=saved.state.view,
        seq=saved.seq,
        session=saved.session,
        input=saved.input,
        output=getattr(ended, "output", None),
        usage=UsageView.of(saved.usage),
        interrupts=tuple(item_of(records, i, time.time()).view for i in saved.interrupts),
        signed=bool(envelope.mac),
        kid=envelope.kid,
        digest=envelope.digest,
        version=envelope.version,
    )


# Verify


@app.command()
@says("Not verified")
def verify(
    file: File,
    program: Annotated[
        str,
        typer.Argument(
            metavar="[APP.PY:NAME]",
            help="Also check that it fits this agent or flow.",
            show_default=False,
        ),
    ] = "",
    db: KeyDb = None,
    as_json: Json = False,
) -> None:
    """Verify a checkpoint's digest, its signature (with ADJOURN_SECRET) and, if given, that it fits
    an agent or flow."""
    found = list(_verified(_read(file, db), program_of(program) if program else None))
    report_findings(found, as_json)


def _verified(data: bytes, program: Agent[Any] | Flow | None) -> list[Finding]:
    """What is wrong is said at once: nothing of a checkpoint is read before its digest and
    signature are right."""
    keys = key_ring()
    try:
        envelope = unseal(data, keys).envelope
        saved = Checkpoint.from_json(data)
    except CheckpointInvalid as e:
        if e.part in ("digest", "signature"):
            name = e.part
        else:
            name = "checkpoint"
        return [wrong(name, str(e), "Do not use it", "get a new copy from its source")]
    found = [fine("digest", f"{envelope.digest}: nothing was altered"), _signature(envelope, keys)]
    found.append(fine("journal", f"{saved.seq} records of {saved.run_id}, {saved.state.view}"))
    if program is not None:
        changed = changes(program.name, saved.state.fingerprint, program.fingerprint)
        advice = ("Resume", "with --on-change warn, or with the agent or flow that made it")
        found.append(
            wrong("program", "; ".join(changed), *advice)
            if changed
            else fine("program", f"it fits {program.name}")
        )
    return found


def _signature(envelope: Envelope, keys: Sequence[bytes]) -> Finding:
    if not keys:
        return look(
            "signature",
            f"not signed; not checked: {SECRET} is not set",
            "Set it",
            f"export {SECRET}=…",
        )
    place = next(n for n, key in enumerate(keys, 1) if key_id(key) == envelope.kid)
    return fine("signature", f"by key {envelope.kid}, number {place} of {len(keys)} in {SECRET}")


# Resume


@dataclass(frozen=True, slots=True)
class Resumption:
    """A checkpoint, its program, and what a person wants of it."""

    data: bytes
    program: Agent[Any] | Flow
    answers: Mapping[str, Any] | None
    instruction: str
    by: Person
    on_change: Literal["refuse", "warn"]
    resources: Mapping[str, Any]

    async def begin(self, rt: Runtime, *, attended: bool) -> Run[Any]:
        """The run, in this runtime; what it waits for may also be asked here."""
        wanted = Continuation(
            answers=self.answers,
            instruction=self.instruction or None,
            by=self.by.name,
            on_change=self.on_change,
            attended=attended,
        )
        saved = taken_over(self.data)
        row = await rt.row(saved.run_id)
        try:
            prepared = await prepare(
                saved, self.program, wanted, rt.store.now(), row=row, resources=self.resources
            )
        except AnswerRequired:
            waiting = ", ".join(
                f"{interrupt.id!r} ({interrupt.kind})" for interrupt in saved.interrupts
            )
            raise Invalid(
                f"the run is waiting for {waiting}",
                advice=(
                    "use --approve, --deny, --answer VALUE or --instruction TEXT; see it "
                    "first with `adjourn checkpoint show FILE`"
                ),
            ) from None
        return await enter(rt, prepared)


Approve = Annotated[bool, typer.Option("--approve", help="Approve the open interrupt.")]
Deny = Annotated[bool, typer.Option("--deny", help="Deny it.")]
Answer = Annotated[str | None, option("VALUE", "Answer it with JSON or a string.")]
Edit = Annotated[str, option("JSON", "With --approve: replace all arguments.")]
Item = Annotated[str, option("ID", "Which interrupt, if several are open.")]
Instruction = Annotated[str, option("TEXT", "A message that the agent reads first.")]
NewFile = Annotated[
    str, option("FILE", "Write the new checkpoint to this file, not to stdout.", "--out")
]
OtherDb = Annotated[
    str | None,
    typer.Option(
        "--db",
        metavar="PATH",
        help="Continue in this database (or ADJOURN_DB), where it can be resumed only once.",
    ),
]
OnChange = Annotated[str, typer.Option(help="If the agent or flow has changed: refuse, or warn.")]


@app.command()
@says("Not resumed")
def resume(
    file: File,
    program: Program,
    approve: Approve = False,
    deny: Deny = False,
    answer: Answer = None,
    edit: Edit = "",
    item: Item = "",
    instruction: Instruction = "",
    note: Note = "",
    digest: Digest = "",
    by: By = None,
    output: NewFile = "",
    db: OtherDb = None,
    on_change: OnChange = "refuse",
    resources: Resources = "",
    as_json: Json = False,
) -> None:
    """Continue a saved run here. If it ends, its output goes to stdout; if it waits again, its new
    checkpoint does.

    Without --db nothing is remembered: the same file can be resumed twice, and its actions then run
    twice.
    """
    if on_change not in ("refuse", "warn"):
        raise Invalid(f"--on-change must be 'refuse' or 'warn', got {on_change!r}")
    db = db or os.environ.get(VARIABLE)
    data = _read(file, db)
    saved = Checkpoint.from_json(data)
    decided = SavedDecision(item, approve, deny, answer, edit, note, digest)
    answers = decided.answers(saved)
    if db is not None:
        by_whom = person(db, by, right="decide" if answers else None)
    else:
        by_whom = Person(who(by))
    given = resources_of(resources)
    wanted = Resumption(
        data, _its_program(saved, program), answers, instruction, by_whom, on_change, given
    )
    place = OutputTarget(db, program, saved=db is not None)
    code, new = asyncio.run(_resumed(wanted, place, as_json))
    _hand_over(new, output, as_json, quiet=new.state.ended is not None or place.saved)
    raise typer.Exit(code)


def _its_program(saved: Checkpoint, reference: str) -> Agent[Any] | Flow:
    """The program behind the reference; another one could not go on with the run."""
    program = program_of(reference)
    if program.name != saved.started.program:
        raise Invalid(
            f"it is a run of {saved.started.program!r}, and {reference} is {program.name!r}",
            advice="name its agent or flow",
        )
    return program


@dataclass(frozen=True, slots=True)
class SavedDecision:
    """What a person decides about what a saved run waits for, as it was written."""

    item: str
    approve: bool
    deny: bool
    answer: str | None
    edit: str
    note: str
    digest: str

    def answers(self, saved: Checkpoint) -> dict[str, Any] | None:
        """The answer by the id of its interrupt; None if nothing was decided."""
        if (self.approve, self.deny, self.answer is not None).count(True) > 1:
            raise Invalid("use one of --approve, --deny and --answer")
        if self.edit and not self.approve:
            raise Invalid("--edit goes with --approve")
        if not (self.approve or self.deny or self.answer is not None):
            return None
        interrupt = _meant(saved, self.item)
        if (
            not full_digest(interrupt, self.digest)
            and not self.deny
            and not list_line(interrupt).whole
        ):
            raise Invalid(
                f"{interrupt.ref!r} does not fit into a line",
                consequence="nothing was decided",
                advice="see it with `adjourn checkpoint show`, and pass what you saw with --digest",
            )
        if self.approve:
            changed = loads(self.edit, what="--edit") if self.edit else None
            return {interrupt.id: Decision.approve(self.note, changed)}
        if self.deny:
            return {interrupt.id: Decision.deny(self.note)}
        value = given_answer(interrupt, self.answer)
        return {
            interrupt.id: Decision.value(value, self.note)
            if self.note and interrupt.kind != "approval"
            else value
        }


def _meant(saved: Checkpoint, item: str) -> Interrupt:
    waiting = [interrupt for interrupt in saved.interrupts if interrupt.kind not in NOT_FOR_PEOPLE]
    named = [interrupt for interrupt in waiting if not item or item in _names_of(interrupt)]
    if len(named) == 1:
        return named[0]
    if not named:
        raise UnknownInterrupt(item or saved.run_id, [interrupt.ref for interrupt in waiting])
    raise Invalid(
        f"it has {len(named)} open interrupts",
        advice=f"name one with --item: {', '.join(interrupt.ref for interrupt in named)}",
    )


def _names_of(interrupt: Interrupt) -> tuple[str, ...]:
    """What a person may write for an interrupt."""
    call = interrupt.call.call_id if interrupt.call else interrupt.id
    return interrupt.ref, interrupt.id, interrupt.local, call


async def _resumed(
    wanted: Resumption, place: OutputTarget, as_json: bool
) -> tuple[int, Checkpoint]:
    view = view_of(as_json)
    log_to(lambda *said: (view.rest(), say(*said)))
    decider = decider_here(place, wanted.by, as_json)
    if place.db is not None:
        address = address_of(place.db)
    else:
        address = "memory://"
    async with Runtime(address, [wanted.program], resources=wanted.resources) as rt:
        run = await wanted.begin(rt, attended=decider is not None)
        if isinstance(view, TextView):
            view.recall(await rt.store.load(run.id), EARLIER)
        code = await Foreground(rt, run, view, place, by=wanted.by.name, decider=decider).follow()
        return code, await run.checkpoint()


def _hand_over(new: Checkpoint, file: str, as_json: bool, *, quiet: bool) -> None:
    """Write the new checkpoint where it was wanted; a file that cannot be written must not lose
    it."""
    data = json.loads(new.to_json())
    if as_json:
        print_line({"event": "checkpoint", "run_id": new.run_id, "checkpoint": data})
    if file:
        try:
            Path(file).write_text(to_json(data, indent=None) + "\n", "utf-8")
        except OSError as e:
            say(
                Text(
                    f"! {visible(file)} cannot be written: {e.strerror}; the checkpoint is on stdout",
                    style="red",
                )
            )
            quiet = False
        else:
            remark(f"Its checkpoint is in {visible(file)}")
            return
    if not quiet and not as_json:
        sys.stdout.write(to_json(data, indent=None) + "\n")
