"""Commands with which a person decides: `inbox`, `approve`, `deny`, `answer`, `dismiss`,
`retry`."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import typer
from rich.text import Text

from adjourn.cli import last_list as listing
from adjourn.cli.commands.runs import list_inbox
from adjourn.cli.decision_result import VERB_WORDS, DecisionResult, outcome_of, record
from adjourn.cli.error_report import NotShown, report, says
from adjourn.cli.failure_group import look_alike, report_decided, report_retried
from adjourn.cli.given_files import Files, given_files, with_files
from adjourn.cli.interrupt_lookup import FoundInterrupt, find, find_decidable, full_digest
from adjourn.cli.opened_database import address_of, with_runtime
from adjourn.cli.options import (
    By,
    Db,
    Digest,
    DryRun,
    Group,
    InterruptId,
    InterruptIds,
    Json,
    Note,
    RequestId,
    SigningKeyFile,
    Wait,
    option,
)
from adjourn.cli.person import Person, person
from adjourn.cli.standing_options import Lasts, Stands, Times, Where, standing_terms
from adjourn.cli.terminal.console import give, is_attended, is_read, out, print_json, remark, say
from adjourn.cli.terminal.format import DIM, EXIT
from adjourn.cli.terminal.hints import how_to_decide
from adjourn.cli.terminal.interrupt import Item, list_line, look, render
from adjourn.cli.terminal.prompt import Choice, DecideLater, decide, given_answer, is_secret
from adjourn.core.codec import loads
from adjourn.core.decision import Decision
from adjourn.core.interrupt import Interrupt
from adjourn.core.interrupt_kind import OF_CALLS
from adjourn.errors import Conflict, Invalid, InvalidAnswer
from adjourn.runtime.joint_decisions import Retried
from adjourn.runtime.runtime import Runtime

app = typer.Typer()
PATIENCE = 2.0
"""Seconds to wait after a decision at a prompt for a worker to act on it."""


@app.command()
@says("Not shown")
def inbox(
    item: Annotated[
        str | None, typer.Argument(metavar="[ITEM]", help="Show this item in full, and decide.")
    ] = None,
    db: Db = None,
    as_json: Json = False,
    by: By = None,
    agent: Annotated[
        str, typer.Option(help="Only interrupts of this agent or flow.", show_default=False)
    ] = "",
    kind: Annotated[
        str,
        typer.Option(
            help="Only interrupts of this kind: approval, question, …", show_default=False
        ),
    ] = "",
    run: Annotated[str, option("RUN", "Only interrupts of this run.")] = "",
    limit: Annotated[int, typer.Option(help="Maximum number.", min=1, max=1000)] = 50,
    signing_key: SigningKeyFile = "",
) -> None:
    """List what waits for a person; with ITEM, show it and decide.

    ITEM is a number of the list, an interrupt's id, RUN/CALL, or a run with one open interrupt.
    Without a terminal it is only printed, and the exit code is 3 while it waits.
    """
    if item is None:
        list_inbox(db, agent, kind, run, limit, as_json)
        return
    given = item

    async def work(rt: Runtime) -> Item:
        return await look(rt, (await find(rt, address_of(db), given)).interrupt)

    seen = with_runtime(db, work)
    if not give(as_json, seen.view):
        terminal = out()
        terminal.print(*render(seen, terminal.width), "")
    sys.stdout.flush()
    if is_read():
        listing.look(address_of(db), seen.interrupt.ref, seen.interrupt.digest)
    if as_json:
        return
    if not seen.is_open:
        remark("It is no longer open: nothing can be decided here.")
        return
    if not is_attended():
        for word, typed in how_to_decide(db, seen.interrupt):
            say(f"{word:<7}  {typed}")
        raise typer.Exit(3)
    raise typer.Exit(
        _at_the_prompt(db, seen.interrupt, person(db, by, right="decide"), signing_key)
    )


def _at_the_prompt(db: str | None, interrupt: Interrupt, by: Person, signing_key: str) -> int:
    """Ask and decide; what was shown is what is decided about. A refusal says who won."""
    try:
        choice = decide(interrupt)
    except (DecideLater, KeyboardInterrupt):
        say("", Text("Not changed.", style=DIM))
        return 3

    async def work(rt: Runtime) -> DecisionResult:
        seq = await record(rt, interrupt, choice, by, interrupt.digest)
        return await outcome_of(rt, interrupt, choice, by, seq, PATIENCE)

    try:
        done = with_runtime(db, work, signing_key=signing_key or None)
    except Conflict as e:
        return report(e, VERB_WORDS[choice.verb].not_done, db=db)
    done.print()
    return 0


@dataclass(frozen=True, slots=True)
class DecisionOptions:
    """What a command that decides is given beside the decision."""

    db: str | None
    digest: str
    request_id: str
    wait: float | None
    as_json: bool
    signing_key: str


def _command(
    item: str, by: Person, make: Callable[[Interrupt], Choice], options: DecisionOptions
) -> None:
    async def work(rt: Runtime) -> DecisionResult:
        found = await find_decidable(rt, address_of(options.db), item, options.digest)
        interrupt = found.interrupt
        choice = make(interrupt)
        seen = full_digest(interrupt, options.digest) or shown_digest(found, choice)
        seq = await record(rt, interrupt, choice, by, seen, options.request_id)
        return await outcome_of(rt, interrupt, choice, by, seq, options.wait or 0.0)

    done = with_runtime(options.db, work, signing_key=options.signing_key or None)
    if options.as_json:
        print_json(done.as_json())
    else:
        done.print()
    if options.wait is not None:
        raise typer.Exit(EXIT.get(done.status, 3))


def _each(items: list[str], by: Person, choice: Choice, options: DecisionOptions) -> None:
    """The same decision for each item. Each must be one that the person names or was shown before
    any is decided; one that is refused then stops none of the others."""
    if len(set(items)) == 1:
        _command(items[0], by, lambda interrupt: choice, options)
        return
    if options.digest or options.wait is not None:
        raise Invalid(
            "--digest and --wait need a single item",
            consequence="nothing was decided",
            advice="remove them, or name one item",
        )
    if choice.verb == "approve":
        decision = Decision.approve(choice.note, choice.edit, choice.scope, choice.stands)
    else:
        decision = Decision.deny(choice.note, choice.stands)

    async def work(rt: Runtime) -> list[Retried]:
        found: list[Interrupt] = []
        for item in items:
            one = await find_decidable(rt, address_of(options.db), item, "")
            full_digest(one.interrupt, shown_digest(one, choice))
            found.append(one.interrupt)
        return await rt.decide_all(
            found, decision, by=by.name, groups=by.groups, request_id=options.request_id
        )

    done = with_runtime(options.db, work, signing_key=options.signing_key or None)
    raise typer.Exit(report_decided(done, choice.verb, by.name, options.as_json))


def shown_digest(found: FoundInterrupt, choice: Choice) -> str:
    """The digest of what the person was shown; raises `NotShown` if they say yes to more than that.

    A line of a list that was not cut shows all of it; so does a line that would not be, of an item
    that was not listed. Saying no needs no look.
    """
    interrupt, seen = found.interrupt, found.seen
    whole = list_line(interrupt).whole if seen is None else seen.whole
    if (
        not whole
        and choice.verb not in ("deny", "dismiss")
        and interrupt.kind in (*OF_CALLS, "question")
    ):
        raise NotShown(interrupt.ref)
    return seen.digest if seen else ""


@app.command()
@says("Not approved")
def approve(
    item: InterruptIds,
    db: Db = None,
    as_json: Json = False,
    by: By = None,
    note: Note = "",
    digest: Digest = "",
    edit: Annotated[
        str, option("JSON", "Run it with these arguments instead; give all of them.")
    ] = "",
    scope: Annotated[
        str,
        typer.Option(
            help="once; or run: also for later calls of this run with exactly these arguments."
        ),
    ] = "once",
    stands: Stands = False,
    where: Where = None,
    lasts: Lasts = "",
    times: Times = None,
    group: Group = None,
    request_id: RequestId = "",
    wait: Wait = None,
    signing_key: SigningKeyFile = "",
) -> None:
    """Let an action run, exactly as shown or as edited.

    With --stands, --where, --lasts or --times it stands for later calls of this run as well. Several
    items are each a decision of their own.
    """
    if scope not in ("once", "run"):
        raise Invalid(f"--scope must be 'once' or 'run', got {scope!r}")
    width: Literal["once", "run"] = "run" if scope == "run" else "once"
    edited = _object(edit) if edit else None

    terms = standing_terms(stands, where, lasts, times)

    choice = Choice("approve", note=note, edit=edited, scope=width, stands=terms)
    decider = person(db, by, group or (), right="decide")
    options = DecisionOptions(db, digest, request_id, wait, as_json, signing_key)
    _each(item, decider, choice, options)


def _object(text: str) -> dict[str, Any]:
    value = loads(text, what="--edit")
    if not isinstance(value, dict):
        raise Invalid("--edit takes all arguments as a JSON object, for example '{\"cents\": 500}'")
    return value  # pyright: ignore[reportUnknownVariableType]


@app.command()
@says("Not denied")
def deny(
    item: InterruptIds,
    db: Db = None,
    as_json: Json = False,
    by: By = None,
    note: Note = "",
    digest: Digest = "",
    stands: Stands = False,
    where: Where = None,
    lasts: Lasts = "",
    times: Times = None,
    request_id: RequestId = "",
    wait: Wait = None,
    signing_key: SigningKeyFile = "",
) -> None:
    """Refuse an action; the agent reads the refusal and continues.

    With --stands, --where, --lasts or --times it refuses later calls of this run as well. Several
    items are each a decision of their own.
    """
    terms = standing_terms(stands, where, lasts, times)
    decider = person(db, by, right="decide")
    options = DecisionOptions(db, digest, request_id, wait, as_json, signing_key)
    _each(item, decider, Choice("deny", note=note, stands=terms), options)


@app.command()
@says("Not answered")
def answer(
    item: InterruptId,
    value: Annotated[
        str | None,
        typer.Argument(
            help=(
                "JSON; anything else is a string. Leave it out for a secret, which is typed "
                "without echo; - reads it from stdin."
            )
        ),
    ] = None,
    db: Db = None,
    as_json: Json = False,
    by: By = None,
    note: Note = "",
    text: Annotated[
        bool, typer.Option("--text", help="VALUE is a string, even if it looks like JSON.")
    ] = False,
    file: Files = None,
    instead: Annotated[
        bool,
        typer.Option(
            "--instead",
            help="VALUE is the result of an action that waits for approval; it does not run.",
        ),
    ] = False,
    digest: Digest = "",
    group: Group = None,
    request_id: RequestId = "",
    wait: Wait = None,
    signing_key: SigningKeyFile = "",
) -> None:
    """Answer a question, or make a choice. A call in doubt, an error, a limit and an undo list
    their choices."""

    files = given_files(file)

    def make(interrupt: Interrupt) -> Choice:
        if files and value is None and not is_secret(interrupt):
            given = None
        else:
            given = given_answer(interrupt, value, text=text)
        given = with_files(given, files, "VALUE")
        if instead:
            return Choice("instead", given, note=note)
        if interrupt.kind == "approval":
            raise InvalidAnswer(
                f"{interrupt.ref} is an action that waits for approval",
                consequence="nothing was approved",
                advice="approve or deny it; with --instead, VALUE is its result, and it does not run",
            )
        return Choice("answer", given, note=note)

    decider = person(db, by, group or (), right="decide")
    options = DecisionOptions(db, digest, request_id, wait, as_json, signing_key)
    _command(item, decider, make, options)


@app.command()
@says("Not dismissed")
def dismiss(
    item: InterruptId,
    db: Db = None,
    as_json: Json = False,
    by: By = None,
    note: Note = "",
    digest: Digest = "",
    request_id: RequestId = "",
    wait: Wait = None,
    signing_key: SigningKeyFile = "",
) -> None:
    """Drop one question without an answer.

    The tool that asked is told that it was dropped.
    """
    decider = person(db, by, right="decide")
    options = DecisionOptions(db, digest, request_id, wait, as_json, signing_key)
    _command(item, decider, lambda interrupt: Choice("dismiss", note=note), options)


@app.command()
@says("Not retried")
def retry(
    item: InterruptId,
    db: Db = None,
    as_json: Json = False,
    by: By = None,
    note: Note = "",
    everything: Annotated[
        bool,
        typer.Option(
            "--all", help="Also retry all open errors like it: same agent, step and kind of error."
        ),
    ] = False,
    dry_run: DryRun = False,
    digest: Digest = "",
    request_id: RequestId = "",
    wait: Wait = None,
    signing_key: SigningKeyFile = "",
) -> None:
    """Retry a failed step; with --all, every one like it.

    At a terminal --all says how many there are, and asks. Each is a decision of its own; a refused
    one does not stop the others.
    """
    if dry_run:
        alike = with_runtime(db, lambda rt: look_alike(rt, db, item, digest))
        alike.print_wanted(everything, as_json)
        return
    decider = person(db, by, right="decide")
    if not everything:
        options = DecisionOptions(db, digest, request_id, wait, as_json, signing_key)
        _command(item, decider, lambda interrupt: Choice("answer", "retry", note=note), options)
        return
    if wait is not None:
        raise Invalid("--wait needs a single run", advice="remove --wait or --all")
    alike = with_runtime(db, lambda rt: look_alike(rt, db, item, digest, decides=not is_attended()))
    if is_attended() and alike.count and not alike.is_meant():
        raise Invalid("the errors were not changed", consequence="nothing was retried")
    done = with_runtime(
        db, lambda rt: alike.retry(rt, decider, note, request_id), signing_key=signing_key or None
    )
    raise typer.Exit(report_retried(done, decider.name, alike.like, as_json))
